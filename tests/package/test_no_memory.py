# Tests the package's functions while memory allocation fails. Each sweep runs in a separate process, because CPython
# itself may crash. NumPy crashes if there is no memory for a ufunc, so its own allocations must succeed. CPython 3.12
# and 3.13 crash if there is no memory for a function or a generator, so some tests are skipped there.
import ast
import importlib.util
import inspect
import sys
import textwrap
import unittest

import support

FOLDERS = "it uses pathlib, which raises its own TypeError without memory"
# The test of each public function, or the reason why there is none.
SWEPT = {
    "Entry": "test_records",
    "Flags": "test_records",
    "TypedFunction": "test_typed_functions",
    "accelerate": "it is for PyPy",
    "accelerate_imports": "it is for PyPy",
    "add_overloads": "test_python_api",
    "publish": "test_adopting",
    "callback": "test_for_callbacks",
    "cffi_function": "test_for_cffi",
    "ctypes_function": "test_for_ctypes",
    "cython_declarations": "test_for_cython",
    "entries": "test_python_api",
    "explain": "it is for people, and asks other libraries",
    "export_to_cython": "test_for_cython",
    "get_cmake_dir": FOLDERS,
    "get_include": FOLDERS,
    "get_pkgconfig_dir": FOLDERS,
    "get_source": FOLDERS,
    "load_tags": "it uses importlib.metadata and other packages' code",
    "low_level_callable": "test_for_scipy",
    "parse_signature": "test_records",
    "resolve": "test_python_api",
    "restore": "it is for PyPy",
    "signatures": "test_python_api",
    "tag": "test_python_api",
    "tag_module": "it opens libraries through ctypes; tag(), which does the work, is swept",
    "tag_pyx_capi": "test_for_cython",
    "ufunc": "test_for_numpy",
    "untag": "test_python_api",
}
support.module_only_if(sys.implementation.name == "cpython",
                       "for CPython, whose allocators can be told to refuse")
support.module_only_if(importlib.util.find_spec("_testcapi"), "this interpreter has no _testcapi")

from no_memory_support import MAKES_FUNCTIONS  # noqa: E402

NO_FUNCTIONS_MADE = support.only_if(not MAKES_FUNCTIONS)

SWEEP = """
import ctypes, ctypes.util, gc, pickle, re, sys
sys.path.insert(0, %r)
import typedcall
from no_memory_support import ENDS_DEEP_CALLS, again, refuse, sweep
from typedcall.native import _native
libm = ctypes.CDLL(ctypes.util.find_library("m"))
address = ctypes.cast(libm.erf, ctypes.c_void_p).value
rows = (("d->d", 0, address), ("f->f", 0, address))
class Callable:
    def __call__(self, x): return x
""" % str(support.MODULES.parent)


def source_of(test, name):
    """Returns the source of the method with this name, even if the test is skipped."""
    source = inspect.getsource(sys.modules[type(test).__module__])
    method, = (each for each in ast.walk(ast.parse(source))
               if isinstance(each, ast.FunctionDef) and each.name == name)
    return ast.get_source_segment(source, method)


class WithoutMemory(unittest.TestCase):
    def run_sweep(self, code, needs=None):
        if needs is not None:
            if importlib.util.find_spec(needs) is None:
                self.skipTest(needs + " is not installed")
            code = "import " + needs + textwrap.dedent(code)
        status, said, _ = support.python("-X", "faulthandler", "-c", SWEEP + textwrap.dedent(code),
                                         together=True, timeout=300)
        self.assertEqual(status, 0, said[-3000:])

    def test_tags(self):
        self.run_sweep("""
        one = Callable()
        sweep(lambda: _native.tag(one, rows, None), lambda taken: _native.untag(one))
        kept = Callable()
        sweep(lambda: _native.tag(one, rows, kept), lambda taken: _native.untag(one))
        assert _native.tag(one, rows, kept) is True
        sweep(lambda: _native.tag(one, rows, Callable()))
        sweep(lambda: _native.tag(one, rows[:1], None), lambda taken: taken.index("is tagged already"))
        sweep(lambda: _native.tag(one, [("x", 0, address)], None), errors=ValueError)
        sweep(lambda: _native.entries(one))
        assert len(_native.entries(one)) == 2 and _native.untag(one) is True
        assert _native.entries(one) == []
        """)

    def test_finding(self):
        self.run_sweep("""
        one = Callable()
        _native.tag(one, rows, None)
        for casting in _native.CASTINGS:
            sweep(lambda: _native.find(one, "d->d", 0, casting))
            sweep(lambda: _native.find(one, "l->l", 0, casting))
            sweep(lambda: _native.select(rows, "d->d", 0, casting))
        for callable in (one, len, Callable(), None, list.append):
            sweep(lambda: _native.refuse(callable, "dd->d", 0, "exact"), errors=TypeError)
        sweep(lambda: _native.parse_signature("dd&lZd->Zd"))
        sweep(lambda: _native.parse_signature("dd"), errors=ValueError)
        """)

    def test_typed_functions(self):
        self.run_sweep("""
        one = Callable()
        _native.tag(one, rows, None)
        f = typedcall.resolve(one, "d->d")
        parts = (one, "d->d", 0, address, "object row", f, "d->d", "exact")
        for make in (lambda: _native.make_function(*parts), lambda: f(0.5), lambda: repr(f),
                     lambda: (f.address, f.flags, f.signature), lambda: f.__reduce__()):
            sweep(make)
        sweep(lambda: f("x"), errors=TypeError)
        assert f(0.5) == libm_erf(0.5)
        """.replace("libm_erf(0.5)", "__import__('math').erf(0.5)"))

    @NO_FUNCTIONS_MADE  # the message for unsuitable arguments uses generators
    def test_arguments_that_do_not_fit(self):
        self.run_sweep("""
        one = Callable()
        _native.tag(one, rows, None)
        f = typedcall.resolve(one, "d->d")
        sweep(lambda: f(), errors=TypeError)
        sweep(lambda: f(x=1), errors=TypeError)
        """)

    def test_every_public_function_is_swept(self):
        import typedcall

        self.assertEqual(sorted(SWEPT), sorted(typedcall.__all__))
        for name, where in SWEPT.items():
            if where.startswith("test_"):
                sweep = source_of(self, where)
                self.assertIn(name, sweep.replace("make_function", "TypedFunction"))

    def test_records(self):
        self.run_sweep("""
        sweep(lambda: typedcall.parse_signature("dd&lZd->Zd"))
        sweep(lambda: typedcall.parse_signature("dd"), errors=ValueError)
        sweep(lambda: typedcall.Entry("d->d", typedcall.Flags(0), address, "object row", None))
        sweep(lambda: repr(typedcall.Flags.PURE | typedcall.Flags.SHORT))
        # Without memory, enum's own loop does not end in these versions, not even for other enum.Flag classes.
        if not (3, 11) <= sys.version_info[:3] < (3, 11, 7):
            sweep(lambda: typedcall.Flags(1 << 40), errors=ValueError)
        """)

    @NO_FUNCTIONS_MADE  # the adapters use generators
    def test_adopting(self):
        self.run_sweep("""
        one = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(address)
        assert typedcall.publish(one) == ["d->d"]
        typedcall.untag(one)
        sweep(lambda: typedcall.publish(one), lambda taken: typedcall.untag(one))
        sweep(lambda: typedcall.publish(Callable()))
        """)

    @NO_FUNCTIONS_MADE  # choosing an entry uses generators
    def test_for_ctypes(self):
        self.run_sweep("""
        one = Callable()
        typedcall.tag(one, "d->d", address)
        typedcall.ctypes_function(one)
        sweep(lambda: typedcall.ctypes_function(one))
        sweep(lambda: typedcall.ctypes_function(one, "l->l"), errors=TypeError)
        """)

    @NO_FUNCTIONS_MADE  # preparing the call uses generators
    def test_for_callbacks(self):
        self.run_sweep("""
        one = Callable()
        typedcall.tag(one, "d->d", address, flags=typedcall.Flags.THREAD_SAFE)
        onwards = not ENDS_DEEP_CALLS  # reading C text is that deep
        for c_type in ("double(double x, void *data)", "double(double x)"):
            typedcall.callback(one, c_type)
            sweep(lambda: typedcall.callback(one, c_type), onwards=onwards)
        sweep(lambda: typedcall.callback(one, "long(long)"), errors=TypeError, onwards=onwards)
        sweep(lambda: typedcall.callback(one, "double(spam)"), errors=ValueError, onwards=onwards)
        """)

    @NO_FUNCTIONS_MADE  # choosing an entry uses generators
    def test_for_cffi(self):
        self.run_sweep("""
        one = Callable()
        typedcall.tag(one, "d->d", address, flags=typedcall.Flags.THREAD_SAFE)
        typedcall.cffi_function(one)
        sweep(lambda: typedcall.cffi_function(one))
        """, needs="cffi")

    @NO_FUNCTIONS_MADE  # choosing an entry uses generators
    def test_for_cython(self):
        self.run_sweep("""
        import types
        one = Callable()
        typedcall.tag(one, "d->d", address)
        module = types.ModuleType("module")
        module.one = one
        typedcall.export_to_cython(module)
        def undo(result):
            module.__dict__.pop("__pyx_capi__", None)
        undo(None)
        sweep(lambda: typedcall.export_to_cython(module), undo)
        typedcall.export_to_cython(module)
        typedcall.cython_declarations(module)
        sweep(lambda: typedcall.cython_declarations(module))
        other = types.ModuleType("other")
        other.__pyx_capi__ = {"one": typedcall.record.capsules.make_capsule(
            address, "double (double, int __pyx_skip_dispatch)")}
        sys.modules["other"] = other
        other.one = one = Callable()
        onwards = not ENDS_DEEP_CALLS  # reading C text is that deep
        sweep(lambda: typedcall.tag_pyx_capi(other), errors=TypeError, onwards=onwards)  # not a function of this module
        one.__module__, one.__name__ = "other", "one"
        assert typedcall.tag_pyx_capi(other) == ["one"]
        typedcall.untag(one)
        sweep(lambda: typedcall.tag_pyx_capi(other), lambda result: typedcall.untag(one), onwards=onwards)
        """)

    @NO_FUNCTIONS_MADE  # choosing an entry uses generators
    def test_for_scipy(self):
        self.run_sweep("""
        one = Callable()
        typedcall.tag(one, "d->d", address)
        typedcall.low_level_callable(one)
        sweep(lambda: typedcall.low_level_callable(one))
        """, needs="scipy")

    def test_for_numpy(self):
        self.run_sweep("""
        from typedcall.native._native import scalar_functions
        from typedcall.numpy._numpy_bridge import make_ufunc
        one = Callable()
        typedcall.tag(one, "d->d", address)
        typedcall.ufunc(one)
        double = bytes([numpy.dtype("d").num])
        loops = (("d->d", 0, address, one),) * 3
        make_ufunc("name", "doc", loops, double * 6, 1, 1)
        # The last one is wrong: everything before NumPy's part is made and released.
        wrong = loops + (("x", 0, address, one),)
        sweep(lambda: make_ufunc("name", "doc", wrong, double * 8, 1, 1), errors=ValueError)
        rows = (("*kd->d", 0, address, one, one, (("d", 0, -1, 0, one),)),) * 3
        make_ufunc("name", "doc", rows, double * 6, 1, 1, "(n)->()")
        wrong = rows + (("*kd->d", 0, address, one, one, ()),)
        sweep(lambda: make_ufunc("name", "doc", wrong, double * 8, 1, 1, "(n)->()"),
              errors=ValueError)
        before = sys.getrefcount(one)
        sweep(lambda: scalar_functions(numpy.cbrt))
        sweep(lambda: scalar_functions(one), errors=TypeError)
        gc.collect()
        assert sys.getrefcount(one) == before
        """, needs="numpy")

    @NO_FUNCTIONS_MADE  # choosing an entry uses generators
    def test_what_numpy_cannot_use(self):
        self.run_sweep("""
        one = Callable()
        typedcall.tag(one, "P->P", address)
        try:
            typedcall.ufunc(one)
        except TypeError:
            sweep(lambda: typedcall.ufunc(one), errors=TypeError)
        else:
            raise AssertionError
        """, needs="numpy")

    def test_python_api(self):
        self.run_sweep("""
        one = Callable()
        sweep(lambda: typedcall.tag(one, "d->d", address), lambda taken: typedcall.untag(one))
        typedcall.tag(one, "d->d", address)
        other = Callable()
        sweep(lambda: typedcall.add_overloads(other, "l->l", address), lambda taken: typedcall.untag(other))
        sweep(lambda: typedcall.entries(one))
        sweep(lambda: typedcall.signatures(one))
        sweep(lambda: typedcall.resolve(one, "d->d"))
        sweep(lambda: typedcall.resolve(one, "l->l"), errors=TypeError)
        sweep(lambda: typedcall.untag(one), lambda taken: typedcall.tag(one, "d->d", address))

        def again_with_one():
            typedcall.untag(one)
            typedcall.tag(one, "d->d", address)

        sweep(lambda: typedcall.add_overloads(one, "l->l", address), lambda taken: again_with_one())
        """)
