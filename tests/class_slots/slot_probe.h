// Functions that slot_tools shares with the module for the limited API. The including file must
// first define these macros, which may use the variable `module`:
//
//     PROBE_MADE                        the name of the types that make() makes
//     PROBE_INTERFACE                   the interface, or NULL with an exception set
//     PROBE_CHECK(object), PROBE_COUNT(object), PROBE_TABLE(object), PROBE_FIND(object, id,
//     position)
#ifndef TYPEDCALL_TESTS_CLASS_SLOTS_SLOT_PROBE_H_
#define TYPEDCALL_TESTS_CLASS_SLOTS_SLOT_PROBE_H_

#include "core/extensible_type.h"
#include "core/foreign_slots.h"

static PyObject *Result(const PyCustomSlot *slot) {
  if (slot != NULL) return PyLong_FromSize_t(slot->data.flags);
  Py_INCREF(Py_None);
  return Py_None;
}

// table(object) returns [(id, data)], or None if the object's type is not extensible.
static PyObject *Table(PyObject *module, PyObject *object) {
  if (!PROBE_CHECK(object)) return Result(NULL);
  PyObject *list = PyList_New(0);
  const PyCustomSlot *table = PROBE_TABLE(object);
  for (Py_ssize_t i = 0; list != NULL && i < PROBE_COUNT(object); ++i) {
    PyObject *pair = Py_BuildValue("KK", (unsigned long long)table[i].id,
                                   (unsigned long long)table[i].data.flags);
    if (pair == NULL || PyList_Append(list, pair) < 0) Py_CLEAR(list);
    Py_XDECREF(pair);
  }
  return list;
}

// find(object, id, expected_position=0) returns the data as an unsigned number, or None.
static PyObject *Find(PyObject *module, PyObject *args) {
  PyObject *object;
  unsigned long long id;
  Py_ssize_t position = 0;
  if (!PyArg_ParseTuple(args, "OK|n", &object, &id, &position)) return NULL;
  return Result(PROBE_FIND(object, (uintptr_t)id, position));
}

// Reads {id: flags} or [(id, flags)]. Allocates exactly `count` slots, so that ASan detects reads
// beyond them.
static PyCustomSlot *ReadSlots(PyObject *wanted, Py_ssize_t *count) {
  PyObject *items = PyDict_Check(wanted) ? PyDict_Items(wanted) : PySequence_List(wanted);
  if (items == NULL) return NULL;
  *count = PyList_Size(items);
  PyCustomSlot *slots = (PyCustomSlot *)PyMem_Malloc((size_t)*count * sizeof(*slots) + 1);
  if (slots == NULL) PyErr_NoMemory();
  for (Py_ssize_t i = 0; slots != NULL && i < *count; ++i) {
    PyObject *pair = PyList_GetItem(items, i);
    unsigned long long id, flags;
    if (!PyTuple_Check(pair) || !PyArg_ParseTuple(pair, "KK", &id, &flags)) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a slot is a tuple (id, flags)");
      PyMem_Free(slots);
      slots = NULL;
      break;
    }
    slots[i].id = (uintptr_t)id;
    slots[i].data.flags = (uintptr_t)flags;
  }
  Py_DECREF(items);
  return slots;
}

static int Traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  return 0;
}

// make(slots, bases=None) returns a new extensible type with these slots.
static PyObject *Make(PyObject *module, PyObject *args) {
  PyObject *wanted, *bases = Py_None;
  Py_ssize_t count;
  if (!PyArg_ParseTuple(args, "O|O", &wanted, &bases)) return NULL;
  PyCustomSlot *slots = ReadSlots(wanted, &count);
  if (slots == NULL) return NULL;
  PyType_Slot type_slots[] = {{Py_tp_traverse, (void *)Traverse}, {0, NULL}};
  PyType_Spec spec = {PROBE_MADE, 0, 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, type_slots};
  PyObject *type =
      PyExtensibleType_FromSpec(module, &spec, bases == Py_None ? NULL : bases, slots, count);
  PyMem_Free(slots);
  return type;
}

// register(type, slots) registers slots for a type that is not extensible.
static PyObject *Register(PyObject *module, PyObject *args) {
  PyTypeObject *type;
  PyObject *wanted;
  Py_ssize_t count;
  const PyTypedcall_Interface *interface = PROBE_INTERFACE;
  if (interface == NULL) return NULL;
  if (!PyArg_ParseTuple(args, "O!O", &PyType_Type, &type, &wanted)) return NULL;
  PyCustomSlot *slots = ReadSlots(wanted, &count);
  const int failed = slots == NULL || PyForeignSlots_Register(interface, type, slots, count) < 0;
  PyMem_Free(slots);
  return failed ? NULL : Result(NULL);
}

static PyObject *IdByName(PyObject *module, PyObject *args) {
  const char *name;
  const PyTypedcall_Interface *interface = PROBE_INTERFACE;
  if (interface == NULL || !PyArg_ParseTuple(args, "y", &name)) return NULL;
  const uintptr_t id = PyCustomSlot_IDByName(interface, name);
  return id != 0 ? PyLong_FromSize_t(id) : NULL;
}

static PyObject *Combined(PyObject *module, PyObject *metaclasses) {
  (void)module;
  return (PyObject *)PyExtensibleType_CombinedMetaclass(metaclasses);
}

#define PROBE_METHODS                                                                 \
  {"table", Table, METH_O, NULL}, {"find", Find, METH_VARARGS, NULL},                 \
      {"make", Make, METH_VARARGS, NULL}, {"register", Register, METH_VARARGS, NULL}, \
      {"id_by_name", IdByName, METH_VARARGS, NULL}, {                                 \
    "combined", Combined, METH_VARARGS, NULL                                          \
  }

#endif  // TYPEDCALL_TESTS_CLASS_SLOTS_SLOT_PROBE_H_
