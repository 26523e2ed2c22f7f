// For pybind11 modules: typedcall::def<function>(module, "name") calls module.def() and adds a tag,
// through which native code finds the C++ function behind the Python function.
#ifndef TYPEDCALL_PYBIND11_H_
#define TYPEDCALL_PYBIND11_H_

#include "typedcall/base/with_exceptions.h"

#include <pybind11/pybind11.h>

// These headers must come after Python.h.
#include "typedcall/base/namespace.h"
#include "typedcall/binding/tagged_function.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

template <auto function, class... Extra>
void def_with_entry(pybind11::module_ &module, const char *name, const PyNativeCallableEntry &entry,
                    const Extra &...extra) {
  module.def(name, function, extra...);
  // The module's attribute is the function, or an instance method that contains it.
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
/// and tags the Python function with `flags` (for example PyNativeCallable_PURE).
///
/// pybind11 allocates a PyMethodDef for each function, frees it with the function, and may reuse
/// its address. Therefore the tag's owner is the function object itself. A second function of the
/// same name is an error, because it becomes an overload of the same pybind11 function, which can
/// have only one tag (tag all overloads with one table instead).
///
/// Throws error_already_set with ValueError if the function already has a different tag. GIL: held.
template <auto function, class... Extra>
void def(pybind11::module_ &module, const char *name, std::uintptr_t flags = 0,
         const Extra &...extra) {
  const auto entry = internal::plain_function<function>::entry(flags);
  internal::def_with_entry<function>(module, name, entry, extra...);
}

/// Like def(), for a function that may throw, but only before it has had any effect. If it throws,
/// native code calls the Python function with the same arguments, and pybind11 translates the
/// exception.
template <auto function, class... Extra>
void def_falling_back(pybind11::module_ &module, const char *name, std::uintptr_t flags = 0,
                      const Extra &...extra) {
  const auto entry = internal::falling_back_function<function>::entry(flags);
  internal::def_with_entry<function>(module, name, entry, extra...);
}

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_PYBIND11_H_
