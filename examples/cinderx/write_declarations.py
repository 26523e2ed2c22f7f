"""Writes declarations of a module's C functions for CinderX's Static Python to stdout.
Usage: python write_declarations.py MODULE"""

import ctypes
import importlib
import inspect
import keyword
import os
import sys

import typedcall

# Static Python passes only ints to C.
TYPES = {}
for code, c_type in [
    ("b", ctypes.c_byte),
    ("h", ctypes.c_short),
    ("i", ctypes.c_int),
    ("l", ctypes.c_long),
    ("q", ctypes.c_longlong),
    ("n", ctypes.c_ssize_t),
]:
    TYPES[code] = "int%d" % (8 * ctypes.sizeof(c_type))
    TYPES[code.upper()] = "u" + TYPES[code]


class DlInfo(ctypes.Structure):
    _fields_ = [
        ("file", ctypes.c_char_p),
        ("start", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    ]


def exported_symbol(address):
    """Returns (file, symbol) of an exported C function, or None."""
    info = DlInfo()
    dladdr = ctypes.CDLL(None).dladdr
    dladdr.argtypes = [ctypes.c_void_p, ctypes.POINTER(DlInfo)]
    if not dladdr(address, info) or info.address != address or not info.symbol:
        return None
    symbol = info.symbol.decode()
    usable = symbol.isidentifier() and not keyword.iskeyword(symbol)
    return (os.fsdecode(info.file), symbol) if usable else None


def obstacle(entry, arguments, result):
    """Explains why Static Python cannot call the entry. Returns None if it can."""
    if not entry.flags.is_plain:
        return "its flags are %s" % "|".join(entry.flags.names)
    for code in [*arguments, result]:
        if code not in TYPES:
            return "'%s' is not an int" % code
    if exported_symbol(entry.address) is None:
        return 'no library exports it: use extern "C" and default visibility'
    return None


def parameter_names(function, count):
    try:
        names = list(inspect.signature(function).parameters)[:count]
    except (TypeError, ValueError):  # a C function without a text signature
        names = []
    usable = len(names) == count and not any(map(keyword.iskeyword, names))
    return names if usable else ["x%d" % i for i in range(count)]


def main(module_name):
    declared = {}  # the library and the text of each declaration, by symbol
    left_out = []
    for name, function in vars(importlib.import_module(module_name)).items():
        for entry in typedcall.entries(function):
            arguments, result = typedcall.parse_signature(entry.signature)
            reason = obstacle(entry, arguments, result)
            if reason is None:
                library, symbol = exported_symbol(entry.address)
                names = parameter_names(function, len(arguments))
                listed = ", ".join(
                    "%s: %s" % (name, TYPES[code]) for name, code in zip(names, arguments)
                )
                text = "def %s(%s) -> %s:\n    pass\n" % (symbol, listed, TYPES[result])
                first = declared.setdefault(symbol, (library, text))
                if first[0] != library:
                    reason = "%s exports another '%s'" % (first[0], symbol)
            if reason is not None:
                left_out.append("# %r '%s': %s\n" % (name, entry.signature, reason))
    if not declared:
        sys.exit("Static Python can call nothing of %s\n%s" % (module_name, "".join(left_out)))
    print('"""C functions of %s. Written by write_declarations.py."""' % module_name)
    print("import __static__\nfrom __static__ import native, %s" % ", ".join(sorted(set(TYPES.values()))))
    for library, text in declared.values():
        print("\n\n@native(%r)\n%s" % (library, text), end="")
    print("\n\n%s" % "".join(["# Not for Static Python:\n", *left_out] if left_out else []), end="")


if __name__ == "__main__":
    main(sys.argv[1])
