// tvm-ffi's values as C functions get them, and the way back. Source of the layouts:
// tvm/ffi/c_api.h of version 0.1, of which only what stands here is used; nothing of tvm-ffi is
// needed to compile.
#ifndef TYPEDCALL_PYTHON_TVM_FFI_VALUES_H_
#define TYPEDCALL_PYTHON_TVM_FFI_VALUES_H_

#include "typedcall/calling/value_type.h"
#include "typedcall/convert/bools.h"
// It comes first, because of Python.h.
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace typedcall::python {

using calling::is_utf8;
using calling::value_type;

/// TVMFFITypeIndex: what is in a value.
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
  kTvmObject = 64,  // from here on reference-counted
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
  const std::int64_t *shape, *strides;  // no strides: without gaps
  std::uint64_t offset;
};
static_assert(sizeof(tvm_tensor) == 48);
constexpr std::int32_t kTvmCpu = 1;

/// What is behind the header of an object: TVMFFIObject.
constexpr std::size_t kTvmHeader = 24;
template <class T>
const T *behind_header(const void *object) {
  return reinterpret_cast<const T *>(static_cast<const char *>(object) + kTvmHeader);
}

/// The functions of tvm-ffi's library, in the order in which they are handed over.
struct tvm_api {
  int (*call)(void *function, const tvm_any *args, std::int32_t count, tvm_any *result);
  int (*incref)(void *object);
  int (*decref)(void *object);
  int (*make_text)(const tvm_bytes *from, tvm_any *to);
  void (*take_error)(void **error);
  int (*make_error)(const tvm_bytes *kind, const tvm_bytes *message, const tvm_bytes *backtrace,
                    void **error);
  void (*set_error)(void *error);

  /// The thread's error, which whoever called finds. Returns what a function returns with it.
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

/// How well a value suits a parameter: typedcall/convert/argument.h.
enum class suits { exactly, as_subclass, safely, not_at_all };

/// A small text has its bytes in the value, which nobody ends with a NUL.
using tvm_scratch = char[8];

/// The bytes of a text or of bytes in any of their forms. False for what is neither.
inline bool bytes_of(const tvm_any &value, bool is_text, char *scratch, tvm_bytes *found) {
  if (value.type == (is_text ? kTvmSmallText : kTvmSmallBytes)) {
    std::memcpy(scratch, value.small, sizeof(tvm_scratch));
    const std::size_t size = value.small_size < 7 ? value.small_size : 7;
    scratch[size] = '\0';
    *found = {scratch, size};
  } else if (value.type == (is_text ? kTvmText : kTvmBytes)) {
    *found = *behind_header<tvm_bytes>(value.pointer);
  } else if (is_text && value.type == kTvmRawText && value.text != nullptr) {
    *found = {value.text, std::strlen(value.text)};
  } else if (!is_text && value.type == kTvmRawBytes && value.pointer != nullptr) {
    *found = *static_cast<const tvm_bytes *>(value.pointer);
  } else {
    return false;
  }
  return true;
}

/// A tensor as a buffer: of one dimension, in memory without gaps, of the very type.
inline bool buffer_of(const tvm_any &value, const value_type &wanted, native_value *out) {
  const tvm_tensor *tensor = nullptr;
  if (value.type == kTvmTensor) tensor = behind_header<tvm_tensor>(value.pointer);
  if (value.type == kTvmTensorPointer) tensor = static_cast<const tvm_tensor *>(value.pointer);
  if (tensor == nullptr || tensor->device != kTvmCpu || tensor->dimensions != 1) return false;
  // DLDataTypeCode: by the kinds, in their order.
  constexpr std::uint8_t classes[] = {255, 6, 0, 1, 2, 5, 255, 255, 255};
  if (wanted.element >= sizeof(classes)) return false;
  if (tensor->type_class != classes[wanted.element]) return false;
  if (tensor->type_bits != wanted.element_size * 8 || tensor->type_lanes != 1) return false;
  const bool has_gaps = tensor->strides != nullptr && tensor->strides[0] != 1;
  if (has_gaps && tensor->shape[0] > 1) return false;
  char *const data = static_cast<char *>(tensor->data) + tensor->offset;
  const bool is_pair = wanted.element == PyNativeKind_COMPLEX;
  const std::size_t unit = is_pair ? wanted.element_size / 2u : wanted.element_size;
  if (reinterpret_cast<std::uintptr_t>(data) % unit != 0) return false;
  // What may be written to is made right when it is passed, and not while overloads are tried.
  if (wanted.element == PyNativeKind_BOOL && PyNativeType_IsConst(wanted.type) != 0) {
    const auto count = static_cast<std::size_t>(tensor->shape[0]);
    if (typedcall::internal::first_not_bool(data, count) < count) return false;
  }
  out[0] = native_value::of(data);
  out[1] = native_value::of(tensor->shape[0]);
  return true;
}

/// One value as the C function gets it, in one or two `out`.
inline suits convert(const tvm_any &value, const value_type &wanted, char *scratch,
                     native_value *out) {
  if (wanted.is_double && value.type == kTvmFloat) {  // nearly always
    out[0] = native_value::of(value.real);
    return suits::exactly;
  }
  if (wanted.is_text || wanted.is_bytes) {
    tvm_bytes found;
    if (!bytes_of(value, wanted.is_text, scratch, &found)) {
      return wanted.is_bytes && buffer_of(value, wanted, out) ? suits::exactly : suits::not_at_all;
    }
    out[0] = native_value::of(found.data);
    if (wanted.is_buffer) out[1] = native_value::of(static_cast<std::intptr_t>(found.size));
    if (wanted.is_bytes) return suits::exactly;
    return wanted.holds(found.data, found.size) ? suits::exactly : suits::not_at_all;
  }
  if (wanted.is_buffer) {
    return buffer_of(value, wanted, out) ? suits::exactly : suits::not_at_all;
  }
  const std::int64_t number = value.integer;
  const bool is_int = value.type == kTvmInt, is_bool = value.type == kTvmBool;
  switch (wanted.kind) {
    case PyNativeKind_FLOATING: {
      if (!is_int && !is_bool && value.type != kTvmFloat) return suits::not_at_all;
      const bool is_float = value.type == kTvmFloat;
      const double real = is_float ? value.real : static_cast<double>(number);
      out[0] = wanted.of_real(real);
      return is_float ? suits::exactly : suits::safely;
    }
    case PyNativeKind_SIGNED:
    case PyNativeKind_UNSIGNED: {
      if (!is_int && !is_bool) return suits::not_at_all;
      out[0] = native_value::of(number);
      if (!wanted.holds(number)) return suits::not_at_all;
      return is_int ? suits::exactly : suits::as_subclass;
    }
    case PyNativeKind_BOOL:
      out[0] = native_value::of(number != 0);
      return is_bool ? suits::exactly : suits::not_at_all;
    default:
      return suits::not_at_all;
  }
}

/// A C function's result, where it stands, as the value that is given back.
inline int give(const tvm_api &api, const value_type &type, const void *place, tvm_any *to) {
  *to = {kTvmNone, 0, {0}};
  if (type.is_double) {
    to->type = kTvmFloat;
    std::memcpy(&to->real, place, sizeof(to->real));
    return 0;
  }
  const std::uint64_t bits = type.bits_at(place);
  switch (type.kind) {
    case PyNativeKind_FLOATING:
      to->type = kTvmFloat;
      to->real = type.real_in(bits);
      return 0;
    case PyNativeKind_UNSIGNED:
      if (bits > INT64_MAX) {
        return api.fail("OverflowError", "the result is too large for an int of tvm-ffi");
      }
      [[fallthrough]];
    case PyNativeKind_SIGNED:
      to->type = kTvmInt;
      to->integer = static_cast<std::int64_t>(bits);
      return 0;
    case PyNativeKind_BOOL:
      to->type = kTvmBool;
      to->integer = static_cast<std::int64_t>(bits & 1);
      return 0;
    case PyNativeKind_STRING: {
      const char *const text = native_value{bits}.get<const char *>();
      if (text == nullptr) return 0;
      const tvm_bytes bytes = {text, std::strlen(text)};
      if (!is_utf8(reinterpret_cast<const unsigned char *>(text), bytes.size)) {
        return api.fail("ValueError", "the result is no UTF-8");
      }
      return api.make_text(&bytes, to);
    }
    default:  // `v`
      return 0;
  }
}

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_TVM_FFI_VALUES_H_
