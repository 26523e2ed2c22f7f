"""Tests that a consumer keeps the function that it calls alive. Each case runs in a separate process, in which freed
memory is overwritten."""
import sysconfig
import unittest

import support

support.module_only_if(not support.IS_PYPY, "for CPython: on PyPy tags live with their functions")

try:
    import numpy
except ImportError:
    numpy = None
try:
    import scipy
except ImportError:
    scipy = None

COMMON = """
import ctypes, gc, sys, weakref
import typedcall

double = ctypes.c_double
Callback = ctypes.CFUNCTYPE(double, double)
def plus(n):
    return Callback(lambda x: x + n)
def churn():  # overwrites freed memory
    # Objects that a row kept may be part of a cycle, such as those that ctypes.cast() creates.
    for _ in range(50):
        if not gc.collect():
            break
    else:
        raise AssertionError("a cycle is never collected")
    return [Callback(lambda x: -1.0) for _ in range(200)]
"""


class Process(unittest.TestCase):
    def runs(self, code, expected="ok"):
        # These variables make the allocators overwrite freed memory, including small blocks.
        environment = {"MALLOC_PERTURB_": "165", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}
        if not sysconfig.get_config_var("Py_GIL_DISABLED"):  # free-threaded builds need their own allocator
            environment["PYTHONMALLOC"] = "malloc"
        status, said, _ = support.python("-X", "faulthandler", "-c", COMMON + code, together=True,
                                         environment=environment, timeout=300)
        self.assertEqual((status, said.strip()), (0, expected))


class Alive(Process):
    def test_one_def_of_several_functions(self):
        self.runs("""
class L(list):
    append = None
first = super(L, L()).append
typedcall.tag(first, "d->d", plus(1))
second = super(L, L()).append
f = typedcall.resolve(second, "d->d")
entry, = typedcall.entries(second)
del first
kept = churn()
assert f(1.0) == 2.0, f(1.0)
assert typedcall.resolve(second, "d->d").address == f.address
again = Callback(entry.address)
assert again(1.0) == 2.0
del f, entry, again
churn()
assert typedcall.entries(second) == []
print("ok")
""")

    def test_a_module_that_is_imported_twice(self):
        self.runs("""
import cmath
tagged = plus(1)
watched = weakref.ref(tagged)
typedcall.tag(cmath.phase, "d->d", tagged)
del sys.modules["cmath"], tagged
import cmath as second
assert second is not cmath
f = typedcall.resolve(second.phase, "d->d")
first = weakref.ref(cmath)
del cmath
kept = churn()
assert f(1.0) == 2.0 and watched() is not None
del f
churn()
# CPython 3.9 keeps the first module alive.
assert first() is not None or watched() is None and typedcall.entries(second.phase) == []
print("ok")
""")

    def test_a_collection_while_entries_are_read(self):
        self.runs("""
class L(list):
    append = None
second = super(L, L()).append
for turn in range(50):
    # Two entries: building the row of the first collects the owner.
    first = super(L, L()).append
    cycle = [first]
    cycle.append(cycle)
    of_two = ctypes.CFUNCTYPE(double, double, double)(lambda x, y: x + y)
    typedcall.tag(first, ["d->d", "dd->d"], [plus(1), of_two])
    watched = weakref.ref(of_two)
    del first, cycle, of_two
    gc.set_threshold(1, 1, 1)
    found = typedcall.entries(second)
    gc.set_threshold(700, 10, 10)
    for entry in found:
        assert entry.signature in ("d->d", "dd->d") and watched() is not None
    kept = churn()
    for entry in found:
        if entry.signature == "d->d":
            assert Callback(entry.address)(1.0) == 2.0
    del found
    entry = None
    churn()
print("ok")
""")

    def test_a_field_an_element_and_contents(self):
        self.runs("""
class S(ctypes.Structure):
    _fields_ = [("n", ctypes.c_int), ("cb", Callback)]
class Outer(ctypes.Structure):
    _fields_ = [("inner", S)]
def of_field():
    s = S()
    s.cb = plus(1)
    def overwrite(): s.cb = plus(7)
    return s.cb, overwrite
def of_nested():
    outer = Outer()
    outer.inner.cb = plus(1)
    def overwrite(): outer.inner.cb = plus(7)
    return outer.inner.cb, overwrite
def of_element():
    array = (Callback * 3)()
    array[1] = plus(1)
    def overwrite(): array[1] = plus(7)
    return array[1], overwrite
def of_contents():
    pointer = ctypes.pointer(plus(1))
    def overwrite(): pointer.contents = plus(7)
    return pointer.contents, overwrite
def of_buffer():
    s = S(cb=plus(1))
    def overwrite(): s.cb = plus(7)
    return Callback.from_buffer(s, S.cb.offset), overwrite
def of_buffer_of_view():
    array = (S * 2)()
    array[1].cb = plus(1)
    def overwrite(): array[1].cb = plus(7)
    return S.from_buffer(memoryview(array).cast("B"), ctypes.sizeof(S)).cb, overwrite
for make in (of_field, of_nested, of_element, of_contents, of_buffer, of_buffer_of_view):
    shared, overwrite = make()
    f = typedcall.resolve(shared, "d->d")
    entry, = typedcall.entries(shared)
    pointer = typedcall.ctypes_function(shared)
    other = lambda x: x
    typedcall.tag(other, "d->d", shared)
    g = typedcall.resolve(other, "d->d")
    overwrite()
    kept = churn()
    assert (f(1.0), g(1.0), pointer(1.0)) == (2.0, 2.0, 2.0), make
    del entry, f, g, pointer, other
print("ok")
""")

    def test_a_ctypes_function_in_a_struct(self):
        self.runs("""
class S(ctypes.Structure):
    _fields_ = [("cb", Callback)]
def function(x): return x
typedcall.tag(function, "d->d", plus(1))
s = S()
s.cb = typedcall.ctypes_function(function)
del function
kept = churn()
print("ok" if s.cb(1.0) == 2.0 else s.cb(1.0))
""")

    def test_adopted(self):
        self.runs("""
class S(ctypes.Structure):
    _fields_ = [("cb", Callback)]
s = S()
s.cb = plus(1)
shared = s.cb
assert typedcall.publish(shared) == ["d->d"]
s.cb = plus(7)
kept = churn()
assert typedcall.resolve(shared, "d->d")(1.0) == 2.0
gone = weakref.ref(shared)
del shared, s
churn()
assert gone() is None
print("ok")
""")

    @unittest.skipIf(numpy is None, "NumPy is not installed")
    def test_a_ufunc(self):
        self.runs("""
import numpy
class S(ctypes.Structure):
    _fields_ = [("cb", Callback)]
class L(list):
    append = None
first, second = super(L, L()).append, super(L, L()).append
typedcall.tag(first, "d->d", plus(1))
s = S()
s.cb = plus(1)
for made in (typedcall.ufunc(s.cb), typedcall.ufunc(second)):
    first = None
    s.cb = plus(7)
    kept = churn()
    assert made(numpy.arange(3.0)).tolist() == [1.0, 2.0, 3.0]
print("ok")
""")

    @unittest.skipIf(scipy is None, "SciPy is not installed")
    def test_a_low_level_callable(self):
        self.runs("""
from scipy import integrate
class S(ctypes.Structure):
    _fields_ = [("cb", Callback), ("of_two", ctypes.CFUNCTYPE(double, double, double))]
s = S()
s.cb = plus(1)
s.of_two = ctypes.CFUNCTYPE(double, double, double)(lambda x, y: x + y)
made, of_two = typedcall.low_level_callable(s.cb), typedcall.low_level_callable(s.of_two)
s.cb = plus(7)
s.of_two = ctypes.CFUNCTYPE(double, double, double)(lambda x, y: 7.0)
kept = churn()
assert abs(integrate.quad(made, 0, 1)[0] - 1.5) < 1e-9
assert abs(integrate.quad(of_two, 0, 1, args=(1.0,))[0] - 1.5) < 1e-9
function = typedcall.low_level_callable(plus(1)).function
kept = churn()
assert typedcall.resolve(function, "d->d")(1.0) == 2.0
try:
    made.typed_function = None
except AttributeError:
    print("ok")
""")

    def test_what_cython_imports(self):
        self.runs("""
import types
class L(list):
    append = None
module = types.ModuleType("module")
module.f = super(L, L()).append
typedcall.tag(module.f, "d->d", plus(1))
sys.modules["module"] = module
assert typedcall.export_to_cython("module") == ["f"]
address = typedcall.entries(module.f)[0].address
capsule = module.__pyx_capi__["f"]
del sys.modules["module"], module, capsule
kept = churn()
assert Callback(address)(1.0) == 2.0
print("ok")
""")

    def test_a_second_equal_tag(self):
        self.runs("""
import math
callback = plus(1)
address = ctypes.cast(callback, ctypes.c_void_p).value
typedcall.tag(math.erf, "d->d", address, flags=typedcall.Flags.ACQUIRES_GIL)
typedcall.tag(math.erf, "d->d", callback)
f = typedcall.resolve(math.erf, "d->d")
del callback
kept = churn()
assert f(1.0) == 2.0
print("ok")
""")

    def test_what_was_untagged_and_tagged_again(self):
        self.runs("""
import math
typedcall.tag(math.erf, "d->d", plus(1))
f = typedcall.resolve(math.erf, "d->d")
typedcall.untag(math.erf)
typedcall.tag(math.erf, "d->d", plus(2))
kept = churn()
assert (f(1.0), typedcall.resolve(math.erf, "d->d")(1.0)) == (2.0, 3.0)
print("ok")
""")

    def test_the_interpreters_own_dictionary_is_emptied(self):
        self.runs("""
import math, _extensibletype
typedcall.tag(math.erf, "d->d", plus(1))
f = typedcall.resolve(math.erf, "d->d")
key = "_extensibletype.typedcall_v2"
own = [each for each in gc.get_objects() if type(each) is dict and key in each]
for each in own:
    each.clear()
    each.pop(key, None)
del _extensibletype.typedcall_v2, sys.modules["_extensibletype"]
for each in own:
    each.clear()
kept = churn()
assert f(1.0) == 2.0
assert typedcall.resolve(math.erf, "d->d")(1.0) == 2.0
from typedcall.native import _native
for name in [name for name in sys.modules if name.startswith("typedcall")]:
    del sys.modules[name]
import typedcall as again
assert again.signatures(math.erf) == ["d->d"]
print("ok")
""")

    def test_the_end_of_the_interpreter(self):
        self.runs("""
class L(list): append = None
targets = [list.append, list.pop, dict.get, str.upper, set.add, bytes.hex, len, super(L, L()).append]
from typedcall.native import _native
class Kept(ctypes.c_void_p):
    # The package's own names are gone by then, but not the objects imported from it.
    def __del__(self, native=(_native.untag, _native.entries), tag=_native.tag, find=_native.find,
                targets=targets, errors=(Exception,)):
        for each in targets:
            for act in native:
                try:
                    act(each)
                except errors:
                    pass
            for signature in ("d->d", "l->l"):
                try:
                    find(each, signature, 0, "safe")
                    tag(each, [(signature, 0, 4096)], targets)
                except errors:
                    pass
callback = plus(1)
for each in targets:
    typedcall.tag(each, "d->d", Kept(ctypes.cast(callback, ctypes.c_void_p).value))
    typedcall.untag(each)
    typedcall.tag(each, "d->d", Kept(ctypes.cast(callback, ctypes.c_void_p).value))
print("ok")
""")


class Collected(Process):
    def goes(self, code):
        self.runs("""
c = plus(1)
%s
gone = weakref.ref(c)
del c
churn()
assert gone() is None
print("ok")
""" % code)

    def test_what_an_untagged_function_was_tagged_with(self):
        self.goes("def f(x): return x\nfor _ in range(3): typedcall.tag(f, 'd->d', c); typedcall.untag(f)\n"
                  "del f")
        self.goes("def f(x): return x\ntypedcall.tag(f, 'd->d', c); typedcall.untag(f)\n"
                  "typedcall.tag(f, 'd->d', plus(2)); typedcall.untag(f); typedcall.tag(f, 'd->d', c)\ndel f")

    def test_what_was_resolved(self):
        self.goes("c.f = typedcall.resolve(c, 'd->d')")

    def test_what_was_resolved_by_a_text_that_refers_to_it(self):
        self.goes("class Text(str): pass\ntext, casting = Text('d->d'), Text('exact')\n"
                  "text.f = casting.f = typedcall.resolve(c, text, casting=casting)\n"
                  "del text, casting")

    def test_a_long_chain(self):
        self.goes("import threading\nthreading.stack_size(1 << 19)\nchain = [c]\n"
                  "for _ in range(150000): chain[0] = typedcall.resolve(chain[0], 'd->d')\n"
                  "thread = threading.Thread(target=chain.clear)\nthread.start(); thread.join()")

    def test_entries(self):
        self.goes("c.e = typedcall.entries(c)")

    def test_its_own_tag(self):
        self.goes("typedcall.tag(c, 'd->d', c)")
        self.goes("typedcall.tag(c, 'd->d', c); typedcall.tag(c, 'd->d', c)")
        self.goes("typedcall.publish(c); typedcall.tag(c, 'd->d', c)")
        self.goes("typedcall.tag(c, 'd->d', c); c.e = typedcall.entries(c)\n"
                  "c.f = typedcall.resolve(c, 'd->d')")

    def test_adopted(self):
        self.goes("typedcall.publish(c); c.e = typedcall.entries(c)")

    def test_a_ctypes_function(self):
        self.goes("c.p = typedcall.ctypes_function(c)")

    @unittest.skipIf(numpy is None, "NumPy is not installed")
    def test_a_ufunc(self):
        self.goes("c.u = typedcall.ufunc(c)")
        self.goes("typedcall.tag(c, 'd->d', c); c.u = typedcall.ufunc(c)")

    @unittest.skipIf(scipy is None, "SciPy is not installed")
    def test_a_low_level_callable(self):
        self.goes("c.l = typedcall.low_level_callable(c)")
        self.goes("typedcall.tag(c, 'd->d', c); c.l = typedcall.low_level_callable(c)")

    @unittest.skipIf(scipy is None, "SciPy is not installed")
    def test_a_low_level_callable_of_several_doubles(self):
        self.goes("c = ctypes.CFUNCTYPE(double, double, double)(lambda x, y: x)\n"
                  "c.l = typedcall.low_level_callable(c)")
