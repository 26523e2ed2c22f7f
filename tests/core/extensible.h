// Functions that make and inspect extensible types.
#ifndef TYPEDCALL_TESTS_CORE_EXTENSIBLE_H_
#define TYPEDCALL_TESTS_CORE_EXTENSIBLE_H_

#include <string>
#include <vector>

#include "core/extensible_type.h"
#include "tests/support/embedded.h"

namespace typedcall_test {

/// Returns an ID of the private registrar.
constexpr uintptr_t Id(uintptr_t idea) {
  return PyCustomSlot_ID(PyCustomSlot_REGISTRAR_PRIVATE, idea, 0);
}

inline PyCustomSlot Slot(uintptr_t id, uintptr_t flags) {
  PyCustomSlot slot;
  slot.id = id;
  slot.data.flags = flags;
  return slot;
}

inline int VisitType(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  return 0;
}

/// Returns a type with these custom slots, or an empty reference with an exception set. The garbage
/// collector tracks the instances, because otherwise `__bases__` of Python subclasses could not be
/// assigned.
inline Ref MakeType(const std::vector<PyCustomSlot> &slots, PyObject *bases = nullptr,
                    const char *name = "test.Extensible") {
  static PyType_Slot type_slots[] = {{Py_tp_traverse, reinterpret_cast<void *>(VisitType)},
                                     {0, nullptr}};
  PyType_Spec spec = {name, 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                      type_slots};
  return Ref::Steal(PyExtensibleType_FromSpec(nullptr, &spec, bases, slots.data(),
                                              static_cast<Py_ssize_t>(slots.size())));
}

/// Returns the metaclass of the calling interpreter.
inline Ref Metaclass() {
  return Ref::Steal(reinterpret_cast<PyObject *>(PyExtensibleType_Import()));
}

/// Calls the type without arguments.
inline Ref New(const Ref &type) { return Ref::Steal(PyObject_CallObject(type.get(), nullptr)); }

/// Returns the flags of the slot that PyCustomSlots_Find() finds, or -1.
inline long Value(PyObject *object, uintptr_t id, Py_ssize_t expected_pos = 0) {
  const PyCustomSlot *slot = PyCustomSlots_Find(object, id, expected_pos);
  return slot != nullptr ? static_cast<long>(slot->data.flags) : -1;
}

/// Returns a function for Python code: find(object, idea) returns the flags of the slot, or -1.
inline Ref FindFunction() {
  static PyMethodDef def = {"find",
                            [](PyObject *, PyObject *args) -> PyObject * {
                              PyObject *object;
                              unsigned long idea;
                              if (!PyArg_ParseTuple(args, "Ok", &object, &idea)) return nullptr;
                              return PyLong_FromLong(Value(object, Id(idea)));
                            },
                            METH_VARARGS, nullptr};
  return Ref::Steal(PyCFunction_New(&def, nullptr));
}

}  // namespace typedcall_test

#endif  // TYPEDCALL_TESTS_CORE_EXTENSIBLE_H_
