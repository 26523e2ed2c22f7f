/* A module that provides a type with a slot and publishes a row. provider_a.c and provider_b.c
 * include this file. */
#ifndef TYPEDCALL_TESTS_CORE_PROVIDER_H_
#define TYPEDCALL_TESTS_CORE_PROVIDER_H_

#include "core/extensible_type.h"

typedef struct {
  const PyTypedcall_Interface *interface;
} State;

static long destroyed;
static const int value = PROVIDER_IDEA;

static void Destroy(const void *ended) { destroyed += ended == &value; }

static PyObject *Metaclass(PyObject *module, PyObject *unused) {
  return (PyObject *)PyExtensibleType_Import();
}

/* Returns the address that the interface had when the module was executed. */
static PyObject *Interface(PyObject *module, PyObject *unused) {
  State *state = (State *)PyModule_GetState(module);
  return PyLong_FromVoidPtr((void *)(uintptr_t)state->interface);
}

/* find(object, idea) returns the flags of a slot, or None. */
static PyObject *Find(PyObject *module, PyObject *args) {
  PyObject *object;
  unsigned long idea;
  if (!PyArg_ParseTuple(args, "Ok", &object, &idea)) return NULL;
  PyCustomSlot *slot = PyCustomSlots_Find(
      object, PyCustomSlot_ID(PyCustomSlot_REGISTRAR_PRIVATE, idea, 0), (Py_ssize_t)idea);
  if (slot == NULL) Py_RETURN_NONE;
  return PyLong_FromSize_t(slot->data.flags);
}

/* row(address) returns the int published for a def, or None. */
static PyObject *Row(PyObject *module, PyObject *args) {
  PyObject *address;
  if (!PyArg_ParseTuple(args, "O!", &PyLong_Type, &address)) return NULL;
  void *key = PyLong_AsVoidPtr(address);
  if (key == NULL && PyErr_Occurred()) return NULL;
  const PyTypedcall_Interface *interface = ((State *)PyModule_GetState(module))->interface;
  const int *found = (const int *)interface->find(interface->state, PyTypedcall_BY_DEF, key);
  if (found == NULL) Py_RETURN_NONE;
  return PyLong_FromLong(*found);
}

static PyObject *DestroyedCount(PyObject *module, PyObject *unused) {
  return PyLong_FromLong(destroyed);
}

static PyMethodDef methods[] = {
    {"metaclass", Metaclass, METH_NOARGS, NULL},
    {"interface", Interface, METH_NOARGS, NULL},
    {"find", Find, METH_VARARGS, NULL},
    {"row", Row, METH_VARARGS, NULL},
    {"destroyed", DestroyedCount, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static int Traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  return 0;
}

static int Exec(PyObject *module) {
  State *state = (State *)PyModule_GetState(module);
  state->interface = PyTypedcall_Import();
  if (state->interface == NULL) return -1;

  PyType_Slot slots[] = {{Py_tp_traverse, (void *)Traverse}, {0, NULL}};
  PyType_Spec spec = {PROVIDER_NAME ".Type", 0, 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  PyCustomSlot own[2];
  own[0].id = PyCustomSlot_ID(PyCustomSlot_REGISTRAR_PRIVATE, PROVIDER_IDEA, 0);
  own[0].data.flags = PROVIDER_IDEA * 11;
  Py_ssize_t count = 1;
#ifdef PROVIDER_UNKNOWN_SLOT
  own[count].id = PROVIDER_UNKNOWN_SLOT;
  own[count++].data.pointer = (void *)methods;
#endif
  PyObject *type = PyExtensibleType_FromSpec(module, &spec, NULL, own, count);
  if (type == NULL) return -1;
  int failed = PyModule_AddObject(module, "Type", type);
  if (failed) {
    Py_DECREF(type);
    return -1;
  }

  PyObject *key = PyLong_FromVoidPtr(methods);
  if (key == NULL) return -1;
  failed = PyModule_AddObject(module, "key", key);
  if (failed) {
    Py_DECREF(key);
    return -1;
  }
  /* The published value is the same each time the module is executed. */
  return state->interface->publish(state->interface->state, PyTypedcall_BY_DEF, methods, module,
                                   &value, NULL, Destroy, NULL) == 1
             ? 0
             : -1;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, (void *)Exec},
#ifdef PROVIDER_EXEC
    {Py_mod_exec, (void *)PROVIDER_EXEC},
#endif
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
    {0, NULL},
};

static PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT, PROVIDER_NAME, NULL, sizeof(State), methods,
    module_slots,          NULL,          NULL, NULL,
};

#endif /* TYPEDCALL_TESTS_CORE_PROVIDER_H_ */
