// The recipe: typed::def(module, "name", &function) is module.def() and a tag. Copy it.
#ifndef EXAMPLES_PYBIND11_TYPED_PYBIND11_H_
#define EXAMPLES_PYBIND11_TYPED_PYBIND11_H_

#include <pybind11/pybind11.h>

// Behind Python.h.
#include "typedcall/signature_of.h"
#include "typedcall/tag.h"

namespace typed {

/// What a tag needs as long as the function lives.
struct one_entry {
  PyNativeCallableTable table;
};

inline void destroy(const void *table) { delete static_cast<const one_entry *>(table); }

/// module.def() for a C++ function of numbers and pointers that throws nothing, and its tag.
/// pybind11 allocates a PyMethodDef for each function, frees it with the function, and may give its
/// address to the next one: so the function object itself is the tag's owner. With a second
/// function of the same name pybind11 makes overloads of one function, which have one tag: that is
/// an error here (tag all of them by one table instead).
template <class R, class... A, class... Extra>
void def(pybind11::module_ &module, const char *name, R (*function)(A...) noexcept,
         std::uintptr_t flags = 0, const Extra &...extra) {
  module.def(name, function, extra...);
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (interface == nullptr) throw pybind11::error_already_set();
  // What pybind11 puts into the module is the function, or an instance method around it.
  PyObject *object = pybind11::object(module.attr(name)).ptr();
  if (PyInstanceMethod_Check(object)) object = PyInstanceMethod_GET_FUNCTION(object);
  PyMethodDef *def = PyTypedMethod_DefOf(object);
  if (def == nullptr) throw pybind11::type_error("not a function of pybind11");
  auto *made = new one_entry{
      {1, {{typedcall::signature_of<R(A...)>::text, flags, reinterpret_cast<void *>(function)}}}};
  const int taken = PyTypedMethod_TagDef(interface, def, object, &made->table, destroy);
  if (taken != 1) delete made;
  if (taken < 0) throw pybind11::error_already_set();
}

}  // namespace typed

#endif  // EXAMPLES_PYBIND11_TYPED_PYBIND11_H_
