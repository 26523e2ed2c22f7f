"""Typed functions as functions of tvm-ffi (PyPI: apache-tvm-ffi), and functions of tvm-ffi as typed
functions. Both run without Python if the values are numbers, bools, texts, bytes or tensors."""
from __future__ import annotations

import ctypes
import functools
from typing import Any

from typedcall.calling.api import tag
from typedcall.calling.choose import (
    NUMBERS,
    VALUES,
    extension_of,
    offered,
    rows_to_rank,
    usable,
    valueless,
)
from typedcall.record.codes import is_buffer
from typedcall.record.records import PROMISES, Flags, falling_back, parse_signature
from typedcall.tools.foreign import is_a, show
from typedcall.tools.parameters import by_position

__all__ = ["function", "source"]

_ARGUMENTS = VALUES | {each + letters for each in ("*", "*k") for letters in (*NUMBERS, "Zf", "Zd")}
# The arguments that closure.h can pack.
_PACKED = NUMBERS | {"s", "*s", "*kB"}
# In the order of `tvm_api` in values.h.
_SYMBOLS = (
    "TVMFFIFunctionCall", "TVMFFIObjectIncRef", "TVMFFIObjectDecRef", "TVMFFIStringFromByteArray",
    "TVMFFIErrorMoveFromRaised", "TVMFFIErrorCreate", "TVMFFIErrorSetRaised",
)  # fmt: skip

#: The possible element types of ctypes arrays, by their type codes.
_ELEMENTS = {each._type_: each for each in (
    ctypes.c_bool, ctypes.c_byte, ctypes.c_short, ctypes.c_int, ctypes.c_long, ctypes.c_ubyte, ctypes.c_ushort,
    ctypes.c_uint, ctypes.c_ulong, ctypes.c_float, ctypes.c_double)}


@functools.cache
def _extension() -> Any:
    """Returns the extension module, which has the addresses of tvm-ffi's C functions."""
    import tvm_ffi

    with extension_of("typedcall.tvm_ffi"):
        from typedcall.sinks.tvm_ffi import _tvm_ffi
    version = (ctypes.c_uint32 * 3)()
    tvm_ffi.LIB.TVMFFIGetVersion(version)
    if tuple(version[:2]) != (0, 1):
        raise ImportError("typedcall knows the C ABI of tvm-ffi 0.1, not of {}.{}.{}".format(*version))
    # C++ calls into the library, so it is never closed.
    pointers = [ctypes.cast(getattr(tvm_ffi.LIB, name), ctypes.c_void_p) for name in _SYMBOLS]
    _tvm_ffi.use(tuple(pointer.value or 0 for pointer in pointers))
    return _tvm_ffi


def _as_buffer(tensor: Any) -> Any:
    """Returns the memory of a tensor as a buffer that keeps the tensor alive, or the tensor if that fails."""
    found = _extension().elements(tensor.__chandle__())
    if found is None or found[0] not in _ELEMENTS:
        return tensor
    letters, address, count = found
    memory: Any = (_ELEMENTS[letters] * count).from_address(address)
    memory.tensor = tensor
    return memory


def _call_with_buffers(f: Any, *args: Any) -> Any:
    """Calls the Python function of a function with buffers, which does not accept tvm-ffi's tensors."""
    from tvm_ffi import Tensor

    return f(*[_as_buffer(each) if is_a(each, Tensor) else each for each in args])


def function(f: Any) -> Any:
    """Returns the typed function `f` as a tvm_ffi.Function, for all its callers: Python, C++ and
    compiled kernels.

    A call returns the result of `f`: it calls the overload that suits the values best, with ints, floats
    and bools for numbers, str for `s` and `*s`, bytes for `*kB`, and one-dimensional contiguous CPU
    tensors for buffers. If none fits, or it falls back, `f` itself is called, as tvm-ffi calls Python
    functions, with such tensors as ctypes arrays of the same memory if an overload has buffers. Functions
    that are THREAD_SAFE and need no thread state run without the GIL, in the caller's thread; others take
    it. Exceptions become tvm-ffi's errors: ValueError, TypeError and others that tvm-ffi names arrive in
    Python unchanged, the rest as RuntimeError.

    It keeps `f` alive. Raises ImportError without tvm-ffi, or with a version of another C ABI;
    TypeError if `f` has no entry for tvm-ffi."""
    import tvm_ffi

    extension = _extension()
    found = offered(f)
    entries = usable(f, "tvm-ffi", lambda entry: valueless(entry, "tvm-ffi", _ARGUMENTS), found)
    # A tvm-ffi function wraps it, which keeps and calls it, and knows whether Python has ended.
    boxed = functools.partial(by_position(f))
    if any(is_buffer(letters) for entry in entries for letters in entry.python_types()[0]):
        boxed = functools.partial(_call_with_buffers, by_position(f))
    boxed.typed_entries = [entry.keep_alive for entry in entries]  # type: ignore[attr-defined]
    fallback = tvm_ffi.convert(boxed)
    create = tvm_ffi.get_global_func("ffi.FunctionFromExternC")
    # Nothing in between may fail: only tvm-ffi's function will free the bridge.
    bridge, call, deleter = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    bridge.value, call.value, deleter.value = extension.make_bridge(
        rows_to_rank(found, entries), fallback.__chandle__())
    made = create(bridge, call, deleter)
    # The GIL is not released if it would be taken again, or for a moment only.
    if any(each.view().hold == "THREAD" or each.flags & Flags.SHORT for each in entries):
        made.release_gil = False
    return made


def _error(kind: str, message: str) -> BaseException:
    """Returns the exception that tvm-ffi makes of an error."""
    from tvm_ffi.core import ERROR_NAME_TO_TYPE

    made: BaseException = ERROR_NAME_TO_TYPE.get(kind, RuntimeError)(message)
    return made


def source(f: Any, signature: str, *, flags: int = 0) -> Any:
    """Returns a typed function with this signature that calls the tvm-ffi function `f`, a
    tvm_ffi.Function or the name of a registered one: tvm-ffi's functions have no types of their
    own. Called from Python it is `f`.

    Arguments are numbers, `?`, texts (`s`, `*s`) and bytes (`*kB`), the result is a number, `?` or `v`.
    An error of `f` is an exception, for which the caller must hold the GIL during the call. With
    `flags` PURE | THREAD_SAFE there is a second entry, for callers without the GIL: if `f` fails, or
    returns another type, they call it again from Python, which raises the exception.

    It keeps `f` alive. A wrong signature makes tvm-ffi raise TypeError at the call; nothing crashes.
    Raises ValueError for a faulty signature or one that tvm-ffi has no values for, TypeError unless
    `f` is a function of tvm-ffi, and ImportError like function()."""
    import tvm_ffi

    extension = _extension()
    name = f if isinstance(f, str) else None
    if name is not None:
        f = tvm_ffi.get_global_func(name)
    if not isinstance(f, tvm_ffi.Function):
        raise TypeError(f"a tvm_ffi.Function or the name of one is needed, not {show(f)}")
    arguments, result = parse_signature(signature)
    for letters in arguments:
        if letters not in _PACKED:
            raise ValueError(f"'{signature}': tvm-ffi's functions get no argument '{letters}' here")
    if result not in NUMBERS and result != "v":
        raise ValueError(
            f"'{signature}': a result '{result}' of tvm-ffi's function would be gone when it is read"
        )
    given = Flags(flags)
    if given & ~(PROMISES | Flags.SHORT):
        raise ValueError("flags are PURE, THREAD_SAFE and SHORT; whether it may raise is known")
    ways = [(signature, given | Flags.NEEDS_THREAD | Flags.MAY_RAISE)]
    if result in ("v", "?"):  # these have no error value
        text = "".join(arguments) + ("&?->i" if result == "?" else "->i")
        ways = [(text, given | Flags.NEEDS_THREAD | Flags.MAY_RAISE | Flags.RETURNS_STATUS)]
    text = falling_back(signature) or ""
    if text and given & PROMISES == PROMISES:
        ways.insert(0, (text, given | Flags.FALLS_BACK))
    made = functools.partial(f)
    made.__name__ = name or "tvm_ffi_function"  # type: ignore[attr-defined]
    handle = f.__chandle__()
    functions = [extension.make_closure(each, int(own), handle, _error) for each, own in ways]
    tag(made, [each for each, _ in ways], functions, flags=[own for _, own in ways])
    return made
