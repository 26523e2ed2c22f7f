// Conversions between tvm-ffi's values and those of C functions. The layouts are declared as in
// tvm/ffi/c_api.h, version 0.1.
#ifndef TYPEDCALL_PYTHON_TVM_FFI_VALUES_H_
#define TYPEDCALL_PYTHON_TVM_FFI_VALUES_H_

#include "typedcall/calling.h"
// After Python.h.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>

namespace typedcall::python {

using calling::argument_value;
using calling::value_type;

/// TVMFFITypeIndex, the type of a value.
enum tvm_type : std::int32_t {
  kTvmNone = 0,
  kTvmInt = 1,
  kTvmBool = 2,
  kTvmFloat = 3,
  kTvmTensorPointer = 7,
  kTvmRawText = 8,
  kTvmRawBytes = 9,
  kTvmSmallText = 11,
  kTvmSmallBytes = 12,
  kTvmObject = 64,  // objects from here on are reference-counted
  kTvmText = 65,
  kTvmBytes = 66,
  kTvmTensor = 70,
};

/// TVMFFIByteArray
struct tvm_bytes {
  const char *data;
  std::size_t size;
};

/// TVMFFIAny
struct tvm_any {
  std::int32_t type;
  std::uint32_t small_size;  // 0 except for small texts and bytes
  union {
    std::int64_t integer;
    double real;
    void *pointer;
    const char *text;
    char small[8];
  };
};
static_assert(sizeof(tvm_any) == 16 && offsetof(tvm_any, integer) == 8);

/// DLTensor, a struct of DLPack.
struct tvm_tensor {
  void *data;
  std::int32_t device, device_number, dimensions;
  std::uint8_t type_class, type_bits;
  std::uint16_t type_lanes;
  const std::int64_t *shape, *strides;  // null strides mean contiguous
  std::uint64_t offset;
};
static_assert(sizeof(tvm_tensor) == 48);
constexpr std::int32_t kTvmCpu = 1;

/// The size of an object's header, TVMFFIObject.
constexpr std::size_t kTvmHeader = 24;
template <class T>
const T *behind_header(const void *object) {
  return reinterpret_cast<const T *>(static_cast<const char *>(object) + kTvmHeader);
}

/// Functions of tvm-ffi's library, in the order of use().
struct tvm_api {
  int (*call)(void *function, const tvm_any *args, std::int32_t count, tvm_any *result);
  int (*incref)(void *object);
  int (*decref)(void *object);
  int (*make_text)(const tvm_bytes *from, tvm_any *to);
  void (*take_error)(void **error);
  int (*make_error)(const tvm_bytes *kind, const tvm_bytes *message, const tvm_bytes *backtrace,
                    void **error);
  void (*set_error)(void *error);

  /// Sets the thread's error, and returns the status that the caller must return.
  int fail(tvm_bytes kind, tvm_bytes message) const {
    const tvm_bytes none = {"", 0};
    void *error = nullptr;
    if (make_error(&kind, &message, &none, &error) == 0) {
      set_error(error);
      decref(error);
    }
    return -1;
  }
  int fail(const char *kind, const char *message) const {
    return fail({kind, std::strlen(kind)}, {message, std::strlen(message)});
  }
};

/// Room for a copy of a small text, because tvm-ffi stores no NUL after it.
using tvm_scratch = char[8];

inline argument_value look_at_bytes(const tvm_bytes &bytes) {
  return argument_value::bytes(bytes.data, bytes.size);
}

/// Returns the elements of a tensor for the engine. Returns given::nothing() unless the tensor is
/// one-dimensional and contiguous in CPU memory.
inline argument_value look_at_tensor(const tvm_tensor *tensor) {
  if (tensor == nullptr || tensor->device != kTvmCpu || tensor->dimensions != 1)
    return argument_value::nothing();
  // The kinds for the values of DLDataTypeCode.
  constexpr PyNativeKind kinds[] = {
      PyNativeKind_SIGNED, PyNativeKind_UNSIGNED, PyNativeKind_FLOATING, PyNativeKind_VOID,
      PyNativeKind_VOID,   PyNativeKind_COMPLEX,  PyNativeKind_BOOL};
  const bool has_gaps = tensor->strides != nullptr && tensor->strides[0] != 1;
  const bool is_known = tensor->type_class < std::size(kinds) && tensor->type_lanes == 1;
  if (!is_known || (has_gaps && tensor->shape[0] > 1)) return argument_value::nothing();
  const PyNativeKind kind = kinds[tensor->type_class];
  const std::size_t size = tensor->type_bits / 8u;
  const std::size_t unit = kind == PyNativeKind_COMPLEX ? size / 2 : size;
  char *const data = static_cast<char *>(tensor->data) + tensor->offset;
  if (kind == PyNativeKind_VOID || unit == 0 || tensor->type_bits % 8 != 0 ||
      reinterpret_cast<std::uintptr_t>(data) % unit != 0) {
    return argument_value::nothing();
  }
  return {PyNativeArgumentKind_OTHER,       kind,
          static_cast<std::uint16_t>(size), false,
          native_value::of(data).bits,      tensor->shape[0]};
}

/// Returns a value for the engine. `scratch` holds the bytes of a small text until the call
/// returns.
inline argument_value look_at(const tvm_any &value, char *scratch) {
  switch (value.type) {
    case kTvmFloat:
      return argument_value::real(value.real);
    case kTvmInt:
      return argument_value::integer(value.integer);
    case kTvmBool:
      return argument_value::boolean(value.integer != 0);
    case kTvmSmallText:
    case kTvmSmallBytes: {
      std::memcpy(scratch, value.small, sizeof(tvm_scratch));
      const std::size_t size = value.small_size < 7 ? value.small_size : 7;
      scratch[size] = '\0';
      return value.type == kTvmSmallText ? argument_value::text(scratch, size)
                                         : argument_value::bytes(scratch, size);
    }
    case kTvmText: {
      const auto &text = *behind_header<tvm_bytes>(value.pointer);
      return argument_value::text(text.data, text.size);
    }
    case kTvmRawText:
      if (value.text == nullptr) return argument_value::nothing();
      return argument_value::text(value.text, std::strlen(value.text));
    case kTvmBytes:
      return look_at_bytes(*behind_header<tvm_bytes>(value.pointer));
    case kTvmRawBytes:
      if (value.pointer == nullptr) return argument_value::nothing();
      return look_at_bytes(*static_cast<const tvm_bytes *>(value.pointer));
    case kTvmTensor:
      return look_at_tensor(behind_header<tvm_tensor>(value.pointer));
    case kTvmTensorPointer:
      return look_at_tensor(static_cast<const tvm_tensor *>(value.pointer));
    default:
      return argument_value::nothing();
  }
}

/// Stores a number, or None if there is no value. Returns false for an int that is too large for
/// tvm-ffi.
inline bool put_number(const argument_value &value, tvm_any *to) {
  switch (value.kind) {
    case PyNativeArgumentKind_BOOL:
      to->type = kTvmBool;
      to->integer = static_cast<std::int64_t>(value.bits);
      return true;
    case PyNativeArgumentKind_INT:
      to->type = kTvmInt;
      to->integer = static_cast<std::int64_t>(value.bits);
      return value.size == 0;
    case PyNativeArgumentKind_FLOAT:
      to->type = kTvmFloat;
      to->real = native_value{value.bits}.get<double>();
      return true;
    default:
      return true;
  }
}

/// Converts a C function's result at `place` to a tvm-ffi value. Returns the status.
inline int set_result(const tvm_api &api, const value_type &type, const void *place, tvm_any *to) {
  *to = {kTvmNone, 0, {0}};
  if (type.is_double) {
    to->type = kTvmFloat;
    std::memcpy(&to->real, place, sizeof(to->real));
    return 0;
  }
  const argument_value value = calling::argument_value_of(type, place);
  if (value.kind == PyNativeArgumentKind_STR) {
    const tvm_bytes bytes = {value.utf8(), static_cast<std::size_t>(value.size)};
    return api.make_text(&bytes, to);
  }
  if (value.is_no_text()) return api.fail("ValueError", "the result is not UTF-8");
  if (!put_number(value, to)) {
    return api.fail("OverflowError", "the result is too large for an int of tvm-ffi");
  }
  return 0;
}

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_TVM_FFI_VALUES_H_
