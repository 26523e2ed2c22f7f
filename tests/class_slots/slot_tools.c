// Extensible types made to order with raw IDs, and every answer of the consumer's functions as
// Python numbers; slots of foreign types; capsules that record when they die.
#include "core/extensible_type.h"
#include "core/foreign_slots.h"
#include "tests/support/c_module.h"

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

static PyObject *CapsuleAddress(PyObject *self, PyObject *capsule) {
  void *pointer = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
  return pointer != NULL ? PyLong_FromVoidPtr(pointer) : NULL;
}

static PyObject *LiveCapsules(PyObject *self, PyObject *unused) {
  return PyLong_FromLong(live_capsules);
}

static PyObject *Check(PyObject *self, PyObject *object) {
  return PyBool_FromLong(PyCustomSlots_Check(object));
}

static PyObject *Count(PyObject *self, PyObject *object) {
  return PyLong_FromSsize_t(PyCustomSlots_Count(object));
}

// address(object) -> the address of the table, to recognise a shared one.
static PyObject *Address(PyObject *self, PyObject *object) {
  return PyLong_FromVoidPtr((void *)PyCustomSlots_Table(object));
}

// table(object) -> [(id, data)], or None if the object's type is not extensible.
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

// touch(object) -> the first byte that a slot's pointer refers to: under AddressSanitizer a
// dangling one ends the test.
static PyObject *Touch(PyObject *self, PyObject *args) {
  PyObject *object;
  unsigned long long id;
  if (!PyArg_ParseTuple(args, "OK", &object, &id)) return NULL;
  const PyCustomSlot *slot = PyCustomSlots_Find(object, (uintptr_t)id, 0);
  if (slot == NULL) Py_RETURN_NONE;
  return PyLong_FromLong(*(const volatile unsigned char *)slot->data.pointer);
}

// Reads {id: flags} or [(id, flags)]. There is room for exactly `count` slots, so that
// AddressSanitizer detects reads beyond them.
static PyCustomSlot *ReadSlots(PyObject *wanted, Py_ssize_t *count) {
  PyObject *items = PyDict_Check(wanted) ? PyDict_Items(wanted) : PySequence_List(wanted);
  if (items == NULL) return NULL;
  *count = PyList_GET_SIZE(items);
  PyCustomSlot *slots = (PyCustomSlot *)PyMem_Malloc((size_t)*count * sizeof(*slots) + 1);
  if (slots == NULL) PyErr_NoMemory();
  for (Py_ssize_t i = 0; slots != NULL && i < *count; ++i) {
    PyObject *pair = PyList_GET_ITEM(items, i);
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

// make(slots, bases=None) -> a new extensible type with these slots of its own.
static PyObject *Make(PyObject *module, PyObject *args) {
  PyObject *wanted, *bases = Py_None;
  Py_ssize_t count;
  if (!PyArg_ParseTuple(args, "O|O", &wanted, &bases)) return NULL;
  PyCustomSlot *slots = ReadSlots(wanted, &count);
  if (slots == NULL) return NULL;
  PyType_Slot type_slots[] = {{Py_tp_traverse, (void *)Traverse}, {0, NULL}};
  PyType_Spec spec = {"slot_tools.Made", 0, 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, type_slots};
  PyObject *type =
      PyExtensibleType_FromSpec(module, &spec, bases == Py_None ? NULL : bases, slots, count);
  PyMem_Free(slots);
  return type;
}

// allocate(type) -> an instance, even of a type that is still being made, as C code can get one.
// Not for types whose instances have a dict.
static PyObject *Allocate(PyObject *self, PyObject *type) {
  return PyType_GenericAlloc((PyTypeObject *)type, 0);
}

// register(type, slots) for a type that is not extensible.
static PyObject *Register(PyObject *self, PyObject *args) {
  PyTypeObject *type;
  PyObject *wanted;
  Py_ssize_t count;
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (interface == NULL) return NULL;
  if (!PyArg_ParseTuple(args, "O!O", &PyType_Type, &type, &wanted)) return NULL;
  PyCustomSlot *slots = ReadSlots(wanted, &count);
  const int failed = slots == NULL || PyForeignSlots_Register(interface, type, slots, count) < 0;
  PyMem_Free(slots);
  if (failed) return NULL;
  Py_RETURN_NONE;
}

// find_any(object, id) -> flags or None, also if the slot was registered.
static PyObject *FindAny(PyObject *self, PyObject *args) {
  PyObject *object;
  unsigned long long id;
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (interface == NULL || !PyArg_ParseTuple(args, "OK", &object, &id)) return NULL;
  const PyCustomSlot *slot = PyCustomSlots_FindAny(interface, object, (uintptr_t)id, 0);
  if (slot == NULL) Py_RETURN_NONE;
  return PyLong_FromSize_t(slot->data.flags);
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
                                {"capsule_address", CapsuleAddress, METH_O, NULL},
                                {"live_capsules", LiveCapsules, METH_NOARGS, NULL},
                                {"check", Check, METH_O, NULL},
                                {"count", Count, METH_O, NULL},
                                {"table", Table, METH_O, NULL},
                                {"address", Address, METH_O, NULL},
                                {"find", Find, METH_VARARGS, NULL},
                                {"find_any", FindAny, METH_VARARGS, NULL},
                                {"touch", Touch, METH_VARARGS, NULL},
                                {"make", Make, METH_VARARGS, NULL},
                                {"allocate", Allocate, METH_O, NULL},
                                {"register", Register, METH_VARARGS, NULL},
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

TEST_MODULE_EXEC(slot_tools, methods, Exec)
