// typedcall::spans<f>: a function of pointers and counts, as C has them, as one of buffers.
#ifndef TYPEDCALL_PROVIDER_SPANS_H_
#define TYPEDCALL_PROVIDER_SPANS_H_

#include <cstdint>
#include <type_traits>

#include "typedcall/namespace.h"
#include "typedcall/provider/native.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// Are these two parameters a buffer: a pointer to elements, and a Py_ssize_t?
template <class First, class Second>
constexpr bool is_pair_of_buffer = false;
template <class Element>
constexpr bool is_pair_of_buffer<Element *, std::intptr_t> = has_buffer_code<span<Element>>;

/// The parameters with each such pair as a span.
template <class... Most>
constexpr auto grouped(type_list<Most...> none_or_one) {
  return none_or_one;
}
template <class First, class Second, class... Rest>
constexpr auto grouped(type_list<First, Second, Rest...>) {
  if constexpr (is_pair_of_buffer<First, Second>) {
    return type_list<span<std::remove_pointer_t<First>>>() + grouped(type_list<Rest...>());
  } else {
    return type_list<First>() + grouped(type_list<Second, Rest...>());
  }
}

template <auto Function, class Traits, class Parameters>
struct spanned;
template <auto Function, class Traits, class... A>
struct TYPEDCALL_HIDDEN spanned<Function, Traits, type_list<A...>> {
  static_assert((is_buffer<A> || ...),
                "typedcall: spans<f> takes a function that has a pointer to numbers (or a const "
                "char *) and a Py_ssize_t behind it");
  static typename Traits::result call(A... values) noexcept(Traits::is_noexcept) {
    return call_in_c(Function, values...);
  }
};
template <auto Function, class Traits = function_traits<decltype(Function)>>
using spanned_function =
    spanned<Function, Traits,
            decltype(grouped(elements<typename Traits::parameters, 0, Traits::count>()))>;

}  // namespace internal

/// Each pointer of `Function` with a Py_ssize_t behind it is one argument to Python, a buffer of so
/// many elements: `def<spans<norm>>("norm")` of `double norm(const double *, Py_ssize_t)` offers
/// "*kd->d". A `const char *` with one is a text.
template <auto Function>
inline constexpr auto spans = &internal::spanned_function<Function>::call;

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_PROVIDER_SPANS_H_
