"""Tests typedcall.jax: typed functions on JAX arrays, with and without jit and vmap."""

import ctypes
import gc
import os
import unittest

import adapter_support
import matrix_tagged
import support
import typedcall

os.environ.setdefault("JAX_PLATFORMS", "cpu")
jax = adapter_support.library("jax")
numpy = adapter_support.library("numpy")
jnp = jax.numpy
if not hasattr(jax, "ffi"):
    raise unittest.SkipTest("jax.ffi came with JAX 0.5, this is %s" % jax.__version__)
from support import leaks  # noqa: E402
from typedcall.jax import elementwise  # noqa: E402

functions = support.build("typed_functions")
fallbacks = support.build("fallback_functions")
defaults, narrow = support.build("default_functions"), support.build("narrow_functions")
X = numpy.linspace(-3.0, 3.0, 1001)


class With64Bits(unittest.TestCase):
    def setUp(self):
        before = jax.config.jax_enable_x64
        jax.config.update("jax_enable_x64", self.bits)
        self.addCleanup(jax.config.update, "jax_enable_x64", before)

    bits = True

    def same(self, found, expected, dtype=None):
        self.assertEqual(numpy.asarray(found).tolist(), numpy.asarray(expected).tolist())
        if dtype is not None:
            self.assertEqual(found.dtype, dtype)


class Values(With64Bits):
    def test_jit_and_eager(self):
        half = elementwise(functions.half)
        for call in (half, jax.jit(half), jax.jit(lambda x: half(x) + 0.0)):
            self.same(call(X), X / 2, "float64")
            self.same(call(jnp.zeros((0, 3))), numpy.zeros((0, 3)))
            self.same(call(X.reshape(7, 11, 13)), X.reshape(7, 11, 13) / 2)
            self.assertEqual(float(call(3)), 1.5)
        self.assertEqual(half.__name__, "half")

    def test_vmap(self):
        add = elementwise(functions.add)
        x = X[:1000].reshape(10, 100)
        self.same(jax.vmap(elementwise(functions.half))(x), x / 2)
        self.same(jax.jit(jax.vmap(add, in_axes=(0, None)))(x, x[0]), x + x[0])
        self.same(jax.vmap(jax.vmap(add), in_axes=(1, 1), out_axes=1)(x, x), x + x)
        self.same(jax.vmap(lambda y: add(y, 2.0))(x), x + 2)

    def test_scan_and_loops(self):
        half = elementwise(functions.half)
        found = jax.jit(lambda x: jax.lax.fori_loop(0, 10, lambda _, y: half(y), x))(X)
        self.same(found, X / 2**10)

    def test_broadcast(self):
        add, mix = elementwise(functions.add), elementwise(functions.mix)
        self.same(jax.jit(add)(X[:, None], X[:5]), X[:, None] + X[:5])
        self.same(mix(X, 2, 3.0, jnp.arange(1001)), X * 2 + 3.0 * numpy.arange(1001))
        with self.assertRaisesRegex(ValueError, "(?i)broadcast|shape"):
            add(X, X[:3])

    def test_types(self):
        for f, values, dtype in ((functions.inc, [1, -1, 2**62], "int64"),
                                 (functions.half_float, [0.5, 3.0], "float32"),
                                 (functions.next_char, [-128, 126], "int8"),
                                 (functions.next_byte, [0, 255], "uint8"),
                                 (functions.next_size, [0, 2**64 - 2], "uint64"),
                                 (functions.negate, [True, False], "bool")):
            array = numpy.array(values, dtype)
            with numpy.errstate(over="ignore"):
                expected = ~array if dtype == "bool" else array / 2 if dtype == "float32" else array + array.dtype.type(1)
            self.same(jax.jit(elementwise(f))(array), expected, dtype)
        absolute = elementwise(functions.absolute)
        self.same(absolute(numpy.array([-3, 4])), [3, 4], "int64")
        self.same(absolute(numpy.array([-3.5, 4])), [3.5, 4], "float64")
        self.same(absolute(-2.5), 2.5)
        # Arguments are converted like those of JAX's own functions.
        self.same(elementwise(functions.half)(numpy.arange(5, dtype="int32")), numpy.arange(5) / 2)
        self.same(elementwise(functions.half)(X.astype("f4")), X.astype("f4").astype("f8") / 2, "float64")
        with self.assertRaisesRegex(TypeError, r"typed_functions.inc has nothing in JAX for \(float64\): int64"):
            elementwise(functions.inc)(X)
        with self.assertRaisesRegex(TypeError, "takes 2 arrays in JAX"):
            elementwise(functions.add)(X)

    def test_integers_do_not_wrap_round(self):
        # Python ints are checked when the program runs.
        for f, fits, dtype, others in ((functions.next_char, [-128, 126], "int8", [128, 300, -129]),
                                       (functions.next_byte, [0, 254], "uint8", [256, -1, 2**40]),
                                       (functions.next_size, [0, 2**62], "uint64", [-1])):
            call = elementwise(f)
            for form in (call, jax.jit(call), jax.jit(jax.vmap(call, axis_size=2, in_axes=None))):
                for value in fits:
                    self.same(numpy.ravel(form(value))[0], value + 1, dtype)
                for value in others:
                    with self.assertRaisesRegex(Exception, "OverflowError: Python int does not fit"):
                        jax.block_until_ready(form(value))
        mix = elementwise(functions.mix)
        bools = numpy.array([0, 3], "uint8").view("bool")
        self.same(mix(0.0, bools, 0.0, 0), [mix(0.0, 0, 0.0, 0), mix(0.0, 1, 0.0, 0)])

    def test_one_program_for_all_values_of_a_type(self):
        # Each value chooses an overload. The result is the index of the overload.
        call = elementwise(narrow.char_or_long, pure=True)
        for form in (call, jax.jit(call), jax.vmap(call)):
            self.same(form(numpy.array([127, 128, -129, -128] * 300)), [0, 1, 1, 0] * 300, "int64")
        both = elementwise(narrow.two_arguments, pure=True)
        self.same(jax.jit(both)(numpy.arange(126, 130), 5), [0, 0, 1, 1])
        # A value that is too large for a char must not become a double.
        with self.assertRaisesRegex(Exception, "OverflowError"):
            both(numpy.array([1]), numpy.array([128])).block_until_ready()
        wide = elementwise(narrow.other_results, pure=True)
        self.same(jax.jit(wide)(numpy.array([5, 300, -2**63])), [5, 300, -2**63], "int64")

    def test_numbers_of_python_are_no_narrow_ones(self):
        floats = elementwise(narrow.two_floats, pure=True)
        for value, which in ((1.5, 1), (numpy.float32(1.5), 0), (numpy.array([1.5]), 1), (numpy.array([1.5], "f4"), 0),
                             (jnp.bfloat16(1.5), 0), (numpy.float16(1.5), 0)):
            for form in (floats, jax.jit(floats)):
                self.same(numpy.ravel(form(value)), [which])

    def test_results_that_no_integer_type_holds_are_longs(self):
        identities = [ctypes.CFUNCTYPE(each, each)(lambda x: x) for each in (ctypes.c_long, ctypes.c_ulong)]

        def mine(x):
            return x

        typedcall.tag(mine, ["l->l", "L->L"], [ctypes.cast(each, ctypes.c_void_p).value for each in identities], flags=0)
        self.addCleanup(typedcall.untag, mine)
        made = elementwise(mine, pure=True)
        self.same(made(numpy.array([1, 2**63 - 1], "uint64")), [1, 2**63 - 1], "int64")
        with self.assertRaisesRegex(Exception, "OverflowError: a result does not fit its array"):
            made(numpy.array([2**63 + 1], "uint64")).block_until_ready()

    def test_results_of_several_kinds(self):
        def mine(x):
            return x

        entries = [typedcall.entries(getattr(narrow, each))[0] for each in ("same_b", "half")]
        half = typedcall.entries(functions.half)[0]
        typedcall.tag(mine, ["b->b", "l->d"], [entries[0].address, half.address], flags=half.flags)
        call = elementwise(mine)
        self.same(call(numpy.array([5], "int8")), [5], "int8")
        with self.assertRaisesRegex(TypeError, "the value of an argument decides which: 'b->b' or 'l->d'"):
            call(numpy.array([5]))

    def test_truth(self):
        negate = elementwise(functions.negate)
        for values in ([0.0, 1.5, numpy.nan], [0, 3, -1], [0j, 1j, 2.0], [False, True, True]):
            for form in (negate, jax.jit(negate)):
                self.same(form(numpy.array(values)), [True, False, False], "bool")

    def test_defaults(self):
        distance, mixed = map(elementwise, (defaults.distance, defaults.mixed))
        self.same(distance(X, 2.0), X + 20 + 100 + 2000 + 6371.5)
        self.same(mixed(2.0, 3, numpy.array([0.0, 5.0]), 4.0), [4.0, 10.0])
        with self.assertRaisesRegex(TypeError, r"distance takes 2 or 3 or 4 or 5 arrays in JAX \(1 given\)"):
            distance(X)

    def test_defaults_made_by_numpy(self):
        f = elementwise(matrix_tagged.tagged_with_numpy)
        self.same(f(1.5, X), [matrix_tagged.tagged_with_numpy(1.5, x) for x in X])

    def test_what_is_no_array(self):
        half, add = elementwise(functions.half), elementwise(functions.add)
        # JAX raises these errors.
        for arguments, message in (((None,), "None"), (("x",), "'x'|'str'|str_?>"), ((b"x",), "'x'|bytes"),
                                   (([1.0, None],), "None"), ((X, "x"), "'x'|'str'|str_?>"),
                                   ((X, None), "None"), ((numpy.array(["x"]),), "ndarray|U1")):
            if message == "None" and tuple(map(int, jax.__version__.split(".")[:2])) < (0, 6):
                continue  # older versions convert None to nan
            f = half if len(arguments) == 1 else add
            for call in (f, jax.jit(f)):
                with self.assertRaisesRegex((TypeError, ValueError), message):
                    call(*arguments)
        for f, count, arguments in ((half, 1, ()), (half, 1, (X, X)), (half, 1, (X,) * 40), (add, 2, (X,)),
                                    (add, 2, (X, X, X))):
            said = r"takes %d arrays in JAX \(%d given\)" % (count, len(arguments))
            with self.assertRaisesRegex(TypeError, said):
                f(*arguments)
        for call in (jax.jit(half), jax.vmap(half)):
            with self.assertRaisesRegex(TypeError, r"typed_functions.half takes 1 arrays in JAX \(2 given\)"):
                call(X, X)
        with self.assertRaisesRegex(TypeError, "unexpected keyword argument 'x'"):
            half(x=X)
        for f in (None, "x", 3, []):
            with self.assertRaisesRegex(TypeError, "nothing for JAX: it offers no typed function"):
                elementwise(f)
        self.same(half(X), X / 2)  # no exception is pending

    def test_no_derivative_until_there_is_one(self):
        square = elementwise(functions.square)
        with self.assertRaisesRegex(Exception, "(?i)differentiat"):
            jax.grad(square)(3.0)

        @jax.custom_jvp
        def known(x):
            return square(x)

        known.defjvp(lambda primals, tangents: (known(*primals), 2 * primals[0] * tangents[0]))
        self.assertEqual(float(jax.jit(jax.grad(known))(3.0)), 6.0)

    def test_what_jax_cannot_call(self):
        for f, message in ((functions.turn, "'Zd->Zd' has 'Zd', for which JAX has no arrays"),
                           (functions.same_text, "has 's'"), (functions.count, "no arguments or no result"),
                           (functions.slow, "does not say PURE.*pure=True"),
                           (functions.sum_of, "has '&kd'"), (len, "it offers no typed function")):
            with self.assertRaisesRegex(TypeError, message):
                elementwise(f)
        self.same(elementwise(functions.slow, pure=True)(X), X + 1)


class Errors(With64Bits):
    def raises(self, message, f, *arguments):
        for call in (f, jax.jit(f), jax.jit(jax.vmap(f))):
            with self.assertRaisesRegex(Exception, message):
                jax.block_until_ready(call(*arguments))

    def test_exceptions(self):
        check = elementwise(functions.check, pure=True)
        self.same(jax.jit(check)(numpy.arange(13)), numpy.arange(13))
        self.same(check(numpy.array([-1, 14])), [-1, 14])
        self.raises("typed_functions.check l->l: ValueError: thirteen", check, numpy.arange(20))
        self.same(jax.jit(check)(numpy.arange(13)), numpy.arange(13))
        invert = elementwise(functions.invert, pure=True)
        self.same(invert(numpy.array([4.0])), [0.25])
        self.raises("ZeroDivisionError: division by zero", invert, numpy.zeros(3))

    def test_falls_back(self):
        for size in (10, 10000):  # the GIL is released for large arrays
            x = numpy.arange(float(size))
            root = elementwise(fallbacks.root, pure=True)
            self.same(jax.jit(root)(x), numpy.sqrt(x))
            x[size // 2] = -1
            self.raises("fallback_functions.root d&d->i: ValueError: no result", root, x)
        tenfold = elementwise(fallbacks.tenfold, pure=True)
        self.same(jax.jit(tenfold)(numpy.array([4.0, -5.0])), [2.0, -50.0])

    def test_a_program_of_another_process(self):
        made = jax.ffi.ffi_call("typedcall_elementwise", jax.ShapeDtypeStruct((1,), "float64"))
        elementwise(functions.half)
        with self.assertRaisesRegex(Exception, "another process, which had f d->d"):
            jax.block_until_ready(made(X[:1], index=numpy.int64(0), name="f d->d"))
        for index in (-1, 2**40, 60000):
            with self.assertRaisesRegex(Exception, "another process"):
                jax.block_until_ready(made(X[:1], index=numpy.int64(index), name="x"))
        with self.assertRaisesRegex(Exception, "only typedcall.jax.elementwise"):
            jax.block_until_ready(made(X[:1], index=numpy.int64(0)))

    def test_arrays_of_others_than_it_has(self):
        elementwise(functions.half)
        names = {}
        from typedcall.sinks import jax as package
        for _, _, loops in package._known.values():
            names.update({loop.name: loop.number for loop in loops})
        name = "typed_functions.half d->d"
        for shape, dtype, arrays, message in (
                ((3,), "float64", [X[:4]], "different sizes"), ((4,), "int64", [X[:4]], "the type of an array"),
                ((4,), "float64", [X[:4].astype("complex64")], "the type of an array"),
                ((4,), "float64", [X[:4], X[:4]], "the number of arrays"),
                ((4,), "float64", [], "the number of arrays")):
            made = jax.ffi.ffi_call("typedcall_elementwise", jax.ShapeDtypeStruct(shape, dtype))
            with self.assertRaisesRegex(Exception, message):
                jax.block_until_ready(made(*arrays, index=numpy.int64(names[name]), name=name))


class Lifetimes(With64Bits):
    def test_the_function_is_kept_with_the_program(self):
        entry = typedcall.entries(functions.half)[0]

        def make():
            def f(x):
                return x

            typedcall.tag(f, "d->d", entry.address, flags=entry.flags)
            return jax.jit(elementwise(f)).lower(X).compile()

        program = make()
        gc.collect()
        self.same(program(X), X / 2)

    def test_one_function_once(self):
        elementwise(functions.half)
        from typedcall.sinks import jax as package
        before = len(package._known)
        for _ in range(100):
            elementwise(functions.half)
        self.assertEqual(len(package._known), before)

    @support.timing
    @support.WHERE_FREED_MEMORY_GOES
    def test_calls_leak_nothing(self):
        half = jax.jit(elementwise(functions.half))
        check = jax.jit(elementwise(functions.check, pure=True))
        x, thirteen = numpy.zeros(1000), numpy.full(3, 13)

        def run():
            for _ in range(10):
                half(x).block_until_ready()
            try:
                check(thirteen).block_until_ready()
            except Exception:
                pass

        leaks.check(run, 2500, warm_up=300, blocks=2000, kilobytes=4000)  # 25 million elements in all

    def test_the_end_of_the_interpreter(self):
        status, output, errors = support.python("-c", END % str(support.MODULES.parent))
        self.assertEqual((status, output.strip()), (0, "1.5"), errors)


class Without64Bits(With64Bits):
    bits = False

    def test_doubles_take_and_give_float32(self):
        half = elementwise(functions.half)
        for x in (X, X[:1], X[:0], X[:512], X[:513], numpy.arange(5)):
            self.same(jax.jit(half)(x), (x / 2).astype("f4") if x.dtype != "f8" else x.astype("f4") / 2, "float32")
        mix = jax.jit(elementwise(functions.mix))
        self.same(mix(2.0, 3, 4.0, 5), 26.0, "float32")
        root = elementwise(fallbacks.root, pure=True)
        self.same(root(numpy.arange(600.0)), numpy.sqrt(numpy.arange(600.0)).astype("f4"))
        with self.assertRaisesRegex(Exception, "no result"):
            root(numpy.array([-1.0])).block_until_ready()

    def test_integers_that_need_64_bits(self):
        inc = jax.jit(elementwise(functions.inc))
        self.same(inc(numpy.array([1, -1], "int32")), [2, 0], "int32")
        with self.assertRaisesRegex(Exception, "OverflowError: a result does not fit its array"):
            inc(numpy.array([2**31 - 1], "int32")).block_until_ready()
        eager = elementwise(functions.inc)
        self.same(eager(numpy.array([5, -5])), [6, -4], "int32")
        for value in (numpy.array([2**40]), numpy.int64(-2**31 - 1), [0, 2**40], numpy.array([2**63], "uint64")):
            with self.assertRaisesRegex(OverflowError, "too large|out of bounds"):
                eager(value)
        # JAX has promoted this value. Its result does not fit the narrower type.
        for call in (inc, eager):
            with self.assertRaisesRegex(Exception, "OverflowError: a result does not fit its array"):
                call(numpy.array([2**31], "uint32")).block_until_ready()


# Keeps compiled JAX programs until the interpreter ends.
END = """
import ctypes
import sys
sys.path.insert(0, %r)
import numpy, support, jax
from typedcall.jax import elementwise
functions = support.build("typed_functions")
half = jax.jit(elementwise(functions.half))
check = jax.jit(elementwise(functions.check, pure=True))
print(float(half(numpy.full(3, 3.0))[0]))
check(numpy.arange(3)).block_until_ready()
sys.kept = half, check
"""
