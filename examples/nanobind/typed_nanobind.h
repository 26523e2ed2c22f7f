// The recipe: typed::def(module, "name", &function) is module.def() and a tag. Copy it.
#ifndef EXAMPLES_NANOBIND_TYPED_NANOBIND_H_
#define EXAMPLES_NANOBIND_TYPED_NANOBIND_H_

#include <nanobind/nanobind.h>

// Behind Python.h.
#include "typedcall/signature_of.h"
#include "typedcall/tag.h"

namespace typed {

/// What a tag needs as long as it stands. Allocated, not static: two names of one function may have
/// other flags, and a table that someone reads does not change.
struct one_entry {
  PyNativeCallableTable table;
};

inline void destroy(const void *table) { delete static_cast<const one_entry *>(table); }

/// module.def() for a C++ function of numbers and pointers that throws nothing, and its tag.
/// nanobind's functions have neither a PyMethodDef nor weak references: the tag is one of the
/// object, and keeps it alive until it is untagged, so for as long as the interpreter lives. That
/// suits functions of modules. Define overloads first and tag them by one table: def() for a second
/// function of the same name is an error.
template <auto function, class R, class... A, class... Extra>
void def_as(nanobind::module_ &module, const char *name, R (*)(A...) noexcept, std::uintptr_t flags,
            const Extra &...extra) {
  module.def(name, function, extra...);
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (interface == nullptr) throw nanobind::python_error();
  nanobind::object object = module.attr(name);
  auto *made = new one_entry{
      {1, {{typedcall::signature_of<R(A...)>::text, flags, reinterpret_cast<void *>(function)}}}};
  const int taken = PyNativeCallable_TagObject(interface, object.ptr(), &made->table, destroy);
  if (taken != 1) delete made;
  if (taken < 0) throw nanobind::python_error();
}

template <auto function, class... Extra>
void def(nanobind::module_ &module, const char *name, std::uintptr_t flags = 0,
         const Extra &...extra) {
  def_as<function>(module, name, function, flags, extra...);
}

}  // namespace typed

#endif  // EXAMPLES_NANOBIND_TYPED_NANOBIND_H_
