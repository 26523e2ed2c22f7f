// For nanobind modules: typedcall::def<function>(module, "name") calls module.def() and tags the
// Python function, so that native code can find the C++ function. On PyPy, nothing is tagged.
#ifndef TYPEDCALL_NANOBIND_H_
#define TYPEDCALL_NANOBIND_H_

#include "typedcall/base/with_exceptions.h"

#include <nanobind/nanobind.h>

// These headers must come after Python.h.
#include "typedcall/base/effects.h"
#include "typedcall/base/namespace.h"
#include "typedcall/binding/tagged_function.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

template <auto function, class... Extra>
void def_with_entry(nanobind::module_ &module, const char *name, const PyNativeCallableEntry &entry,
                    const Extra &...extra) {
  module.def(name, function, extra...);
#ifdef PYPY_VERSION
  static_cast<void>(entry);
#else
  nanobind::object object = module.attr(name);
  const bool is_tagged =
      tag_with_one_entry(module.ptr(), entry, [&](auto *interface, auto *table, auto *free) {
        return PyNativeCallable_TagObject(interface, object.ptr(), table, free);
      });
  if (!is_tagged) throw nanobind::python_error();
#endif
}

}  // namespace internal

/// For a module whose purpose is typed calls: call this before def(). Throws python_error with
/// ImportError if the interface cannot be used. Does nothing on PyPy. GIL: held.
inline void require_tags(const nanobind::module_ &) {
#ifndef PYPY_VERSION
  if (PyTypedcall_Import() == nullptr) throw nanobind::python_error();
#endif
}

/// Calls module.def(name, function, extra...) and tags the Python function with `flags`, such as
/// PyNativeCallable_PURE. `function` must be noexcept. Its parameters and result must be numbers or
/// pointers.
///
/// nanobind functions have no PyMethodDef and no weak references, so the tag belongs to the
/// function object. The tag keeps the function alive until the function is untagged or the
/// interpreter ends. A second def() with the same name is an error. To tag overloads, define all of
/// them first and then tag them with one table.
///
/// Throws python_error with ValueError if the function already has a different tag. If the
/// interface cannot be used, tags nothing, and issues one RuntimeWarning for the module: see
/// PyTypedcall_ImportForTags and require_tags(). GIL: held.
template <auto function, class... Extra>
void def(nanobind::module_ &module, const char *name, std::uintptr_t flags = 0,
         const Extra &...extra) {
  const auto entry = internal::plain_function<function>::entry(flags);
  internal::def_with_entry<function>(module, name, entry, extra...);
}

/// The same with typedcall's effects pure, thread_safe, does_not_block, needs_gil and nothrow. With
/// nothrow, `function` need not be noexcept, like a function in C; the process ends or goes wrong
/// if it throws.
template <auto function, std::uint64_t Bits, class... Extra>
void def(nanobind::module_ &module, const char *name, effects<Bits>, const Extra &...extra) {
  constexpr std::uint64_t nothrow = internal::cannot_throw;
  const auto entry = internal::plain_entry<function, (Bits & nothrow) != 0, Bits & ~nothrow>();
  internal::def_with_entry<function>(module, name, entry, extra...);
}

/// Like def(), for a function that may throw. The function must not have any effect before it
/// throws. If the function throws, native code calls the Python function with the same arguments.
template <auto function, class... Extra>
void def_falling_back(nanobind::module_ &module, const char *name, std::uintptr_t flags = 0,
                      const Extra &...extra) {
  const auto entry = internal::falling_back_function<function>::entry(flags);
  internal::def_with_entry<function>(module, name, entry, extra...);
}

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_NANOBIND_H_
