"""Makes JAX functions from typed functions. XLA itself calls the typed function for each element of CPU arrays."""
from __future__ import annotations

import functools
from typing import Any, NamedTuple

from typedcall.calling.choose import extension_of, is_alone, offered, rows_to_rank, usable
from typedcall.record.choice import Kind, steps_of_kinds
from typedcall.record.codes import CODES, common_result, describe, kind_of, letters_for
from typedcall.record.records import Entry, Flags
from typedcall.tools.foreign import few, name_of
from typedcall.tools.locks import RenewedLock
from typedcall.tools.parameters import MISSING, by_position, constant_of, parameters_of

__all__ = ["elementwise", "obstacle", "plan_of"]

_TARGET = "typedcall_elementwise"
_NAMES = {"bool": "bool", "signed": "int", "unsigned": "uint", "floating": "float"}
# The extension and each function must be registered with JAX only once.
_adding = RenewedLock()
#: The registered functions, by id. XLA's programs may call them until the process ends.
_known: dict[int, tuple[Any, list[Entry], list[_Overload]]] = {}


class _Overload(NamedTuple):
    """An overload, and how XLA's programs refer to it."""

    signature: str
    letters: list[str]
    result: str
    name: str
    #: The index in the extension module, or -1 if JAX cannot call the overload.
    number: int


@functools.cache
def _extension() -> Any:
    """Registers the extension module's function with JAX, and returns the module."""
    import jax

    with extension_of("typedcall.jax"):
        from typedcall.sinks.jax import _jax
    ffi: Any = getattr(jax, "ffi", None)
    if not hasattr(ffi, "ffi_call"):
        raise ImportError(f"typedcall.jax needs JAX 0.5 or later (jax.ffi); this is JAX {jax.__version__}")
    ffi.register_ffi_target(_TARGET, _jax.target(), platform="cpu")
    return _jax


def _dtype(letters: str) -> str:
    """Returns JAX's name for the type of an array, or "" if there is none."""
    kind, size = kind_of(letters), CODES[letters].size
    if kind not in _NAMES or size > 8:
        return ""
    return "bool" if kind == "bool" else f"{_NAMES[kind]}{8 * size}"


def obstacle(entry: Entry, pure: bool) -> str:
    """Returns the reason why XLA cannot call the entry, or ""."""
    arguments, result = entry.python_types()
    if not arguments or result == "v":
        return "has no arguments or no result"
    for letters in (*arguments, result):
        if letters not in CODES or not _dtype(letters):
            return f"has '{letters}', for which JAX has no arrays"
    if not pure and not entry.flags & Flags.PURE:
        return "does not say PURE, and JAX may call functions any number of times; pure=True declares it"
    return ""


def _overloads(f: Any, pure: bool) -> list[_Overload]:
    found = offered(f)
    entries = usable(f, "JAX", lambda entry: obstacle(entry, pure), found)
    known = _known.get(id(f))
    if known is not None and known[1] == entries:
        return known[2]
    rows = rows_to_rank(found, entries)
    kept, callable_ = tuple([entry.keep_alive for entry in entries]), by_position(f)
    overloads = []
    for at, (signature, flags, address) in enumerate(rows):
        name = f"{name_of(f)} {signature}"
        number = _extension().add(name, rows, at, kept, callable_) if address else -1
        overloads.append(_Overload(signature, *describe(signature, flags)[:2], name, number))
    _known[id(f)] = (f, entries, overloads)
    return overloads


def _kind(array: Any) -> Kind:
    """Returns the kind of Python value for the elements. Weakly typed arrays, which JAX makes from Python numbers,
    count as Python numbers."""
    import jax.numpy as jnp

    if jnp.issubdtype(array.dtype, jnp.bool_):
        return Kind("BOOL", (0, 1))
    if jnp.issubdtype(array.dtype, jnp.integer):
        iinfo: Any = jnp.iinfo  # untyped
        limits = iinfo(array.dtype)
        return Kind("INT", (int(limits.min), int(limits.max)))
    if jnp.issubdtype(array.dtype, jnp.floating):
        return Kind("FLOAT" if array.weak_type or array.dtype.itemsize > 4 else "C_FLOAT")
    return Kind("COMPLEX" if jnp.issubdtype(array.dtype, jnp.complexfloating) else "OTHER")


def plan_of(f: Any, arrays: list[Any]) -> str:
    """Returns the code of the result's type for arrays of these types, of which only the types are read. Raises TypeError
    as a call would. Registers nothing."""
    import numpy

    found = offered(f)
    entries = usable(f, "JAX", lambda entry: obstacle(entry, True), found)
    overloads = [_Overload(signature, *describe(signature, flags)[:2], "", 0 if address else -1)
                 for signature, flags, address in rows_to_rank(found, entries)]
    dtype = numpy.dtype(_choose(f, overloads, arrays)[1])
    return letters_for({name: kind for kind, name in _NAMES.items()}[dtype.name.rstrip("0123456789")], dtype.itemsize)


def _completed(f: Any, overloads: list[_Overload], count: int) -> list[tuple[_Overload, list[Any]]]:
    """Returns the overloads with `count` parameters, or those with more if JAX can call none of them. Each is returned
    with the defaults for the other parameters."""
    exact = [overload for overload in overloads if len(overload.letters) == count]
    if any(overload.number >= 0 for overload in exact):
        return [(overload, []) for overload in exact]
    known = parameters_of(f)
    defaults = known.defaults if known is not None else ()
    made = []
    for overload in overloads:
        values = defaults[count:len(overload.letters)]
        missing = overload.letters[count:]
        if missing and len(values) == len(missing) and not any(value is MISSING for value in values):
            made.append((overload, [constant_of(*pair) for pair in zip(missing, values)]))
    return made


def _choose(f: Any, overloads: list[_Overload], given: list[Any]) -> tuple[_Overload, Any, list[Any]]:
    """Returns the overload for arrays of these types, the type of the result, and the defaults to append."""
    completed = _completed(f, overloads, len(given))
    if not completed:
        counts = few(map(str, sorted({len(each.letters) for each in overloads})), " or ")
        raise TypeError(f"{name_of(f)} takes {counts} arrays in JAX ({len(given)} given)")
    # Every overload accepts a default, so the given arguments decide.
    tried = steps_of_kinds([each.letters[:len(given)] for each, _ in completed], list(map(_kind, given)),
                           is_alone(f, [each.letters for each in overloads]))
    if not tried:
        shown = few([str(each.dtype) for each in given])
        known = few([", ".join(map(_dtype, each.letters)) for each in overloads if each.number >= 0], "; ")
        raise TypeError(f"{name_of(f)} has nothing in JAX for ({shown}): {known}")
    possible = [completed[step.overload] for step in tried.reachable]
    for each, _ in possible:
        if each.number < 0:
            raise TypeError(f"{name_of(f)} has '{each.signature}' for some of these values, which JAX cannot call")
    first, defaults = possible[0]  # some values of every type of JAX fit the overload that is tried first
    return first, _result(f, [each for each, _ in possible]), defaults


def _result(f: Any, possible: list[_Overload]) -> Any:
    """Returns an array type that can hold the results of all these overloads."""
    import numpy

    made = common_result([each.result for each in possible])
    if made is None:
        which = few([f"'{each.signature}'" for each in possible], " or ")
        raise TypeError(f"{name_of(f)} has results of several types for such arrays, and the value of an "
                        f"argument decides which: {which}")
    return numpy.dtype(_dtype(made))


def _exact(value: Any, array: Any) -> Any:
    """Returns the array that JAX has made from a value. Raises OverflowError if an integer has wrapped around. Without
    its 64-bit mode, JAX keeps only the low 32 bits of NumPy's integers."""
    import jax
    import numpy

    if array.dtype.kind in "iu" and not isinstance(value, jax.Array):
        exact = numpy.asarray(value)
        if exact.dtype.kind in "iu" and not numpy.array_equal(exact.astype(array.dtype), exact):
            raise OverflowError(f"an {exact.dtype} is too large for an array of {array.dtype}: "
                                "JAX needs its 64 bits (jax_enable_x64)")
    return array


def _converted(array: Any, letters: str) -> Any:
    """Converts an argument of a type that programs do not have. Programs convert and check all other values."""
    import jax.numpy as jnp

    if kind_of(letters) == "bool" and not jnp.issubdtype(array.dtype, jnp.bool_):
        return array != 0  # the truth value; nan is true, as in Python
    return array.astype("float32") if array.dtype.itemsize == 2 and _kind(array).name.endswith("FLOAT") else array


def elementwise(f: Any, *, pure: bool = False) -> Any:
    """Returns a JAX function that calls the typed function `f` for each element of its arrays. XLA makes the calls on
    the CPU, in any thread, inside and outside jit and vmap.

    Arrays are broadcast. The overload is the one that Python chooses for values of the arrays' types. If the choice
    depends on values, it is made for each element, and TypeError is raised if the results are of several kinds. Arrays
    of float32 count as C floats, and weakly typed Python numbers as Python numbers. Arguments with defaults may be
    omitted. Without JAX's 64-bit mode, an overload for doubles takes and returns float32, and an overload for 64-bit
    integers takes and returns int32. An integer that does not fit is an error, and never wraps around. An exception
    becomes a JAX error with the same text. Functions that are THREAD_SAFE and need no thread state run without the
    GIL. Other functions acquire the GIL once for each array. If a function falls back, `f` is called.

    JAX may call functions any number of times, so `f` must be PURE. `pure=True` declares this if its flags do not. The
    function has no derivative; use jax.custom_jvp. `f` is kept alive until the process ends. Raises TypeError if `f`
    has no entry for JAX. Raises ImportError if JAX lacks its CPU backend or jax.ffi."""
    with _adding.lock:
        _extension()
        overloads = _overloads(f, bool(pure))

    def call(*arrays: Any) -> Any:
        import jax
        import jax.numpy as jnp
        import numpy

        given = [_exact(each, jnp.asarray(each)) for each in arrays]
        chosen, type_of_result, defaults = _choose(f, overloads, given)
        given = jnp.broadcast_arrays(*map(_converted, [*given, *map(jnp.asarray, defaults)], chosen.letters))
        untyped: Any = jax.ShapeDtypeStruct  # untyped in some versions of JAX, like ffi_call()
        result = untyped(given[0].shape, jax.dtypes.canonicalize_dtype(type_of_result))
        made: Any = jax.ffi.ffi_call(_TARGET, result, vmap_method="broadcast_all")
        return made(*given, index=numpy.int64(chosen.number), name=chosen.name)

    call.__name__ = call.__qualname__ = getattr(f, "__name__", "elementwise")
    call.__doc__ = f"{name_of(f)} for each element of JAX's arrays."
    return call
