// Makes the entry of a C++ function. A function that may throw is wrapped so that it falls back.
// Used by pybind11.h and nanobind.h.
#ifndef TYPEDCALL_BINDING_TAGGED_FUNCTION_H_
#define TYPEDCALL_BINDING_TAGGED_FUNCTION_H_

#include "typedcall/base/signature_of.h"
#include "typedcall/tag.h"
// tag.h comes first because it includes Python.h.
#include <cstdint>
#include <type_traits>

#include "typedcall/base/namespace.h"
#include "typedcall/convert/exceptions.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// `may_be_unmarked` is true if the caller states that the function does not throw.
template <auto function, bool may_be_unmarked = false, class Type = decltype(function)>
struct plain_function {
  static_assert(
      !std::is_same_v<Type, Type>,
      "typedcall: def<f>() takes a noexcept function of numbers and pointers; for a C function, "
      "pass typedcall::nothrow; for one that throws, use def_falling_back<f>(): Python then "
      "repeats the call");
};

template <class... A>
constexpr bool has_no_buffers() {
  static_assert(!(is_buffer<std::remove_cv_t<A>> || ...),
                "typedcall: a buffer is two parameters in C, but only one in this function: tag a "
                "function that takes a pointer and a Py_ssize_t, with its signature as a string");
  return true;
}

template <auto function, bool may_be_unmarked, class R, class... A>
struct plain_function<function, may_be_unmarked, R (*)(A...) noexcept>
    : plain_function<function, true, R (*)(A...)> {};

template <auto function, class R, class... A>
struct plain_function<function, true, R (*)(A...)> {
  static_assert(has_no_buffers<A...>());
  static PyNativeCallableEntry entry(std::uintptr_t flags) {
    return {signature_of<R(A...)>::text, flags, reinterpret_cast<void *>(function)};
  }
};

/// Returns the entry of a function with these bits of effects, except nothrow. The library's own
/// wrapper must be able to call the function as they say: it passes no self, and looks for no
/// error.
template <auto function, bool is_nothrow, std::uint64_t bits>
PyNativeCallableEntry plain_entry() {
  static_assert(
      (bits & ~std::uint64_t{PyNativeCallable_PURE | PyNativeCallable_THREAD_SAFE |
                             PyNativeCallable_SHORT | PyNativeCallable_NEEDS_THREAD}) == 0,
      "typedcall: def<f>() takes pure, thread_safe, does_not_block, needs_gil and "
      "nothrow; for other effects, use typedcall/provider.h");
  return plain_function<function, is_nothrow>::entry(static_cast<std::uintptr_t>(bits));
}

/// Wraps a C++ function in an int(A..., R *). The wrapper returns nonzero if the C++ function
/// throws.
template <auto function, class Type = decltype(function)>
struct falling_back_function {
  static_assert(!std::is_same_v<Type, Type>,
                "typedcall: def_falling_back<f>() takes a function of numbers and pointers");
};

template <auto function, class R, class... A>
struct falling_back_function<function, R (*)(A...)> {
  static_assert(has_no_buffers<A...>());
  /// The result is stored in `place`. A function that returns void has no `place`.
  template <class... Place>
  static int call(A... args, Place... place) {
    return unless_thrown(
        [&] {
          if constexpr (std::is_void_v<R>) {
            function(args...);
          } else {
            ((*place = function(args...)), ...);
          }
          return 0;
        },
        [] { return 1; });
  }
  static PyNativeCallableEntry entry(std::uintptr_t flags) {
    flags |= PyNativeCallable_FALLS_BACK;
    if constexpr (std::is_void_v<R>) {
      return {signature_of<int(A...)>::text, flags, reinterpret_cast<void *>(&call<>)};
    } else {
      return {signature_of<int(A..., R *)>::text, flags, reinterpret_cast<void *>(&call<R *>)};
    }
  }
};

template <auto function, class R, class... A>
struct falling_back_function<function, R (*)(A...) noexcept>
    : falling_back_function<function, R (*)(A...)> {};

/// The data of one tag. It is not static, because one function may be tagged under two names with
/// different flags.
struct one_entry {
  PyNativeCallableTable table;

  static void destroy(const void *table) { delete static_cast<const one_entry *>(table); }
};

/// Calls `tag` with the interface, a table that contains `entry`, and a function that destroys the
/// table. `tag` must return the same values as the functions in tag.h. The interface is null if the
/// module stays without tags (PyTypedcall_ImportForTags). On failure, returns false with a Python
/// exception set. GIL: held.
template <class Tag>
bool tag_with_one_entry(PyObject *module, const PyNativeCallableEntry &entry, const Tag &tag) {
  const PyTypedcall_Interface *interface = PyTypedcall_ImportForTags(module);
  if (interface == nullptr && PyErr_Occurred() != nullptr) return false;
  auto *made = new one_entry{{1, {entry}}};
  const int taken = tag(interface, &made->table, one_entry::destroy);
  if (taken != 1) delete made;
  return taken >= 0;
}

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_BINDING_TAGGED_FUNCTION_H_
