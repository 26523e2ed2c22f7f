// Which items of a buffer (PEP 3118) are values of which type, for pointers into buffers.
#ifndef TYPEDCALL_CONVERT_BUFFER_FORMAT_H_
#define TYPEDCALL_CONVERT_BUFFER_FORMAT_H_

#include <cstddef>

#include "typedcall/namespace.h"
#include "typedcall/signature.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// Do items of this format (NULL is "B") and size have that type, or one of its width and class?
/// They are compared as signatures are: "l" and "q" are the same where both have eight bytes. "c"
/// is a char, signed or not. Other byte orders are other types. Source: PEP 3118; `struct`'s
/// letters, whose sizes the mark in front of them decides.
inline bool is_buffer_of(PyNativeType type, const char *format, std::size_t size) {
  if (format == nullptr) format = "B";
  if (*format == '@' || *format == '=' || *format == '<' || *format == '^') {
    ++format;  // native, or what native is on the platforms that core/platform.h admits
  }
  if (*format == '\0' || (format[1] != '\0' && format[2] != '\0')) return false;
  if (size != PyNativeType_Size(type)) return false;
  const PyNativeKind kind = PyNativeType_Kind(type);
  if (format[0] == 'c' && format[1] == '\0') {
    return kind == PyNativeKind_SIGNED || kind == PyNativeKind_UNSIGNED;
  }
  const int code = PyNativeCode_FromLetters(format[0], format[1]);
  return code > PyNativeType_VOID && PyNativeCode_Kind(code) == kind;
}

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CONVERT_BUFFER_FORMAT_H_
