"""Makes C callbacks from typed functions, for libraries such as solvers, integrators and optimisers."""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Mapping
from typing import Any, Callable

from typedcall.calling.choose import extension_of, nothing_offered, offered
from typedcall.record.codes import CODES
from typedcall.record.records import HANDLED, Entry, Flags, row_of
from typedcall.sinks.callbacks.shape import Shape, Views, Way, parse, ways
from typedcall.sources import ctypes_
from typedcall.tools.foreign import few, is_a, name_of, text_attribute, type_name
from typedcall.tools.parameters import by_position

__all__ = ["callback", "callback_of"]

_HANDLED = HANDLED | Flags.TAKES_SELF


def _extension() -> Any:
    with extension_of("typedcall.callback()"):
        from typedcall.sinks.callbacks import _callbacks
    return _callbacks


def _address(function: Any) -> int:
    if is_a(function, int):
        return int.__int__(function)
    if text_attribute(function, "__module__") != "ctypes" and not hasattr(function, "argtypes"):
        raise TypeError(
            f"an array's C function is an address or a ctypes function, not '{type_name(function)}'"
        )
    return ctypes_.address_of(function)[0]


def _views(given: dict[str, tuple[Any, ...]]) -> Views:
    made = {}
    for name, (pointer_of, length_of) in given.items():
        made[name] = (_address(pointer_of), _address(length_of))
        if not all(made[name]):
            raise ValueError(f"the functions of {name!r:.200} must not be NULL")
    return made


def _error_bytes(shape: Shape, error: float | int | None) -> bytes:
    """Returns the bytes of the C result after an exception."""
    if shape.result == "v":
        if error is not None:
            raise TypeError("the C function returns nothing, so it cannot return an error")
        return b""
    code = CODES.get(shape.result)
    if code is None or code.kind in ("pointer", "string"):
        return (0 if error is None else int(error)).to_bytes(struct.calcsize("P"), "little")
    if code.kind == "floating":
        return struct.pack("=" + code.letters, math.nan if error is None else float(error))
    if code.kind == "bool":
        return bytes([bool(error)])
    signed = code.kind == "signed"
    value = (-1 if signed else (1 << 8 * code.size) - 1) if error is None else int(error)
    return value.to_bytes(code.size, "little", signed=signed)


def _success_bytes(shape: Shape, success: int) -> bytes:
    """Returns the bytes of the status for a function `f` that returns none."""
    if success == 0:
        return bytes(len(_error_bytes(shape, None)))
    if CODES.get(shape.result, CODES["v"]).kind not in ("signed", "unsigned"):
        raise TypeError(f"the C function returns no status, so it cannot return success={success!r}")
    return _error_bytes(shape, success)


def _find(shape: Shape, entries: list[Entry], fits: Any) -> tuple[Entry, Way, str] | None:
    """Returns the first entry that can be called, and the way to call it. Ways that pass arrays come before those that
    pass elements, and unchanged values before converted ones. In each place, exactly the declared types come before
    equivalent ones (docs/ABI.md, 8.2)."""
    places: dict[str, list[Entry]] = {}
    for entry in entries:
        if not entry.flags.requirements(_HANDLED):
            places.setdefault(entry.place, []).append(entry)
    for by_elements, how in itertools.product((False, True), (2, 1)):
        for usable, is_exact in itertools.product(places.values(), (True, False)):
            for entry in usable:
                arguments, result = entry.python_types()
                signature = "".join(arguments) + "->" + result
                # A list, because CPython 3.9 and 3.10 end if they have no memory to close a generator.
                for way in [*ways(shape, len(arguments) if by_elements else None)]:
                    if way.asked == signature if is_exact else fits(way.asked, signature) >= how:
                        return entry, way, signature
    return None


def _without_data(shape: Shape) -> str:
    if shape.data is not None or "P" not in shape.signature.split("->")[0]:
        return ""
    return ("; none of its pointers is a data pointer, which is the last `void *`, and a `const void *` only "
            "by a name like data")


def callback(
    f: Any,
    declaration: str,
    *,
    arrays: Mapping[str, tuple[Any, Any]] | None = None,
    error: float | int | None = None,
    success: int = 0,
) -> Any:
    """Makes a C function of the type in `declaration` that calls the typed function `f`. The library must pass a data
    pointer to its callbacks. Returns a Callback, whose attributes `address` and `data` are ints. Keep the Callback
    alive as long as the library may call it.

    `f` receives the parameters of the C function, except for the data pointer. An array becomes one argument, a buffer
    (`*kd`, `*d`). The length is the declared one, as in `x[n]`, `y[3]` or `f[n * m]`, or the nearest integer
    parameter. `f` may instead receive the elements of an array as numbers. An output array is also an argument, or
    receives the single value that `f` returns. If the C function returns a status, `f` returns it, or returns
    nothing, which means `success`. `arrays` describes library types that hold doubles: it maps the name of a type to
    two C functions (addresses or ctypes functions), which return the pointer to the elements, and the number of
    elements as a 64-bit integer.

    The callback calls the first entry of exactly the declared types, or else the first that accepts the values
    unchanged (docs/ABI.md, 8.2). Otherwise, it calls the first entry that accepts them after lossless conversions. If
    that function falls back, `f` itself is called. An exception is stored in the Callback until check() or the end of
    the `with` statement raises it. Until then, calls return `error`, by default nan, -1 or NULL.

    Raises ValueError for an invalid declaration, TypeError if no entry fits, and ImportError on PyPy."""
    return callback_of(f, offered, declaration, arrays, error, success)


def callback_of(
    f: Any,
    entries_of: Callable[[Any], list[Entry]],
    declaration: str,
    arrays: Mapping[str, tuple[Any, Any]] | None,
    error: float | int | None,
    success: int,
    is_checked: bool = True,
) -> Any:
    """Like callback(), but uses only the entries that `entries_of` returns for `f`. If nobody calls check(), arguments
    that do not fit give `error`, and the next call is made as usual."""
    if not is_a(declaration, str):
        raise TypeError(f"a declaration is a str, not '{type_name(declaration)}'")
    extension = _extension()
    # The copy keeps the C functions alive, even if the caller changes the mapping.
    given = {name: tuple(functions) for name, functions in (arrays or {}).items()}
    shape = parse(declaration, _views(given))
    entries = entries_of(f)
    found = _find(shape, entries, extension.fits)
    if found is None:
        listed = few([f"'{entry.signature}' {entry.flags.requirements(_HANDLED)}".rstrip() for entry in entries], "; ")
        wanted = few(dict.fromkeys([f"'{way.asked}'" for way in ways(shape)]), " or ")
        raise TypeError(
            f"{name_of(f)} has nothing for '{declaration:.500}', which asks for {wanted}; it "
            f"{'offers ' + listed if listed else nothing_offered(f)}{_without_data(shape)}"
        )
    entry, way, signature = found
    how = (
        shape.signature, way.asked, signature, _error_bytes(shape, error), _success_bytes(shape, success),
        way.sources, way.unused, way.place, shape.data is not None, is_checked,
    )  # fmt: skip
    kept = (entry.keep_alive, given)
    return extension.make(f, by_position(f), entry, kept, row_of(entry), declaration, how)
