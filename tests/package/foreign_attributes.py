"""Objects of other libraries with one attribute that a test controls, for test_foreign_attributes.py."""
import contextlib
import ctypes
import importlib
import itertools
import sys
import types
import unittest

import support
from typedcall.record.capsules import make_capsule

plain = support.build("plain_functions")
HALF = plain.addresses["half"]


#: Attributes that are methods.
METHODS = ("__bool__ __call__ __eq__ __getattr__ __getattribute__ __getitem__ __hash__ __init__ "
           "__iter__ __len__ __repr__ __str__ __wrapper_address__ signature").split()


class Text(str):
    """A str whose methods raise exceptions."""

    def __hash__(self):
        raise ValueError("no hash")

    __eq__ = __str__ = __len__ = __getitem__ = __format__ = __contains__ = __hash__


class Answer:
    """Replaces an attribute. Once armed, it returns a value or raises an exception, and records that it was read."""

    def __init__(self, value=None, error=None):
        self.value, self.error = value, error
        self.is_armed = self.was_asked = False

    def __call__(self, *unused):
        self.was_asked = True
        if self.error is not None:
            raise self.error
        return self.value


def overriding(base, name, answer, of_class=False):
    """Returns a subclass of `base` whose instances have the replaced attribute. With `of_class`, the class itself has
    it."""
    def usual(self):
        if name not in METHODS and name in getattr(self, "__dict__", {}):
            return vars(self)[name]
        for each in itertools.chain(self.__mro__ if of_class else (), owner.__mro__[1:]):
            if name in vars(each):
                found = vars(each)[name]
                return found.__get__(self, type(self)) if hasattr(found, "__get__") else found
        raise AttributeError(name)

    def attribute(self):
        return answer() if answer.is_armed else usual(self)

    def method(self, *args):
        return answer() if answer.is_armed else usual(self)(*args)

    made = {name: method if name in METHODS else property(attribute)}
    # ctypes reads these attributes only from the class itself.
    needed = {each: value for each, value in vars(base).items()
              if each in ("_flags_", "_argtypes_", "_restype_", "_type_")}
    if of_class:
        owner = type("Meta", (type(base),), made)
        return owner("Overriding", (base,), needed)
    owner = type(base)("Overriding", (base,), {**needed, **made})
    return owner


# --- For each kind of object, a function that makes one whose attribute `name` is `answer` -------

PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)


@contextlib.contextmanager
def of_ctypes(name, answer):
    pointer = overriding(PROTOTYPE, name, answer)(HALF)
    yield pointer


@contextlib.contextmanager
def of_ctypes_callback(name, answer):
    yield overriding(PROTOTYPE, name, answer)(lambda x: x)


@contextlib.contextmanager
def of_shared_ctypes(name, answer):
    kind = overriding(PROTOTYPE, name, answer)
    room = (kind * 1)(kind(HALF))
    yield room[0]


@contextlib.contextmanager
def of_ctypes_class(name, answer):
    yield overriding(PROTOTYPE, name, answer, True)(HALF)


def of_ctypes_result(base, metaclass_too):
    @contextlib.contextmanager
    def make(name, answer):
        pointer = PROTOTYPE(HALF)
        pointer.argtypes = [overriding(base, name, answer, metaclass_too)]
        yield pointer

    return make


def need(*names):
    try:
        for name in names:
            importlib.import_module(name)
    except ImportError as error:
        raise unittest.SkipTest("%s is not installed (%s)" % (name, error)) from None


def importable(name):
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


@contextlib.contextmanager
def of_cffi_module(name, answer):
    need("cffi", "_cffi_backend")
    import cffi

    real = sys.modules["_cffi_backend"]
    kind = type("Module", (types.ModuleType,), {})
    stand_in = kind("_cffi_backend")
    vars(stand_in).update(vars(real))
    stand_in.__class__ = overriding(kind, name, answer)
    pointer = cffi.FFI().cast("double(*)(double)", HALF)
    with support.modules({"_cffi_backend": stand_in}):
        yield pointer


@contextlib.contextmanager
def of_cython(name, answer):
    kind = type("cython_function_or_method", (), {"__call__": lambda self, x: x})
    function = kind()
    function.__module__, function.__name__ = "exporting", "half"
    module = types.ModuleType("exporting")
    module.half = function
    function.__signatures__ = {"d": function}
    module.__pyx_capi__ = {"half": 5}
    if not support.IS_PYPY:
        declared = "double (double, int __pyx_skip_dispatch)"
        module.__pyx_capi__["half"] = make_capsule(HALF, declared)
    function.__class__ = overriding(kind, name, answer)
    type.__dict__["__name__"].__set__(type(function), kind.__name__)
    with support.modules({"exporting": module}):
        yield function


@contextlib.contextmanager
def of_cython_module(name, answer):
    with of_cython("unused", answer) as function:
        module = sys.modules["exporting"]
        kind = type("Module", (types.ModuleType,), {})
        other = kind("exporting")
        vars(other).update(vars(module))
        other.__class__ = overriding(kind, name, answer)
        with support.modules({"exporting": other}):
            yield function


@contextlib.contextmanager
def of_numba_protocol(name, answer):
    need("numba")
    import numba

    base = sys.modules["numba.core.types.function_type"].WrapperAddressProtocol
    double = numba.float64
    kind = type("Pretended", (base,), {
        "__wrapper_address__": lambda self: HALF, "signature": lambda self: double(double),
        "__call__": lambda self, x: x / 2})
    yield overriding(kind, name, answer)()


@contextlib.contextmanager
def of_numba_signature(name, answer):
    with of_numba_protocol("unused", answer) as pretended:
        import numba

        real = numba.float64(numba.float64)
        kind = type("Signature", (), dict(args=real.args, return_type=real.return_type))
        stated = overriding(kind, name, answer)()
        type(pretended).signature = lambda self: stated
        yield pretended


@contextlib.contextmanager
def of_numba_type(name, answer):
    with of_numba_signature("unused", answer) as pretended:
        import numba

        base = numba.types.CPointer if name == "dtype" else numba.types.Integer
        made = object.__new__(overriding(base, name, answer))
        type(pretended.signature()).args = (made,)
        yield pretended


@contextlib.contextmanager
def of_numba_cfunc(name, answer):
    need("numba", "numba.core.ccallback")
    import numba

    base = sys.modules["numba.core.ccallback"].CFunc
    kind = type("Pretended", (base,), dict(
        address=HALF, _sig=numba.float64(numba.float64), __call__=lambda self, x: x / 2,
        __repr__=object.__repr__))
    yield object.__new__(overriding(kind, name, answer))


def of_numpy(of_module):
    @contextlib.contextmanager
    def make(name, answer):
        need("numpy", "scipy.special")
        function = sys.modules["scipy.special"].erf
        found = next((each for each in of_module if importable(each)), None)
        if found is None:
            raise unittest.SkipTest("none of " + ", ".join(of_module))
        kind = type("Module", (types.ModuleType,), {})
        stand_in = kind(found)
        vars(stand_in).update(vars(sys.modules[found]))
        stand_in.__class__ = overriding(kind, name, answer)
        with support.modules({found: stand_in}):
            yield function

    return make


@contextlib.contextmanager
def of_scipy(name, answer):
    need("scipy", "scipy._lib._ccallback")
    import scipy

    of_half = scipy.LowLevelCallable(PROTOTYPE(HALF))
    made = overriding(scipy.LowLevelCallable, name, answer)
    yield tuple.__new__(made, tuple(of_half))


def of_scipy_ctypes(metaclass_too):
    @contextlib.contextmanager
    def make(name, answer):
        need("scipy", "scipy._lib._ccallback")
        import scipy

        of_half = scipy.LowLevelCallable(PROTOTYPE(HALF))
        pointer = overriding(PROTOTYPE, name, answer, metaclass_too)(HALF)
        capsule, _, user_data = tuple(of_half)
        yield tuple.__new__(scipy.LowLevelCallable, (capsule, pointer, user_data))

    return make


#: The attributes that the adapters read, keyed by the function that makes the object.
TABLE = {
    of_ctypes: ("argtypes restype errcheck callable _objects _b_base_ _b_needsfree_ __bool__ "
                "__call__ __repr__ __hash__ __eq__ __getattribute__"),
    of_ctypes_callback: "argtypes restype errcheck callable _objects _b_base_ _b_needsfree_",
    of_shared_ctypes: "argtypes restype errcheck callable _objects _b_base_ _b_needsfree_",
    of_ctypes_class: "_flags_ __name__ __eq__ __hash__",
    of_ctypes_result(ctypes.c_double, False): "value __init__ __bool__",
    of_ctypes_result(ctypes.c_double, True): "_type_ __ctype_le__ __ctype_be__ __name__ __eq__",
    of_ctypes_result(ctypes.POINTER(ctypes.c_double), True): "_type_ __name__",
    of_cffi_module: "_CDataBase Lib typeof FFI",
    of_cython: "__module__ __name__ __signatures__ __eq__ __hash__ __getattribute__",
    of_cython_module: "__pyx_capi__ half __dict__ __getattr__ __getattribute__",
    of_numba_protocol: "__wrapper_address__ signature __getattribute__ __eq__ __hash__ __bool__",
    of_numba_signature: "args return_type",
    of_numba_type: "signed bitwidth dtype __str__ __class__",
    of_numba_cfunc: "address _sig",
    of_numpy(["numpy"]): "__version__ ufunc",
    of_numpy(["numpy._core._multiarray_umath", "numpy.core._multiarray_umath"]): "_UFUNC_API",
    of_numpy(["scipy.special"]): "erf",
    of_numpy(["scipy.special.cython_special"]): "erf __pyx_capi__",
    of_scipy: "typed_flags function user_data __iter__ __getitem__ __len__ __class__ __eq__",
    of_scipy_ctypes(False): "argtypes restype errcheck callable _objects _b_base_ _b_needsfree_",
    of_scipy_ctypes(True): "_flags_",
}
