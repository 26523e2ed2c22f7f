"""Typed functions as ufuncs, and ufuncs as typed functions."""

import concurrent.futures
import ctypes
import gc
import pathlib
import pickle
import sys
import tempfile
import types
import unittest
import unittest.mock
import warnings

import adapter_support
import support
import typedcall
from typedcall import Flags

numpy = adapter_support.library("numpy")
functions = support.build("typed_functions")

SCRIPT = """
import pickle
import numpy
import typed_functions
import typedcall

def mine(x):
    return typed_functions.half(x)

class Inside:
    @staticmethod
    def mine(x):
        return typed_functions.half(x)

for each in (mine, Inside.mine):
    typedcall.tag(each, "d->d", typedcall.resolve(typed_functions.half, "d->d"))

if __name__ == "__main__":
    made = [typedcall.ufunc(each) for each in (mine, Inside.mine)]
"""


class Sink(unittest.TestCase):
    def test_it_is_a_ufunc(self):
        add = typedcall.ufunc(functions.add)
        self.assertIs(type(add), numpy.ufunc)
        self.assertEqual((add.nin, add.nout, add.types), (2, 1, ["dd->d"]))
        self.assertIn("Add two floats.", add.__doc__)
        self.assertEqual(add(1, 2.5), 3.5)

    def test_its_name_is_a_str(self):
        with self.assertRaisesRegex(TypeError, "name must be a str, not 'int'"):
            typedcall.ufunc(len, name=3)

    def test_broadcasting_out_and_where(self):
        add = typedcall.ufunc(functions.add)
        rows, columns = numpy.arange(3.0)[:, None], numpy.arange(4.0)
        self.assertTrue(numpy.array_equal(add(rows, columns), rows + columns))
        out = numpy.full(4, -1.0)
        self.assertIs(add(columns, 1.0, out=out, where=columns > 1), out)
        self.assertEqual(out.tolist(), [-1.0, -1.0, 3.0, 4.0])
        backwards = numpy.arange(10.0)[::-2]
        self.assertTrue(numpy.array_equal(add(backwards, backwards), 2 * backwards))

    def test_reductions(self):
        add = typedcall.ufunc(functions.add)
        values = numpy.arange(1000.0).reshape(10, 100)
        self.assertTrue(numpy.array_equal(add.reduce(values, axis=1), values.sum(axis=1)))
        self.assertTrue(numpy.array_equal(add.accumulate(values[0]), numpy.cumsum(values[0])))
        self.assertTrue(numpy.array_equal(add.outer([1.0, 2.0], [3.0]), [[4.0], [5.0]]))
        at = numpy.zeros(2)
        add.at(at, [0, 0, 1], [1.0, 2.0, 3.0])
        self.assertEqual(at.tolist(), [3.0, 3.0])

    def test_dtype_by_overload(self):
        absolute = typedcall.ufunc(functions.absolute)
        self.assertEqual(absolute.types, ["l->l", "L->l", "d->d"])
        self.assertEqual(absolute(numpy.int8([-3])).dtype, numpy.int64)
        self.assertEqual(absolute(numpy.float32([-3])).dtype, numpy.float64)
        with self.assertRaises(TypeError):
            absolute(1j)
        with self.assertRaises(TypeError):
            typedcall.ufunc(functions.inc)(2.5)  # a float is no int

    def test_loops_keep_the_tables_order(self):
        libm = ctypes.CDLL("libm.so.6")

        def address_of(name):
            return ctypes.cast(getattr(libm, name), ctypes.c_void_p).value

        def table(*rows):
            def tagged(*arguments):
                return None

            signatures, names = zip(*rows)
            typedcall.tag(tagged, signatures, [address_of(name) for name in names])
            return typedcall.ufunc(tagged)

        # Neither can be cast to the other: the first counts, as in Python. A loop over wider ints is
        # behind its own.
        one, other = ("dl->d", "scalbln"), ("ld->d", "jn")
        self.assertEqual(table(other, one).types, ["ld->d", "Ld->d", "dl->d", "dL->d"])
        made = table(one, other)
        self.assertEqual(made.types, ["dl->d", "dL->d", "ld->d", "Ld->d"])
        self.assertEqual(made(1, 2), 4.0)
        made = table(("l->l", "labs"), ("L->L", "labs"), ("d->d", "fabs"))
        self.assertEqual(made.types, ["l->l", "L->L", "d->d"])
        self.assertEqual(made(True).dtype, numpy.int64)
        self.assertEqual(made(numpy.uint64(3)).dtype, numpy.uint64)
        # What is wide would hide what is narrow.
        made = table(("d->d", "fabs"), ("q->q", "llabs"), ("l->l", "labs"), ("f->f", "fabsf"))
        self.assertEqual(made.types, ["l->l", "L->l", "f->f", "d->d"])
        self.assertEqual(made(numpy.float32(-3)).dtype, numpy.float32)

    def test_every_type(self):
        for name, dtype, given, expected in (
            ("next_char", "int8", 127, -128),
            ("next_byte", "uint8", 255, 0),
            ("next_size", "uint64", 2**64 - 1, 0),
            ("inc", "int64", 2, 3),
            ("half_float", "float32", 3, 1.5),
            ("half", "float64", 3, 1.5),
            ("turn", "complex128", 1 + 2j, -2 + 1j),
            ("negate", "bool", True, False),
        ):
            result = typedcall.ufunc(getattr(functions, name))(numpy.full(3, given, dtype))
            self.assertEqual(result.dtype, dtype, name)
            self.assertEqual(result.tolist(), [expected] * 3, name)
        many = typedcall.ufunc(functions.ten)
        arguments = [float(i) for i in range(8)] + [3, numpy.float32(2)]
        self.assertEqual(many(*[[each] for each in arguments]), [functions.ten(*arguments)])

    def test_pickled_by_name(self):
        half = typedcall.ufunc(functions.half)
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            self.assertIs(pickle.loads(pickle.dumps(half, protocol)), half)

    def test_unpickled_in_another_process(self):
        data = pickle.dumps(typedcall.ufunc(functions.half)).hex()
        status, printed, errors = support.python(
            "-c",
            "import pickle; print(pickle.loads(bytes.fromhex(%r))([4.0, 6.0]))" % data,
            paths=[support.module_folder("typed_functions")],
        )
        self.assertEqual((status, printed.strip()), (0, "[2. 3.]"), errors)

    def test_static_methods_are_pickled(self):
        twice = typedcall.ufunc(functions.Scaler.twice)
        self.assertEqual(twice.__name__, "typed_functions.Scaler.twice")
        data = pickle.dumps(twice)
        self.assertIs(pickle.loads(data), twice)
        for wrong in (b"Scaler.scale", b"Scaler.twixe", b"Scaler.__doc"):
            with self.assertRaises(AttributeError):
                pickle.loads(pickle.dumps(twice, 4).replace(b"Scaler.twice", wrong))
        status, printed, errors = support.python(
            "-c",
            "import pickle; print(pickle.loads(bytes.fromhex(%r))([4.0, 6.0]))" % data.hex(),
            paths=[support.module_folder("typed_functions")],
        )
        self.assertEqual((status, printed.strip()), (0, "[ 8. 12.]"), errors)

    def run_script(self, text):
        """What a script prints whose function `__main__.mine` is tagged."""
        with tempfile.TemporaryDirectory(prefix="typedcall-") as folder:
            script = pathlib.Path(folder, "script.py")
            script.write_text(SCRIPT + text)
            paths = [support.module_folder("typed_functions")]
            status, printed, errors = support.python(script, paths=paths)
        self.assertEqual(status, 0, printed + errors)
        return printed.split("\n")

    def test_functions_of_the_script_are_pickled(self):
        printed = self.run_script(
            "    for each in made:\n"
            "        print(each.__name__, pickle.loads(pickle.dumps(each)) is each)\n"
        )
        self.assertEqual(printed[:2], ["__main__.mine True", "__main__.Inside.mine True"])

    def test_functions_of_the_script_in_other_processes(self):
        adapter_support.library("dask.array")
        printed = self.run_script(
            "    import dask.array\n"
            "    array = dask.array.from_array(numpy.arange(4.0), chunks=2)\n"
            "    for each in made:\n"
            "        print(each(array).compute(scheduler='processes', num_workers=1))\n"
        )
        self.assertEqual(printed[:2], ["[0.  0.5 1.  1.5]"] * 2)

    def test_a_name_that_leads_nowhere_is_an_error(self):
        data = pickle.dumps(typedcall.ufunc(functions.half), 4).replace(
            b"typed_functions.half", b"typed_functions.none"
        )
        with self.assertRaises(AttributeError):
            pickle.loads(data)
        from typedcall import ufuncs

        with self.assertRaises(AttributeError):
            ufuncs.typed_functions.same_text

    def test_the_same_object(self):
        self.assertIs(typedcall.ufunc(functions.half), typedcall.ufunc(functions.half))
        self.assertIsNot(typedcall.ufunc(functions.half), typedcall.ufunc(functions.square))
        named = typedcall.ufunc(functions.half, "halve")
        self.assertEqual(named.__name__, "halve")

    def test_what_is_refused(self):
        for function, reason in (
            (functions.expect, "no arguments or no result"),
            (functions.same_object, "other types than numbers"),
            (functions.same_text, "other types than numbers"),
            (functions.counted, "no arguments"),
            (functions.Scaler(1.0).scale, "takes self"),
            (len, "offers no typed function"),
        ):
            with self.assertRaisesRegex(TypeError, reason):
                typedcall.ufunc(function)

    def test_exceptions(self):
        div = typedcall.ufunc(functions.div)
        self.assertEqual(div([1.0, -6.0], [2.0, 3.0]).tolist(), [0.5, -2.0])
        self.assertEqual(div(0.0, -1.0), 0.0)  # -0.0 is the error value, but no error here
        check = typedcall.ufunc(functions.check)
        self.assertEqual(check([-1, 5]).tolist(), [-1, 5])
        zeros = numpy.ones((3, 50000))
        zeros[0, 40000] = 0
        with self.assertRaisesRegex(ValueError, "thirteen"):
            check(13)
        for call in (
            lambda: div(1.0, 0.0),
            lambda: div(1.0, zeros),
            lambda: div(numpy.float32(1), zeros.astype("f4")),  # through NumPy's buffer
            lambda: div(1.0, zeros[::-1, ::5]),
            lambda: div(1.0, zeros, where=zeros < 1, out=zeros.copy()),
            lambda: div.reduce(zeros, axis=1),
            lambda: div.accumulate(zeros[0]),
            lambda: div.outer([1.0, 2.0], zeros[0]),
            lambda: div.at(numpy.ones(3), [0, 1], 0.0),
        ):
            with self.assertRaisesRegex(ZeroDivisionError, "division by zero"):
                call()
        with self.assertRaises(ZeroDivisionError):
            div(1.0, [1.0, 0.0], out=numpy.zeros(2, "f4"))
        out = numpy.full(4, 7.0)
        with self.assertRaises(ZeroDivisionError):
            div(1.0, [1.0, 2.0, 0.0, 1.0], out=out)
        self.assertEqual(out.tolist(), [1.0, 0.5, 7.0, 7.0])

    def test_a_status_and_a_result_behind_a_pointer(self):
        invert = typedcall.ufunc(functions.invert)
        self.assertEqual((invert.types, invert.nin, invert.nout), (["d->d"], 1, 1))
        self.assertEqual(invert([2.0, -4.0]).tolist(), [0.5, -0.25])
        with self.assertRaises(ZeroDivisionError):
            invert([2.0, 0.0])

    def test_a_numpy_that_does_not_look_for_exceptions(self):
        with unittest.mock.patch.object(numpy, "__version__", "1.21.6"):
            with self.assertRaisesRegex(TypeError, "may raise"):
                typedcall.ufunc(functions.div)
            self.assertEqual(typedcall.ufunc(functions.half)(3.0), 1.5)

    def test_what_needs_the_gil_gets_it(self):
        held = []
        check = ctypes.pythonapi.PyGILState_Check

        def callback(x):
            held.append(check())
            return x + 1

        takes_it = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(callback)
        made = typedcall.ufunc(takes_it)
        self.assertEqual(made(numpy.arange(5.0)).tolist(), [1.0, 2.0, 3.0, 4.0, 5.0])
        self.assertEqual(held, [1] * 5)

        def address_of(function):
            return ctypes.cast(function, ctypes.c_void_p).value

        held_inside = ctypes.pythonapi.PyGILState_Check
        plain = support.build("plain_functions")
        # int PyGILState_Check(void), called with an argument in a register that it does not read.
        for flags, expected in ((0, 1), (Flags.NEEDS_THREAD, 1), (Flags.THREAD_SAFE, 0)):
            typedcall.tag(plain.inc, "i->i", address_of(held_inside), flags=int(flags))
            try:
                asked = typedcall.ufunc(plain.inc)(numpy.arange(10_000, dtype="int32"))
                self.assertEqual(set(asked.tolist()), {expected}, flags)
            finally:
                typedcall.untag(plain.inc)

    def test_many_threads(self):
        half = typedcall.ufunc(functions.half)
        count = typedcall.ufunc(functions.slow)
        values = numpy.arange(100_000.0)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for made in pool.map(lambda _: count(half(values)), range(16)):
                self.assertTrue(numpy.array_equal(made, values / 2 + 1))

    def test_the_function_stays_alive(self):
        made = typedcall.ufunc(
            ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: x + 1), "one_more"
        )
        gc.collect()
        self.assertEqual(made(1.0), 2.0)

    def test_a_ufunc_that_dies(self):
        for _ in range(1000):
            typedcall.ufunc(functions.half, "short_lived")([1.0])

    def test_in_a_dask_array(self):
        dask = adapter_support.library("dask.array")
        half = typedcall.ufunc(functions.half)
        array = dask.from_array(numpy.arange(100.0), chunks=10)
        for scheduler in ("threads", "sync"):
            result = half(array).compute(scheduler=scheduler)
            self.assertTrue(numpy.array_equal(result, numpy.arange(100.0) / 2))
        self.assertIsInstance(half(array), dask.Array)


class Source(unittest.TestCase):
    def test_generic_loops(self):
        self.assertEqual(typedcall.signatures(numpy.cbrt)[:3], ["f->f", "d->d", "g->g"])
        entry = next(e for e in typedcall.entries(numpy.hypot) if e.signature == "dd->d")
        self.assertEqual((entry.place, entry.flags), ("NumPy", Flags.THREAD_SAFE))
        self.assertEqual(typedcall.resolve(numpy.hypot, "dd->d")(3.0, 4.0), 5.0)
        self.assertEqual(typedcall.resolve(numpy.hypot, "ff->f")(3.0, 4.0), 5.0)

    def test_other_loops_are_not_taken_for_one(self):
        self.assertEqual(typedcall.signatures(numpy.add), [])
        self.assertEqual(typedcall.signatures(typedcall.ufunc(functions.half)), [])

    def test_not_a_ufunc(self):
        from typedcall import _numpy_bridge
        from typedcall.sources import numpy_

        with self.assertRaises(TypeError):
            _numpy_bridge.scalar_functions(numpy_.ufunc_api(), len)
        with self.assertRaises(ValueError):
            _numpy_bridge.scalar_functions(functions, numpy.add)
        with self.assertRaises(ValueError):
            _numpy_bridge.make_ufunc(numpy_.ufunc_api(), "x", "", (), b"\0", 1, 1)

    def test_no_other_capsule_passes_for_numpys_functions(self):
        import datetime

        from typedcall import _capsules, _numpy_bridge
        from typedcall.sources import numpy_

        api = numpy_.ufunc_api()
        core = next(
            sys.modules[name]
            for name in ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath")
            if name in sys.modules
        )
        entry = typedcall.entries(functions.half)[0]
        memory = ctypes.create_string_buffer(4096)
        nameless = ctypes.pythonapi.PyCapsule_New
        nameless.restype, nameless.argtypes = ctypes.py_object, [ctypes.c_void_p] * 3
        named = _capsules.make_capsule(_capsules.capsule_address(api), "another name")
        others = [
            (core._ARRAY_API, "of something else"),
            (nameless(ctypes.addressof(memory), None, None), "of something else"),
            (datetime.datetime_CAPI, "named 'datetime.datetime_CAPI'"),
            (named, "named 'another name'"),
            (functions.half, "not a 'builtin_function_or_method' object"),
            (None, "not a 'NoneType' object"),
        ]
        rows = ((entry.signature, int(entry.flags), entry.address, functions.half),)
        types = bytes([numpy.dtype(float).num] * 2)
        for capsule, reason in others:
            with self.subTest(capsule=capsule):
                with self.assertRaisesRegex(ValueError, reason):
                    _numpy_bridge.make_ufunc(capsule, "half", "", rows, types, 1, 1)
                with self.assertRaisesRegex(ValueError, reason):
                    _numpy_bridge.scalar_functions(capsule, numpy.add)
        self.assertEqual(_numpy_bridge.make_ufunc(api, "half", "", rows, types, 1, 1)(3.0), 1.5)
        # The versions are asked of the table of arrays, which is no other capsule either.
        with unittest.mock.patch.object(core, "_ARRAY_API", api):
            with self.assertRaisesRegex(ValueError, "not NumPy's _ARRAY_API"):
                _numpy_bridge.scalar_functions(api, numpy.add)

    def test_a_numpy_of_an_unknown_version(self):
        from typedcall import _numpy_bridge
        from typedcall.sources import numpy_

        known = {name: sys.modules.pop(name) for name in list(sys.modules)
                 if name.endswith("._multiarray_umath")}
        self.addCleanup(sys.modules.update, known)
        (real,) = {id(module): module for module in known.values()
                   if hasattr(module, "_ARRAY_API")}.values()
        with self.assertRaisesRegex(ImportError, "no imported NumPy"):
            _numpy_bridge.scalar_functions(real._UFUNC_API, numpy.add)

        # A table like NumPy's, of a version that is yet to come.
        version = ctypes.CFUNCTYPE(ctypes.c_uint)(lambda: 0x03000000)
        table = (ctypes.c_void_p * 3)(ctypes.cast(version, ctypes.c_void_p), None, id(numpy.ndarray))
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p] * 3
        fake = types.ModuleType("fake")
        fake.ndarray, fake.add, fake._UFUNC_API = numpy.ndarray, numpy.add, real._UFUNC_API
        fake._ARRAY_API = make(ctypes.addressof(table), None, None)
        with unittest.mock.patch.dict(sys.modules, {"numpy._core._multiarray_umath": fake}):
            with self.assertRaisesRegex(ImportError, "C ABI 0x3000000"):
                _numpy_bridge.scalar_functions(numpy_.ufunc_api(), numpy.add)

    def test_scipy_special(self):
        special = adapter_support.library("scipy.special")
        checked = 0
        for name in dir(special):
            ufunc = getattr(special, name)
            if not isinstance(ufunc, numpy.ufunc) or ufunc.nout != 1:
                continue
            for signature in typedcall.signatures(ufunc):
                letters = typedcall.parse_signature(signature)[0]
                function = typedcall.resolve(ufunc, signature)
                for values in ((0.5, 0.25, 1.5, 0.75), (2.0, 3.0, 1.0, 4.0)):
                    arguments = [
                        {"Z": complex, "l": int, "n": int}.get(
                            letter[0], numpy.dtype("f4").type if letter == "f" else float
                        )(value)
                        for letter, value in zip(letters, values)
                    ]
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        expected = ufunc(*arguments)
                        got = function(
                            *[each.item() if hasattr(each, "item") else each for each in arguments]
                        )
                    numpy.testing.assert_allclose(
                        got,
                        expected,
                        1e-12,
                        1e-300,
                        err_msg=("%s %s %s" % (name, signature, arguments)),
                    )
                    checked += 1
        self.assertGreater(checked, 300)


class TheExample(adapter_support.Example):
    def test_it_runs(self):
        self.assertIn("<ufunc 'curves.blend'>", self.run_example("numpy"))


if __name__ == "__main__":
    unittest.main()
