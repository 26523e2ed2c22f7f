"""A reader of typed functions in plain Python that implements docs/ABI.md with ctypes alone.
tests/conformance/README.md describes PLACES, find, call and slot.

member_ctypes_places finds the entries. This module chooses one and calls it (section 8). Numbers in
comments are rules of docs/ABI.md.
"""

import contextlib
import ctypes
import functools
import operator
import os
import platform
import sys
from ctypes import CFUNCTYPE, PYFUNCTYPE, c_char_p, c_int, c_ssize_t, c_void_p, py_object

from member_ctypes_entries import C_TYPES, FALLS_BACK, KINDS, MUST_UNDERSTAND, NEEDS_THREAD, RETURNS_STATUS, TAKES_SELF
from member_ctypes_entries import answers, has_place, parse
import member_ctypes_values
from member_ctypes_places import PLACES, accepts_self, places, prototype, release_reference, self_of, slot_of_type

__all__ = ["PLACES", "find", "call", "call_unbound", "choose", "slot"]
ACQUIRES_GIL, SETS_ERRNO = 0x2, 0x40

# On these platforms, a C complex is passed and returned like a struct of its parts.
COMPLEX_BY_VALUE = ("Zf", "Zd") if os.name == "posix" and platform.machine() in ("x86_64", "aarch64", "arm64") else ()


# Requests -------------------------------------------------------------------------------------------------------------

class Found(tuple):
    """A tuple (signature, flags, address) that keeps the entry valid (5.8)."""


def _search(callable, signature, can, equivalent, passed=()):
    """Returns (Entry, object that keeps it valid), or (None, None). `passed` has the self for an unbound method."""
    wanted = parse(signature)
    unusable = MUST_UNDERSTAND & ~can | (0 if passed or self_of(callable) else TAKES_SELF)
    for entries, held in places(callable, bool(passed)) if wanted else ():
        usable = [entry for entry in entries if not entry.flags & unusable]
        found = [entry for entry in usable if entry.signature == signature]
        if not found and equivalent:
            found = [entry for entry in usable if answers(entry, wanted)]
        if found:
            return found[0], held
    return None, None


def find(callable, signature, can, equivalent):
    """Makes a C request. Returns (signature, flags, address), or None. The address is valid as long
    as the result lives."""
    entry, held = _search(callable, signature, can, equivalent)
    if entry is None:
        return None
    found = Found(entry[:3])
    found.held = callable, held
    return found


def slot(object, id):
    """Returns the data word of the slot with that ID in the object's type as an unsigned int, or None."""
    return slot_of_type(type(object), id)


# Calls ----------------------------------------------------------------------------------------------------------------

class Buffer(ctypes.Structure):
    """CPython's Py_buffer."""
    _fields_ = [("buf", c_void_p), ("obj", c_void_p), ("len", c_ssize_t), ("itemsize", c_ssize_t), ("readonly", c_int),
                ("ndim", c_int), ("format", c_char_p), ("shape", c_void_p), ("strides", c_void_p),
                ("suboffsets", c_void_p), ("internal", c_void_p)]


_get_buffer = prototype("PyObject_GetBuffer", c_int, py_object, c_void_p, c_int)
_release_buffer = prototype("PyBuffer_Release", None, c_void_p)
PYBUF_WRITABLE, PYBUF_FORMAT, PYBUF_ND = 1, 4, 8


def _buffer(value, code, const, stack):
    """Returns (address or None, size) of a contiguous array of `code` elements (None allows any type); `stack` keeps
    the buffer."""
    view = Buffer()
    try:
        _get_buffer(value, ctypes.addressof(view), PYBUF_FORMAT | PYBUF_ND | (0 if const else PYBUF_WRITABLE))
    except (BufferError, ValueError) as error:
        raise TypeError(f"no usable buffer: {error}") from error
    stack.callback(_release_buffer, ctypes.byref(view))
    element = (view.format or b"B").decode().lstrip("@=" + ("<" if sys.byteorder == "little" else ">!"))
    if code is not None:
        size, alignment = ctypes.sizeof(C_TYPES[code]), ctypes.alignment(C_TYPES[code])
        if KINDS.get(element) != KINDS[code] or view.itemsize != size or view.len and view.buf % alignment:
            raise TypeError(f"a buffer of {element!r}, not of {code!r}, or not aligned")
    return view.buf, view.len


def _number(code, value):
    """Converts a value for a numeric C type, because ctypes does not check ranges."""
    kind = KINDS[code]
    if kind in ("signed", "unsigned"):
        number, bits = operator.index(value), 8 * ctypes.sizeof(C_TYPES[code])
        low, high = (0, 1 << bits) if kind == "unsigned" else (-1 << bits - 1, 1 << bits - 1)
        if not low <= number < high:
            raise OverflowError(f"{number} is out of the range of {code!r}")
        return number
    if kind == "?" and not isinstance(value, bool):
        raise TypeError(f"{type(value).__name__} is not a bool")
    if kind in COMPLEX_BY_VALUE:
        number = complex(value)
        return C_TYPES[code](number.real, number.imag)
    return value


def _c_values(token, value, stack):
    """Converts one Python argument to one or two C arguments (3.17 to 3.19)."""
    if token.code == "s" and token.prefix != "&":
        if not isinstance(value, str):
            raise TypeError(f"{type(value).__name__} is not a str")
        text = value.encode()
        if token.prefix:
            return text, len(text)
        if b"\0" in text:
            raise ValueError("embedded null character")
        return text,
    if token.prefix == "*":
        address, size = _buffer(value, token.code, token.const, stack)
        return address, size // ctypes.sizeof(C_TYPES[token.code])
    if token.prefix or token.code == "P":
        address, size = _buffer(value, token.code if token.prefix else None, token.const, stack)
        if token.prefix and not size:
            raise TypeError("an empty buffer has no first element")
        return address,
    return value if token.code == "O" else _number(token.code, value),


def _c_types(token):
    """Returns the C types of one argument."""
    if token.prefix == "*":
        return (c_char_p if token.code == "s" else c_void_p), c_ssize_t
    if token.prefix:
        return c_void_p,
    if token.code.startswith("Z") and token.code not in COMPLEX_BY_VALUE:
        raise NotImplementedError(f"ctypes cannot pass {token.code!r}")
    return C_TYPES[token.code],


@functools.lru_cache(256)
def _c_function_type(entry):
    """Returns the type of the function of an entry. ctypes releases the GIL for a function that
    acquires it."""
    arguments = [c_type for token in entry.arguments for c_type in _c_types(token)]
    result = None if entry.result.code == "v" else _c_types(entry.result)[0]
    make = CFUNCTYPE if entry.flags & (ACQUIRES_GIL | NEEDS_THREAD) == ACQUIRES_GIL else PYFUNCTYPE
    return make(result, *([py_object] if entry.flags & TAKES_SELF else []), *arguments)


def choose(callable, arguments):
    """Chooses an entry for these values, and calls it (8.7 to 8.10)."""
    return member_ctypes_values.choose(callable, arguments, _c_function_type)


def _python_value(token, value):
    """Converts a C value from ctypes to the value that Python gets."""
    if token.prefix or value is None:
        return value
    if token.code.startswith("Z"):
        return complex(value.real, value.imag)
    return value.decode() if token.code == "s" else value


def call_unbound(callable, signature, can, self, arguments):
    """Like call(), for an unbound method, to which the caller passes self."""
    return call(callable, signature, can, arguments, (self,))


def call(callable, signature, can, arguments, passed=()):
    """Calls the C function of an equivalent entry. Returns or raises what Python would get."""
    entry, held = _search(callable, signature, can & ~SETS_ERRNO, True, passed)  # ctypes would lose errno
    if entry is None:
        raise LookupError(signature)
    if passed and not accepts_self(callable, *passed):
        raise TypeError(f"self is no {callable.__objclass__.__name__}")
    function, tokens, place = _c_function_type(entry)(entry.address), entry.arguments, None
    if has_place(entry.flags, tokens):
        tokens, place = tokens[:-1], tokens[-1]._replace(prefix="")
    if len(arguments) != len(tokens):
        raise TypeError(f"{len(tokens)} arguments, not {len(arguments)}")
    with contextlib.ExitStack() as stack:
        values = [value for token, argument in zip(tokens, arguments) for value in _c_values(token, argument, stack)]
        if place is not None:
            value = C_TYPES[place.code]()
            values.append(ctypes.addressof(value))
        result = function(*((passed or self_of(callable)) if entry.flags & TAKES_SELF else ()), *values)
    if not entry.flags & (RETURNS_STATUS | FALLS_BACK):
        return _python_value(entry.result, result)
    if result:
        if entry.flags & FALLS_BACK:
            return callable(*passed, *arguments)
        raise SystemError("a status without an exception")
    if place is None:
        return None
    if place.code == "O":
        found = value.value
        release_reference(found)  # the function returned a new reference
        return found
    return _python_value(place, value if place.code.startswith("Z") else value.value)
