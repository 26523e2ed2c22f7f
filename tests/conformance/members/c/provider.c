// A provider that was written from docs/ABI.md alone. The Python callables and the native functions
// return different values, so a test can tell which was called.
#include <Python.h>
#include <stddef.h>
#include <structmember.h>

#include "abi.h"
#include "interface.h"

static const double MORE = 1000;  // what Python callables add to the result
static const double FACTOR = 4;

// A callable object. Only a subtype has the slot.
typedef struct {
  PyObject_HEAD
  const Table *table;
  PyObject *(*python)(PyObject *self, PyObject *const *arguments, Py_ssize_t count);
  double factor;
  PyObject *weak_references;
} Callable;

// ---- The native functions ----

static void refuse_negative(void) { PyErr_SetString(PyExc_ValueError, "below 0"); }

static double half(double x) { return x / 2; }

static double add(double x, double y) { return x + y; }

static long next(long x) { return (long)((unsigned long)x + 1); }

static double minus(double x) {
  if (x < 0) {
    refuse_negative();
    return -1.0;
  }
  return -x;
}

static double minus_for_pypy(double x) {
  if (x < 0) {
    refuse_negative();
    return -0.0;
  }
  return -x;
}

static int thrice(double x, double *place) {
  if (x < 0) {
    refuse_negative();
    return -1;
  }
  *place = 3 * x;
  return 0;
}

static int even(long x, long *place) {
  if (x % 2 != 0) return 1;
  *place = x / 2;
  return 0;
}

static double total(const double *numbers, Py_ssize_t count) {
  double sum = 0;
  for (Py_ssize_t i = 0; i < count; i++) sum += numbers[i];
  return sum;
}

static Py_ssize_t length(const char *text, Py_ssize_t count) {
  (void)text;
  return count;
}

static double scaled(PyObject *self, double x) { return x * ((Callable *)self)->factor; }

// All functions except scaled, which only instances offer.
#define EACH(use) \
  use(half) use(add) use(next) use(minus) use(thrice) use(even) use(total) use(length)

#define TABLE(function, signature, flags) \
  static const Table function##_table = {1, {{signature, flags, (void *)function}}}
TABLE(half, "d->d", THREAD_SAFE | PURE);
TABLE(add, "dd->d", 0);
TABLE(next, "l->l", 0);
TABLE(minus, "d->d", NEEDS_THREAD | MAY_RAISE);
TABLE(thrice, "d&d->i", NEEDS_THREAD | RETURNS_STATUS);
TABLE(even, "l&l->i", FALLS_BACK);
TABLE(total, "*kd->d", 0);
TABLE(length, "*s->n", 0);
TABLE(scaled, "d->d", TAKES_SELF);

// ---- The Python callables, all METH_FASTCALL ----

// Reads up to two doubles. Sets an exception if the number of arguments is wrong.
static int take_doubles(PyObject *const *arguments, Py_ssize_t count, int wanted, double *numbers) {
  if (count != wanted) {
    PyErr_SetString(PyExc_TypeError, "another number of arguments");
    return 0;
  }
  for (int i = 0; i < wanted; i++) {
    numbers[i] = PyFloat_AsDouble(arguments[i]);
    if (numbers[i] == -1.0 && PyErr_Occurred()) return 0;
  }
  return 1;
}

#define PYTHON(name)                                                     \
  static PyObject *name##_python(__attribute__((unused)) PyObject *self, \
                                 PyObject *const *arguments, Py_ssize_t count)

PYTHON(half) {
  double x;
  return take_doubles(arguments, count, 1, &x) ? PyFloat_FromDouble(x / 2 + MORE) : NULL;
}

PYTHON(add) {
  double x[2];
  return take_doubles(arguments, count, 2, x) ? PyFloat_FromDouble(x[0] + x[1] + MORE) : NULL;
}

PYTHON(scaled) {
  double x;
  if (!take_doubles(arguments, count, 1, &x)) return NULL;
  return PyFloat_FromDouble(x * ((Callable *)self)->factor + MORE);
}

static PyObject *unless_negative(PyObject *const *arguments, Py_ssize_t count, double factor) {
  double x;
  if (!take_doubles(arguments, count, 1, &x)) return NULL;
  if (x < 0) {
    refuse_negative();
    return NULL;
  }
  return PyFloat_FromDouble(factor * x + MORE);
}

PYTHON(minus) { return unless_negative(arguments, count, -1); }

PYTHON(thrice) { return unless_negative(arguments, count, 3); }

static PyObject *plus(PyObject *const *arguments, Py_ssize_t count, long more) {
  if (count != 1) return PyErr_Format(PyExc_TypeError, "one argument, please");
  PyObject *addend = PyLong_FromLong(more), *integer = PyNumber_Index(arguments[0]);
  PyObject *sum = addend && integer ? PyNumber_Add(integer, addend) : NULL;
  Py_XDECREF(addend);
  Py_XDECREF(integer);
  return sum;
}

PYTHON(next) { return plus(arguments, count, 1 + (long)MORE); }

PYTHON(even) { return plus(arguments, count, (long)MORE); }

PYTHON(total) {
  Py_buffer view;
  if (count != 1) return PyErr_Format(PyExc_TypeError, "one argument, please");
  if (PyObject_GetBuffer(arguments[0], &view, PyBUF_ND | PyBUF_FORMAT) < 0) return NULL;
  int suits = view.format && strcmp(view.format, "d") == 0 && view.ndim == 1;
  double sum = suits ? total(view.buf, view.len / view.itemsize) : 0;
  PyBuffer_Release(&view);
  if (!suits) return PyErr_Format(PyExc_TypeError, "an array of doubles, please");
  return PyFloat_FromDouble(sum + MORE);
}

PYTHON(length) {
  Py_ssize_t size;
  if (count != 1) return PyErr_Format(PyExc_TypeError, "one argument, please");
  if (!PyUnicode_AsUTF8AndSize(arguments[0], &size)) return NULL;
  return PyLong_FromSsize_t(size + (Py_ssize_t)MORE);
}

static PyObject *half_one(PyObject *self, PyObject *x) { return half_python(self, &x, 1); }

static PyObject *next_one(PyObject *self, PyObject *x) { return next_python(self, &x, 1); }

// ---- The defs ----

#define DEF(name, function, flags) \
  { name, (PyCFunction)(void *)function, flags, NULL }
#define END \
  { NULL, NULL, 0, NULL }

// Every function except scaled has a header and a def for the way "def".
static const int not_pypys[] = {0x100, -1};
#define HEADER(name)                                  \
  static const HeaderMetadata name##_header = {       \
      .table = &name##_table,                         \
      .size = offsetof(HeaderMetadata, pypy.ml_name), \
      .abi_major = 1,                                 \
      .magic = HEADER_MAGIC,                          \
      .pypy.arg_types = not_pypys,                    \
      .pypy.ret_type = 0x100,                         \
      .pypy.ml_name = #name,                          \
  };
EACH(HEADER)
#define WITH_HEADER(name) \
  DEF(name##_header.pypy.ml_name, name##_python, METH_FASTCALL | TYPED | TYPED_EXT),
static PyMethodDef header_defs[] = {EACH(WITH_HEADER) END};

#define PLAIN(name) DEF(#name, name##_python, METH_FASTCALL),
static PyMethodDef plain_defs[] = {EACH(PLAIN) END};
#define TABLE_OF(name) &name##_table,
static const Table *const tables[] = {EACH(TABLE_OF)};

static const int one_long[] = {1, -1}, one_double[] = {2, -1};  // PyPy's codes
static const PypyMetadata half_pypy = {one_double, 2, 0, (void *)half, "half"};
static const PypyMetadata next_pypy = {one_long, 1, 0, (void *)next, "next"};
static const PypyMetadata minus_pypy = {one_double, -2, 0, (void *)minus_for_pypy, "minus"};
static PyMethodDef pypy_defs[] = {DEF(half_pypy.ml_name, half_python, METH_FASTCALL | TYPED),
                                  DEF(next_pypy.ml_name, next_python, METH_FASTCALL | TYPED),
                                  DEF(minus_pypy.ml_name, minus_python, METH_FASTCALL | TYPED),
                                  END};

static const OneArgMetadata half_one_arg = {2, 2, (void *)half, "half"};
static const OneArgMetadata next_one_arg = {1, 1, (void *)next, "next"};
static PyMethodDef one_arg_defs[] = {DEF(half_one_arg.ml_name, half_one, METH_O | TYPED),
                                     DEF(next_one_arg.ml_name, next_one, METH_O | TYPED), END};

static PyMethodDef sibling_defs[] = {PLAIN(half) PLAIN(add) END};
extern const Sibling _PyPyTyped_half, _PyPyTyped_add;
const Sibling _PyPyTyped_half = {&sibling_defs[0], &half_table};
const Sibling _PyPyTyped_add = {&sibling_defs[1], &add_table};

// ---- The types ----

static PyObject *callable_call(PyObject *self, PyObject *arguments, PyObject *keywords) {
  if (keywords && PyDict_GET_SIZE(keywords) > 0) {
    return PyErr_Format(PyExc_TypeError, "no keywords, please");
  }
  if (!((Callable *)self)->python) return PyErr_Format(PyExc_TypeError, "made in Python");
  PyObject *const *items = &PyTuple_GET_ITEM(arguments, 0);
  return ((Callable *)self)->python(self, items, PyTuple_GET_SIZE(arguments));
}

static void callable_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  if (((Callable *)self)->weak_references) PyObject_ClearWeakRefs(self);
  type->tp_free(self);
  Py_DECREF(type);
}

static PyMemberDef callable_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Callable, weak_references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};
static PyType_Slot callable_slots[] = {{Py_tp_call, (void *)callable_call},
                                       {Py_tp_dealloc, (void *)callable_dealloc},
                                       {Py_tp_members, callable_members},
                                       {0, NULL}};
static PyType_Spec callable_spec = {"member_c_provider.Callable", sizeof(Callable), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, callable_slots};

// A subtype of the plain type with the native-callable slot (1.11).
static PyTypeObject *make_slot_type(const Interface *interface, PyTypeObject *plain) {
  const Slot own = {NATIVE_SLOT, offsetof(Callable, table)};
  PyTypeObject *metaclass = interface->metaclass(interface->state);
  if (!metaclass) return NULL;
  PyObject *arguments = Py_BuildValue("(s(O){s(),ss})", "CallableWithTable", plain, "__slots__",
                                      "__module__", "member_c_provider");
  PyObject *type = arguments ? PyType_Type.tp_new(metaclass, arguments, NULL) : NULL;
  Py_XDECREF(arguments);
  if (type && interface->resolve(interface->state, (PyTypeObject *)type, &own, 1) < 0) {
    Py_CLEAR(type);
  }
  return (PyTypeObject *)type;
}

static PyObject *make_callable(PyTypeObject *type, const PyMethodDef *def, const Table *table) {
  Callable *made = (Callable *)type->tp_alloc(type, 0);
  if (!made) return NULL;
  made->python = (PyObject * (*)(PyObject *, PyObject *const *, Py_ssize_t))(void *)def->ml_meth;
  made->factor = FACTOR;
  __atomic_store_n(&made->table, table, __ATOMIC_RELEASE);
  return (PyObject *)made;
}

// ---- The offers ----

static int publish(const Interface *interface, int space, const void *key, PyObject *owner,
                   const Table *table) {
  int said = interface->publish(interface->state, space, key, owner, table, NULL, NULL, NULL);
  if (said == -2) PyErr_SetString(PyExc_RuntimeError, "somebody offers something else");
  return said < 0 ? -1 : 0;
}

// Makes a function from each def. With an interface, each function also gets a row BY_DEF.
static int add_functions(PyObject *module, PyObject *offers, const char *way, PyMethodDef *defs,
                         const Interface *interface) {
  PyObject *functions = PyDict_New();
  int result = functions ? PyDict_SetItemString(offers, way, functions) : -1;
  for (PyMethodDef *def = defs; result == 0 && def->ml_name; def++) {
    PyObject *function = PyCFunction_NewEx(def, module, NULL);
    result = function ? PyDict_SetItemString(functions, def->ml_name, function) : -1;
    if (result == 0 && interface) {
      result = publish(interface, BY_DEF, def, module, tables[def - defs]);
    }
    Py_XDECREF(function);
  }
  Py_XDECREF(functions);
  return result;
}

// Makes an object for each def. An object without a slot gets a row BY_OBJECT.
static int add_objects(PyObject *offers, const char *way, const PyMethodDef *defs,
                       const Table *const *their_tables, PyTypeObject *type,
                       const Interface *rows_in) {
  PyObject *objects = PyDict_New();
  int result = objects ? PyDict_SetItemString(offers, way, objects) : -1;
  for (int i = 0; result == 0 && defs[i].ml_name; i++) {
    PyObject *object = make_callable(type, &defs[i], their_tables[i]);
    result = object ? PyDict_SetItemString(objects, defs[i].ml_name, object) : -1;
    if (result == 0 && rows_in)
      result = publish(rows_in, BY_OBJECT, object, object, their_tables[i]);
    Py_XDECREF(object);
  }
  Py_XDECREF(objects);
  return result;
}

static const PyMethodDef instance_defs[] = {PLAIN(half) PLAIN(scaled) END};
static const Table *const instance_tables[] = {&half_table, &scaled_table};

static int add_with_interface(PyObject *module, PyObject *offers, const Interface *interface) {
  PyTypeObject *plain = (PyTypeObject *)PyType_FromSpec(&callable_spec);
  PyTypeObject *with_slot = plain ? make_slot_type(interface, plain) : NULL;
  int result = with_slot ? add_functions(module, offers, "def", plain_defs, interface) : -1;
  if (result == 0) result = add_objects(offers, "object", plain_defs, tables, plain, interface);
  if (result == 0) {
    result = add_objects(offers, "instance", instance_defs, instance_tables, with_slot, NULL);
  }
  Py_XDECREF(with_slot);
  Py_XDECREF(plain);
  return result;
}

// Imports the module that installs the interface (5.5). Returns NULL without an exception if there
// is none.
static const Interface *import_interface(void) {
  const Interface *interface = look_up_interface();
  if (interface) return interface;
  PyObject *imported = PyImport_ImportModule("typedcall");
  if (!imported) {
    if (PyErr_ExceptionMatches(PyExc_ImportError)) PyErr_Clear();
    return NULL;
  }
  Py_DECREF(imported);
  return look_up_interface();
}

static int execute(PyObject *module) {
  PyObject *offers = PyDict_New();
  int result = offers ? PyObject_SetAttrString(module, "OFFERS", offers) : -1;
  if (result == 0) result = add_functions(module, offers, "header", header_defs, NULL);
  if (result == 0) result = add_functions(module, offers, "pypy", pypy_defs, NULL);
  if (result == 0) result = add_functions(module, offers, "one_arg", one_arg_defs, NULL);
  if (result == 0) result = add_functions(module, offers, "sibling", sibling_defs, NULL);
  const Interface *interface = result == 0 ? import_interface() : NULL;
  if (PyErr_Occurred()) result = -1;
  if (interface && result == 0) result = add_with_interface(module, offers, interface);
  Py_XDECREF(offers);
  return result;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)execute}, {0, NULL}};
static PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "member_c_provider", .m_slots = slots};

PyMODINIT_FUNC PyInit_member_c_provider(void) { return PyModuleDef_Init(&definition); }
