"""Shared by the matrix's callers in C."""
import ctypes
import struct

import typedcall
from matrix_choice import LIMITS
from matrix_sink import Refused, counts

#: The C type and the ctypes type, keyed by letters. This table must not depend on the package's tables.
TYPES = {
    "?": ("_Bool", ctypes.c_bool), "b": ("signed char", ctypes.c_byte), "B": ("unsigned char", ctypes.c_ubyte),
    "h": ("short", ctypes.c_short), "H": ("unsigned short", ctypes.c_ushort), "i": ("int", ctypes.c_int),
    "I": ("unsigned int", ctypes.c_uint), "l": ("long", ctypes.c_long), "L": ("unsigned long", ctypes.c_ulong),
    "q": ("long long", ctypes.c_longlong), "Q": ("unsigned long long", ctypes.c_ulonglong),
    "n": ("ssize_t", ctypes.c_ssize_t), "N": ("size_t", ctypes.c_size_t),
    "f": ("float", ctypes.c_float), "d": ("double", ctypes.c_double), "s": ("const char *", ctypes.c_char_p),
    "v": ("void", None),
}


def is_of(value, letters):
    """Returns true if a variable of the C type can hold the value. An array must have elements of that type."""
    if letters in LIMITS:
        return type(value) is int and LIMITS[letters][0] <= value <= LIMITS[letters][1]
    if letters == "f":
        return type(value) is float and _is_float(value)
    if letters in ("s", "*s"):
        return type(value) is str and (letters == "*s" or "\0" not in value)
    if letters.startswith("*"):
        try:
            view = memoryview(value)
        except TypeError:
            return False
        is_writable = letters[1] == "k" or not view.readonly
        return is_writable and view.ndim == 1 and view.c_contiguous and view.format == letters[-1] and _is_aligned(view)
    return type(value) is {"?": bool, "d": float}.get(letters)


def _is_aligned(view):
    """Returns true if the view is aligned for its elements. Read-only views are assumed to be aligned."""
    if view.readonly or view.nbytes == 0:
        return True
    return ctypes.addressof(ctypes.c_char.from_buffer(view)) % view.itemsize == 0


def contents(value):
    """Returns the bytes in an object's buffer, or b"" if it has no buffer."""
    try:
        return memoryview(value).tobytes()
    except (TypeError, ValueError, BufferError):
        return b""


def usual_letters(value):
    """Returns the letter of C's usual type for a number, or "" for any other value."""
    if type(value) is int:
        return next((letters for letters in "ilL" if is_of(value, letters)), "")
    return {bool: "?", float: "d"}.get(type(value), "")


def _is_float(value):
    """Returns false for a double beyond the largest float. C does not define the conversion of such a double."""
    try:
        struct.pack("=f", value)
    except OverflowError:
        return False
    return True


def asked(function, arguments):
    """Returns the entry that a caller in C would choose for these arguments. Raises Refused unless exactly one entry
    fits."""
    fitting = [entry for entry in typedcall.entries(function) if len(entry.python_types()[0]) == len(arguments)]
    if not fitting:
        raise Refused("C passes as many arguments as the signature has")
    if counts(function) != sorted(set(counts(function)), reverse=True):  # the entries are overloads
        fitting = [entry for entry in fitting if all(map(is_of, arguments, entry.python_types()[0]))]
    if len(fitting) != 1:
        raise Refused("C names the signature that it wants, and does not choose by a value")
    return fitting[0]


def check_values(entry, arguments):
    """Raises Refused if the entry's C type cannot hold a value."""
    for value, letters in zip(arguments, entry.python_types()[0]):
        if not is_of(value, letters):
            raise Refused("not a value of the C type")


def flat(types, arguments, array_of):
    """Returns the arguments for a C function. An array becomes a pointer, which array_of(value, letters) makes, and a
    length."""
    made = []
    for value, letters in zip(arguments, types):
        if letters == "s":
            made.append(value.encode())
        elif letters == "*s":
            made += [value.encode(), len(value.encode())]
        elif letters.startswith("*"):
            made += [array_of(value, letters), len(value)]
        else:
            made.append(value)
    return made


def ctypes_array(value, letters):
    """Returns the elements as a ctypes array. It is a copy if the parameter is const."""
    of = TYPES[letters[-1]][1] * len(value)
    return of.from_buffer_copy(memoryview(value)) if letters[1] == "k" else of.from_buffer(value)


def ctypes_of(letters, result):
    """Returns the ctypes types of the result and of the C arguments. Raises Refused if a letter has no ctypes type."""
    for each in (*letters, result):
        if each not in TYPES and (each[0] != "*" or each[-1] not in TYPES):
            raise Refused(f"the caller in C has no type '{each}'")
    made = []
    for each in letters:
        if each == "*s":
            made += [ctypes.c_char_p, ctypes.c_ssize_t]
        elif each.startswith("*"):
            made += [ctypes.POINTER(TYPES[each[-1]][1]), ctypes.c_ssize_t]
        else:
            made.append(TYPES[each][1])
    return TYPES[result][1], made


def declaration_of(letters, result, with_data):
    """Returns the C declaration of a callback with these types, such as `double (*)(const double a0[n0], ssize_t
    n0)`."""
    parts = []
    for at, each in enumerate(letters):
        if each == "*s":
            raise Refused("the declaration of a callback has no text with a length")
        if each.startswith("*"):
            const = "const " if each[1] == "k" else ""
            parts.append(f"{const}{TYPES[each[-1]][0]} a{at}[n{at}], ssize_t n{at}")
        else:
            parts.append(f"{TYPES[each][0]} a{at}")
    parts += ["void *data"] if with_data else []
    return f"{TYPES[result][0]} (*)({', '.join(parts) or 'void'})"
