"""Reads functions of Cython modules as entries: the capsules in `__pyx_capi__`, and `cpdef` functions. A fused
function has the entries of all its variants.

The name of a capsule does not describe exceptions. The name shows neither `noexcept` nor the value that reports an
exception, such as 5 in `except 5`. Functions are therefore assumed to raise, unless their module documents its
exports. Functions that return no object have DIFFERS, so only callers that allow this find them. cpdef functions
with objects, `int` or `char *` always have DIFFERS, because the capsule shows neither the class of an object nor
`bint`, and Python passes bytes for a `char *`."""

from __future__ import annotations

import re
import sys
from typing import Any

from typedcall.record.c_text import Declaration, declaration_of, parameters_of, parse_function
from typedcall.record.capsules import capsule_address, capsule_name, is_capsule
from typedcall.record.codes import CODES, has_error_value, pointee
from typedcall.record.records import Entry, Flags, Found
from typedcall.tools.foreign import (
    attribute,
    is_a,
    is_mapping,
    members,
    module_of,
    name_of,
    printable,
    text_attribute,
    type_name,
)

__all__ = ["capsules_of", "documented_flags", "entries", "entry_of_capsule", "exported", "is_cpdef",
           "variants_of"]

#: The flags of capsules without documentation.
UNKNOWN = Flags.NEEDS_THREAD | Flags.MAY_RAISE | Flags.DIFFERS

# Modules that document all exports as `noexcept nogil`.
_WITHOUT_GIL = (
    "scipy.special.cython_special",
    "scipy.linalg.cython_blas",
    "scipy.linalg.cython_lapack",
)
# The name of a variant of a fused function: a number for each fused type, and then the function's name.
_VARIANT = re.compile(r"__pyx_fuse_((?:\d+_)*\d+)([A-Za-z_]\w*)")
_SKIP_DISPATCH = "int __pyx_skip_dispatch"
_OPTIONAL_ARGUMENTS = "__pyx_opt_args_"


def documented_flags(module_name: str, name: str = "") -> Flags:
    """Returns the flags that a module documents for all its exports, or UNKNOWN."""
    if module_name not in _WITHOUT_GIL:
        return UNKNOWN
    capsules = capsules_of(sys.modules.get(module_name))
    warns = name in capsules and _may_truncate(capsules, name)
    return Flags.THREAD_SAFE | (Flags.ACQUIRES_GIL if warns else Flags(0))


def _may_truncate(capsules: dict[str, Any], name: str) -> bool:
    """True if this variant takes a double where another takes an integer. SciPy's functions then acquire the GIL to
    warn about values that are not integers."""
    fused = _VARIANT.fullmatch(name)
    if fused is None:
        return False
    own = _declared(capsule_name(capsules[name]) or "").arguments
    for other, capsule in capsules.items():
        variant = _VARIANT.fullmatch(other)
        if variant is None or variant.group(2) != fused.group(2):
            continue
        theirs = _declared(capsule_name(capsule) or "").arguments
        kinds = [
            (CODES[pointee(a)].kind, CODES[pointee(b)].kind) for a, b in zip(own, theirs)
        ]
        if ("floating", "signed") in kinds:
            return True
    return False


def _declared(text: str) -> Declaration:
    """Parses the name of a capsule. Raises ValueError for a text without a signature. Cython writes no names but its
    own, so any other word that could be a name is an unknown type."""
    of, name = parse_function(text)
    names = [each.name for each in parameters_of(of, text)]
    if name or any(each and not each.startswith("__pyx_") for each in names):
        raise ValueError(f"{text!r} has words that are not understood")
    return declaration_of(of, name, text)


def entry_of_capsule(capsule: Any, flags: Flags, keep_alive: Any = None) -> Entry | str:
    """Returns the entry of a capsule, or the reason why it has none.

    The last parameter of a `cpdef` function is `int __pyx_skip_dispatch`. This parameter is left out, because the
    exported functions do not read it, and the supported calling conventions allow this. A pointer to optional
    arguments may follow. Functions read this pointer, so the signature then contains both parameters, and a caller
    passes 0 and NULL."""
    text = capsule_name(capsule)
    try:
        declared = _declared(text or "")
    except ValueError:
        return f"its type has no signature: {printable(text or '')}"
    arguments = declared.arguments
    if declared.texts and declared.texts[-1] == _SKIP_DISPATCH:
        arguments = arguments[:-1]
    signature = "".join(arguments) + "->" + declared.result
    raises = flags & Flags.MAY_RAISE and not flags & Flags.RETURNS_STATUS
    if raises and not has_error_value(declared.result):
        return "its result cannot report an exception; flags= may say that it raises none"
    if "O" in signature:
        flags |= Flags.NEEDS_THREAD
        flags &= ~Flags.THREAD_SAFE
    if flags == UNKNOWN and declared.result == "O":
        flags &= ~Flags.DIFFERS  # for objects, the error value is always NULL
    if _converts_differently(declared, text or ""):
        flags |= Flags.DIFFERS
    address = capsule_address(capsule)
    keep = capsule if keep_alive is None else keep_alive
    return Entry(signature, flags, address, "Cython", keep)


def _converts_differently(declared: Declaration, text: str) -> bool:
    """True if Python may pass or return other values than the signature shows. The C function may rely on an
    argument's class, which only a call from Python checks, or return an instance as a pointer to its struct. A cpdef
    function's `int` may be a `bint`, which is a bool in Python, and its `char *` is bytes in Python."""
    if "O" in declared.arguments or _SKIP_DISPATCH not in text:
        return "O" in declared.arguments
    for given, letters in (*zip(declared.texts, declared.arguments), (text.partition("(")[0], declared.result)):
        if given == _SKIP_DISPATCH or _OPTIONAL_ARGUMENTS in given:
            continue  # neither is an argument in Python
        if letters == "s" or letters.startswith("&") or letters == "i" and "int" in given.split():
            return True
        if letters == "P" and "void" not in given:
            return True
    return False


def capsules_of(module: Any) -> dict[str, Any]:
    """Returns the capsules in a module's `__pyx_capi__`, by name. The dict is empty if there are none."""
    capi = attribute(module, "__pyx_capi__")
    if not is_a(capi, dict):
        return {}
    return {name: capsule for name, capsule in members(capi) if is_capsule(capsule)}


def variants_of(function: Any) -> list[Any]:
    """Returns the variants of a fused function, or an empty list for any other object."""
    variants = attribute(function, "__signatures__")
    return [variant for _, variant in members(variants)] if is_mapping(variants) else []


def exported(function: Any) -> list[tuple[str, Any]]:
    """Returns (name, capsule) for each variant of a cpdef function, or an empty list for any other object."""
    module = module_of(function)
    capsules = capsules_of(module)
    name = text_attribute(function, "__name__")
    if not capsules or name is None:
        return []
    if attribute(module, name) is function:
        # The C names of variants follow the order of types in the fused type.
        found = sorted(_name_of_variant(each, capsules) for each in variants_of(function))
        found = found or [name]
    else:
        found = [_name_of_variant(function, capsules)]
        fused = _VARIANT.fullmatch(found[0])
        owner = attribute(module, fused.group(2)) if fused is not None else None
        if all(each is not function for each in variants_of(owner)):
            return []
    # Python can call only cpdef functions.
    return [
        (each, capsules[each])
        for each in found
        if each in capsules and is_cpdef(capsules[each])
    ]


def is_cpdef(capsule: Any) -> bool:
    """True if the capsule belongs to a cpdef function."""
    return _SKIP_DISPATCH in (capsule_name(capsule) or "")


def _name_of_variant(function: Any, capsules: dict[str, Any]) -> str:
    """Returns the name of a variant's capsule. From Cython 3.3 on, the variant's own name also contains the module's
    name."""
    name = text_attribute(function, "__name__") or ""
    own = _VARIANT.fullmatch(name)
    if own is None or name in capsules:
        return name
    for other in capsules:
        found = _VARIANT.fullmatch(other)
        if found is not None and found.group(1) == own.group(1):
            if own.group(2).endswith("_" + found.group(2)):
                return other
    return name


_IF_KNOWN = "; if you know the types that its names stand for, tag a function with it: typedcall.tag(f, 'L->L', {})"
_OPTIONAL = ("the last two parameters of '{}' are Cython's own: pass 0 and None for them, and the optional "
             "arguments have their defaults")


def _left_out(reason: str, where: str, flags: str) -> str:
    """Returns the reason why a capsule has no entry, with an alternative."""
    if reason.startswith("its type"):
        return reason + _IF_KNOWN.format(where)
    return reason.replace("flags=", flags)


def entries(obj: Any) -> Found:
    """Returns the entries of a capsule or a Cython function, or None for any other object."""
    if is_capsule(obj):
        text = capsule_name(obj) or ""
        if "(" not in text:
            return [f"it is a capsule whose name, '{printable(text)}', is not a C declaration; if it holds a C "
                    "function, tag a Python function with it: typedcall.tag(f, 'd->d', capsule)"]
        entry = entry_of_capsule(obj, _flags_of(obj))
        return [_left_out(entry, "capsule", "tag()") if isinstance(entry, str) else entry]
    kind = type_name(obj)
    if kind not in ("cython_function_or_method", "fused_cython_function"):
        if kind != "builtin_function_or_method" or not exported(obj):
            return None
    module = text_attribute(obj, "__module__") or ""
    found: list[Entry] = []
    others: list[Entry | str] = []
    for name, capsule in exported(obj):
        entry = entry_of_capsule(capsule, documented_flags(module, name), obj)
        if isinstance(entry, str):
            where = f"{module}.__pyx_capi__['{name}']"
            others.append(_left_out(entry, where, "typedcall.tag_pyx_capi(module, flags=...)"))
            continue
        found.append(entry)
        if _OPTIONAL_ARGUMENTS in (capsule_name(capsule) or ""):
            others.append(_OPTIONAL.format(entry.signature))
    if not found and not others:
        others = ["Cython exports the C function of a cpdef function that a .pxd file declares, and "
                  f"{module}.__pyx_capi__ has none for {name_of(obj)}"]
    # If a real and a complex variant both fit, the real one must come first.
    return [*sorted(found, key=lambda entry: entry.signature.count("Z")), *others]


def _flags_of(capsule: Any) -> Flags:
    """Returns the flags documented by the capsule's module, or UNKNOWN."""
    for module_name in _WITHOUT_GIL:
        for name, each in capsules_of(sys.modules.get(module_name)).items():
            if each is capsule:
                return documented_flags(module_name, name)
    return UNKNOWN
