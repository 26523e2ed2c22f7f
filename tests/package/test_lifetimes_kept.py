"""Tests that objects that a tag keeps alive may refer back to the tagged function. Such a cycle must be collected."""
import sys
import sysconfig

import support
from test_lifetimes import Process, scipy

support.module_only_if(not support.IS_PYPY, "for CPython: on PyPy tags live with their functions")

# On free-threaded builds such a cycle lives until the interpreter ends. See docs/explanation/lifetimes.md.
WITH_GIL = support.only_if(not sysconfig.get_config_var("Py_GIL_DISABLED"))

KEEPS = """
class Kept(Callback):
    # Has an attribute, and reports its end.
    _flags_, _restype_, _argtypes_ = Callback._flags_, double, (double,)
    def __del__(self, write=__import__('os').write):
        write(1, b'gone\\n')
def keeping(back):
    kept = Kept(lambda x: x + 1)
    kept.back = back
    return kept
"""

# Objects with one dictionary, and the results of objects that nothing but their tags keeps tagged.
SHARING = KEEPS + """
class C:
    def __call__(self, x): return x
def sharing(first):
    other = C()
    other.__dict__ = first.__dict__
    return other
def results(*objects):
    churn()
    return [typedcall.resolve(each, "d->d")(1.0) for each in objects]
a = C()
"""


class Cycles(Process):
    def is_collected_after(self, code):
        self.runs("""
class C:
    def __call__(self, x):
        return x + 1
c = C()
typedcall.tag(c, "d->d", Callback(c.__call__))
%s
gone = weakref.ref(c)
del c
churn()
assert gone() is None
print("ok")
""" % code)

    @WITH_GIL
    def test_an_object_s_own_method(self):
        self.is_collected_after("""
assert typedcall.resolve(c, "d->d")(1.0) == 2.0
""")

    @WITH_GIL
    def test_globals_that_have_what_was_resolved(self):
        self.runs(KEEPS + """
space = {"typedcall": typedcall, "keeping": keeping}
exec('''
def f(x): return x
typedcall.tag(f, "d->d", keeping(globals()))
resolved = typedcall.resolve(f, "d->d")
entries = typedcall.entries(f)
''', space)
assert "__typedcall_keeper__" in vars(space["f"])
del space
churn()
print("ok")
""", "gone\nok")

    @WITH_GIL
    def test_what_is_added(self):
        self.is_collected_after("""
typedcall.add_overloads(c, "dd->d", ctypes.CFUNCTYPE(double, double, double)(lambda x, y: c(x)))
typedcall.untag(c)
typedcall.tag(c, "d->d", Callback(c.__call__))
entry, = typedcall.entries(c)
typedcall.tag(c, "d->d", entry.address, flags=entry.flags)
del entry
typedcall.add_overloads(c, "ddd->d", ctypes.CFUNCTYPE(double, double, double, double)(lambda x, y, z: c(x)))
churn()
assert [typedcall.resolve(c, "d->d")(4.0), typedcall.resolve(c, "ddd->d")(5.0, 1.0, 2.0)] == [5.0, 6.0]
""")

    @WITH_GIL
    def test_what_python_code_takes_away(self):
        self.runs("""
def f(x): return x
typedcall.tag(f, "d->d", plus(1))
called = typedcall.resolve(f, "d->d")
f.__dict__.clear()
assert typedcall.signatures(f) == ["d->d"]
churn()
assert called(1.0) == 2.0
del called
churn()
assert typedcall.signatures(f) == []
typedcall.tag(f, "d->d", plus(2))
assert typedcall.resolve(f, "d->d")(1.0) == 3.0
print("ok")
""")

    @WITH_GIL
    def test_two_objects_with_one_dictionary(self):
        self.runs(SHARING + """
b = sharing(a)
typedcall.tag(a, "d->d", keeping(0))
typedcall.tag(b, "d->d", plus(2))
assert results(a, b) == [2.0, 3.0]
typedcall.add_overloads(b, "dd->d", ctypes.CFUNCTYPE(double, double, double)(lambda x, y: x - y))
assert results(b) == [3.0] and typedcall.signatures(b) == ["d->d", "dd->d"]
del b
assert results(a) == [2.0]
del a
churn()
print("ok")
""", "gone\nok")

    @WITH_GIL
    def test_two_objects_with_one_dictionary_that_was_replaced(self):
        self.runs(SHARING + """
typedcall.tag(a, "d->d", keeping(0))
a.__dict__ = dict(a.__dict__)
b = sharing(a)
typedcall.tag(b, "d->d", plus(2))
assert results(a, b) == [2.0, 3.0]
del b
assert results(a) == [2.0]
del a
churn()
print("ok")
""", "gone\nok")

    @WITH_GIL
    def test_many_objects_with_one_dictionary(self):
        self.runs(SHARING + """
typedcall.tag(a, "d->d", plus(1))
kept = []
for i in range(20):
    callback = plus(2)
    kept.append(weakref.ref(callback))
    typedcall.tag(sharing(a), "d->d", callback)
    del callback
churn()
assert [each() for each in kept] == [None] * 20, kept
assert results(a) == [2.0]
print("ok")
""", "ok")

    @WITH_GIL
    def test_an_object_outlives_another_with_its_dictionary(self):
        self.runs(SHARING + """
b = sharing(a)
typedcall.tag(a, "d->d", plus(1))
typedcall.tag(b, "d->d", plus(2))
del a
assert results(b) == [3.0]
typedcall.untag(b)
back = lambda x, back=b: x + 4
typedcall.tag(b, "d->d", Callback(back))
del back
assert results(b) == [5.0]
gone = weakref.ref(b)
del b
churn()
assert gone() is None
print("ok")
""", "ok")

    @WITH_GIL
    def test_a_copy_of_a_dictionary(self):
        self.is_collected_after("""
import copy
other = copy.copy(c)
kept = Callback(lambda x, back=other: x + 2)
typedcall.tag(other, "d->d", kept)
watched = weakref.ref(other)
del kept, other
churn()
assert watched() is None and typedcall.resolve(c, "d->d")(1.0) == 2.0
""")

    @WITH_GIL
    def test_tuples_that_lead_back(self):
        self.is_collected_after("""
from typedcall.native import _native
keeper = vars(c)["__typedcall_keeper__"]
_native.tag(c, [("d->d", 2, typedcall.entries(c)[0].address)], ((c, keeper), keeper))
assert any(keeper in each for each in gc.get_referents(keeper) if type(each) is tuple)
del keeper
""")

    @WITH_GIL
    @support.only_if(scipy is not None)
    def test_a_low_level_callable_that_leads_back(self):
        self.is_collected_after("""
import scipy
keeper = vars(c)["__typedcall_keeper__"]
function = ctypes.CFUNCTYPE(double, double, double)(lambda x, y: x)
found = scipy.LowLevelCallable(function)
found = tuple.__new__(scipy.LowLevelCallable, (*tuple(found)[:2], (keeper,)))
typedcall.add_overloads(c, "dd->d", found)
del keeper, found
""")

    @support.only_if(sys.version_info >= (3, 10))  # CPython 3.9 does not collect this cycle
    def test_the_end_of_the_interpreter(self):
        for function in ("math.cos", "f"):
            with self.subTest(function=function):
                self.runs(KEEPS + """
import math
def f(x): return x
space = {}
space["kept"] = keeping(space)
typedcall.tag(%s, "d->d", space["kept"])
space["resolved"] = typedcall.resolve(%s, "d->d")
# The interpreter does not clear this dictionary, because it belongs to no module.
del space
print("ok", flush=True)
""" % (function, function), "ok\ngone")
