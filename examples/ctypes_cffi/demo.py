"""Makes ctypes and cffi pointers from typed functions, and typed functions from such pointers."""

import ctypes

import typedcall

import sizes

twice = typedcall.ctypes_function(sizes.twice)
assert twice.argtypes == (ctypes.c_long,) and twice(21) == 42
positive = typedcall.ctypes_function(sizes.positive)  # keeps the GIL and may raise
try:
    positive(-1)
except ValueError as error:
    print("ctypes raised:", error)

libm = ctypes.CDLL("libm.so.6")
libm.hypot.argtypes, libm.hypot.restype = [ctypes.c_double, ctypes.c_double], ctypes.c_double
print("libm.hypot offers", typedcall.signatures(libm.hypot))
assert typedcall.resolve(libm.hypot, "dd->d")(3, 4) == 5

try:
    import cffi
except ImportError:
    print("cffi is not installed")
else:
    pointer = typedcall.cffi_function(sizes.twice)
    assert pointer(21) == 42
    ffi = cffi.FFI()
    ffi.cdef("double sqrt(double);")
    sqrt = ffi.dlopen("libm.so.6").sqrt
    print("cffi's", sqrt, "offers", typedcall.signatures(sqrt))
    assert typedcall.resolve(sqrt, "d->d")(9.0) == 3
    for refused in (sizes.positive, sizes.count):
        try:
            typedcall.cffi_function(refused)
        except TypeError as error:
            print("cffi:", error)
    # This is safe, because there is only one thread.
    count = typedcall.cffi_function(sizes.count, thread_safe_only=False)
    assert (count(), sizes.count()) == (1, 2)
