// Makes signatures from C++ types at compile time. For example, signature_of<double(double,
// long)>::text is "dl->d".
#ifndef TYPEDCALL_BASE_SIGNATURE_OF_H_
#define TYPEDCALL_BASE_SIGNATURE_OF_H_

#include <cstddef>
#include <type_traits>
#include <utility>

#include "typedcall/base/namespace.h"
#include "typedcall/base/span.h"
#include "typedcall/signature.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// Returns the code of T, or -1 if T has no code. If two codes have the same C++ type (`l` and `n`
/// on LP64), returns the first one. Requests match by width, so the choice matters only for
/// casting::exact.
template <class T>
constexpr int code_of() {
#define TYPEDCALL_ROW(NAME, LETTERS, TYPE, KIND, ...) \
  if (std::is_same_v<T, TYPE>) return PyNativeType_##NAME;
  PyNativeType_LIST(TYPEDCALL_ROW)
#undef TYPEDCALL_ROW
      return -1;
}

template <class T>
constexpr bool has_code = code_of<T>() >= 0;

/// True for C's integer types other than bool.
template <class T>
constexpr bool is_integer_type = PyNativeCode_Kind(code_of<T>()) == PyNativeKind_SIGNED ||
                                 PyNativeCode_Kind(code_of<T>()) == PyNativeKind_UNSIGNED;

/// True for C's floating types. std::is_floating_point is false for those that are not standard.
template <class T>
constexpr bool is_floating_type =
    PyNativeCode_Kind(code_of<std::remove_cv_t<T>>()) == PyNativeKind_FLOATING;

/// A floating type, or the type of the parts of a complex type. Unspecified for other types.
template <PyNativeKind kind, class T>
struct real_type {
  using type = double;
};
template <class T>
struct real_type<PyNativeKind_FLOATING, T> {
  using type = T;
};
template <class T>
struct real_type<PyNativeKind_COMPLEX, T> {
  using type = std::remove_reference_t<decltype(PyNativeType_REAL(std::declval<T &>()))>;
};

/// Calls body(Real()), where Real is the real_type of a floating or complex code. For other codes,
/// returns 0 without calling `body`.
template <class Body>
constexpr auto with_real_type(int code, const Body &body) -> decltype(body(0.0)) {
#define TYPEDCALL_ROW(NAME, LETTERS, TYPE, KIND, ...)                   \
  if ((PyNativeKind_##KIND == PyNativeKind_FLOATING ||                  \
       PyNativeKind_##KIND == PyNativeKind_COMPLEX) &&                  \
      code == PyNativeType_##NAME) {                                    \
    return body(typename real_type<PyNativeKind_##KIND, TYPE>::type()); \
  }
  PyNativeType_VALUE_LIST(TYPEDCALL_ROW)
#undef TYPEDCALL_ROW
      return decltype(body(0.0))();
}

/// Returns the number of bits of the integers that a floating type holds exactly.
template <class Real>
constexpr int exact_digits() {
  int digits = 1;
  Real power = 2;
  while (static_cast<Real>(power + 1) > power) {
    power = static_cast<Real>(2 * power);
    ++digits;
  }
  return digits;
}
#define TYPEDCALL_ROW(NAME, LETTERS, TYPE, KIND, PASSING, ERROR, DIGITS)                           \
  static_assert((PyNativePassing_##PASSING != PyNativePassing_FLOATING &&                          \
                 PyNativePassing_##PASSING != PyNativePassing_COMPLEX) ||                          \
                    DIGITS == exact_digits<typename real_type<PyNativeKind_##KIND, TYPE>::type>(), \
                "the column DIGITS of " #NAME " is wrong");
PyNativeType_VALUE_LIST(TYPEDCALL_ROW)
#undef TYPEDCALL_ROW

    /// True if these are all floating types of at most 64 bits. Code that knows no others asserts
    /// this.
    template <class... Known>
    constexpr bool are_all_reals() {
  bool are_all = true;
#define TYPEDCALL_ROW(NAME, LETTERS, TYPE, KIND, ...)                                        \
  if constexpr (PyNativeKind_##KIND == PyNativeKind_FLOATING) {                              \
    are_all &= sizeof(TYPE) > sizeof(std::uint64_t) || (std::is_same_v<TYPE, Known> || ...); \
  }
  PyNativeType_VALUE_LIST(TYPEDCALL_ROW)
#undef TYPEDCALL_ROW
      return are_all;
}

/// True if T can be the element type of a buffer.
template <class T>
constexpr bool is_element_code() {
  const PyNativePassing passed = PyNativeCode_Passing(code_of<T>());
  return passed != PyNativePassing_VOID && passed != PyNativePassing_ADDRESS;
}

/// True if T is a text, or a buffer whose elements have a code.
template <class T, bool = is_buffer<T>>
constexpr bool has_buffer_code = false;
template <class T>
constexpr bool has_buffer_code<T, true> =
    std::is_same_v<typename buffer_of<T>::element, const char> ||
    is_element_code<std::remove_const_t<typename buffer_of<T>::element>>();

template <class Element>
constexpr PyNativeType buffer_type() {
  constexpr int mark = PyNativePointer_TO | PyNativePointer_BUFFER;
  if constexpr (std::is_same_v<Element, const char>) {
    return {PyNativeType_STRING, static_cast<unsigned char>(mark)};
  } else {
    constexpr int is_const = std::is_const_v<Element> ? int{PyNativePointer_CONST} : 0;
    return {static_cast<unsigned char>(code_of<std::remove_const_t<Element>>()),
            static_cast<unsigned char>(mark | is_const)};
  }
}

}  // namespace internal

/// Returns the code of `T`, with the marks for a pointer (`&`), a buffer (`*`) and const elements
/// (`k`).
template <class T>
constexpr PyNativeType native_type() {
  using value = std::remove_cv_t<T>;
  using pointee = std::remove_cv_t<std::remove_pointer_t<value>>;
  if constexpr (internal::has_code<value>) {
    return {static_cast<unsigned char>(internal::code_of<value>()), 0};
  } else if constexpr (std::is_pointer_v<value> && std::is_void_v<pointee>) {
    return {PyNativeType_POINTER, 0};
  } else if constexpr (std::is_pointer_v<value> && internal::has_code<pointee>) {
    constexpr int is_const =
        std::is_const_v<std::remove_pointer_t<value>> ? int{PyNativePointer_CONST} : 0;
    return {static_cast<unsigned char>(internal::code_of<pointee>()),
            static_cast<unsigned char>(PyNativePointer_TO | is_const)};
  } else if constexpr (internal::has_buffer_code<value>) {
    return internal::buffer_type<typename internal::buffer_of<value>::element>();
  } else {
    static_assert(internal::has_code<value>,
                  "typedcall: this type has no signature code. There are codes for the types in "
                  "PyNativeType_LIST of signature/type_codes.h (not for plain char), for pointers "
                  "to these and spans of these, and for std::string_view");
    return {PyNativeType_VOID, 0};
  }
}

/// The canonical signature of a C++ function type.
template <class Function>
struct TYPEDCALL_HIDDEN signature_of;

template <class R, class... A>
struct signature_of<R(A...)> {
  static_assert(sizeof...(A) + (0 + ... + (internal::is_buffer<std::remove_cv_t<A>> ? 1 : 0)) <=
                    PyNativeSignature_MAX_ARGS,
                "typedcall: more than 127 arguments; a buffer counts as two");
  static_assert(!internal::is_buffer<std::remove_cv_t<R>>,
                "typedcall: a buffer can only be an argument: a result has no count in C");

  static constexpr PyNativeSignature parsed() {
    PyNativeSignature signature{};
    const PyNativeType args[] = {native_type<A>()..., {PyNativeType_VOID, 0}};
    signature.nargs = static_cast<int>(sizeof...(A));
    signature.result = native_type<R>();
    for (std::size_t i = 0; i < sizeof...(A); ++i) signature.args[i] = args[i];
    return signature;
  }

 private:
  struct storage {
    char text[4 * sizeof...(A) + 7];
  };
  static constexpr storage print() {
    storage printed{};
    const PyNativeSignature signature = parsed();
    PyNativeSignature_Print(&signature, printed.text, sizeof(printed.text));
    return printed;
  }
  static constexpr storage printed = print();

 public:
  /// A NUL-terminated string that is valid for the life of the module.
  static constexpr const char *text = printed.text;
};

template <class R, class... A>
struct signature_of<R(A...) noexcept> : signature_of<R(A...)> {};

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_BASE_SIGNATURE_OF_H_
