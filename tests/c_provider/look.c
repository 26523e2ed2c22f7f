// A consumer in plain C that finds the tables of callables and calls their functions.
#include "tests/support/c_module.h"
#include "typedcall/sibling_symbol.h"
#include "typedcall/tag.h"

static const PyMethodDef *def_of(PyObject *callable) {
  if (Py_TYPE(callable) == &PyClassMethodDescr_Type) {
    return ((PyMethodDescrObject *)callable)->d_method;
  }
  return PyTypedMethod_DefOf(callable);
}

// Stores the table found in each place, or NULL. Returns 0, or -1 with an exception set.
static int tables_of(PyObject *callable, const PyNativeCallableTable *tables[3]) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (interface == NULL) return -1;
  const PyMethodDef *def = def_of(callable);
  tables[0] = PyTypedMethod_Table(def);
  tables[1] =
      (const PyNativeCallableTable *)interface->find(interface->state, PyTypedcall_BY_DEF, def);
  tables[2] = PyTypedMethod_SiblingTable(def);
  return 0;
}

static PyObject *entries_of(const PyNativeCallableTable *table) {
  PyObject *list = PyList_New(0);
  const PyNativeCallableEntry *entry = table->entries;
  for (Py_ssize_t i = 0; list != NULL && i < table->count; ++i, ++entry) {
    PyObject *pair = Py_BuildValue("(sk)", entry->signature, (unsigned long)entry->flags);
    if (pair == NULL || PyList_Append(list, pair) < 0) Py_CLEAR(list);
    Py_XDECREF(pair);
  }
  return list;
}

// places(callable) returns {place: [(signature, flags), ...]}.
static PyObject *places(PyObject *module, PyObject *callable) {
  static const char *const names[] = {"bits", "side table", "sibling"};
  const PyNativeCallableTable *tables[3];
  if (tables_of(callable, tables) < 0) return NULL;
  PyObject *found = PyDict_New();
  for (int i = 0; found != NULL && i < 3; ++i) {
    if (tables[i] == NULL) continue;
    PyObject *entries = entries_of(tables[i]);
    if (entries == NULL || PyDict_SetItemString(found, names[i], entries) < 0) Py_CLEAR(found);
    Py_XDECREF(entries);
  }
  return found;
}

// Calls `entry` with the numbers. If the function takes self, `self` comes first.
static PyObject *call_entry(const PyNativeCallableEntry *entry, PyObject *self, const long *l,
                            const double *d) {
  const int bound = (entry->flags & PyNativeCallable_TAKES_SELF) != 0;
  if (strcmp(entry->signature, "ll->l") == 0 && !bound) {
    return PyLong_FromLong(((long (*)(long, long))entry->funcptr)(l[0], l[1]));
  }
  if (strcmp(entry->signature, "l->l") == 0) {
    return PyLong_FromLong(bound ? ((long (*)(PyObject *, long))entry->funcptr)(self, l[0])
                                 : ((long (*)(long))entry->funcptr)(l[0]));
  }
  if (strcmp(entry->signature, "->l") == 0) {
    return PyLong_FromLong(bound ? ((long (*)(PyObject *))entry->funcptr)(self)
                                 : ((long (*)(void))entry->funcptr)());
  }
  if (strcmp(entry->signature, "d->d") == 0) {
    return PyFloat_FromDouble(bound ? ((double (*)(PyObject *, double))entry->funcptr)(self, d[0])
                                    : ((double (*)(double))entry->funcptr)(d[0]));
  }
  if (strcmp(entry->signature, "ddd->d") == 0 && !bound) {
    return PyFloat_FromDouble(
        ((double (*)(double, double, double))entry->funcptr)(d[0], d[1], d[2]));
  }
  return PyErr_Format(PyExc_NotImplementedError, "%s", entry->signature);
}

// call(callable, self, signature, *numbers) calls the C function with that signature.
static PyObject *call(PyObject *module, PyObject *args) {
  PyObject *callable, *self, *numbers[3] = {NULL, NULL, NULL};
  const char *signature;
  const PyNativeCallableTable *tables[3];
  long l[3] = {0, 0, 0};
  double d[3] = {0, 0, 0};
  if (!PyArg_ParseTuple(args, "OOs|OOO", &callable, &self, &signature, &numbers[0], &numbers[1],
                        &numbers[2]) ||
      tables_of(callable, tables) < 0) {
    return NULL;
  }
  for (int i = 0; i < 3 && numbers[i] != NULL; ++i) {
    d[i] = PyFloat_AsDouble(numbers[i]);
    if (PyLong_Check(numbers[i])) l[i] = PyLong_AsLong(numbers[i]);
    if (PyErr_Occurred()) return NULL;
  }
  for (int i = 0; i < 3; ++i) {
    if (tables[i] == NULL) continue;
    const PyNativeCallableEntry *entry = tables[i]->entries;
    for (Py_ssize_t at = 0; at < tables[i]->count; ++at, ++entry) {
      if (strcmp(entry->signature, signature) == 0) return call_entry(entry, self, l, d);
    }
  }
  return PyErr_Format(PyExc_LookupError, "no entry '%s'", signature);
}

static PyMethodDef methods[] = {
    {"places", places, METH_O, NULL},
    {"call", call, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

TEST_MODULE(look, methods)
