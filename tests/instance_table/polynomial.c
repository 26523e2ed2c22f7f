// A type Polynomial([c0, c1, ...]) whose instances Python and native code can call.
#include <Python.h>
#include <structmember.h>

#include "core/extensible_type.h"
#include "tests/support/c_module.h"
#include "typedcall/native_callable_slot.h"

// Only -Wpedantic warns about this cast.
#define FUNCTION(function) ((void *)(function))

typedef struct {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  PyNativeCallableTables native;
  Py_ssize_t count;
  double *coefficients;  // never changes, so it can be read without the GIL
} Polynomial;

static double evaluate_d(PyObject *self, double x) {
  const Polynomial *polynomial = (const Polynomial *)self;
  double sum = 0;
  for (Py_ssize_t i = polynomial->count; i-- > 0;) sum = sum * x + polynomial->coefficients[i];
  return sum;
}

static float evaluate_f(PyObject *self, float x) { return (float)evaluate_d(self, x); }

// An overload that does not take self.
static double identity(double x) { return x; }

#define FLAGS (PyNativeCallable_THREAD_SAFE | PyNativeCallable_PURE | PyNativeCallable_TAKES_SELF)

static const PyNativeCallableEntry entries[] = {{"d->d", FLAGS, FUNCTION(evaluate_d)},
                                                {"f->f", FLAGS, FUNCTION(evaluate_f)}};
static const PyNativeCallableEntry identity_entry = {"d->d", PyNativeCallable_PURE,
                                                     FUNCTION(identity)};

static PyObject *polynomial_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf,
                                       PyObject *kwnames) {
  if (PyVectorcall_NARGS(nargsf) != 1 || (kwnames != NULL && PyTuple_GET_SIZE(kwnames) != 0)) {
    PyErr_SetString(PyExc_TypeError, "a polynomial takes one argument");
    return NULL;
  }
  const double x = PyFloat_AsDouble(args[0]);
  if (x == -1.0 && PyErr_Occurred()) return NULL;
  return PyFloat_FromDouble(evaluate_d(self, x));
}

// Copies the numbers in a sequence. Returns 0, or -1 with an exception set.
static int polynomial_fill(Polynomial *self, PyObject *numbers) {
  PyObject *sequence = PySequence_Tuple(numbers);
  if (sequence == NULL) return -1;
  const Py_ssize_t count = PyTuple_GET_SIZE(sequence);
  self->coefficients = PyMem_New(double, (size_t)(count > 0 ? count : 1));
  if (self->coefficients == NULL) PyErr_NoMemory();
  for (Py_ssize_t i = 0; i < count && !PyErr_Occurred(); ++i) {
    self->coefficients[i] = PyFloat_AsDouble(PyTuple_GET_ITEM(sequence, i));
  }
  self->count = count;
  Py_DECREF(sequence);
  return PyErr_Occurred() ? -1 : 0;
}

// The coefficients are set in tp_new, because __init__ can be called again.
static PyObject *polynomial_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  PyObject *numbers;
  if (!PyArg_ParseTuple(args, "O:Polynomial", &numbers)) return NULL;
  PyObject *self = type->tp_alloc(type, 0);
  if (self == NULL) return NULL;
  Polynomial *polynomial = (Polynomial *)self;
  polynomial->vectorcall = polynomial_vectorcall;
  if (polynomial_fill(polynomial, numbers) < 0 ||
      PyNativeCallableTables_Set(&polynomial->native, entries, 2) < 0) {
    Py_DECREF(self);
    return NULL;
  }
  return self;
}

static void polynomial_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  Polynomial *polynomial = (Polynomial *)self;
  PyNativeCallableTables_Release(&polynomial->native);
  PyMem_Free(polynomial->coefficients);
  type->tp_free(self);
  Py_DECREF((PyObject *)type);
}

// offer(0) offers nothing, offer(1) offers "d->d", and offer(2) offers both entries. offer(3)
// appends the entry without self.
static PyObject *polynomial_offer(PyObject *self, PyObject *argument) {
  PyNativeCallableTables *tables = &((Polynomial *)self)->native;
  const long which = PyLong_AsLong(argument);
  if (which == -1 && PyErr_Occurred()) return NULL;
  const int result = which == 3 ? PyNativeCallableTables_Append(tables, &identity_entry)
                                : PyNativeCallableTables_Set(tables, entries, which);
  if (result < 0) return NULL;
  Py_RETURN_NONE;
}

// offer_text(signature, flags) appends an entry. Raises ValueError if the entry is invalid.
static PyObject *polynomial_offer_text(PyObject *self, PyObject *args) {
  PyNativeCallableEntry entry = {NULL, 0, FUNCTION(identity)};
  unsigned long flags;
  if (!PyArg_ParseTuple(args, "sk", &entry.signature, &flags)) return NULL;
  entry.flags = flags;
  if (PyNativeCallableTables_Append(&((Polynomial *)self)->native, &entry) < 0) return NULL;
  Py_RETURN_NONE;
}

static PyMethodDef polynomial_methods[] = {
    {"offer", polynomial_offer, METH_O, NULL},
    {"offer_text", polynomial_offer_text, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef polynomial_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Polynomial, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot polynomial_type_slots[] = {
    {Py_tp_new, FUNCTION(polynomial_new)},     {Py_tp_dealloc, FUNCTION(polynomial_dealloc)},
    {Py_tp_call, FUNCTION(PyVectorcall_Call)}, {Py_tp_methods, polynomial_methods},
    {Py_tp_members, polynomial_members},       {0, NULL},
};

#ifdef Py_TPFLAGS_HAVE_VECTORCALL
#define VECTORCALL_FLAG Py_TPFLAGS_HAVE_VECTORCALL
#else
#define VECTORCALL_FLAG _Py_TPFLAGS_HAVE_VECTORCALL
#endif

static PyType_Spec polynomial_spec = {
    "polynomial.Polynomial", (int)sizeof(Polynomial), 0,
    (unsigned)(Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | VECTORCALL_FLAG), polynomial_type_slots};

static int polynomial_exec(PyObject *module) {
  static const PyCustomSlot slots[] = {PyNativeCallableTables_SLOT(Polynomial, native)};
  PyObject *type = PyExtensibleType_FromSpec(module, &polynomial_spec, NULL, slots, 1);
  if (type == NULL) return -1;
  const int result = PyModule_AddObject(module, "Polynomial", type);
  if (result < 0) Py_DECREF(type);
  return result;
}

TEST_MODULE_EXEC(polynomial, NULL, polynomial_exec)
