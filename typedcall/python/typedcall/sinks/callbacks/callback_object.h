// The type typedcall.Callback. A Callback keeps the callable alive, and owns a libffi closure if no
// compiled shape fits.
#ifndef TYPEDCALL_PYTHON_CALLBACKS_CALLBACK_OBJECT_H_
#define TYPEDCALL_PYTHON_CALLBACKS_CALLBACK_OBJECT_H_

#include "../../calling/closure.h"
#include "callback.h"
// After Python.h.
#include <structmember.h>

#include <cstddef>

namespace typedcall::python {

/// Closures call this function. `data` is the callback.
inline void run_callback(ffi_cif *, void *result, void **args, void *data) {
  auto *const self = static_cast<callback *>(data);
  const PyNativeType type = self->parameters.result;
  const std::size_t size = PyNativeType_Size(type);
  wide_value made = {}, unneeded;
  self->run(args, &made);
  // libffi expects narrow integers to be extended to the width of a register.
  const PyNativePassing passed = PyNativeType_Passing(type);
  const bool is_integer = passed == PyNativePassing_SIGNED || passed == PyNativePassing_UNSIGNED;
  if (is_integer && size < sizeof(ffi_arg)) {
    const native_value wide =
        typedcall::internal::load_element(type, reinterpret_cast<const char *>(&made), &unneeded);
    std::memcpy(result, &wide, sizeof(ffi_arg));
  } else if (size != 0) {
    std::memcpy(result, &made, size);
  }
}

struct callback_object {
  PyObject_HEAD
  callback *core;
  closure *code;  ///< null if a compiled shape is used
  PyObject *callable, *keep_alive, *entry, *declaration, *address, *data, *is_compiled;
  PyObject *weak_references;
};

inline callback_object *object_of(PyObject *object) {
  return reinterpret_cast<callback_object *>(object);
}

inline int clear_callback(PyObject *object) {
  callback_object *const own = object_of(object);
  if (own->core != nullptr) own->core->callee = {}, own->core->self = nullptr;
  Py_CLEAR(own->callable);
  Py_CLEAR(own->keep_alive);
  Py_CLEAR(own->entry);
  return 0;
}

inline int traverse_callback(PyObject *object, visitproc visit, void *arg) {
  const callback_object *const own = object_of(object);
  Py_VISIT(own->callable);
  Py_VISIT(own->keep_alive);
  Py_VISIT(own->entry);
  if (own->core != nullptr) Py_VISIT(own->core->exception.get());
  Py_VISIT(Py_TYPE(object));
  return 0;
}

/// Sets the stored exception. Returns false if there is none.
inline bool set_waiting(callback_object *own) {
  return own->core != nullptr && own->core->exception.raise();
}

inline void finalize_callback(PyObject *object) {
  callback_object *const own = object_of(object);
  if (own->core != nullptr) own->core->exception.tell(own->callable);
}

inline void free_callback(PyObject *object) {
  if (PyObject_CallFinalizerFromDealloc(object) < 0) return;
  PyObject_GC_UnTrack(object);
  callback_object *const own = object_of(object);
  if (own->core != nullptr) own->core->owner = nullptr;
  if (own->weak_references != nullptr) PyObject_ClearWeakRefs(object);
  clear_callback(object);
  Py_CLEAR(own->declaration);
  Py_CLEAR(own->address);
  Py_CLEAR(own->data);
  Py_CLEAR(own->is_compiled);
  delete own->code;
  if (own->core != nullptr) own->core->release();
  PyTypeObject *const type = Py_TYPE(object);
  type->tp_free(object);
  Py_DECREF(type);
}

inline PyObject *check_callback(PyObject *object, PyObject *) {
  if (set_waiting(object_of(object))) return nullptr;
  Py_RETURN_NONE;
}

inline PyObject *enter_callback(PyObject *object, PyObject *) {
  return object_ref::borrow(object).release();
}

/// Raises the function's exception, which caused the library to fail. The exception of the `with`
/// block becomes its context.
inline PyObject *leave_callback(PyObject *object, PyObject *arguments) {
  PyObject *type, *raised, *traceback, *kind, *exception;
  if (!PyArg_ParseTuple(arguments, "OOO", &type, &raised, &traceback)) return nullptr;
  if (!set_waiting(object_of(object))) Py_RETURN_NONE;
  if (raised == Py_None) return nullptr;
  PyErr_Fetch(&kind, &exception, &traceback);
  // Callers of __exit__() may pass any object, but a context that is not an exception crashes
  // Python.
  if (exception != raised && PyExceptionInstance_Check(raised)) {
    PyException_SetContext(exception, object_ref::borrow(raised).release());
  }
  PyErr_Restore(kind, exception, traceback);
  return nullptr;
}

inline PyObject *show_callback(PyObject *object) {
  const callback_object *const own = object_of(object);
  return PyUnicode_FromFormat("<typedcall.Callback '%U' at %p>", own->declaration,
                              PyLong_AsVoidPtr(own->address));
}

inline PyTypeObject *make_callback_type(PyObject *module) {
  static PyMemberDef members[] = {
#define MEMBER(name, doc) {#name, T_OBJECT, offsetof(callback_object, name), READONLY, doc}
      MEMBER(callable, "The function that was given."),
      MEMBER(entry, "The typedcall.Entry that is called."),
      MEMBER(declaration, "The C type, as it was given."),
      MEMBER(address, "The C function's address, an int; valid as long as this object lives."),
      MEMBER(data, "The data pointer to give to the library, an int; None if it takes none."),
      MEMBER(is_compiled, "True if the package has compiled this shape."),
#undef MEMBER
      {"__weaklistoffset__", T_PYSSIZET, offsetof(callback_object, weak_references), READONLY,
       nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static PyMethodDef methods[] = {{"check", check_callback, METH_NOARGS,
                                   "Raises the function's exception, if there is a new one."},
                                  {"__enter__", enter_callback, METH_NOARGS, "Returns self."},
                                  {"__exit__", leave_callback, METH_VARARGS, "Like check()."},
                                  {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void *>(free_callback)},
      {Py_tp_finalize, reinterpret_cast<void *>(finalize_callback)},
      {Py_tp_traverse, reinterpret_cast<void *>(traverse_callback)},
      {Py_tp_clear, reinterpret_cast<void *>(clear_callback)},
      {Py_tp_repr, reinterpret_cast<void *>(show_callback)},
      {Py_tp_members, members},
      {Py_tp_methods, methods},
      {Py_tp_doc,
       const_cast<char *>("A typed function as a C function that a library calls. The end of a "
                          "`with` statement raises the function's exception.")},
      {0, nullptr}};
  unsigned flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC;
#if PY_VERSION_HEX >= 0x030A0000
  flags |= Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE;
#endif
  static PyType_Spec spec = {"typedcall.Callback", sizeof(callback_object), 0, flags, slots};
  auto *const type =
      reinterpret_cast<PyTypeObject *>(PyType_FromModuleAndSpec(module, &spec, nullptr));
#if PY_VERSION_HEX < 0x030A0000
  if (type != nullptr) type->tp_new = nullptr;
#endif
  return type;
}

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_CALLBACKS_CALLBACK_OBJECT_H_
