// A reader that uses our C headers.
#include "core/custom_slots.h"
#include "reader_module.h"
#include "typedcall/native_callable.h"
#include "typedcall/sibling_symbol.h"
#include "typedcall/typed_method.h"

typedef struct Request {
  const PyTypedcall_Interface *interface;
  PyNativeSignature parsed;
  const char *signature;
  uintptr_t can;
  int equivalent;
} Request;

// Returns the first matching entry of a table. An identical signature takes precedence.
static const PyNativeCallableEntry *Select(const PyNativeCallableTable *table,
                                           const Request *asked) {
  for (int by_text = 1; by_text >= !asked->equivalent; --by_text) {
    const PyNativeCallableEntry *entry = table->entries;
    for (Py_ssize_t i = 0; i < table->count; ++i, ++entry) {
      PyNativeSignature offered;
      if (entry->signature == NULL || entry->funcptr == NULL) continue;
      if (by_text != (strcmp(entry->signature, asked->signature) == 0)) continue;
      if (PyNativeSignature_ParseString(entry->signature, &offered, NULL) < 0) continue;
      if (!PyNativeCallable_IsWellFormed(entry->flags, offered.result)) continue;
      if ((entry->flags & PyNativeCallable_MANDATORY_MASK & ~asked->can) != 0) continue;
      if (!PyNativeSignature_SatisfiesParsed(&offered, &asked->parsed)) continue;
      const uintptr_t by_place = PyNativeCallable_RETURNS_STATUS | PyNativeCallable_FALLS_BACK;
      const int last = offered.nargs - 1;
      if ((entry->flags & by_place) != 0 && last >= 0 &&
          PyNativeType_IsPlace(offered.args[last]) !=
              PyNativeType_IsPlace(asked->parsed.args[last])) {
        continue;
      }
      return entry;
    }
  }
  return NULL;
}

static const void *ReadSibling(const PyMethodDef *def) { return PyTypedMethod_SiblingTable(def); }

static int IsUnbound(PyObject *callable) {
  return Py_TYPE(callable) == &PyMethodDescr_Type || Py_TYPE(callable) == &PyClassMethodDescr_Type;
}

// Returns the matching entry of a callable. `made` and `spelled` provide the memory for an entry
// that is read from PyPy's struct.
static const PyNativeCallableEntry *Look(PyObject *callable, const Request *asked,
                                         PyNativeCallableTable *made,
                                         char spelled[PyTypedMethod_PYPY_LENGTH]) {
  const PyTypedcall_Interface *interface = asked->interface;
  const PyTypeObject *type = Py_TYPE(callable);
  const PyMethodDef *def = NULL;
  const PyNativeCallableEntry *found = NULL;
  if (type == &PyCFunction_Type || type == &PyCMethod_Type)
    def = ((PyCFunctionObject *)callable)->m_ml;
  if (IsUnbound(callable)) def = ((PyMethodDescrObject *)callable)->d_method;
  if (def == NULL) {
    const PyNativeCallableTable *table = PyNativeCallable_CallTable(callable);
    if (table != NULL) found = Select(table, asked);
  } else {
    const PyNativeCallableTable *table = PyTypedMethod_Table(def);
    if (table != NULL) {
      found = Select(table, asked);
    } else if (PyTypedMethod_ReadPyPy(def, &made->entries[0], spelled)) {
      made->count = 1;
      found = Select(made, asked);
    }
    if (found == NULL) {
      table =
          (const PyNativeCallableTable *)interface->find(interface->state, PyTypedcall_BY_DEF, def);
      if (table != NULL) found = Select(table, asked);
    }
  }
  if (found == NULL) {
    const PyNativeCallableTable *table = (const PyNativeCallableTable *)interface->find(
        interface->state, PyTypedcall_BY_OBJECT, callable);
    if (table != NULL) found = Select(table, asked);
  }
  if (found == NULL && def != NULL) {
    const PyNativeCallableTable *table =
        (const PyNativeCallableTable *)interface->sibling(interface->state, def, ReadSibling);
    if (table != NULL) found = Select(table, asked);
  }
  return found;
}

static int SelfIsPassed(PyObject *callable) {
  const PyTypeObject *type = Py_TYPE(callable);
  return type == &PyCFunction_Type || type == &PyCMethod_Type;
}

static PyObject *Find(PyObject *module, PyObject *arguments) {
  PyObject *callable;
  Request asked;
  unsigned long can;
  if (!PyArg_ParseTuple(arguments, "Oskp", &callable, &asked.signature, &can, &asked.equivalent))
    return NULL;
  if (IsUnbound(callable)) Py_RETURN_NONE;
  if (PyNativeSignature_ParseString(asked.signature, &asked.parsed, NULL) < 0) Py_RETURN_NONE;
  asked.interface = InterfaceOf(module);
  asked.can = can;
  if (SelfIsPassed(callable) && PyCFunction_GET_SELF(callable) == NULL) {
    asked.can &= ~PyNativeCallable_TAKES_SELF;
  }
  PyNativeCallableTable made;
  char spelled[PyTypedMethod_PYPY_LENGTH];
  const PyNativeCallableEntry *found = Look(callable, &asked, &made, spelled);
  if (found == NULL) Py_RETURN_NONE;
  return Py_BuildValue("skK", found->signature, (unsigned long)found->flags,
                       (unsigned long long)(uintptr_t)found->funcptr);
}

// Evaluates a call, without the GIL if the function takes the GIL itself.
#define CALL(entry, assignment)                                                            \
  do {                                                                                     \
    const uintptr_t taken = PyNativeCallable_ACQUIRES_GIL;                                 \
    const uintptr_t held = taken | PyNativeCallable_NEEDS_THREAD;                          \
    PyThreadState *thread = ((entry)->flags & held) == taken ? PyEval_SaveThread() : NULL; \
    assignment;                                                                            \
    if (thread != NULL) PyEval_RestoreThread(thread);                                      \
  } while (0)

// Calls a function as the flags of the entry require. The caller of an unbound method passes self.
static PyObject *CallEntry(PyObject *callable, const PyNativeCallableEntry *entry,
                           const char *signature, PyObject *self, PyObject *first,
                           PyObject *second) {
  const int is_unbound = self != NULL;
  const int takes_self = (entry->flags & PyNativeCallable_TAKES_SELF) != 0;
  if (!is_unbound) self = SelfIsPassed(callable) ? PyCFunction_GET_SELF(callable) : callable;
  void *const function = entry->funcptr;
  if (first == NULL) {
    PyErr_SetString(PyExc_NotImplementedError, signature);
    return NULL;
  }
  if (strcmp(signature, "d->d") == 0) {
    const double x = PyFloat_AsDouble(first);
    double y;
    CALL(entry, y = takes_self ? ((double (*)(PyObject *, double))function)(self, x)
                               : ((double (*)(double))function)(x));
    return PyErr_Occurred() ? NULL : PyFloat_FromDouble(y);
  }
  if (strcmp(signature, "dd->d") == 0) {
    const double x = PyFloat_AsDouble(first), y = PyFloat_AsDouble(second);
    double sum;
    CALL(entry, sum = ((double (*)(double, double))function)(x, y));
    return PyFloat_FromDouble(sum);
  }
  if (strcmp(signature, "l->l") == 0) {
    const long x = PyLong_AsLong(first);
    long result;
    CALL(entry, result = ((long (*)(long))function)(x));
    return PyErr_Occurred() ? NULL : PyLong_FromLong(result);
  }
  if (strcmp(signature, "d&d->i") == 0) {
    const double x = PyFloat_AsDouble(first);
    double place = 0;
    int status;
    CALL(entry, status = ((int (*)(double, double *))function)(x, &place));
    return status != 0 ? NULL : PyFloat_FromDouble(place);
  }
  if (strcmp(signature, "l&l->i") == 0) {
    const long x = PyLong_AsLong(first);
    long place = 0;
    int status;
    CALL(entry, status = takes_self ? ((int (*)(PyObject *, long, long *))function)(self, x, &place)
                                    : ((int (*)(long, long *))function)(x, &place));
    if (status == 0) return PyLong_FromLong(place);
    return is_unbound ? PyObject_CallFunctionObjArgs(callable, self, first, NULL)
                      : PyObject_CallFunctionObjArgs(callable, first, NULL);
  }
  if (strcmp(signature, "*s->n") == 0) {
    Py_ssize_t size = 0;
    const char *text = PyUnicode_AsUTF8AndSize(first, &size);
    CALL(entry, size = ((Py_ssize_t(*)(const char *, Py_ssize_t))function)(text, size));
    return PyLong_FromSsize_t(size);
  }
  if (strcmp(signature, "*kd->d") == 0) {
    Py_buffer view;
    if (PyObject_GetBuffer(first, &view, PyBUF_CONTIG_RO | PyBUF_FORMAT) < 0) return NULL;
    const int is_right = view.format != NULL && strcmp(view.format, "d") == 0 &&
                         (view.len == 0 || (uintptr_t)view.buf % sizeof(double) == 0);
    double sum = 0;
    if (is_right) {
      CALL(entry, sum = ((double (*)(const double *, Py_ssize_t))function)((const double *)view.buf,
                                                                           view.len / 8));
    }
    PyBuffer_Release(&view);
    if (is_right) return PyFloat_FromDouble(sum);
    PyErr_SetString(PyExc_TypeError, "no aligned array of d");
    return NULL;
  }
  PyErr_SetString(PyExc_NotImplementedError, signature);
  return NULL;
}

// True if the caller may pass this self. Otherwise sets TypeError.
static int CheckSelf(PyObject *unbound, PyObject *self) {
  PyTypeObject *owner = PyDescr_TYPE(unbound);
  const int is_right = Py_TYPE(unbound) == &PyClassMethodDescr_Type
                           ? PyType_Check(self) && PyType_IsSubtype((PyTypeObject *)self, owner)
                           : PyObject_TypeCheck(self, owner);
  if (!is_right) PyErr_SetString(PyExc_TypeError, "self of another type");
  return is_right;
}

// Finds and calls a function. `self` is NULL, or for an unbound method self.
static PyObject *CallWith(PyObject *module, PyObject *callable, Request asked, PyObject *self,
                          PyObject *values) {
  PyObject *first = NULL, *second = NULL;
  asked.interface = InterfaceOf(module);
  if (!PyArg_UnpackTuple(values, "arguments", 0, 2, &first, &second)) return NULL;
  if (PyNativeSignature_ParseString(asked.signature, &asked.parsed, NULL) < 0) return NULL;
  PyNativeCallableTable made;
  char spelled[PyTypedMethod_PYPY_LENGTH];
  const PyNativeCallableEntry *found =
      IsUnbound(callable) == (self != NULL) ? Look(callable, &asked, &made, spelled) : NULL;
  if (found != NULL && self != NULL && !CheckSelf(callable, self)) return NULL;
  if (found != NULL) return CallEntry(callable, found, asked.signature, self, first, second);
  PyErr_SetString(PyExc_LookupError, "not found");
  return NULL;
}

static PyObject *Call(PyObject *module, PyObject *arguments) {
  PyObject *callable, *values;
  Request asked = {.equivalent = 1};
  unsigned long can;
  if (!PyArg_ParseTuple(arguments, "OskO!", &callable, &asked.signature, &can, &PyTuple_Type,
                        &values))
    return NULL;
  asked.can = can;
  return CallWith(module, callable, asked, NULL, values);
}

static PyObject *CallUnbound(PyObject *module, PyObject *arguments) {
  PyObject *callable, *self, *values;
  Request asked = {.equivalent = 1};
  unsigned long can;
  if (!PyArg_ParseTuple(arguments, "OskOO!", &callable, &asked.signature, &can, &self,
                        &PyTuple_Type, &values))
    return NULL;
  asked.can = can;
  return CallWith(module, callable, asked, self, values);
}

static PyObject *FindSlot(PyObject *module, PyObject *arguments) {
  PyObject *object;
  unsigned long long id;
  Py_ssize_t position = 0;
  (void)module;
  if (!PyArg_ParseTuple(arguments, "OK|n", &object, &id, &position)) return NULL;
  const PyCustomSlot *slot = PyCustomSlots_Find(object, (uintptr_t)id, position);
  if (slot == NULL) Py_RETURN_NONE;
  return PyLong_FromUnsignedLongLong(slot->data.flags);
}

static PyMethodDef methods[] = {{"find", Find, METH_VARARGS, NULL},
                                {"call", Call, METH_VARARGS, NULL},
                                {"call_unbound", CallUnbound, METH_VARARGS, NULL},
                                {"slot", FindSlot, METH_VARARGS, NULL},
                                {"slot_at", FindSlot, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};
static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)ExecuteReader}, {0, NULL}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                 "reader_c_headers",
                                 NULL,
                                 sizeof(ReaderState),
                                 methods,
                                 slots,
                                 NULL,
                                 NULL,
                                 NULL};

PyMODINIT_FUNC PyInit_reader_c_headers(void) { return PyModuleDef_Init(&definition); }
