"""Tests ufuncs of functions with many overloads."""

import ctypes
import itertools
import random
import time
import unittest
import unittest.mock

import adapter_support
import matrix_choice
import support
import typedcall

numpy = adapter_support.library("numpy")
CODES = "bhilBHILfd"
#: Python chooses among more overloads than these at run time; see typedcall/calling/choose.h.
MANY = 64


@ctypes.CFUNCTYPE(ctypes.c_double)
def none():
    return 0.0


def function(count, parameters, seed):
    """Returns a function with random overloads, which must not be called."""
    generator = random.Random(seed)
    found = {}
    while len(found) < count:
        found["".join(generator.choices(CODES, k=parameters)) + "->d"] = ctypes.cast(none, ctypes.c_void_p)

    def overloaded(*arguments):
        return 0.0

    typedcall.tag(overloaded, list(found), list(found.values()))
    return overloaded


class Time(unittest.TestCase):
    def test_a_rank_is_found_once_for_each_parameter_and_type(self):
        from typedcall.numpy import planner

        for count in (50, 200):
            overloaded = function(count, 6, support.seeds.seed(11))
            with unittest.mock.patch.object(planner, "rank_of_kind", wraps=planner.rank_of_kind) as ranked:
                typedcall.ufunc(overloaded)
            self.assertLessEqual(ranked.call_count, 6 * len(CODES + "?") * len(CODES))

    @support.timing
    def test_a_thousand_overloads(self):
        overloaded = function(1000, 11, support.seeds.seed(12))
        before = time.process_time()
        made = typedcall.ufunc(overloaded)
        self.assertLess(time.process_time() - before, 5)
        self.assertGreaterEqual(made.ntypes, 1000)
        before = time.process_time()
        self.assertEqual(typedcall.ufunc(overloaded).types, made.types)
        self.assertLess(time.process_time() - before, 5)


class Values(unittest.TestCase):
    def test_as_in_python(self):
        generator = random.Random(support.seeds.seed(13))
        types = {"d": ctypes.c_double, "b": ctypes.c_int8, "h": ctypes.c_int16, "i": ctypes.c_int, "l": ctypes.c_long,
                 "I": ctypes.c_uint}
        everything = list(itertools.product(types, repeat=3))
        in_python = []
        for count in (MANY, MANY + 1, 130):
            overloads = generator.sample(everything, count)
            made = [ctypes.CFUNCTYPE(ctypes.c_long, *map(types.get, letters))(lambda *given, at=at: at)
                    for at, letters in enumerate(overloads)]

            def overloaded(*arguments, overloads=overloads):
                chosen = matrix_choice.choose(overloads, arguments)
                in_python.append(arguments)
                return chosen

            typedcall.tag(overloaded, [f"{''.join(letters)}->l" for letters in overloads],
                          [ctypes.cast(each, ctypes.c_void_p) for each in made],
                          flags=int(typedcall.Flags.ACQUIRES_GIL))
            ufunc = typedcall.ufunc(overloaded)
            in_python.clear()
            for _ in range(200):
                given = []
                for code in generator.choices("dbhilI", k=3):
                    least, most = matrix_choice.LIMITS.get(code, (-4, 4))
                    given.append(numpy.array([generator.choice([least, 0, 3, most]) for _ in range(4)], code))
                try:
                    wanted = [matrix_choice.choose(overloads, row) for row in zip(*[each.tolist() for each in given])]
                except matrix_choice.NoOverload:
                    with self.assertRaises((matrix_choice.NoOverload, TypeError)):
                        ufunc(*given)
                else:
                    self.assertEqual(ufunc(*given).tolist(), wanted)
            self.assertEqual(bool(in_python), count > MANY)


class Results(unittest.TestCase):
    def made(self, signatures):
        """Returns a ufunc. An overload returns 2**63 + 5 as an unsigned int, or 2.5."""
        functions = {"L": ctypes.CFUNCTYPE(ctypes.c_uint64, *[ctypes.c_int64] * 3)(lambda *given: 2**63 + 5),
                     "d": ctypes.CFUNCTYPE(ctypes.c_double)(lambda: 2.5)}
        functions["l"] = functions["L"]

        def overloaded(*arguments):
            return 2.5 if any(isinstance(each, float) for each in arguments) else 2**63 + 5

        typedcall.tag(overloaded, signatures, [ctypes.cast(functions[each[-1]], ctypes.c_void_p) for each in signatures],
                      flags=int(typedcall.Flags.ACQUIRES_GIL))
        overloaded.kept = functions
        return typedcall.ufunc(overloaded)

    def test_they_are_of_overloads_that_accept_the_values(self):
        ints = ["".join(each) + "->L" for each in itertools.product("bhil", repeat=3)]
        values = numpy.ones(3, "uint64")
        for others in (["fff->l", "ddd->L"], ["fff->d", "ddd->d"], ["sss->d", "OOO->d", "lls->d"]):
            for count in (MANY - len(others), len(ints)):
                with self.subTest(others, count=count):
                    found = self.made([*ints[-count:], *others])(values, values, values)
                    self.assertEqual((found.dtype, found.tolist()), ("uint64", [2**63 + 5] * 3))

    def test_an_overload_that_floats_may_choose(self):
        ints = ["".join(each) + "->l" for each in itertools.product("bhil", repeat=3)]
        for others in (["dll->d", "fff->d"], ["dll->d", "ldl->d", "ddd->d"]):
            made = self.made([*ints, *others])
            one = numpy.ones(3, "int64")
            self.assertEqual(made(numpy.ones(3), one, one).tolist(), [2.5] * 3)


class Beside(unittest.TestCase):
    """Overloads of numbers beside others."""

    def test_overloads_that_take_no_numbers(self):
        @ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
        def more(x):
            return x + 1

        address = ctypes.cast(more, ctypes.c_void_p)
        for other in ("*kd->d", "*d->d", "&kd->d", "&d->v", "&d->d", "*s->d", "s->d", "P->d"):
            with self.subTest(other):
                def overloaded(x):
                    return -1.0

                typedcall.tag(overloaded, ["d->d", other], [address, address], flags=int(typedcall.Flags.ACQUIRES_GIL))
                made = typedcall.ufunc(overloaded)
                self.assertEqual(made.types, ["d->d"])
                for given in (1.0, numpy.int64(2), numpy.float32(3), [4.0, 5.0], numpy.arange(3), True):
                    self.assertEqual(made(given).tolist(), (numpy.asarray(given) + 1.0).tolist())

    def test_a_choice_beside_a_buffer(self):
        overloaded = adapter_support.offering({"i->i": lambda x: x + 1, "d->d": lambda x: x + 0.5})
        entries = typedcall.entries(overloaded)

        def beside(x):
            return overloaded(x)

        typedcall.tag(beside, [*(each.signature for each in entries), "*kd->d"],
                      [*(each.address for each in entries), entries[1].address],
                      flags=int(typedcall.Flags.ACQUIRES_GIL))
        made = typedcall.ufunc(beside)
        self.assertEqual(made([1, 2]).tolist(), [2, 3])
        self.assertEqual(made([1.0, 2.0]).tolist(), [1.5, 2.5])
