"""Reads all places of entries with ctypes alone (docs/ABI.md, sections 1, 4 and 5). Numbers in
comments are rules of that page.

All code here holds the GIL, which makes earlier writes visible (1.3, 1.19).
"""

import contextlib
import ctypes
import os
import re
import sys
import types
from collections import namedtuple
from ctypes import PYFUNCTYPE, c_char_p, c_int, c_int32, c_size_t, c_ssize_t, c_uint16, c_uint32, c_uint64, c_void_p
from ctypes import py_object, pythonapi

from member_ctypes_entries import ERROR_IS_NEG_ZERO, MAY_RAISE, NEEDS_THREAD, entries_of, make_entry, parse, pointer_at
from member_ctypes_entries import rows, text_at

METH_O, METH_STATIC, METH_FASTCALL, METH_TYPED, METH_TYPED_EXT = 0x8, 0x20, 0x80, 0x1000, 0x2000
METH_CONVENTION = 0x1 | 0x2 | 0x4 | METH_O | METH_FASTCALL | 0x200  # VARARGS, KEYWORDS, NOARGS, METHOD
BY_DEF, BY_OBJECT = 1, 2
SLOT_MAGIC, HEADER_MAGIC, NATIVE_CALLABLE_SLOT = 0xD1A0C5B3E7F42961, 0x5059545950454431, 0x04000001
CAPSULE_NAME = b"_extensibletype.typedcall_v2"
HEAD = object.__basicsize__
TP_BASICSIZE, TP_CALL, TP_AS_BUFFER, TP_FLAGS = HEAD + 16, HEAD + 112, HEAD + 144, HEAD + 152
PY_TPFLAGS_HEAPTYPE = 1 << 9
TYPE_DATA = -(-type.__basicsize__ // 16) * 16  # O of 1.1
PROCESS = ctypes.CDLL(None)
PLACES = {"name", "def", "object", "instance", "type"} | ({"sibling"} if hasattr(PROCESS, "dladdr1") else set())


def prototype(name, result, *arguments):
    """Returns a function of libpython with this prototype. The GIL is held during calls."""
    return PYFUNCTYPE(result, *arguments)((name, pythonapi))


_is_subtype = prototype("PyType_IsSubtype", c_int, py_object, py_object)
_capsule_is_valid = prototype("PyCapsule_IsValid", c_int, py_object, c_char_p)
_capsule_pointer = prototype("PyCapsule_GetPointer", c_void_p, py_object, c_char_p)
release_reference = prototype("Py_DecRef", None, py_object)


def object_at(address):
    """Returns a new reference to the object at an address."""
    return ctypes.cast(address, py_object).value


# The interface (section 5) --------------------------------------------------------------------------------------------

_MetaclassFunction = PYFUNCTYPE(c_void_p, c_void_p)
_HoldFunction = PYFUNCTYPE(c_void_p, c_void_p, c_int, c_void_p, c_void_p, c_void_p)
_ResolveFunction = PYFUNCTYPE(c_int, c_void_p, py_object, c_void_p, c_ssize_t)


class Interface(ctypes.Structure):
    """PyTypedcall_Interface."""
    _fields_ = [("abi_major", c_uint16), ("abi_minor", c_uint16), ("size", c_uint32)] + [(name, c_void_p) for name in (
        "state", "metaclass_function", "resolve", "find", "hold", "publish", "exchange", "retract", "sibling",
        "counters", "live_counters", "slot_id", "ready_static", "combined_metaclass")]

    def metaclass(self):
        """Returns the interpreter's metaclass."""
        return object_at(_MetaclassFunction(self.metaclass_function)(self.state))


_kept = []


def interface():
    """Returns the interface of the interpreter, or None (5.1 to 5.3)."""
    if not _kept:
        interpreter = prototype("PyInterpreterState_Get", c_void_p)()
        names = prototype("PyInterpreterState_GetDict", c_void_p, c_void_p)(interpreter)
        names, key = object_at(names) if names else {}, CAPSULE_NAME.decode()
        capsule = names[key] if key in names else getattr(sys.modules.get("_extensibletype"), "typedcall_v2", None)
        if not _capsule_is_valid(capsule, CAPSULE_NAME):
            return None
        found = Interface.from_address(_capsule_pointer(capsule, CAPSULE_NAME))
        if found.abi_major != 1 or found.size < ctypes.sizeof(Interface):
            return None
        _kept.append(found)
    return _kept[0]


def hold(space, key, callable):
    """Returns (value, object that keeps it valid), or (0, None) (5.7)."""
    found, value = interface(), c_size_t(0)
    if found is None:
        return 0, None
    reference = _HoldFunction(found.hold)(found.state, space, key, id(callable), ctypes.addressof(value))
    if not reference:
        return 0, None
    held = object_at(reference)
    release_reference(held)
    return value.value, held


# Slots (section 1) ----------------------------------------------------------------------------------------------------

def _mro(kind):
    return type.__dict__["__mro__"].__get__(kind)


def _has_type_data(kind):
    """Checks rule 1.2. Any heap type, such as Interface, reveals the offset of `as_buffer`."""
    metaclass = pointer_at(id(kind) + HEAD - 8)
    if not metaclass or c_ssize_t.from_address(metaclass + TP_BASICSIZE).value < TYPE_DATA + 24:
        return False
    as_buffer = pointer_at(id(Interface) + TP_AS_BUFFER) - id(Interface)
    return bool(c_size_t.from_address(id(kind) + TP_FLAGS).value & PY_TPFLAGS_HEAPTYPE
                or pointer_at(id(kind) + TP_AS_BUFFER) == id(kind) + as_buffer)


def slot_of_type(kind, id_, resolves=True):
    """Returns the data word of the slot with that ID in the type (1.3 to 1.5), or None."""
    if id_ in (0, 1) or id_ >> 64 or id_ & 1 and id_ >> 32 or not _has_type_data(kind):  # 1.5, 2.1
        return None
    data, installed = id(kind) + TYPE_DATA, interface() if resolves else None
    if not pointer_at(data + 16) and installed:  # 1.4
        with contextlib.suppress(Exception):  # resolve() may fail if the metaclass has been freed
            if _is_subtype(type(kind), installed.metaclass()):
                _ResolveFunction(installed.resolve)(installed.state, kind, None, 0)
    if pointer_at(data + 16) != SLOT_MAGIC:
        return None
    table, count = pointer_at(data + 8), c_ssize_t.from_address(data).value
    slots = range(table, table + 16 * count, 16)
    return next((pointer_at(slot + 8) for slot in slots if pointer_at(slot) == id_), None)


def _call_of(kind):
    """Returns the `__call__` in the MRO, or None."""
    return next((base.__dict__["__call__"] for base in _mro(kind) if "__call__" in base.__dict__), None)


def _instance_table(instance):
    """Returns the table that a native callable points to, or 0 (1.18, 1.19, 1.21)."""
    kind = type(instance)
    offset = slot_of_type(kind, NATIVE_CALLABLE_SLOT)
    if offset is None:
        return 0
    origin = [base for base in _mro(kind) if slot_of_type(base, NATIVE_CALLABLE_SLOT, False) is not None][-1]
    called = _call_of(origin)
    if called is None or _call_of(kind) is not called or pointer_at(id(kind) + TP_CALL) != pointer_at(id(origin) + TP_CALL):
        return 0
    return pointer_at(id(instance) + c_ssize_t(offset).value)


# Defs: in front of a name, and beside it (section 4) ------------------------------------------------------------------

UNBOUND = (type(str.join), type(dict.__dict__["fromkeys"]))  # these callables have no self (8.6)
BUILTIN_METHOD = object_at(ctypes.addressof(ctypes.c_char.in_dll(pythonapi, "PyCMethod_Type")))
Method = namedtuple("Method", "address name flags")  # a PyMethodDef's address, name and flags
LETTERS = {1: "l", 2: "d", 3: "O"}  # 4.4


def method_of(callable):
    """Returns the def of a builtin function or method, or None for any other object (4.1)."""
    if type(callable) not in (types.BuiltinFunctionType, BUILTIN_METHOD, *UNBOUND):
        return None
    # In a descriptor, the type, the name and the qualified name come first.
    address = pointer_at(id(callable) + HEAD + (24 if type(callable) in UNBOUND else 0))
    return Method(address, pointer_at(address), c_int.from_address(address + 16).value)


def self_of(callable):
    """Returns (self,), or an empty tuple if there is no self (3.16)."""
    if type(callable) in UNBOUND:
        return ()
    method = method_of(callable)
    own = pointer_at(id(callable) + HEAD + 8) if method else id(callable)
    return (object_at(own),) if own and not (method and method.flags & METH_STATIC) else ()


def _coded_entries(codes, result, function):
    """Returns a list with the entry that the codes describe, or an empty list (4.4)."""
    if not all(code in LETTERS for code in (*codes, abs(result))):
        return []
    flags = NEEDS_THREAD | (MAY_RAISE if result < 0 else 0) | (ERROR_IS_NEG_ZERO if result == -2 else 0)
    entry = make_entry("".join(map(LETTERS.get, codes)) + "->" + LETTERS[abs(result)], flags, function)
    return [entry] if entry else []


def _pypy_entries(method):
    """Reads the entry in PyPy's struct (4.5, 4.6)."""
    convention, codes = method.flags & METH_CONVENTION, []
    arg_types, result = pointer_at(method.name - 24), c_int32.from_address(method.name - 16).value
    limit = {METH_O: 1, METH_FASTCALL: 127}.get(convention, 0)
    if not arg_types or not limit:
        return []
    for address in range(arg_types, arg_types + 4 * limit + 4, 4):
        code = c_int32.from_address(address).value
        if code not in LETTERS:
            break
        codes.append(code)
    if code != -1 or convention == METH_O and not codes:
        return []
    return _coded_entries(codes, result, pointer_at(method.name - 8))


def _name_entries(method):
    """Reads the data before the name (4.2 to 4.8)."""
    name, bits = method.name, method.flags & (METH_TYPED | METH_TYPED_EXT)
    if not bits & METH_TYPED or name % ctypes.alignment(c_void_p):
        return []
    if bits == METH_TYPED:
        told = c_int32.from_address(name - 12).value
        if told > 0 and method.flags & METH_CONVENTION == METH_O:
            return _coded_entries([c_int32.from_address(name - 16).value], told, pointer_at(name - 8))
        return _pypy_entries(method) if told == 0 else []
    if c_uint64.from_address(name - 32).value != HEADER_MAGIC:
        return []
    if c_uint16.from_address(name - 36).value != 1 or c_uint32.from_address(name - 40).value < 56:
        return []
    table = pointer_at(name - 48)
    return entries_of(table) if table else _pypy_entries(method)


class DlInfo(ctypes.Structure):
    """The struct Dl_info of <dlfcn.h>."""
    _fields_ = [("dli_fname", c_char_p), ("dli_fbase", c_void_p), ("dli_sname", c_char_p), ("dli_saddr", c_void_p)]


class LinkMap(ctypes.Structure):
    """The beginning of <link.h>'s link_map."""
    _fields_ = [("l_addr", c_size_t), ("l_name", c_char_p)]


class ElfSymbol(ctypes.Structure):
    """The struct Elf64_Sym of <elf.h>."""
    _fields_ = [("st_name", c_uint32), ("st_info", ctypes.c_uint8), ("st_other", ctypes.c_uint8),
                ("st_shndx", c_uint16), ("st_value", c_uint64), ("st_size", c_uint64)]


RTLD_DL_SYMENT, RTLD_DL_LINKMAP, STT_OBJECT = 1, 2, 1


def _locate(address, what=RTLD_DL_LINKMAP):
    """Returns (Dl_info, address of its link_map or Elf64_Sym, or 0), or None if no shared object contains the
    address."""
    info, extra = DlInfo(), c_size_t(0)
    found = PROCESS.dladdr1(c_void_p(address), ctypes.byref(info), ctypes.byref(extra), what)
    return (info, extra.value) if found else None


def _sibling_entries(method):
    """Returns the entries of the symbol beside a static def (4.10 to 4.12)."""
    name = ctypes.string_at(method.name)
    home = _locate(method.address) if "sibling" in PLACES and re.fullmatch(rb"[A-Za-z_]\w{0,98}", name) else None
    if home is None:
        return []
    path, name = LinkMap.from_address(home[1]).l_name, b"_PyPyTyped_" + name
    try:  # no path means the program itself
        library = ctypes.CDLL(os.fsdecode(path) if path else None, mode=os.RTLD_NOLOAD)
        symbol = ctypes.addressof(ctypes.c_char.in_dll(library, name.decode()))
    except (OSError, ValueError):
        return []
    info, entry = _locate(symbol, RTLD_DL_SYMENT) or (DlInfo(), 0)
    if not entry or (info.dli_saddr, info.dli_sname, info.dli_fbase) != (symbol, name, home[0].dli_fbase):
        return []
    if ElfSymbol.from_address(entry).st_info & 15 != STT_OBJECT or ElfSymbol.from_address(entry).st_size != 16:
        return []
    table = pointer_at(symbol + 8)
    if pointer_at(symbol) != method.address or not _same_home(home, table):
        return []
    for row in rows(table):
        if not _same_home(home, row + 23) or not _same_home(home, pointer_at(row)):
            return []
        if not pointer_at(row + 16) or parse(text_at(pointer_at(row))) is None:
            return []
    return entries_of(table)


def _same_home(home, address):
    other = _locate(address) if address else None
    return bool(other and other[0].dli_fbase == home[0].dli_fbase)


def accepts_self(unbound, passed):
    """Returns True if `passed` is a self for the unbound method (3.16)."""
    owner = unbound.__objclass__
    if type(unbound) is UNBOUND[1]:
        return _is_class(passed) and owner in _mro(passed)
    return owner in _mro(type(passed))


def _is_class(value):
    return type in _mro(type(value))


def places(callable, passes_self=False):
    """Returns (entries, object that keeps them valid) for each place, in the order of section 8."""
    if (type(callable) in UNBOUND) != passes_self:
        return
    method = method_of(callable)
    if method is None:
        yield entries_of(_instance_table(callable)), None
    else:
        yield _name_entries(method), None
        table, held = hold(BY_DEF, method.address, callable)
        yield entries_of(table), held
    table, held = hold(BY_OBJECT, id(callable), callable)
    yield entries_of(table), held
    if method is not None:
        yield _sibling_entries(method), None
