"""Makes SciPy's LowLevelCallables from typed functions. SciPy's integrators and filters call these without Python. The
capsule's name is the C signature, which SciPy compares byte by byte."""

from __future__ import annotations

import functools
from typing import Any

from typedcall.calling.choose import offered, usable
from typedcall.record.c_text import parse_declaration
from typedcall.record.capsules import capsule_name, make_capsule, need_capsules
from typedcall.record.codes import answers
from typedcall.record.records import Entry, Flags, has_buffers, parse_signature
from typedcall.tools.foreign import is_a

__all__ = ["SIGNATURES", "low_level_callable"]

_OF_ARRAYS = "double (int, double *, void *)"

#: The signatures that SciPy accepts for quad, nquad and ndimage's filters, by their notation in letters.
SIGNATURES: dict[str, str] = {
    parse_declaration(text).signature: text
    for text in (
        "double (double)",
        "double (double, void *)",
        "double (int, double *)",
        _OF_ARRAYS,
        "int (double *, intptr_t, double *, void *)",
        "int (double *, intptr_t, double *, intptr_t, void *)",
        "int (intptr_t *, double *, int, int, void *)",
    )
}


#: Entries of these adapters take the GIL to run Python code, and wait for nothing else while they hold it.
_OF_PYTHON_CODE = frozenset({"Numba", "ctypes", "cffi", "Cython"})
#: For functions that take the GIL themselves: C signatures, and the declarations of callbacks that release the GIL.
_OF_NUMBER = ("double (double, void *)", "double (double x, void *data)")
_OF_NUMBERS = (_OF_ARRAYS, "double (int n, const double *x, void *data)")
_OF_POINTER = (_OF_ARRAYS, "double (int n, double *x, void *data)")

#: For functions that take buffers: the C signature of a SciPy filter, and the declaration of its arrays. A status of
#: 1 means success.
_FILTERS: dict[str, tuple[str, str]] = {
    "*d->d": ("int (double *, intptr_t, double *, void *)",
              "int (double x[n], intptr_t n, double y[1], void *data)"),
    "*d*d->v": ("int (double *, intptr_t, double *, intptr_t, void *)",
                "int (double x[n], intptr_t n, double y[m], intptr_t m, void *data)"),
}


def _filter_of(entry: Entry) -> tuple[str, str] | None:
    arguments, result = entry.python_types()
    signature = "".join(arguments) + "->" + result
    return next((found for asked, found in _FILTERS.items() if answers(signature, asked)), None)


def _callback_for(entry: Entry) -> tuple[str, str] | None:
    """Returns the C signature of SciPy and the declaration of the callback that must call the entry, or None. SciPy
    holds the GIL, for which a function that takes it in another thread would wait forever."""
    if has_buffers(entry) and _text_of(entry.signature) is None:
        return _filter_of(entry)
    takes_gil = entry.flags & Flags.ACQUIRES_GIL and entry.place not in _OF_PYTHON_CODE
    if not takes_gil or entry.signature.split("->")[0].endswith("P"):
        return None
    if answers(entry.signature, "d->d"):
        return _OF_NUMBER
    return _OF_NUMBERS if _is_of_doubles(entry.signature) else _OF_POINTER


def _text_of(signature: str) -> str | None:
    for known, text in SIGNATURES.items():
        if answers(signature, known):
            return text
    return None


def _is_of_doubles(signature: str) -> bool:
    """True for a function that takes several doubles and returns a double."""
    arguments, result = parse_signature(signature)
    return len(arguments) > 1 and set(arguments + [result]) == {"d"}


def _unknown_to_scipy(entry: Entry) -> str:
    if has_buffers(entry) and _filter_of(entry) is None:
        return "has buffers, and SciPy calls such functions as filters only: '*kd->d' and '*kd*d->v'"
    if has_buffers(entry):
        return ""
    if _text_of(entry.signature) is not None or _is_of_doubles(entry.signature):
        return ""
    return "is not a SciPy signature ({})".format("; ".join(SIGNATURES.values()))


@functools.cache
def _class() -> Any:
    """Returns a class of LowLevelCallables with two more items: the object that keeps the address valid, and the
    flags. Items cannot be changed, and the garbage collector sees them. `function` is the typed function, because the
    capsule keeps nothing alive."""
    from scipy import LowLevelCallable

    class TypedLowLevelCallable(LowLevelCallable):  # type: ignore[misc]
        """A SciPy LowLevelCallable that is made from a typed function and keeps it alive."""

        __slots__ = ()

        @property
        def typed_function(self) -> Any:
            """The object that keeps the address valid while it lives."""
            return tuple.__getitem__(self, 3)

        @property
        def typed_flags(self) -> Flags:
            """The flags of the entry."""
            return Flags(tuple.__getitem__(self, 4))

        def __reduce__(self) -> Any:
            raise TypeError(
                f"a LowLevelCallable of {capsule_name(tuple.__getitem__(self, 0))!r} holds an address, which another "
                "process cannot use: pickle the typed function, and call low_level_callable() there"
            )

    return TypedLowLevelCallable


def low_level_callable(
    f: Any, signature: str | None = None, *, user_data: Any = None
) -> Any:
    """Returns a scipy.LowLevelCallable that keeps `f` alive. `signature` is written in letters (`d->d`) or as
    in SciPy (`double (double)`). Without `signature`, the first entry that SciPy accepts is used. `user_data` is a
    capsule, a ctypes pointer or a cffi pointer, as in SciPy. By default, a LowLevelCallable keeps its own user data.

    SciPy does not support functions that take several doubles (`ddd->d`). If there is no other entry, such a function
    is wrapped in one that takes an array, which needs the user data itself. Pass it to nquad, or to quad with `args`.
    The result is nan if SciPy passes a different number of arguments. Functions that take buffers become filters for ndimage:
    `*kd->d` for generic_filter, `*kd*d->v` for generic_filter1d.

    SciPy calls the function with or without the GIL, and does not check for exceptions. Only entries that need no GIL
    and cannot raise are used. Raises ValueError for a signature that SciPy does not support. Raises TypeError as
    typedcall.resolve() does, and for unsuitable user data. Raises ImportError on PyPy."""
    need_capsules("low_level_callable()")
    from scipy import LowLevelCallable

    if signature is not None:
        if is_a(signature, str) and "(" in signature:
            signature = parse_declaration(signature).signature
        parse_signature(signature)
        if _text_of(signature) is None and not _is_of_doubles(signature) and "*" not in signature:
            raise ValueError(
                "SciPy has no callbacks of the signature '{}'; it has: {}".format(
                    signature, ", ".join(f"'{known}' = {c}" for known, c in SIGNATURES.items())
                )
            )
    found = offered(f)
    if signature is None:
        # Entries with SciPy's signatures come before those that need a function that takes an array.
        of_scipy = [entry for entry in found if _text_of(entry.signature) is not None]
        found = of_scipy + [entry for entry in found if entry not in of_scipy]
    entry = usable(f, "SciPy", _unknown_to_scipy, found, signature, Flags.ACQUIRES_GIL)[0]
    if user_data is None and is_a(f, LowLevelCallable):
        user_data = f.user_data
    if user_data is not None and not entry.signature.split("->")[0].endswith("P"):
        raise TypeError(f"'{entry.signature}' has no last argument for user data")
    address, text, kept = entry.address, _text_of(entry.signature), entry.keep_alive
    by_callback = _callback_for(entry)
    if by_callback is not None:
        from typedcall.sinks.callbacks import callback_of

        text, declaration = by_callback
        error, success = (0, 1) if text.startswith("int") else (None, 0)  # a filter's status
        made_of = callback_of(f, lambda _: [entry], declaration, None, error, success, False)
        address, user_data, kept = made_of.address, make_capsule(made_of.data, "typedcall.callback"), (kept, made_of)
    elif text is None:
        from typedcall.native._native import CALL_WITH_ARRAY, array_callee

        user_data = array_callee(entry.signature, address)
        address, text = CALL_WITH_ARRAY, _OF_ARRAYS
    made = LowLevelCallable(make_capsule(address, text), user_data)
    capsule = next(tuple.__iter__(made))
    items = (capsule, f, user_data, kept, entry.flags)
    return tuple.__new__(_class(), items)
