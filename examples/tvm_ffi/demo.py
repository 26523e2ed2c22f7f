"""Makes tvm-ffi functions from functions of an extension module, and a typed function from a
tvm-ffi function."""

import tvm_ffi
import typedcall
from typedcall.tvm_ffi import function, typed_function

import activations

for f in (activations.swish, activations.logit, activations.words):
    tvm_ffi.register_global_func("activations." + f.__name__, function(f), override=True)

# Python, C++, Rust and compiled kernels can get the function by its name.
logit = tvm_ffi.get_global_func("activations.logit")
print("swish(1) = %.4f, logit(0.5) = %.1f" % (activations.swish(1.0), logit(0.5)))
print("words:", tvm_ffi.get_global_func("activations.words")("as any text of tvm-ffi is"))
try:
    logit(2)
except ValueError as error:
    print("logit(2):", error)

# In the other direction, native code finds a C function behind a tvm-ffi function.
flags = typedcall.Flags.PURE | typedcall.Flags.THREAD_SAFE
swish = typed_function("activations.swish", "d->d", flags=flags)
print("typed:", typedcall.signatures(swish), "%.4f" % typedcall.resolve(swish, "d->d")(1.0))
