"""Shared by the tests of typedcall.tvm_ffi."""

import ctypes

import adapter_support
import support

tvm_ffi = adapter_support.library("tvm_ffi")

functions = support.build("typed_functions")
buffers = support.build("buffer_provider")
fallbacks = support.build("fallback_functions")


caller = support.build("tvm_ffi_caller", flags=("-pthread",))


class Any(ctypes.Structure):
    """TVMFFIAny"""

    _fields_ = [("type", ctypes.c_int32), ("small", ctypes.c_uint32), ("pointer", ctypes.c_void_p)]


class ByteArray(ctypes.Structure):
    """TVMFFIByteArray"""

    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_size_t)]


RAW_TEXT, RAW_BYTES = 8, 9


def call_raw(function, kind, pointer):
    """Calls a function with an argument of any type, and returns the type of the result. Returns None on failure."""
    result = raw_result(function, kind, pointer)
    return None if result is None else result.type


def raw_result(function, kind, pointer):
    """Calls a function with an argument of any type, and returns the result. Returns None on failure."""
    argument, result = Any(kind, 0, ctypes.cast(pointer, ctypes.c_void_p)), Any(0, 0, None)
    failed = tvm_ffi.LIB.TVMFFIFunctionCall(
        ctypes.c_void_p(function.__chandle__()), ctypes.byref(argument), 1, ctypes.byref(result))
    if not failed:
        return result
    error = ctypes.c_void_p()
    tvm_ffi.LIB.TVMFFIErrorMoveFromRaised(ctypes.byref(error))
    assert error.value
    tvm_ffi.LIB.TVMFFIObjectDecRef(error)
    return None


def address(name):
    return ctypes.cast(getattr(tvm_ffi.LIB, name), ctypes.c_void_p).value


def call_in_threads(function, x, times=1, threads=1):
    """Calls a function in threads without a Python thread state, and returns the number of failed calls."""
    return caller.call_in_threads(
        address("TVMFFIFunctionCall"), function.__chandle__(), address("TVMFFIErrorMoveFromRaised"),
        address("TVMFFIObjectDecRef"), x, times, threads)
