"""Converts typed functions to tvm-ffi functions (PyPI: apache-tvm-ffi), and tvm-ffi functions to typed functions.
Python is not needed for numbers, bools, texts, bytes and tensors."""
from __future__ import annotations

import ctypes
import functools
from typing import Any

from typedcall.calling.api import tag
from typedcall.calling.choose import (
    NUMBERS,
    TENSORS,
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

__all__ = ["function", "typed_function"]

# The codes of the arguments that closure.h can pack.
_PACKED = NUMBERS | {"s", "*s", "*kB"}
# tvm-ffi's functions, in the order of `tvm_api` in values.h.
_SYMBOLS = (
    "TVMFFIFunctionCall", "TVMFFIObjectIncRef", "TVMFFIObjectDecRef", "TVMFFIStringFromByteArray",
    "TVMFFIErrorMoveFromRaised", "TVMFFIErrorCreate", "TVMFFIErrorSetRaised",
)  # fmt: skip

#: The element types of ctypes arrays, by type code.
_ELEMENTS = {each._type_: each for each in (
    ctypes.c_bool, ctypes.c_byte, ctypes.c_short, ctypes.c_int, ctypes.c_long, ctypes.c_ubyte, ctypes.c_ushort,
    ctypes.c_uint, ctypes.c_ulong, ctypes.c_float, ctypes.c_double)}


@functools.cache
def _extension() -> Any:
    """Gives tvm-ffi's C functions to the extension module, and returns the module."""
    import tvm_ffi

    with extension_of("typedcall.tvm_ffi"):
        from typedcall.sinks.tvm_ffi import _tvm_ffi
    version = (ctypes.c_uint32 * 3)()
    tvm_ffi.LIB.TVMFFIGetVersion(version)
    if tuple(version[:2]) != (0, 1):
        raise ImportError("typedcall knows the C ABI of tvm-ffi 0.1, not of {}.{}.{}".format(*version))
    # C++ code calls into tvm-ffi's library, which is never closed.
    pointers = [ctypes.cast(getattr(tvm_ffi.LIB, name), ctypes.c_void_p) for name in _SYMBOLS]
    _tvm_ffi.use(tuple(pointer.value or 0 for pointer in pointers))
    return _tvm_ffi


def _as_buffer(tensor: Any) -> Any:
    """Returns a buffer of the tensor's memory that keeps the tensor alive, or the tensor itself if that is not
    possible."""
    found = _extension().elements(tensor.__chandle__())
    if found is None or found[0] not in _ELEMENTS:
        return tensor
    letters, address, count = found
    memory: Any = (_ELEMENTS[letters] * count).from_address(address)
    memory.tensor = tensor
    return memory


def _call_with_buffers(f: Any, *args: Any) -> Any:
    """Calls a Python function with buffers in place of tensors."""
    from tvm_ffi import Tensor

    return f(*[_as_buffer(each) if is_a(each, Tensor) else each for each in args])


def function(f: Any) -> Any:
    """Returns a tvm_ffi.Function that calls the typed function `f`.

    A call returns the same result as `f`. The overload that suits the values best is called. Numbers accept ints,
    floats and bools; `s` and `*s` accept a str; `*kB` accepts bytes. Buffers accept one-dimensional contiguous CPU
    tensors. If no overload fits or the overload falls back, `f` is called as tvm-ffi calls any Python function. If an
    overload has buffers, `f` receives tensors as ctypes arrays of the same memory. Functions that are THREAD_SAFE and
    need no thread state run without the GIL, in the caller's thread. Other functions acquire the GIL. Exceptions
    become tvm-ffi errors. In Python, those that tvm-ffi has names for, such as ValueError and TypeError, keep their
    type, and others become RuntimeError.

    The result keeps `f` alive. Raises ImportError without tvm-ffi, or if its version has a different C ABI. Raises
    TypeError if `f` has no entry for tvm-ffi."""
    import tvm_ffi

    extension = _extension()
    found = offered(f)
    entries = usable(f, "tvm-ffi", lambda entry: valueless(entry, "tvm-ffi", TENSORS), found)
    # A tvm-ffi function keeps this callable alive and calls it. It also detects that Python has been finalized.
    boxed = functools.partial(by_position(f))
    if any(is_buffer(letters) for entry in entries for letters in entry.python_types()[0]):
        boxed = functools.partial(_call_with_buffers, by_position(f))
    boxed.typed_entries = [entry.keep_alive for entry in entries]  # type: ignore[attr-defined]
    fallback = tvm_ffi.convert(boxed)
    create = tvm_ffi.get_global_func("ffi.FunctionFromExternC")
    # Only tvm-ffi's function frees the bridge, so no step between make_bridge() and create() may fail.
    bridge, call, deleter = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    bridge.value, call.value, deleter.value = extension.make_bridge(
        rows_to_rank(found, entries), fallback.__chandle__())
    made = create(bridge, call, deleter)
    # The GIL stays held if the function would acquire it again, or returns almost at once.
    if any(each.view().thread_state == "ATTACHED" or each.flags & Flags.SHORT for each in entries):
        made.release_gil = False
    return made


def _error(kind: str, message: str) -> BaseException:
    """Returns the exception for a tvm-ffi error."""
    from tvm_ffi.core import ERROR_NAME_TO_TYPE

    made: BaseException = ERROR_NAME_TO_TYPE.get(kind, RuntimeError)(message)
    return made


def typed_function(f: Any, signature: str, *, flags: int = 0) -> Any:
    """Returns a typed function with this signature that calls the tvm-ffi function `f`. `f` is a tvm_ffi.Function or
    the name of a registered function. tvm-ffi's functions have no types of their own. A call from Python calls `f`
    directly.

    Arguments can be numbers, `?`, texts (`s`, `*s`) and bytes (`*kB`), and the result a number, `?` or `v`. An error
    of `f` becomes an exception, so the caller must hold the GIL. With the `flags` PURE | THREAD_SAFE, callers without
    the GIL find a second entry. If `f` fails or returns a different type, the second entry falls back to Python,
    which raises the exception.

    The result keeps `f` alive. If the signature is wrong, the call raises TypeError. Raises ValueError for a faulty
    signature, or for types that tvm-ffi does not have. Raises TypeError if `f` is not a tvm-ffi function, and
    ImportError as function() does."""
    import tvm_ffi

    extension = _extension()
    name = f if is_a(f, str) else None
    if name is not None:
        f = tvm_ffi.get_global_func(name)
    if not is_a(f, tvm_ffi.Function):
        raise TypeError(f"a tvm_ffi.Function or the name of one is needed, not {show(f)}")
    arguments, result = parse_signature(signature)
    for letters in arguments:
        if letters not in _PACKED:
            raise ValueError(f"'{signature}': tvm-ffi's functions cannot take an argument '{letters}' here")
    if result not in NUMBERS and result != "v":
        raise ValueError(
            f"'{signature}': a result '{result}' of tvm-ffi's function would be gone when it is read"
        )
    given = Flags(flags)
    if given & ~(PROMISES | Flags.SHORT):
        raise ValueError("flags are PURE, THREAD_SAFE and SHORT; whether it may raise is known")
    ways = [(signature, given | Flags.NEEDS_THREAD | Flags.MAY_RAISE)]
    if result in ("v", "?"):  # these results have no error value
        text = "".join(arguments) + ("&?->i" if result == "?" else "->i")
        ways = [(text, given | Flags.NEEDS_THREAD | Flags.MAY_RAISE | Flags.RETURNS_STATUS)]
    way_back = falling_back(signature, given)
    if way_back is not None and result != "v" and given & PROMISES == PROMISES:
        ways.insert(0, way_back)
    made = functools.partial(f)
    made.__name__ = name or "tvm_ffi_function"  # type: ignore[attr-defined]
    handle = f.__chandle__()
    functions = [extension.make_closure(each, int(own), handle, _error) for each, own in ways]
    tag(made, [each for each, _ in ways], functions, flags=[own for _, own in ways])
    return made
