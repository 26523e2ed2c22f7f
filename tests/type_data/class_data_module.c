// A metaclass that derives from the metaclass for custom slots, and stores data for each class.
#include "core/extensible_type.h"
#include "core/type_data.h"

#include <stddef.h>
#include <stdint.h>
#include <structmember.h>

#include "tests/support/c_module.h"

#define POINTER(function) ((void *)(uintptr_t)(function))

typedef struct {
  int kind;
  const char *native;  // the name of the wrapped class in another type system
  PyObject *origin;
} ClassData;

static PyTypeObject *metaclass = NULL;  // this module supports only one interpreter

static ClassData *data_of(PyObject *cls) { return (ClassData *)PyTypeData_Get(cls, metaclass); }

static int meta_traverse(PyObject *cls, visitproc visit, void *arg) {
  Py_VISIT(data_of(cls)->origin);
  return metaclass->tp_base->tp_traverse(cls, visit, arg);
}

static int meta_clear(PyObject *cls) {
  Py_CLEAR(data_of(cls)->origin);
  return metaclass->tp_base->tp_clear(cls);
}

static PyMemberDef meta_members[] = {
    {"kind", T_INT, offsetof(ClassData, kind), Py_RELATIVE_OFFSET, NULL},
    {"native", T_STRING, offsetof(ClassData, native), READONLY | Py_RELATIVE_OFFSET, NULL},
    {"origin", T_OBJECT_EX, offsetof(ClassData, origin), Py_RELATIVE_OFFSET, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot meta_slots[] = {{Py_tp_members, meta_members},
                                   {Py_tp_traverse, POINTER(meta_traverse)},
                                   {Py_tp_clear, POINTER(meta_clear)},
                                   {0, NULL}};
static PyType_Spec meta_spec = {"class_data_module.Wrapped", -(int)sizeof(ClassData), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                                meta_slots};

static PyType_Slot no_slots[] = {{0, NULL}};
static PyType_Spec class_spec = {"class_data_module.Class", 0, 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, no_slots};

// wrap(kind, origin) returns a new class with these data.
static PyObject *wrap(PyObject *module, PyObject *args) {
  int kind;
  PyObject *origin;
  if (!PyArg_ParseTuple(args, "iO", &kind, &origin)) return NULL;
  PyObject *cls = PyTypeData_FromSpec(metaclass, module, &class_spec, NULL);
  if (cls == NULL) return NULL;
  ClassData *data = data_of(cls);
  data->kind = kind;
  data->native = "ns::Native";
  Py_INCREF(origin);
  data->origin = origin;
  return cls;
}

// offer(base, flags) returns a new subclass with a custom slot.
static PyObject *offer(PyObject *module, PyObject *args) {
  PyObject *base;
  PyCustomSlot slot;
  unsigned long flags;
  if (!PyArg_ParseTuple(args, "Ok", &base, &flags)) return NULL;
  slot.id = PyCustomSlot_ID(PyCustomSlot_REGISTRAR_PRIVATE, 7, 0);
  slot.data.flags = flags;
  return PyExtensibleType_FromSpec(module, &class_spec, base, &slot, 1);
}

// find(object) returns the flags of the object's slot, or None.
static PyObject *find(PyObject *module, PyObject *object) {
  const PyCustomSlot *slot =
      PyCustomSlots_Find(object, PyCustomSlot_ID(PyCustomSlot_REGISTRAR_PRIVATE, 7, 0), 0);
  if (slot == NULL) Py_RETURN_NONE;
  return PyLong_FromSize_t(slot->data.flags);
}

// offset(cls) returns the offset of the data in a class.
static PyObject *offset(PyObject *module, PyObject *cls) {
  return PyLong_FromSsize_t((char *)data_of(cls) - (char *)cls);
}

static PyMethodDef module_methods[] = {
    {"wrap", wrap, METH_VARARGS, NULL},
    {"offer", offer, METH_VARARGS, NULL},
    {"find", find, METH_O, NULL},
    {"offset", offset, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static int exec(PyObject *module) {
  PyTypeObject *base = PyExtensibleType_Import();
  if (base == NULL) return -1;
  metaclass = (PyTypeObject *)PyTypeData_FromSpec(NULL, NULL, &meta_spec, (PyObject *)base);
  Py_DECREF(base);
  if (metaclass == NULL) return -1;
  return PyObject_SetAttrString(module, "Wrapped", (PyObject *)metaclass);
}

TEST_MODULE_EXEC(class_data_module, module_methods, exec)
