"""Exports typed functions to Cython code, and tags the cpdef functions of Cython modules. Tags need flags, because a
capsule does not record how a function raises; see tag_pyx_capi()."""

from __future__ import annotations

import warnings
from types import ModuleType
from typing import Any

from typedcall.calling.api import tag
from typedcall.calling.choose import offered
from typedcall.record.c_text import c_text, c_types
from typedcall.record.capsules import make_capsule, need_capsules
from typedcall.record.codes import CODES, kind_of, pointee
from typedcall.record.records import HANDLED, Entry, Flags, parse_signature
from typedcall.sources import cython_
from typedcall.tools.foreign import (
    attribute,
    is_a,
    members,
    name_of,
    printable,
    read_module,
    text_attribute,
    type_name,
)

__all__ = ["cython_declarations", "export_to_cython", "tag_pyx_capi"]

# The names that Cython uses instead of C's.
_IN_CAPSULES = {
    "n": "Py_ssize_t",
    "q": "PY_LONG_LONG",
    "Q": "unsigned PY_LONG_LONG",
    "?": "bool",
    "s": "char const *",
    "Zf": "__pyx_t_float_complex",
    "Zd": "__pyx_t_double_complex",
    "Zg": "__pyx_t_long_double_complex",
}
_IN_SOURCE = {
    "n": "Py_ssize_t",
    "?": "bint",
    "O": "object",
    "Zf": "float complex",
    "Zd": "double complex",
    "Zg": "long double complex",
}
# These entries are kept until the process ends, because Cython code stores only the address of an imported function.
_exported: list[Entry] = []
# The kinds of types that Cython can declare. "bool" is missing because Cython's bint is an int.
_KINDS = {"void", "signed", "unsigned", "floating", "complex", "pointer", "string", "object"}
# Cython knows no other floating types of C.
_FLOATING = {"f", "d", "g", "Zf", "Zd", "Zg"}
_ERRORS = {"signed": "except? -1", "unsigned": "except? -1", "floating": "except? -1"}


def _is_declarable(entry: Entry) -> bool:
    """True if a Cython declaration can describe the entry."""
    arguments, result = parse_signature(entry.signature)
    types = {pointee(each) for each in [*arguments, result]}
    kinds = {CODES[each].kind for each in types}
    are_known = all(each in _FLOATING for each in types if CODES[each].kind in ("floating", "complex"))
    view = entry.view()
    return (not entry.flags.requirements(HANDLED & ~Flags.ERROR_IS_NEG_ZERO)
            and view.is_usable and not view.reports and kinds <= _KINDS and are_known)


def _functions(module: ModuleType) -> dict[str, Entry]:
    found = {}
    for name, value in members(module):
        if name.isidentifier() and callable(value) and not is_a(value, type):
            entries = [entry for entry in offered(value) if _is_declarable(entry)]
            if entries:
                found[name] = entries[0]
    return found


def export_to_cython(module: ModuleType | str) -> list[str]:
    """Adds typed functions of a module to its `__pyx_capi__`. Cython code can then `cimport` them with the text of
    cython_declarations(). Must be called before the Cython code is imported. Existing capsules are not replaced. For
    each function, the first entry that Cython can declare is exported, and kept alive until the process ends. Returns
    the names of the functions. Raises TypeError unless `module` is a module or the name of one. Raises ImportError if
    the module cannot be imported, and on PyPy."""
    need_capsules("export_to_cython()")
    module = read_module(module)
    functions = _functions(module)
    if not functions:
        return []
    capsules = attribute(module, "__dict__").setdefault("__pyx_capi__", {})
    if not is_a(capsules, dict):
        raise TypeError(
            f"the __pyx_capi__ of {name_of(module)} is a '{type_name(capsules)}' object, not a dict"
        )
    for name, entry in functions.items():
        if name not in capsules:
            text = c_text(entry.signature, _IN_CAPSULES, "{} const")
            capsules[name] = make_capsule(entry.address, text)
            _exported.append(entry)
    return sorted(functions)


def cython_declarations(module: ModuleType | str) -> str:
    """Returns the text of a .pxd file for the functions that export_to_cython() exports. Each `cdef` line declares
    whether the function needs the GIL and may raise. Raises TypeError and ImportError as export_to_cython() does."""
    lines = []
    for name, entry in sorted(_functions(read_module(module)).items()):
        arguments, result = c_types(entry.signature, _IN_SOURCE)
        effects = "noexcept"
        if entry.view().may_raise:
            kind = kind_of(parse_signature(entry.signature)[1])
            effects = "" if kind == "object" else _ERRORS.get(kind, "except? NULL")
        if not entry.flags & Flags.NEEDS_THREAD:
            effects += " nogil"
        line = "cdef {} {}({}) {}".format(result, name, ", ".join(arguments), effects)
        lines.append(line.rstrip())
    return "\n".join(lines) + "\n"


def tag_pyx_capi(module: ModuleType | str, flags: int | None = None) -> list[str]:
    """Tags the cpdef functions of a Cython module with their C functions in `__pyx_capi__`, and returns their names.
    Cython exports the functions that a .pxd file declares. Call this at the end of the module as
    `tag_pyx_capi(__name__)`, or from another module. A module that must work without typedcall cimports a function of
    the same name from `typedcall.tags`, which warns instead of raising ImportError.

    The capsules do not record `noexcept`, `nogil` and `except VALUE`. By default, functions are therefore assumed to
    need the GIL and to raise in an unknown way. Functions that do not return an object get DIFFERS, so resolve() finds
    them only if `capabilities` contains DIFFERS. `flags` is a promise about all the functions. With MAY_RAISE and
    NEEDS_THREAD, they return -1 or NULL if they raise, as in Cython 3 without `except`. With 0, no function raises or
    needs the GIL. Unless `flags` is 0, functions whose result cannot report an exception (void, complex) are skipped.
    Functions with objects, `int` or `char *` always have DIFFERS, because a capsule shows neither the class of an
    object nor `bint` (a bool in Python), and Python passes bytes for a `char *`. Tag such a function by itself, with
    the address of its entry: `tag(f, "i->i", entries(f)[0].address, flags=...)`.

    A RuntimeWarning lists the skipped cpdef functions, with the reasons. Functions with Cython's own types (typedefs,
    enums, structs) may be tagged one by one: `tag(f, "L->L", capsule)`.

    Raises ImportError if no module has this name. Raises TypeError if `module` is not a module or has no
    `__pyx_capi__`, and if no function can be tagged."""
    module = read_module(module)
    if not is_a(attribute(module, "__pyx_capi__"), dict):
        raise TypeError(f"{name_of(module)} exports no C functions: it has no __pyx_capi__")
    module_name = text_attribute(module, "__name__") or ""
    known = cython_.documented_flags(module_name) if flags is None else Flags(flags)
    tagged = []
    for name, value in members(module):
        if not callable(value) or text_attribute(value, "__module__") != module_name:
            continue
        found = []
        # A fused function is tagged with the C functions of all its variants, and each variant with its own.
        for variant in cython_.variants_of(value):
            found += _tag(variant, known)
        found += _tag(value, known)
        tagged += [name] if found else []
    if not tagged:
        raise TypeError(_why_nothing(module, known))
    left_out = _left_out(module, known)
    if left_out:
        warnings.warn(printable(f"{name_of(module)} has cpdef functions that are not tagged: {left_out}", 2000),
                      RuntimeWarning, stacklevel=2)
    return sorted(tagged)


def _left_out(module: ModuleType, flags: Flags) -> str:
    """Lists the cpdef functions that have no entry, with the reasons."""
    cpdef = [(name, capsule) for name, capsule in cython_.capsules_of(module).items() if cython_.is_cpdef(capsule)]
    made = [(name, cython_.entry_of_capsule(capsule, flags)) for name, capsule in sorted(cpdef)]
    return "; ".join(f"{name}: {reason}" for name, reason in made if isinstance(reason, str))


def _why_nothing(module: ModuleType, flags: Flags) -> str:
    """Explains, for each exported function, why it was not tagged."""
    reasons = []
    for name, capsule in sorted(cython_.capsules_of(module).items()):
        if not callable(attribute(module, name)) or not cython_.is_cpdef(capsule):
            reason = "it is cdef, not cpdef, so no Python function calls it"
        else:
            entry = cython_.entry_of_capsule(capsule, flags)
            is_entry = isinstance(entry, Entry)
            reason = "the Python function of its name is of another module" if is_entry else str(entry)
        reasons.append(f"{name}: {reason}")
    found = "; ".join(reasons) or "its __pyx_capi__ has no capsules"
    return printable(f"{name_of(module)} exports nothing that could be tagged: {found}", 2000)


def _tag(function: Any, flags: Flags) -> list[Entry]:
    made = [cython_.entry_of_capsule(capsule, flags) for _, capsule in cython_.exported(function)]
    found = [entry for entry in made if isinstance(entry, Entry)]
    if found:
        # All variants share one value of flags: every requirement of a variant, and the promises that all of them
        # make.
        of_all, by_all = Flags(0), Flags.THREAD_SAFE
        for entry in found:
            of_all |= entry.flags
            by_all &= entry.flags
        of_all &= ~Flags.THREAD_SAFE | by_all
        tag(
            function,
            [entry.signature for entry in found],
            [entry.address for entry in found],
            flags=int(of_all),
        )
    return found
