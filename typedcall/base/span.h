// typedcall::span, for parameters that are buffers. A parameter can also be a std::span or a
// std::string_view.
#ifndef TYPEDCALL_BASE_SPAN_H_
#define TYPEDCALL_BASE_SPAN_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "typedcall/base/namespace.h"

#if !TYPEDCALL_IS_SUPPORTED
#include <complex>
#include <optional>
#include <string_view>
#if __cplusplus >= 202002L || (defined(_MSVC_LANG) && _MSVC_LANG >= 202002L)
#include <span>
#endif
#endif

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {

template <class T>
class span;

namespace internal {

template <class T>
constexpr bool is_span = false;
template <class T>
constexpr bool is_span<span<T>> = true;

/// True if T is `Data` or `const Data`.
template <class T, class Data>
constexpr bool is_span_of = std::is_convertible_v<Data (*)[], T (*)[]>;

template <class T, class Container, class = void>
constexpr bool is_container_of = false;
template <class T, class Container>
constexpr bool
    is_container_of<T, Container, std::void_t<decltype(std::declval<Container &>().size())>> =
        is_span_of<T, std::remove_pointer_t<decltype(std::declval<Container &>().data())>>;

}  // namespace internal

/// A pointer to the first element and a count, like C++20's std::span. A span does not own its
/// elements and is valid only during the call. `span<const char>` is a text in UTF-8 without a
/// terminating NUL.
template <class T>
class span {
 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;

  constexpr span() = default;
  constexpr span(T *data, std::size_t size) : data_(data), size_(size) {}
  template <std::size_t Size>
  constexpr span(T (&array)[Size]) : data_(array), size_(Size) {}
  /// Converts from any container of such elements with data() and size(), such as std::vector.
  template <class Container, class = std::enable_if_t<internal::is_container_of<T, Container>>>
  constexpr span(Container &container)
      : data_(container.data()), size_(static_cast<std::size_t>(container.size())) {}
  template <class Container, class = std::enable_if_t<internal::is_container_of<T, Container>>>
  constexpr span(const Container &container)
      : data_(container.data()), size_(static_cast<std::size_t>(container.size())) {}

  constexpr T *data() const { return data_; }
  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T &operator[](std::size_t at) const { return data_[at]; }
  constexpr T *begin() const { return data_; }
  constexpr T *end() const { return data_ + size_; }

 private:
  T *data_ = nullptr;
  std::size_t size_ = 0;
};

namespace internal {

#if TYPEDCALL_IS_SUPPORTED
/// True if the `__PRETTY_FUNCTION__` in `name` contains the template std::`wanted_name`. Comparing
/// names avoids the headers of these templates, which are slow to parse. Forward declarations in
/// namespace std are not allowed.
constexpr bool names_std(const char *name, const char *wanted_name) {
  constexpr char wanted[] = "Template = std::";
  for (;; ++name) {
    std::size_t same = 0;
    while (wanted[same] != '\0' && name[same] == wanted[same]) ++same;
    if (wanted[same] == '\0') {
      name += same;
      break;
    }
    if (*name == '\0') return false;
  }
  // In libc++, the template is in an inline namespace: std::__1::complex.
  if (name[0] == '_' && name[1] == '_') {
    while (*name != ':' && *name != '\0') ++name;
    if (name[0] != ':' || name[1] != ':') return false;
    name += 2;
  }
  for (const char *own = wanted_name; *own != '\0'; ++own, ++name) {
    if (*name != *own) return false;
  }
  return *name == ']' || *name == ';' || *name == ',';
}
template <template <class> class Template>
constexpr bool is_named_std(const char *wanted) {
  return names_std(__PRETTY_FUNCTION__, wanted);
}
template <template <class, class> class Template>
constexpr bool is_pair_named_std(const char *wanted) {
  return names_std(__PRETTY_FUNCTION__, wanted);
}
template <template <class, std::size_t> class Template>
constexpr bool is_sized_named_std(const char *wanted) {
  return names_std(__PRETTY_FUNCTION__, wanted);
}
#else
// For other compilers, the templates themselves are compared.
template <template <class> class, template <class> class>
constexpr bool is_same_template = false;
template <template <class> class Template>
constexpr bool is_same_template<Template, Template> = true;
template <template <class, class> class, template <class, class> class>
constexpr bool is_same_pair = false;
template <template <class, class> class Template>
constexpr bool is_same_pair<Template, Template> = true;
template <template <class, std::size_t> class, template <class, std::size_t> class>
constexpr bool is_same_sized = false;
template <template <class, std::size_t> class Template>
constexpr bool is_same_sized<Template, Template> = true;
template <template <class> class Template>
constexpr bool is_named_std(std::string_view wanted) {
  return wanted == "complex" ? is_same_template<Template, std::complex>
                             : wanted == "optional" && is_same_template<Template, std::optional>;
}
template <template <class, class> class Template>
constexpr bool is_pair_named_std(std::string_view wanted) {
  return wanted == "basic_string_view" && is_same_pair<Template, std::basic_string_view>;
}
template <template <class, std::size_t> class Template>
constexpr bool is_sized_named_std(std::string_view wanted) {
#ifdef __cpp_lib_span
  if (is_same_sized<Template, std::span>) return wanted == "span";
#endif
  static_cast<void>(wanted);
  return false;
}
#endif

template <class T>
struct elements_are {
  static constexpr bool is_buffer = true;
  using element = T;
};
/// The element type of a buffer parameter, such as `const double`.
template <class T, class = void>
struct buffer_of {
  static constexpr bool is_buffer = false;
};
template <class T>
struct buffer_of<span<T>, void> : elements_are<T> {};
template <template <class, std::size_t> class Template, class T, std::size_t Extent>
struct buffer_of<Template<T, Extent>,
                 std::enable_if_t<Extent + 1 == 0 && is_sized_named_std<Template>("span")>>
    : elements_are<T> {};
template <template <class, class> class Template, class Traits>
struct buffer_of<Template<char, Traits>,
                 std::enable_if_t<is_pair_named_std<Template>("basic_string_view")>>
    : elements_are<const char> {};

template <class T>
constexpr bool is_buffer = buffer_of<T>::is_buffer;
template <class T>
constexpr bool is_text_buffer = false;
template <>
inline constexpr bool is_text_buffer<span<const char>> = true;

template <class... T>
struct type_list {};
template <class... A, class... B>
constexpr type_list<A..., B...> operator+(type_list<A...>, type_list<B...>) {
  return {};
}

/// The C parameters for one C++ parameter. A buffer becomes a pointer and a count. A struct would
/// not do, because it is passed differently once registers run out.
template <class T, bool = is_buffer<T>>
struct one_in_c {
  using type = type_list<T>;
};
template <class T>
struct one_in_c<T, true> {
  using type = type_list<typename buffer_of<T>::element *, std::intptr_t>;
};
template <class... A>
constexpr auto all_in_c(type_list<A...> all) {
  if constexpr ((is_buffer<A> || ...)) {
    return (type_list<>() + ... + typename one_in_c<A>::type());
  } else {
    return all;
  }
}

template <class R, class Parameters>
struct function_of;
template <class R, class... A>
struct function_of<R, type_list<A...>> {
  using type = R(A...);
};
template <class R, class... A>
using c_function = typename function_of<R, decltype(all_in_c(type_list<A...>()))>::type;

/// Calls function(values...), with each buffer as a pointer and a count. `Count` is the number of
/// values that have yet to be converted. A converted value moves to the end.
template <std::size_t Count, class Function>
TYPEDCALL_IN_LINE constexpr decltype(auto) call_rotated(const Function &function) {
  static_assert(Count == 0);
  return function();
}
template <std::size_t Count, class Function, class First, class... Rest>
TYPEDCALL_IN_LINE constexpr decltype(auto) call_rotated(const Function &function, First first,
                                                        Rest... rest) {
  if constexpr (Count == 0) {
    return function(first, rest...);
  } else if constexpr (is_buffer<First>) {
    return call_rotated<Count - 1>(function, rest..., first.data(),
                                   static_cast<std::intptr_t>(first.size()));
  } else {
    return call_rotated<Count - 1>(function, rest..., first);
  }
}
template <class Function, class... A>
TYPEDCALL_IN_LINE constexpr decltype(auto) call_in_c(const Function &function, A... values) {
  if constexpr ((is_buffer<A> || ...)) {
    return call_rotated<sizeof...(A)>(function, values...);
  } else {
    return function(values...);
  }
}

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_BASE_SPAN_H_
