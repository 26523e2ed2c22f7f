// A provider that uses our headers. Readers that were written from the text alone must find its
// functions.
#include <Python.h>

#include "core/extensible_type.h"
#include "typedcall/native_callable_slot.h"
#include "typedcall/tag.h"
#include "typedcall/typed_method.h"

#define FUNCTION(function) ((void *)(function))

typedef struct {
  PyObject_HEAD
  PyNativeCallableTables native;
  double factor;
} Callable;

// ---- The native functions ----

static double half(double x) { return x / 2; }
static double add(double x, double y) { return x + y; }
static long next(long x) { return (long)((unsigned long)x + 1); }

// Returns `value`. If x < 0, sets ValueError and returns `error`.
static double unless_negative(double x, double value, double error) {
  if (!(x < 0)) return value;
  PyErr_SetString(PyExc_ValueError, "below 0");
  return error;
}

static double minus(double x) { return unless_negative(x, -x, -1.0); }
static double minus_for_pypy(double x) { return unless_negative(x, -x, -0.0); }

static int thrice(double x, double *place) {
  *place = unless_negative(x, 3 * x, 0);
  return x < 0 ? -1 : 0;
}

static int even(long x, long *place) {
  *place = x / 2;
  return x % 2 == 0 ? 0 : 1;
}

static double total(const double *numbers, Py_ssize_t count) {
  double sum = 0;
  for (Py_ssize_t i = 0; i < count; ++i) sum += numbers[i];
  return sum;
}

static Py_ssize_t length(const char *text, Py_ssize_t count) {
  (void)text;
  return count;
}

static double scaled(PyObject *self, double x) { return x * ((const Callable *)self)->factor; }

PyTypedMethod_DEFINE(half_typed, "half",
                     {"d->d", PyNativeCallable_THREAD_SAFE | PyNativeCallable_PURE,
                      FUNCTION(half)});
PyTypedMethod_DEFINE(add_typed, "add", {"dd->d", 0, FUNCTION(add)});
PyTypedMethod_DEFINE(next_typed, "next", {"l->l", 0, FUNCTION(next)});
PyTypedMethod_DEFINE(minus_typed, "minus",
                     {"d->d", PyNativeCallable_NEEDS_THREAD | PyNativeCallable_MAY_RAISE,
                      FUNCTION(minus)});
PyTypedMethod_DEFINE(thrice_typed, "thrice",
                     {"d&d->i", PyNativeCallable_NEEDS_THREAD | PyNativeCallable_RETURNS_STATUS,
                      FUNCTION(thrice)});
PyTypedMethod_DEFINE(even_typed, "even", {"l&l->i", PyNativeCallable_FALLS_BACK, FUNCTION(even)});
PyTypedMethod_DEFINE(total_typed, "total", {"*kd->d", 0, FUNCTION(total)});
PyTypedMethod_DEFINE(length_typed, "length", {"*s->n", 0, FUNCTION(length)});

static const PyNativeCallableEntry half_entry = {
    "d->d", PyNativeCallable_THREAD_SAFE | PyNativeCallable_PURE, FUNCTION(half)};
static const PyNativeCallableEntry scaled_entry = {"d->d", PyNativeCallable_TAKES_SELF,
                                                   FUNCTION(scaled)};

static const PyTypedMethodMetadata *const typed[] = {&half_typed,  &add_typed,    &next_typed,
                                                     &minus_typed, &thrice_typed, &even_typed,
                                                     &total_typed, &length_typed, NULL};

// ---- The Python callables, which return different values from the native functions ----

static PyObject *and_thousand(PyObject *argument) {
  PyObject *thousand = PyLong_FromLong(1000);
  PyObject *sum = thousand != NULL ? PyNumber_Add(argument, thousand) : NULL;
  Py_XDECREF(thousand);
  return sum;
}

static PyObject *called(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  (void)self;
  if (count > 0) return and_thousand(args[0]);
  PyErr_SetString(PyExc_TypeError, "an argument, please");
  return NULL;
}

static PyObject *called_with_one(PyObject *self, PyObject *argument) {
  (void)self;
  return and_thousand(argument);
}

static PyObject *callable_call(PyObject *self, PyObject *args, PyObject *kwargs) {
  PyObject *argument;
  (void)self;
  (void)kwargs;
  return PyArg_UnpackTuple(args, "call", 1, 1, &argument) ? and_thousand(argument) : NULL;
}

static void callable_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyNativeCallableTables_Release(&((Callable *)self)->native);
  type->tp_free(self);
  Py_DECREF((PyObject *)type);
}

static PyType_Slot callable_slots[] = {
    {Py_tp_call, FUNCTION(callable_call)}, {Py_tp_dealloc, FUNCTION(callable_dealloc)}, {0, NULL}};
static PyType_Spec callable_spec = {"member_headers_provider.Callable", (int)sizeof(Callable), 0,
                                    Py_TPFLAGS_DEFAULT, callable_slots};
static const PyCustomSlot native_slot[] = {PyNativeCallableTables_SLOT(Callable, native)};

// ---- The defs ----

#define WITH_BITS(variable) \
  { (variable).pypy.ml_name, FUNCTION(called), METH_FASTCALL | METH_TYPED | METH_TYPED_EXT, NULL }
#define TAGGED(variable) \
  { (variable).pypy.ml_name, FUNCTION(called), METH_FASTCALL, NULL }
#define EACH(use)                                                                        \
  use(half_typed), use(add_typed), use(next_typed), use(minus_typed), use(thrice_typed), \
      use(even_typed), use(total_typed), use(length_typed)
static PyMethodDef header_defs[] = {EACH(WITH_BITS), {NULL, NULL, 0, NULL}};
static PyMethodDef tagged_defs[] = {EACH(TAGGED), {NULL, NULL, 0, NULL}};

static PyMethodDef sibling_defs[] = {{"half", FUNCTION(called), METH_FASTCALL, NULL},
                                     {"add", FUNCTION(called), METH_FASTCALL, NULL},
                                     {NULL, NULL, 0, NULL}};
PyTypedMethod_SIBLING(half, sibling_defs[0], half_typed);
PyTypedMethod_SIBLING(add, sibling_defs[1], add_typed);

static int one_long[] = PyTypedMethod_CODES(T_C_LONG);
static int one_double[] = PyTypedMethod_CODES(T_C_DOUBLE);
static const PyPyTypedMethodMetadata pypy_half = {one_double, T_C_DOUBLE, FUNCTION(half), "half"};
static const PyPyTypedMethodMetadata pypy_next = {one_long, T_C_LONG, FUNCTION(next), "next"};
static const PyPyTypedMethodMetadata pypy_minus = {one_double, -T_C_DOUBLE,
                                                   FUNCTION(minus_for_pypy), "minus"};
#define PYPY(metadata) \
  { (metadata).ml_name, FUNCTION(called), METH_FASTCALL | METH_TYPED, NULL }
static PyMethodDef pypy_defs[] = {
    PYPY(pypy_half), PYPY(pypy_next), PYPY(pypy_minus), {NULL, NULL, 0, NULL}};

static const PyTypedMethod_OneArgMetadata one_half = {T_C_DOUBLE, T_C_DOUBLE, FUNCTION(half),
                                                      "half"};
static const PyTypedMethod_OneArgMetadata one_next = {T_C_LONG, T_C_LONG, FUNCTION(next), "next"};
static PyMethodDef one_arg_defs[] = {
    {one_half.ml_name, FUNCTION(called_with_one), METH_O | METH_TYPED, NULL},
    {one_next.ml_name, FUNCTION(called_with_one), METH_O | METH_TYPED, NULL},
    {NULL, NULL, 0, NULL}};

// ---- The module ----

// Returns a borrowed reference to a way's dict in OFFERS, or NULL with an exception set.
static PyObject *way_of(PyObject *offers, const char *way) {
  PyObject *functions = PyDict_New();
  const int result = functions != NULL ? PyDict_SetItemString(offers, way, functions) : -1;
  Py_XDECREF(functions);
  return result == 0 ? functions : NULL;
}

// Steals the reference to `callable`, which may be NULL with an exception set. Returns 0 or -1.
static int offer(PyObject *functions, const char *name, PyObject *callable) {
  const int result = callable != NULL ? PyDict_SetItemString(functions, name, callable) : -1;
  Py_XDECREF(callable);
  return result;
}

static int add_functions(PyObject *module, PyObject *offers, const char *way, PyMethodDef *defs) {
  PyObject *functions = way_of(offers, way);
  int result = functions != NULL ? 0 : -1;
  for (; result == 0 && defs->ml_name != NULL; ++defs) {
    result = offer(functions, defs->ml_name, PyCFunction_NewEx(defs, module, NULL));
  }
  return result;
}

static int add_objects(PyObject *offers) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  PyObject *functions = interface != NULL ? way_of(offers, "object") : NULL;
  PyTypeObject *type = functions != NULL ? (PyTypeObject *)PyType_FromSpec(&callable_spec) : NULL;
  int result = type != NULL ? 0 : -1;
  for (int i = 0; result == 0 && typed[i] != NULL; ++i) {
    PyObject *callable = type->tp_alloc(type, 0);
    if (callable == NULL ||
        PyNativeCallable_TagObject(interface, callable, typed[i]->table, NULL) < 0) {
      Py_CLEAR(callable);
    }
    result = offer(functions, typed[i]->pypy.ml_name, callable);
  }
  Py_XDECREF((PyObject *)type);
  return result;
}

static PyObject *make_instance(PyTypeObject *type, const PyNativeCallableEntry *entry) {
  PyObject *instance = type->tp_alloc(type, 0);
  if (instance == NULL) return NULL;
  ((Callable *)instance)->factor = 4;
  if (PyNativeCallableTables_Set(&((Callable *)instance)->native, entry, 1) < 0) {
    Py_CLEAR(instance);
  }
  return instance;
}

static int add_instances(PyObject *module, PyObject *offers) {
  PyTypeObject *type =
      (PyTypeObject *)PyExtensibleType_FromSpec(module, &callable_spec, NULL, native_slot, 1);
  PyObject *functions = type != NULL ? way_of(offers, "instance") : NULL;
  int result = functions != NULL ? 0 : -1;
  if (result == 0) result = offer(functions, "half", make_instance(type, &half_entry));
  if (result == 0) result = offer(functions, "scaled", make_instance(type, &scaled_entry));
  Py_XDECREF((PyObject *)type);
  return result;
}

static int execute(PyObject *module) {
  PyObject *offers = PyDict_New();
  const int failed = offers == NULL || PyObject_SetAttrString(module, "OFFERS", offers) < 0 ||
                     PyTypedMethod_AddTags(module, header_defs, typed) < 0 ||
                     PyTypedMethod_AddTags(module, tagged_defs, typed) < 0 ||
                     add_functions(module, offers, "header", header_defs) < 0 ||
                     add_functions(module, offers, "def", tagged_defs) < 0 ||
                     add_functions(module, offers, "sibling", sibling_defs) < 0 ||
                     add_functions(module, offers, "pypy", pypy_defs) < 0 ||
                     add_functions(module, offers, "one_arg", one_arg_defs) < 0 ||
                     add_objects(offers) < 0 || add_instances(module, offers) < 0;
  Py_XDECREF(offers);
  return failed ? -1 : 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, FUNCTION(execute)}, {0, NULL}};
static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "member_headers_provider", NULL, 0, NULL, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_member_headers_provider(void) { return PyModuleDef_Init(&definition); }
