// The reader that typedcall::find() is, and slots as C++ sees them.
#include "typedcall/resolve.h"

// A process of the runner has one interpreter.
static const PyTypedcall_Interface *interface;

static PyObject *Find(PyObject *, PyObject *arguments) {
  PyObject *callable;
  typedcall::request asked;
  unsigned long can;
  int equivalent;
  if (!PyArg_ParseTuple(arguments, "Oskp", &callable, &asked.signature, &can, &equivalent))
    return nullptr;
  asked.can = can;
  asked.allowed = equivalent != 0 ? typedcall::casting::equivalent : typedcall::casting::exact;
  // What is no signature is refused by resolve(), which looks at the text of a request.
  const auto found = typedcall::resolve(interface, callable, asked);
  if (!found) {
    if (PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_ValueError)) {
      PyErr_Clear();
      Py_RETURN_NONE;
    }
    return nullptr;
  }
  return Py_BuildValue(
      "skK", found->signature.c_str(), static_cast<unsigned long>(found->flags),
      static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(found->funcptr)));
}

static PyObject *FindSlot(PyObject *, PyObject *arguments) {
  PyObject *object;
  unsigned long long id;
  if (!PyArg_ParseTuple(arguments, "OK", &object, &id)) return nullptr;
  // Another position than the expected one, so that all of the look-up is seen.
  const PyCustomSlot *slot = PyCustomSlots_Find(object, static_cast<std::uintptr_t>(id), 1);
  if (slot == nullptr) Py_RETURN_NONE;
  return PyLong_FromUnsignedLongLong(slot->data.flags);
}

static PyMethodDef methods[] = {{"find", Find, METH_VARARGS, nullptr},
                                {"slot", FindSlot, METH_VARARGS, nullptr},
                                {nullptr, nullptr, 0, nullptr}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                 "reader_cpp_resolve",
                                 nullptr,
                                 -1,
                                 methods,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr};

PyMODINIT_FUNC PyInit_reader_cpp_resolve() {
  interface = PyTypedcall_Await();
  if (interface == nullptr) return nullptr;
  PyObject *module = PyModule_Create(&definition);
  PyObject *names =
      Py_BuildValue("(ssssss)", "name", "def", "object", "instance", "sibling", "type");
  PyObject *places = names != nullptr ? PySet_New(names) : nullptr;
  Py_XDECREF(names);
  if (module == nullptr || PyModule_AddObject(module, "PLACES", places) < 0) return nullptr;
  return module;
}
