// typedcall::spans<f>: a function of pointers and counts, as C has them, as one of buffers.
// Used by def.h.
#ifndef TYPEDCALL_PROVIDER_SPANS_H_
#define TYPEDCALL_PROVIDER_SPANS_H_

#include <cstdint>
#include <type_traits>

#include "typedcall/namespace.h"
#include "typedcall/signature_of.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// Are these two parameters a buffer: a pointer to elements, and a Py_ssize_t?
template <class First, class Second>
constexpr bool is_pair_of_buffer = false;
template <class Element>
constexpr bool is_pair_of_buffer<Element *, std::intptr_t> = has_buffer_code<span<Element>>;

/// The parameters with each such pair as a span.
template <class Done, class... Rest>
struct grouped;
template <class... Done>
struct grouped<type_list<Done...>> {
  using type = type_list<Done...>;
};
template <class... Done, class Last>
struct grouped<type_list<Done...>, Last> {
  using type = type_list<Done..., Last>;
};
template <bool is_pair, class Done, class... Rest>
struct next_grouped;
template <class... Done, class First, class... Rest>
struct next_grouped<false, type_list<Done...>, First, Rest...>
    : grouped<type_list<Done..., First>, Rest...> {};
template <class... Done, class First, class Second, class... Rest>
struct next_grouped<true, type_list<Done...>, First, Second, Rest...>
    : grouped<type_list<Done..., span<std::remove_pointer_t<First>>>, Rest...> {};
template <class... Done, class First, class Second, class... Rest>
struct grouped<type_list<Done...>, First, Second, Rest...>
    : next_grouped<is_pair_of_buffer<First, Second>, type_list<Done...>, First, Second, Rest...> {};

template <auto Function, bool is_noexcept, class R, class Parameters>
struct spanned;
template <auto Function, bool is_noexcept, class R, class... A>
struct TYPEDCALL_HIDDEN spanned<Function, is_noexcept, R, type_list<A...>> {
  static_assert((is_buffer<A> || ...),
                "typedcall: spans<f> takes a function that has a pointer to numbers (or a const "
                "char *) and a Py_ssize_t behind it");
  static R call(A... values) noexcept(is_noexcept) { return call_in_c(Function, values...); }
};

template <auto Function, class Type = decltype(Function)>
struct spanned_function;
template <auto Function, class R, class... A>
struct TYPEDCALL_HIDDEN spanned_function<Function, R (*)(A...)>
    : spanned<Function, false, R, typename grouped<type_list<>, A...>::type> {};
template <auto Function, class R, class... A>
struct TYPEDCALL_HIDDEN spanned_function<Function, R (*)(A...) noexcept>
    : spanned<Function, true, R, typename grouped<type_list<>, A...>::type> {};

}  // namespace internal

/// Each pointer of `Function` with a Py_ssize_t behind it is one argument to Python, a buffer of so
/// many elements: `def<spans<norm>>("norm")` of `double norm(const double *, Py_ssize_t)` offers
/// "*kd->d". A `const char *` with one is a text.
template <auto Function>
inline constexpr auto spans = &internal::spanned_function<Function>::call;

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_PROVIDER_SPANS_H_
