// The library with functions in tvm-ffi's ABI.
#include <tvm/ffi/tvm_ffi.h>

#include "bench/peers/native.h"

TVM_FFI_DLL_EXPORT_TYPED_FUNC(inc, ::inc);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(add, ::add);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(mix, ::mix);
