// For pybind11 modules: typedcall::def<function>(module, "name") calls module.def() and tags the
// Python function, so that native code can find the C++ function. On PyPy, nothing is tagged.
#ifndef TYPEDCALL_PYBIND11_H_
#define TYPEDCALL_PYBIND11_H_

#include "typedcall/base/with_exceptions.h"

#include <pybind11/pybind11.h>

// These headers must come after Python.h.
#include "typedcall/base/effects.h"
#include "typedcall/base/namespace.h"
#include "typedcall/binding/tagged_function.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

template <auto function, class... Extra>
void def_with_entry(pybind11::module_ &module, const char *name, const PyNativeCallableEntry &entry,
                    const Extra &...extra) {
  module.def(name, function, extra...);
#ifdef PYPY_VERSION
  static_cast<void>(entry);
#else
  // The attribute is the function, or an instance method that contains the function.
  PyObject *object = pybind11::object(module.attr(name)).ptr();
  if (PyInstanceMethod_Check(object)) object = PyInstanceMethod_GET_FUNCTION(object);
  PyMethodDef *def = PyTypedMethod_DefOf(object);
  if (def == nullptr) throw pybind11::type_error("not a function of pybind11");
  const bool is_tagged =
      tag_with_one_entry(module.ptr(), entry, [&](auto *interface, auto *table, auto *free) {
        return PyTypedMethod_TagDef(interface, def, object, table, free);
      });
  if (!is_tagged) throw pybind11::error_already_set();
#endif
}

}  // namespace internal

/// For a module whose purpose is typed calls: call this before def(). Throws error_already_set with
/// ImportError if the interface cannot be used. Does nothing on PyPy. GIL: held.
inline void require_tags(const pybind11::module_ &) {
#ifndef PYPY_VERSION
  if (PyTypedcall_Import() == nullptr) throw pybind11::error_already_set();
#endif
}

/// Calls module.def(name, function, extra...) and tags the Python function with `flags`, such as
/// PyNativeCallable_PURE. `function` must be noexcept. Its parameters and result must be numbers or
/// pointers.
///
/// The tag's owner is the function object, because pybind11 frees the PyMethodDef with the
/// function. A second def() with the same name is an error. To tag overloads, define all of them
/// first and then tag them with one table.
///
/// Throws error_already_set with ValueError if the function already has a different tag. If the
/// interface cannot be used, tags nothing, and issues one RuntimeWarning for the module: see
/// PyTypedcall_ImportForTags and require_tags(). GIL: held.
template <auto function, class... Extra>
void def(pybind11::module_ &module, const char *name, std::uintptr_t flags = 0,
         const Extra &...extra) {
  const auto entry = internal::plain_function<function>::entry(flags);
  internal::def_with_entry<function>(module, name, entry, extra...);
}

/// The same with typedcall's effects pure, thread_safe, does_not_block, needs_gil and nothrow. With
/// nothrow, `function` need not be noexcept, like a function in C; the process ends or goes wrong
/// if it throws.
template <auto function, std::uint64_t Bits, class... Extra>
void def(pybind11::module_ &module, const char *name, effects<Bits>, const Extra &...extra) {
  constexpr std::uint64_t nothrow = internal::cannot_throw;
  const auto entry = internal::plain_entry<function, (Bits & nothrow) != 0, Bits & ~nothrow>();
  internal::def_with_entry<function>(module, name, entry, extra...);
}

/// Like def(), for a function that may throw. The function must not have any effect before it
/// throws. If the function throws, native code calls the Python function with the same arguments.
template <auto function, class... Extra>
void def_falling_back(pybind11::module_ &module, const char *name, std::uintptr_t flags = 0,
                      const Extra &...extra) {
  const auto entry = internal::falling_back_function<function>::entry(flags);
  internal::def_with_entry<function>(module, name, entry, extra...);
}

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_PYBIND11_H_
