// For pybind11 modules: typedcall::def<function>(module, "name") is module.def() plus a tag,
// through which native code finds the C++ function behind the Python one.
#ifndef TYPEDCALL_PYBIND11_H_
#define TYPEDCALL_PYBIND11_H_

#include "typedcall/base/with_exceptions.h"

#include <pybind11/pybind11.h>

// After Python.h.
#include "typedcall/base/namespace.h"
#include "typedcall/binding/tagged_function.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

template <auto function, class... Extra>
void def_with_entry(pybind11::module_ &module, const char *name, const PyNativeCallableEntry &entry,
                    const Extra &...extra) {
  module.def(name, function, extra...);
  // pybind11 puts the function, or an instance method around it, into the module.
  PyObject *object = pybind11::object(module.attr(name)).ptr();
  if (PyInstanceMethod_Check(object)) object = PyInstanceMethod_GET_FUNCTION(object);
  PyMethodDef *def = PyTypedMethod_DefOf(object);
  if (def == nullptr) throw pybind11::type_error("not a function of pybind11");
  const bool is_tagged = tag_with_one_entry(entry, [&](auto *interface, auto *table, auto *free) {
    return PyTypedMethod_TagDef(interface, def, object, table, free);
  });
  if (!is_tagged) throw pybind11::error_already_set();
}

}  // namespace internal

/// Calls module.def(name, function, extra...) for a noexcept C++ function of numbers and pointers,
/// and tags it with these flags (for example PyNativeCallable_PURE).
///
/// pybind11 allocates a PyMethodDef for each function, frees it with the function, and may reuse
/// its address: so the function object itself is the tag's owner. A second function of the same
/// name becomes an overload of the same pybind11 function, which has one tag: that is an error here
/// (tag all overloads with one table instead).
///
/// Throws error_already_set with ValueError if the function already has a different tag. GIL: held.
template <auto function, class... Extra>
void def(pybind11::module_ &module, const char *name, std::uintptr_t flags = 0,
         const Extra &...extra) {
  const auto entry = internal::plain_function<function>::entry(flags);
  internal::def_with_entry<function>(module, name, entry, extra...);
}

/// The same for a function that may throw, provided that it then had no effect: native code calls
/// the Python function with the same arguments, and pybind11 translates the exception.
template <auto function, class... Extra>
void def_falling_back(pybind11::module_ &module, const char *name, std::uintptr_t flags = 0,
                      const Extra &...extra) {
  const auto entry = internal::falling_back_function<function>::entry(flags);
  internal::def_with_entry<function>(module, name, entry, extra...);
}

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_PYBIND11_H_
