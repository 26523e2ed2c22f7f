// For modules of pybind11: typedcall::def<function>(module, "name") is module.def() and a tag, by
// which native code finds the C++ function behind the Python one.
#ifndef TYPEDCALL_PYBIND11_H_
#define TYPEDCALL_PYBIND11_H_

#include "typedcall/with_exceptions.h"

#include <pybind11/pybind11.h>

// Behind Python.h.
#include "typedcall/binding/tagged_function.h"
#include "typedcall/namespace.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

template <auto function, class... Extra>
void def_with_entry(pybind11::module_ &module, const char *name, const PyNativeCallableEntry &entry,
                    const Extra &...extra) {
  module.def(name, function, extra...);
  // What pybind11 puts into the module is the function, or an instance method around it.
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

/// module.def(name, function, extra...) for a C++ function of numbers and pointers that is
/// noexcept, and its tag with these flags of a record (PyNativeCallable_PURE, say).
///
/// pybind11 allocates a PyMethodDef for each function, frees it with the function, and may give its
/// address to the next one: so the function object itself is the tag's owner. With a second
/// function of the same name pybind11 makes overloads of one function, which have one tag: that is
/// an error here (tag all of them by one table instead).
///
/// Throws error_already_set, with ValueError for another tag that is there already; GIL: held.
template <auto function, class... Extra>
void def(pybind11::module_ &module, const char *name, std::uintptr_t flags = 0,
         const Extra &...extra) {
  const auto entry = internal::plain_function<function>::entry(flags);
  internal::def_with_entry<function>(module, name, entry, extra...);
}

/// The same for a function that may throw, having had no effect: native code calls the Python
/// function then, with the same arguments, and that raises what pybind11 makes of the exception.
template <auto function, class... Extra>
void def_falling_back(pybind11::module_ &module, const char *name, std::uintptr_t flags = 0,
                      const Extra &...extra) {
  const auto entry = internal::falling_back_function<function>::entry(flags);
  internal::def_with_entry<function>(module, name, entry, extra...);
}

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_PYBIND11_H_
