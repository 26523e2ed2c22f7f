// Functions to make extensible types, register slots and look slots up, and a counter of live
// capsules.
#include "core/extensible_type.h"

#define PROBE_MADE "slot_tools.Made"
#define PROBE_INTERFACE PyTypedcall_Import()
#define PROBE_CHECK(object) PyCustomSlots_Check(object)
#define PROBE_COUNT(object) PyCustomSlots_Count(object)
#define PROBE_TABLE(object) PyCustomSlots_Table(object)
#define PROBE_FIND(object, id, position) PyCustomSlots_Find(object, id, position)
#include "tests/class_slots/slot_probe.h"
#include "tests/support/c_module.h"

static int live_capsules;

static void CapsuleDied(PyObject *capsule) {
  free(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)));
  --live_capsules;
}

// capsule(name=None) returns a capsule that owns some new memory.
static PyObject *Capsule(PyObject *self, PyObject *args) {
  const char *name = NULL;
  if (!PyArg_ParseTuple(args, "|z", &name)) return NULL;
  // The tests pass string literals, which stay alive.
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

// address(object) returns the address of the table.
static PyObject *Address(PyObject *self, PyObject *object) {
  return PyLong_FromVoidPtr((void *)PyCustomSlots_Table(object));
}

// touch(object, id) returns the byte to which the slot points. ASan detects dangling pointers here.
static PyObject *Touch(PyObject *self, PyObject *args) {
  PyObject *object;
  unsigned long long id;
  if (!PyArg_ParseTuple(args, "OK", &object, &id)) return NULL;
  const PyCustomSlot *slot = PyCustomSlots_Find(object, (uintptr_t)id, 0);
  if (slot == NULL) Py_RETURN_NONE;
  return PyLong_FromLong(*(const volatile unsigned char *)slot->data.pointer);
}

// allocate(type) returns an instance. The type may still be under construction, but its instances
// must not have a dict.
static PyObject *Allocate(PyObject *self, PyObject *type) {
  return PyType_GenericAlloc((PyTypeObject *)type, 0);
}

// find_any(object, id) is like find(object, id), but also finds registered slots.
static PyObject *FindAny(PyObject *self, PyObject *args) {
  PyObject *object;
  unsigned long long id;
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (interface == NULL || !PyArg_ParseTuple(args, "OK", &object, &id)) return NULL;
  const PyCustomSlot *slot = PyCustomSlots_FindAny(interface, object, (uintptr_t)id, 0);
  if (slot == NULL) Py_RETURN_NONE;
  return PyLong_FromSize_t(slot->data.flags);
}

static PyMethodDef methods[] = {PROBE_METHODS,
                                {"capsule", Capsule, METH_VARARGS, NULL},
                                {"capsule_address", CapsuleAddress, METH_O, NULL},
                                {"live_capsules", LiveCapsules, METH_NOARGS, NULL},
                                {"check", Check, METH_O, NULL},
                                {"count", Count, METH_O, NULL},
                                {"address", Address, METH_O, NULL},
                                {"find_any", FindAny, METH_VARARGS, NULL},
                                {"touch", Touch, METH_VARARGS, NULL},
                                {"allocate", Allocate, METH_O, NULL},
                                {NULL, NULL, 0, NULL}};

static int Exec(PyObject *module) {
  PyTypeObject *metaclass = PyExtensibleType_Import();
  if (metaclass == NULL) return -1;
  const int result = PyObject_SetAttrString(module, "Metaclass", (PyObject *)metaclass);
  Py_DECREF((PyObject *)metaclass);
  return result;
}

TEST_MODULE_EXEC(slot_tools, methods, Exec)
