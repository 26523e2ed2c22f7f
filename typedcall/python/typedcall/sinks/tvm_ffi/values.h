// tvm-ffi's values for C functions, and the way back. Source of the layouts: tvm/ffi/c_api.h of
// version 0.1, of which only the parts here are used; tvm-ffi is not needed to compile them.
#ifndef TYPEDCALL_PYTHON_TVM_FFI_VALUES_H_
#define TYPEDCALL_PYTHON_TVM_FFI_VALUES_H_

#include "typedcall/calling.h"
// First because it includes Python.h.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>

namespace typedcall::python {

using calling::given;
using calling::value_type;

/// TVMFFITypeIndex: the type of a value.
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
  kTvmObject = 64,  // reference-counted from here on
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
  std::uint32_t small_size;  // 0 for all but small texts
  union {
    std::int64_t integer;
    double real;
    void *pointer;
    const char *text;
    char small[8];
  };
};
static_assert(sizeof(tvm_any) == 16 && offsetof(tvm_any, integer) == 8);

/// DLTensor, of DLPack.
struct tvm_tensor {
  void *data;
  std::int32_t device, device_number, dimensions;
  std::uint8_t type_class, type_bits;
  std::uint16_t type_lanes;
  const std::int64_t *shape, *strides;  // null strides: contiguous
  std::uint64_t offset;
};
static_assert(sizeof(tvm_tensor) == 48);
constexpr std::int32_t kTvmCpu = 1;

/// The part of an object after its header: TVMFFIObject.
constexpr std::size_t kTvmHeader = 24;
template <class T>
const T *behind_header(const void *object) {
  return reinterpret_cast<const T *>(static_cast<const char *>(object) + kTvmHeader);
}

/// The functions of tvm-ffi's library, in the order in which they are passed.
struct tvm_api {
  int (*call)(void *function, const tvm_any *args, std::int32_t count, tvm_any *result);
  int (*incref)(void *object);
  int (*decref)(void *object);
  int (*make_text)(const tvm_bytes *from, tvm_any *to);
  void (*take_error)(void **error);
  int (*make_error)(const tvm_bytes *kind, const tvm_bytes *message, const tvm_bytes *backtrace,
                    void **error);
  void (*set_error)(void *error);

  /// Sets the thread's error for the caller. Returns the status that a function returns with it.
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

/// A small text has its bytes in the value, without a NUL at the end.
using tvm_scratch = char[8];

inline given look_at_bytes(const tvm_bytes &bytes) { return given::bytes(bytes.data, bytes.size); }

/// A tensor's elements: one dimension, on the CPU, in contiguous memory.
inline given look_at_tensor(const tvm_tensor *tensor) {
  if (tensor == nullptr || tensor->device != kTvmCpu || tensor->dimensions != 1)
    return given::nothing();
  // DLDataTypeCode, as a kind.
  constexpr PyNativeKind kinds[] = {
      PyNativeKind_SIGNED, PyNativeKind_UNSIGNED, PyNativeKind_FLOATING, PyNativeKind_VOID,
      PyNativeKind_VOID,   PyNativeKind_COMPLEX,  PyNativeKind_BOOL};
  const bool has_gaps = tensor->strides != nullptr && tensor->strides[0] != 1;
  const bool is_known = tensor->type_class < std::size(kinds) && tensor->type_lanes == 1;
  if (!is_known || (has_gaps && tensor->shape[0] > 1)) return given::nothing();
  const PyNativeKind kind = kinds[tensor->type_class];
  const std::size_t size = tensor->type_bits / 8u;
  const std::size_t unit = kind == PyNativeKind_COMPLEX ? size / 2 : size;
  char *const data = static_cast<char *>(tensor->data) + tensor->offset;
  if (kind == PyNativeKind_VOID || unit == 0 || tensor->type_bits % 8 != 0 ||
      reinterpret_cast<std::uintptr_t>(data) % unit != 0) {
    return given::nothing();
  }
  return {PyNativeGiven_OTHER,
          kind,
          static_cast<std::uint16_t>(size),
          false,
          native_value::of(data).bits,
          tensor->shape[0]};
}

/// A value as the engine sees it; `scratch` holds a small one's bytes until the call returns.
inline given look_at(const tvm_any &value, char *scratch) {
  switch (value.type) {
    case kTvmFloat:
      return given::real(value.real);
    case kTvmInt:
      return given::integer(value.integer);
    case kTvmBool:
      return given::boolean(value.integer != 0);
    case kTvmSmallText:
    case kTvmSmallBytes: {
      std::memcpy(scratch, value.small, sizeof(tvm_scratch));
      const std::size_t size = value.small_size < 7 ? value.small_size : 7;
      scratch[size] = '\0';
      return value.type == kTvmSmallText ? given::text(scratch, size) : given::bytes(scratch, size);
    }
    case kTvmText: {
      const auto &text = *behind_header<tvm_bytes>(value.pointer);
      return given::text(text.data, text.size);
    }
    case kTvmRawText:
      if (value.text == nullptr) return given::nothing();
      return given::text(value.text, std::strlen(value.text));
    case kTvmBytes:
      return look_at_bytes(*behind_header<tvm_bytes>(value.pointer));
    case kTvmRawBytes:
      if (value.pointer == nullptr) return given::nothing();
      return look_at_bytes(*static_cast<const tvm_bytes *>(value.pointer));
    case kTvmTensor:
      return look_at_tensor(behind_header<tvm_tensor>(value.pointer));
    case kTvmTensorPointer:
      return look_at_tensor(static_cast<const tvm_tensor *>(value.pointer));
    default:
      return given::nothing();
  }
}

/// Stores a number, or None for no value. Returns false for an int that tvm-ffi can only represent
/// as an object.
inline bool put_number(const given &value, tvm_any *to) {
  switch (value.kind) {
    case PyNativeGiven_BOOL:
      to->type = kTvmBool;
      to->integer = static_cast<std::int64_t>(value.bits);
      return true;
    case PyNativeGiven_INT:
      to->type = kTvmInt;
      to->integer = static_cast<std::int64_t>(value.bits);
      return value.size == 0;
    case PyNativeGiven_FLOAT:
      to->type = kTvmFloat;
      to->real = native_value{value.bits}.get<double>();
      return true;
    default:
      return true;
  }
}

/// Returns a C function's result, which is at this address.
inline int give(const tvm_api &api, const value_type &type, const void *place, tvm_any *to) {
  *to = {kTvmNone, 0, {0}};
  if (type.is_double) {
    to->type = kTvmFloat;
    std::memcpy(&to->real, place, sizeof(to->real));
    return 0;
  }
  const given value = calling::given_of(type, place);
  if (value.kind == PyNativeGiven_STR) {
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
