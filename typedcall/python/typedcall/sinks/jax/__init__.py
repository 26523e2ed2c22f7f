"""Typed functions in JAX: element by element over arrays of the CPU, in jit and vmap, called by XLA
itself, without Python."""
from __future__ import annotations

import functools
from typing import Any, NamedTuple

from typedcall.calling.choose import HANDLED, extension_of, usable
from typedcall.record.codes import CODES, kind_of
from typedcall.record.records import Entry, Flags, row_of
from typedcall.tools.foreign import name_of
from typedcall.tools.locks import RenewedLock
from typedcall.tools.parameters import by_position

__all__ = ["elementwise"]

_TARGET = "typedcall_elementwise"
_NAMES = {"bool": "bool", "signed": "int", "unsigned": "uint", "floating": "float"}
# Held while the extension or a function is made known to JAX, each once.
_adding = RenewedLock()
#: By id of the function, which XLA's programs call for ever.
_known: dict[int, tuple[Any, list[Entry], list[_Loop]]] = {}


class _Loop(NamedTuple):
    """One overload, as XLA's programs know it."""

    name: str
    number: int
    inputs: list[str]
    output: str


@functools.cache
def _extension() -> Any:
    """The extension module, whose function JAX has under a name."""
    import jax

    with extension_of("typedcall.jax"):
        from typedcall.sinks.jax import _jax
    ffi: Any = getattr(jax, "ffi", None)
    if not hasattr(ffi, "ffi_call"):
        raise ImportError(f"typedcall.jax needs jax.ffi, of JAX 0.5 or later, not {jax.__version__}")
    ffi.register_ffi_target(_TARGET, _jax.target(), platform="cpu")
    return _jax


def _dtype(letters: str) -> str:
    """The name of an array's type; "" where JAX has none."""
    kind, size = kind_of(letters), CODES[letters].size
    if kind not in _NAMES or size > 8:
        return ""
    return "bool" if kind == "bool" else f"{_NAMES[kind]}{8 * size}"


def _obstacle(entry: Entry, pure: bool) -> str:
    """Why XLA cannot call it, or ""."""
    missing = entry.flags.asks(HANDLED)
    if missing:
        return missing
    arguments, result = entry.python_types()
    if not arguments or result == "v":
        return "has no arguments or no result"
    for letters in (*arguments, result):
        if letters not in CODES or not _dtype(letters):
            return f"has '{letters}', for which JAX has no arrays"
    if not pure and not entry.flags & Flags.PURE:
        return "does not say PURE, and JAX calls functions as often as it likes; pure=True says it"
    return ""


def _loops(f: Any, pure: bool) -> list[_Loop]:
    entries = usable(f, "JAX", lambda entry: _obstacle(entry, pure))
    count = len(entries[0].python_types()[0])
    entries = [entry for entry in entries if len(entry.python_types()[0]) == count]
    known = _known.get(id(f))
    if known is not None and known[1] == entries:
        return known[2]
    loops = []
    for entry in entries:
        arguments, result = entry.python_types()
        name = f"{name_of(f)} {entry.signature}"
        number = _extension().add(name, row_of(entry), entry.keep_alive, by_position(f))
        loops.append(_Loop(name, number, list(map(_dtype, arguments)), _dtype(result)))
    _known[id(f)] = (f, entries, loops)
    return loops


def _choose(f: Any, loops: list[_Loop], given: Any) -> tuple[_Loop, list[Any]]:
    """The overload for arrays of these types, and the types that they are made."""
    import jax.numpy as jnp
    from jax.dtypes import canonicalize_dtype

    if len(given) != len(loops[0].inputs):
        raise TypeError(f"{name_of(f)} takes {len(loops[0].inputs)} arrays in JAX ({len(given)} given)")
    wanted = [[canonicalize_dtype(each) for each in loop.inputs] for loop in loops]
    # As they are; then what JAX makes of two such types, of Python's numbers the other's.
    for suits in (lambda a, b: a.dtype == b and not a.weak_type,
                  lambda a, b: jnp.result_type(a, b) == b):
        for loop, types in zip(loops, wanted):
            if all(map(suits, given, types)):
                return loop, types
    shown = ", ".join(str(each.dtype) for each in given)
    known = "; ".join(", ".join(map(str, types)) for types in wanted)
    raise TypeError(f"{name_of(f)} has nothing in JAX for ({shown}): {known}")


def _exact(value: Any, array: Any) -> Any:
    """The array that JAX makes of a value. OverflowError where an integer wrapped round: without its 64
    bits it keeps the low 32 of NumPy's."""
    import jax
    import numpy

    if array.dtype.kind in "iu" and not isinstance(value, jax.Array):
        exact = numpy.asarray(value)
        if exact.dtype.kind in "iu" and not numpy.array_equal(exact.astype(array.dtype), exact):
            raise OverflowError(f"an {exact.dtype} is too large for an array of {array.dtype}: "
                                "JAX needs its 64 bits (jax_enable_x64)")
    return array


def _converted(array: Any, dtype: Any) -> Any:
    """An argument of a program: integers as they are, since astype() wraps round, and the program looks
    at each value, also those of jit and vmap, which are not known here."""
    return array if dtype.kind in "iu" else array.astype(dtype)


def elementwise(f: Any, *, pure: bool = False) -> Any:
    """A function of JAX's arrays that calls the typed function `f` for each element: what XLA calls in
    jit, vmap and without both, on the CPU, in whatever thread it likes.

    Arrays are broadcast, and one overload is chosen by their types: the first that has them, else the
    first to which JAX converts them. Without JAX's 64 bits an overload of doubles takes and gives float32,
    and one of 64-bit integers int32, converted for each call. An integer that does not fit is an error in
    jit and without, and never wraps round.
    Exceptions are errors of JAX's with their text. Functions that are THREAD_SAFE and need no thread state run
    without the GIL; for others it is taken once for each array, and where one falls back `f` is called.

    JAX calls functions as often as it likes, so it has to be PURE; `pure=True` says so of one that does
    not. It has no derivative: jax.custom_jvp gives it one. `f` is kept for ever, as compiled
    programs are. TypeError for what has no entry for JAX, ImportError without JAX's CPU, or its jax.ffi."""
    with _adding.lock:
        _extension()
        loops = _loops(f, bool(pure))

    def call(*arrays: Any) -> Any:
        import jax
        import jax.numpy as jnp
        import numpy

        given = [_exact(each, jnp.asarray(each)) for each in arrays]
        loop, types = _choose(f, loops, given)
        given = jnp.broadcast_arrays(*map(_converted, given, types))
        untyped: Any = jax.ShapeDtypeStruct  # in some versions of JAX, as what ffi_call() gives
        result = untyped(given[0].shape, jax.dtypes.canonicalize_dtype(loop.output))
        made: Any = jax.ffi.ffi_call(_TARGET, result, vmap_method="broadcast_all")
        return made(*given, index=numpy.int64(loop.number), name=loop.name)

    call.__name__ = call.__qualname__ = getattr(f, "__name__", "elementwise")
    call.__doc__ = f"{name_of(f)} for each element of JAX's arrays."
    return call
