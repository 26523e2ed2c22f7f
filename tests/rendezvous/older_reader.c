/* A reader that only uses the first three functions of the interface. It does not include our
 * headers, because the old headers no longer exist. */
#include <Python.h>
#include <stdint.h>

#include "tests/support/c_module.h"

typedef struct {
  uint16_t major, minor;
  uint32_t size;
  void *state;
  PyTypeObject *(*metaclass)(void *state);
  int (*resolve)(void *state, PyTypeObject *type, const void *own, Py_ssize_t own_count);
  const void *(*find)(void *state, int space, const void *key);
} Older;

static const Older *Import(void) {
  const Older *found = (const Older *)PyCapsule_Import("_extensibletype.typedcall_v2", 0);
  if (found == NULL) return NULL;
  if (found->major == 1 && found->size >= sizeof(Older)) return found;
  PyErr_SetString(PyExc_ImportError, "not an interface that older_reader knows");
  return NULL;
}

/* metaclass() returns the interpreter's metaclass. */
static PyObject *Metaclass(PyObject *module, PyObject *unused) {
  const Older *interface = Import();
  if (interface == NULL) return NULL;
  PyObject *metaclass = (PyObject *)interface->metaclass(interface->state);
  Py_XINCREF(metaclass);
  return metaclass;
}

/* row(address) returns the int that is published for a def, or None. */
static PyObject *Row(PyObject *module, PyObject *address) {
  const Older *interface = Import();
  if (interface == NULL) return NULL;
  void *key = PyLong_AsVoidPtr(address);
  if (key == NULL && PyErr_Occurred()) return NULL;
  const int *found = (const int *)interface->find(interface->state, 1, key);
  if (found == NULL) Py_RETURN_NONE;
  return PyLong_FromLong(*found);
}

static PyMethodDef methods[] = {
    {"metaclass", Metaclass, METH_NOARGS, NULL},
    {"row", Row, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

/* Sets `at_import`, which is true if there already is an interface. */
static int Exec(PyObject *module) {
  const int is_there = Import() != NULL;
  PyErr_Clear();
  return PyModule_AddIntConstant(module, "at_import", is_there);
}

TEST_MODULE_EXEC(older_reader, methods, Exec)
