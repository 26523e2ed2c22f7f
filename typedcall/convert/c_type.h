// The C types that correspond to a function's C++ types, and conversions between the two.
#ifndef TYPEDCALL_CONVERT_C_TYPE_H_
#define TYPEDCALL_CONVERT_C_TYPE_H_

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include "typedcall/base/namespace.h"
#include "typedcall/convert/argument.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

// The signature's letters follow from the C++ types. Where Py_ssize_t is long and size_t is
// unsigned long, their letters are `l` and `L`, which match `n` and `N` (signature.h). Use
// PyTypedMethod_ENTRY for a signature that must contain `n` or `N`. `g` and `Zg` results are
// rounded in the wrapper, so these entries have PyNativeCallable_DIFFERS.

template <class T>
constexpr bool is_complex_part =
    std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, long double>;

template <class Part>
using c_complex =
    std::conditional_t<std::is_same_v<Part, float>, PyNativeType_ComplexFloat,
                       std::conditional_t<std::is_same_v<Part, double>, PyNativeType_ComplexDouble,
                                          PyNativeType_ComplexLongDouble>>;

/// The C type for a parameter or result. `std::complex` becomes the C complex type, which has the
/// same layout but is passed in different registers. A buffer becomes a typedcall::span of C
/// elements. Other types are unchanged.
template <class T, class = void>
struct c_type {
  using type = T;
};
template <template <class> class Template, class Part>
struct c_type<Template<Part>,
              std::enable_if_t<is_complex_part<Part> && is_named_std<Template>("complex")>> {
  using type = c_complex<Part>;
};
template <template <class> class Template, class Part>
struct c_type<Template<Part> *,
              std::enable_if_t<is_complex_part<Part> && is_named_std<Template>("complex")>> {
  using type = c_complex<Part> *;
};
template <template <class> class Template, class Part>
struct c_type<const Template<Part> *,
              std::enable_if_t<is_complex_part<Part> && is_named_std<Template>("complex")>> {
  using type = const c_complex<Part> *;
};

template <class T>
struct c_type<T, std::enable_if_t<is_buffer<T>>> {
  using element = typename buffer_of<T>::element;
  using c_element = typename c_type<std::remove_const_t<element>>::type;
  using type = span<std::conditional_t<std::is_const_v<element>, const c_element, c_element>>;
};

template <class T>
using c_type_of = typename c_type<T>::type;

/// True if T is a std::complex, for which C has a different type.
template <class T>
constexpr bool is_std_complex =
    !std::is_pointer_v<T> && !is_buffer<T> && !std::is_same_v<T, c_type_of<T>>;

/// Converts a C value to C++, or `self` to a pointer to the object's struct.
template <class To, class From>
To from_c(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_pointer_v<To>) {
    return reinterpret_cast<To>(value);
  } else {
    return To(PyNativeType_REAL(value), PyNativeType_IMAG(value));
  }
}

template <class From>
c_type_of<From> to_c(From value) {
  if constexpr (is_std_complex<From>) {
    c_type_of<From> parts;
    PyNativeType_REAL(parts) = value.real();
    PyNativeType_IMAG(parts) = value.imag();
    return parts;
  } else if constexpr (std::is_same_v<From, c_type_of<From>>) {
    return value;
  } else {
    return reinterpret_cast<c_type_of<From>>(value);
  }
}

template <class T>
constexpr bool is_typed_pointer = false;
template <class T>
constexpr bool is_typed_pointer<T *> =
    has_pointer_code<c_type_of<T *>> && !std::is_void_v<T> && !std::is_same_v<T *, const char *>;

/// True if T can be the first parameter of a function with takes_self.
template <class T>
constexpr bool is_self_pointer = std::is_pointer_v<T> &&std::is_class_v<std::remove_pointer_t<T>> &&
                                 !std::is_const_v<std::remove_pointer_t<T>>;

template <class Tuple, std::size_t First, std::size_t Count>
struct c_slice {
  template <std::size_t... I>
  static std::tuple<c_type_of<std::tuple_element_t<First + I, Tuple>>...> pick(
      std::index_sequence<I...>);
  using type = decltype(pick(std::make_index_sequence<Count>()));
};

template <class Tuple, std::size_t... I>
constexpr std::size_t buffers_among(std::index_sequence<I...>) {
  return (std::size_t{0} + ... + std::size_t{is_buffer<std::tuple_element_t<I, Tuple>>});
}
/// The index of a C++ parameter among the C parameters. For a buffer, the index of the pointer.
template <class Tuple, std::size_t Parameter>
constexpr std::size_t place_in_c = Parameter +
                                   buffers_among<Tuple>(std::make_index_sequence<Parameter>());

template <class Tuple, std::size_t First, class Indices>
struct some_of;
template <class Tuple, std::size_t First, std::size_t... I>
struct some_of<Tuple, First, std::index_sequence<I...>> {
  using type = type_list<std::tuple_element_t<First + I, Tuple>...>;
};
template <class Tuple, std::size_t First, std::size_t Count>
using elements = typename some_of<Tuple, First, std::make_index_sequence<Count>>::type;

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CONVERT_C_TYPE_H_
