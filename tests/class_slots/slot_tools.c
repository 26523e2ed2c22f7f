// For test_class_slots.py and others: makes extensible types, and shows the slots of any object as
// Python numbers; capsules that tell when they die.
#include "core/extensible_type.h"

static int live_capsules;

static void CapsuleDied(PyObject *capsule) {
  free(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)));
  --live_capsules;
}

// capsule(name=None) -> a capsule around memory of its own, freed with it.
static PyObject *Capsule(PyObject *self, PyObject *args) {
  const char *name = NULL;
  if (!PyArg_ParseTuple(args, "|z", &name)) return NULL;
  // The tests use string literals, which the interned constants of their module keep alive.
  void *memory = malloc(16);
  PyObject *capsule = memory != NULL ? PyCapsule_New(memory, name, CapsuleDied) : NULL;
  if (capsule == NULL) {
    free(memory);
    return PyErr_NoMemory();
  }
  memset(memory, 0x5a, 16);
  ++live_capsules;
  return capsule;
}

static PyObject *Address(PyObject *self, PyObject *capsule) {
  void *pointer = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
  return pointer != NULL ? PyLong_FromVoidPtr(pointer) : NULL;
}

static PyObject *LiveCapsules(PyObject *self, PyObject *unused) {
  return PyLong_FromLong(live_capsules);
}

// table(object) -> [(id, data)], None for an object whose type is not extensible.
static PyObject *Table(PyObject *self, PyObject *object) {
  if (!PyCustomSlots_Check(object)) Py_RETURN_NONE;
  PyObject *list = PyList_New(0);
  const PyCustomSlot *table = PyCustomSlots_Table(object);
  for (Py_ssize_t i = 0; list != NULL && i < PyCustomSlots_Count(object); ++i) {
    PyObject *pair = Py_BuildValue("KK", (unsigned long long)table[i].id,
                                   (unsigned long long)table[i].data.flags);
    if (pair == NULL || PyList_Append(list, pair) < 0) Py_CLEAR(list);
    Py_XDECREF(pair);
  }
  return list;
}

// find(object, id, expected_position=0) -> data as an unsigned number, or None.
static PyObject *Find(PyObject *self, PyObject *args) {
  PyObject *object;
  unsigned long long id;
  Py_ssize_t position = 0;
  if (!PyArg_ParseTuple(args, "OK|n", &object, &id, &position)) return NULL;
  const PyCustomSlot *slot = PyCustomSlots_Find(object, (uintptr_t)id, position);
  if (slot == NULL) Py_RETURN_NONE;
  return PyLong_FromUnsignedLongLong(slot->data.flags);
}

// touch(object) -> the first byte behind a slot's pointer: under AddressSanitizer a dangling one
// ends the test.
static PyObject *Touch(PyObject *self, PyObject *args) {
  PyObject *object;
  unsigned long long id;
  if (!PyArg_ParseTuple(args, "OK", &object, &id)) return NULL;
  const PyCustomSlot *slot = PyCustomSlots_Find(object, (uintptr_t)id, 0);
  if (slot == NULL) Py_RETURN_NONE;
  return PyLong_FromLong(*(const volatile unsigned char *)slot->data.pointer);
}

// make({id: flags}, bases=None) -> a new extensible type.
static PyObject *Make(PyObject *self, PyObject *args) {
  static PyType_Slot type_slots[] = {{0, NULL}};
  static PyType_Spec spec = {"slot_tools.Extensible", 0, 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, type_slots};
  PyObject *given, *bases = NULL, *id, *data;
  if (!PyArg_ParseTuple(args, "O!|O", &PyDict_Type, &given, &bases)) return NULL;
  PyCustomSlot slots[16];
  Py_ssize_t count = 0;
  for (Py_ssize_t at = 0; count < 16 && PyDict_Next(given, &at, &id, &data); ++count) {
    slots[count].id = PyLong_AsSize_t(id);
    slots[count].data.flags = PyLong_AsSize_t(data);
  }
  return PyErr_Occurred() ? NULL : PyExtensibleType_FromSpec(NULL, &spec, bases, slots, count);
}

static PyObject *IdByName(PyObject *self, PyObject *args) {
  const char *name;
  if (!PyArg_ParseTuple(args, "y", &name)) return NULL;
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (interface == NULL) return NULL;
  const uintptr_t id = PyCustomSlot_IDByName(interface, name);
  return id != 0 ? PyLong_FromSize_t(id) : NULL;
}

static PyObject *Combined(PyObject *self, PyObject *metaclasses) {
  return (PyObject *)PyExtensibleType_CombinedMetaclass(metaclasses);
}

static PyMethodDef methods[] = {{"capsule", Capsule, METH_VARARGS, NULL},
                                {"address", Address, METH_O, NULL},
                                {"live_capsules", LiveCapsules, METH_NOARGS, NULL},
                                {"table", Table, METH_O, NULL},
                                {"find", Find, METH_VARARGS, NULL},
                                {"touch", Touch, METH_VARARGS, NULL},
                                {"make", Make, METH_VARARGS, NULL},
                                {"id_by_name", IdByName, METH_VARARGS, NULL},
                                {"combined", Combined, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};

static int Exec(PyObject *module) {
  PyTypeObject *metaclass = PyExtensibleType_Import();
  if (metaclass == NULL) return -1;
  const int result = PyObject_SetAttrString(module, "Metaclass", (PyObject *)metaclass);
  Py_DECREF((PyObject *)metaclass);
  return result;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, (void *)Exec}, {0, NULL}};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "slot_tools", NULL, 0,   methods,
                                    module_slots,          NULL,         NULL, NULL};

PyMODINIT_FUNC PyInit_slot_tools(void) { return PyModuleDef_Init(&module); }
