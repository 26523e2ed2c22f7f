"""A provider of typed functions in plain Python that implements docs/ABI.md with ctypes alone. Numbers in comments are
rules of that page. tests/conformance/README.md describes OFFERS.

The way `sibling` is missing because it needs a linker.

A builtin's `ml_meth` is a function of libpython that calls a method of its first argument, self. A
C function that must leave an exception set returns a number whose finaliser raises it, because
ctypes checks for exceptions before it drops the number.
"""

import ctypes
from ctypes import PYFUNCTYPE, c_char, c_char_p, c_double, c_int, c_long, c_size_t, c_ssize_t, c_uint, c_uint16
from ctypes import c_uint32, c_uint64, c_void_p, py_object, pythonapi

from member_ctypes_entries import FALLS_BACK, MAY_RAISE, NEEDS_THREAD, RETURNS_STATUS, TAKES_SELF
from member_ctypes_places import BY_DEF, BY_OBJECT, HEADER_MAGIC, METH_O, METH_TYPED, METH_TYPED_EXT
from member_ctypes_places import NATIVE_CALLABLE_SLOT, interface, prototype

try:
    import typedcall  # noqa: F401  (installs the interface: docs/ABI.md, 5.5)
except ImportError:
    pass

THREAD_SAFE, PURE, METH_VARARGS = 0x10000, 0x20000, 0x1
PYPY_CODES = {"l": 1, "d": 2}
NOT_PYPYS = (c_int * 2)(0x100, -1)  # 4.6
FACTOR = 4.0


class PyMethodDef(ctypes.Structure):
    """CPython's PyMethodDef."""
    _fields_ = [("ml_name", c_void_p), ("ml_meth", c_void_p), ("ml_flags", c_int), ("ml_doc", c_void_p)]


class PyTypeSlot(ctypes.Structure):
    """CPython's PyType_Slot."""
    _fields_ = [("slot", c_int), ("function", c_void_p)]


class PyTypeSpec(ctypes.Structure):
    """CPython's PyType_Spec."""
    _fields_ = [("name", c_char_p), ("basicsize", c_int), ("itemsize", c_int), ("flags", c_uint), ("slots", c_void_p)]


class Entry(ctypes.Structure):
    """The struct PyNativeCallableEntry (section 3)."""
    _fields_ = [("signature", c_char_p), ("flags", c_size_t), ("function", c_void_p)]


class Table(ctypes.Structure):
    """The struct PyNativeCallableTable with one entry."""
    _fields_ = [("count", c_ssize_t), ("entries", Entry * 1)]


class CustomSlot(ctypes.Structure):
    """The struct PyCustomSlot (section 1)."""
    _fields_ = [("id", c_size_t), ("data", c_ssize_t)]


class PlainName(ctypes.Structure):
    """A name with nothing before it."""
    _fields_ = [("ml_name", c_char * 100)]


class PyPyName(ctypes.Structure):
    """PyPyTypedMethodMetadata."""
    _fields_ = [("arg_types", c_void_p), ("ret_type", c_int), ("padding", c_int), ("function", c_void_p),
                ("ml_name", c_char * 100)]


class OneArgName(ctypes.Structure):
    """PyTypedMethod_OneArgMetadata, the post's struct."""
    _fields_ = [("arg_type", c_int), ("ret_type", c_int), ("function", c_void_p), ("ml_name", c_char * 100)]


class HeaderName(ctypes.Structure):
    """PyTypedMethodMetadata. `size` is the size of the data before the name."""
    _fields_ = [("reserved", c_void_p), ("table", c_void_p), ("size", c_uint32), ("abi_major", c_uint16),
                ("abi_minor", c_uint16), ("magic", c_uint64), ("arg_types", c_void_p), ("ret_type", c_int),
                ("padding", c_int), ("function", c_void_p), ("ml_name", c_char * 100)]


def address_of(function):
    """Returns the address of a ctypes function."""
    return ctypes.cast(function, c_void_p).value


def make_type(name, size, slots=()):
    """Makes a heap type with `size` bytes after the object header, from a PyType_Spec. The caller keeps the bytes of
    the name alive."""
    table = (PyTypeSlot * (len(slots) + 1))(*slots)
    py_tpflags_basetype, py_tpflags_have_version_tag = 1 << 10, 1 << 18
    spec = PyTypeSpec(name, object.__basicsize__ + size if size else 0, 0,
                      py_tpflags_basetype | py_tpflags_have_version_tag, ctypes.addressof(table))
    return prototype("PyType_FromSpec", py_object, c_void_p)(ctypes.addressof(spec))


# Exceptions raised in ctypes callbacks --------------------------------------------------------------------------------

PY_TP_FINALIZE = 80
_FINALISED_NAME = b"member_ctypes_provider.Finalised"
# PyObject_IsTrue runs __bool__ and leaves its exception set; a __del__ would not.
Finalised = make_type(_FINALISED_NAME, 0, [(PY_TP_FINALIZE, address_of(pythonapi.PyObject_IsTrue))])


class _Raising(Finalised):
    """Raises `error` once, when it is destroyed."""

    def __bool__(self):
        error = self.__dict__.pop("error", None)
        if error is not None:
            raise error
        return True


class RaisingFloat(_Raising, float):
    """A floating-point result that leaves an exception set."""


class RaisingInt(_Raising, int):
    """An integer result that leaves an exception set."""


def failure(kind, value, error):
    """If a callback returns this object, its C caller gets `value` and the exception `error`."""
    result = kind(value)
    result.error = error
    return result


# The functions --------------------------------------------------------------------------------------------------------

def c_minus(x):
    """Returns -x, or the error value -1.0."""
    return -x if x >= 0 or x != x else failure(RaisingFloat, -1.0, ValueError("x is below 0"))


def c_minus_pypy(x):
    """Returns -x, or the error value -0.0."""
    return -x if x >= 0 or x != x else failure(RaisingFloat, -0.0, ValueError("x is below 0"))


def c_thrice(x, place):
    """Stores 3 * x, and returns the status."""
    if x < 0:
        return failure(RaisingInt, -1, ValueError("x is below 0"))
    c_double.from_address(place).value = 3 * x
    return 0


def c_even(x, place):
    """Stores x / 2. Returns 0, or 1 to fall back."""
    if x % 2:
        return 1
    c_long.from_address(place).value = x // 2
    return 0


def c_total(first, count):
    """Returns the sum of `count` doubles; `first` may be None if `count` is 0."""
    return sum((c_double * count).from_address(first)) if count else 0.0


def c_scaled(self, x):
    """Returns x times the factor of self."""
    return x * c_double.from_address(self + FACTOR_OFFSET).value


def refuse_below_zero(x):
    """Returns x, or raises ValueError if it is negative."""
    if x < 0:
        raise ValueError("x is below 0")
    return x


# For each name: signature, flags, C function, prototype, Python callable.
DOUBLE_TO_DOUBLE = PYFUNCTYPE(c_double, c_double)
FUNCTIONS = {
    "half": ("d->d", THREAD_SAFE | PURE, lambda x: x / 2, DOUBLE_TO_DOUBLE, lambda x: x / 2 + 1000),
    "add": ("dd->d", 0, lambda x, y: x + y, PYFUNCTYPE(c_double, c_double, c_double), lambda x, y: x + y + 1000),
    "next": ("l->l", 0, lambda x: x + 1, PYFUNCTYPE(c_long, c_long), lambda x: x + 1 + 1000),
    "minus": ("d->d", NEEDS_THREAD | MAY_RAISE, c_minus, DOUBLE_TO_DOUBLE, lambda x: -refuse_below_zero(x) + 1000),
    "thrice": ("d&d->i", NEEDS_THREAD | RETURNS_STATUS, c_thrice, PYFUNCTYPE(c_int, c_double, c_void_p),
               lambda x: 3 * refuse_below_zero(x) + 1000),
    "even": ("l&l->i", FALLS_BACK, c_even, PYFUNCTYPE(c_int, c_long, c_void_p), lambda x: x + 1000),
    "total": ("*kd->d", 0, c_total, PYFUNCTYPE(c_double, c_void_p, c_ssize_t),
              lambda values: sum(memoryview(values)) + 1000),
    "length": ("*s->n", 0, lambda first, count: count, PYFUNCTYPE(c_ssize_t, c_void_p, c_ssize_t),
               lambda text: len(str.encode(text)) + 1000),
    "scaled": ("d->d", TAKES_SELF, c_scaled, PYFUNCTYPE(c_double, c_void_p, c_double), lambda x: x * FACTOR + 1000),
}
PLAIN = tuple(name for name in FUNCTIONS if name != "scaled")


def make_table(name):
    """Returns the table of a function."""
    signature, flags, function, c_type, _ = FUNCTIONS[name]
    callback = c_type(function)
    table = Table(1, (Entry(signature.encode(), flags, address_of(callback)),))
    table.callback = callback
    return table


class PythonHalf:
    """The self of a builtin function. It keeps the def alive."""

    def __init__(self, function, kept):
        self.function = function
        self.kept = kept

    def __call__(self, *arguments):
        return self.function(*arguments)

    def __getitem__(self, argument):
        return self.function(argument)


def make_builtin(name, struct, flags, kept):
    """Makes a builtin function and its def. The name of the def is part of `struct`."""
    struct.ml_name = name.encode()
    implementation = pythonapi.PyObject_GetItem if flags & METH_O else pythonapi.PyObject_CallObject
    ml_name = ctypes.addressof(struct) + type(struct).ml_name.offset
    method = PyMethodDef(ml_name, address_of(implementation), flags, None)
    half = PythonHalf(FUNCTIONS[name][4], (method, struct, kept))
    new = prototype("PyCFunction_NewEx", py_object, c_void_p, py_object, py_object)
    return new(ctypes.addressof(method), half, __name__), method


def offer_header(name):
    """Sets both bits, with our header (4.2)."""
    table = make_table(name)
    header = HeaderName(table=ctypes.addressof(table), size=HeaderName.ml_name.offset, abi_major=1, magic=HEADER_MAGIC,
                        arg_types=ctypes.addressof(NOT_PYPYS), ret_type=NOT_PYPYS[0])
    return make_builtin(name, header, METH_VARARGS | METH_TYPED | METH_TYPED_EXT, table)[0]


def offer_pypy(name):
    """Sets 0x1000, with PyPy's struct (4.4)."""
    signature, _, function, c_type, _ = FUNCTIONS[name]
    codes = (c_int * 2)(PYPY_CODES[signature[0]], -1)
    callback = c_type(c_minus_pypy if name == "minus" else function)
    result = PYPY_CODES[signature[-1]] * (-1 if name == "minus" else 1)
    struct = PyPyName(ctypes.addressof(codes), result, 0, address_of(callback))
    return make_builtin(name, struct, METH_O | METH_TYPED, (codes, callback))[0]


def offer_one_arg(name):
    """Sets 0x1000, with the post's struct (4.7)."""
    signature, _, function, c_type, _ = FUNCTIONS[name]
    callback = c_type(function)
    struct = OneArgName(PYPY_CODES[signature[0]], PYPY_CODES[signature[-1]], address_of(callback))
    return make_builtin(name, struct, METH_O | METH_TYPED, callback)[0]


# Offers through the interface -----------------------------------------------------------------------------------------

def publish(space, key, owner, table):
    """Offers the table while `owner` lives. The row keeps the table alive."""
    function = PYFUNCTYPE(c_int, c_void_p, c_int, c_void_p, py_object, c_void_p, c_void_p, c_void_p, py_object)
    value = ctypes.addressof(table)
    answer = function(INTERFACE.publish)(INTERFACE.state, space, key, owner, value, None, None, (table,))
    if answer != 1:
        raise RuntimeError(f"publish answers {answer}")


def offer_def(name):
    """Adds a row BY_DEF without setting bits (5.12)."""
    function, method = make_builtin(name, PlainName(), METH_VARARGS, None)
    publish(BY_DEF, ctypes.addressof(method), function, make_table(name))
    return function


class OfferedObject:
    """An instance of a user-defined class."""

    def __init__(self, name):
        self.name = name

    def __call__(self, *arguments):
        return FUNCTIONS[self.name][4](*arguments)


def offer_object(name):
    """Adds a row BY_OBJECT."""
    result = OfferedObject(name)
    publish(BY_OBJECT, id(result), result, make_table(name))
    return result


_FIELDS_NAME = b"member_ctypes_provider.Fields"
TABLE_OFFSET, FACTOR_OFFSET = object.__basicsize__, object.__basicsize__ + 8


def make_native_callable():
    """Makes a class with the native-callable slot (1.11, 1.18)."""
    def initialise(self, name):
        self.name, self.table = name, make_table(name)
        c_double.from_address(id(self) + FACTOR_OFFSET).value = FACTOR
        c_void_p.from_address(id(self) + TABLE_OFFSET).value = ctypes.addressof(self.table)

    body = {"__init__": initialise, "__call__": OfferedObject.__call__, "__module__": __name__}
    result = type.__new__(INTERFACE.metaclass(), "NativeCallable", (make_type(_FIELDS_NAME, 16),), body)
    resolve = PYFUNCTYPE(c_int, c_void_p, py_object, c_void_p, c_ssize_t)(INTERFACE.resolve)
    own = CustomSlot(NATIVE_CALLABLE_SLOT, TABLE_OFFSET)
    if resolve(INTERFACE.state, result, ctypes.addressof(own), 1):
        raise RuntimeError("resolve refuses the type")
    return result


OFFERS = {
    "header": {name: offer_header(name) for name in PLAIN},
    "pypy": {name: offer_pypy(name) for name in ("half", "next", "minus")},
    "one_arg": {name: offer_one_arg(name) for name in ("half", "next")},
}
INTERFACE = interface()
if INTERFACE is not None:
    NativeCallable = make_native_callable()
    OFFERS["def"] = {name: offer_def(name) for name in PLAIN}
    OFFERS["object"] = {name: offer_object(name) for name in PLAIN}
    OFFERS["instance"] = {name: NativeCallable(name) for name in ("half", "scaled")}
