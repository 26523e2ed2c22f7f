// The module with tvm-ffi: a library of functions in tvm-ffi's ABI, which its package loads.
#include <tvm/ffi/tvm_ffi.h>

#include "bench/peers/native.h"

TVM_FFI_DLL_EXPORT_TYPED_FUNC(inc, ::inc);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(add, ::add);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(mix, ::mix);
