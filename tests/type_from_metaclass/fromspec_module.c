// Makes types from many specs, with CPython and with core/types/type_from_metaclass.h.
#include "core/extensible_type.h"

#include <stddef.h>
#include <stdint.h>
#include <structmember.h>

#include "tests/support/c_module.h"

#define EXTRA_BYTES 48
#define POINTER(function) ((void *)(uintptr_t)(function))

static int dealloc_calls = 0;

typedef struct {
  PyObject_HEAD
  int number;
  PyObject *object;
  double real;
} Members;

static PyMemberDef members_members[] = {
    {"number", T_INT, offsetof(Members, number), 0, "An int."},
    {"object", T_OBJECT_EX, offsetof(Members, object), 0, NULL},
    {"real", T_DOUBLE, offsetof(Members, real), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyObject *get_answer(PyObject *self, void *closure) { return PyLong_FromLong(42); }

static PyGetSetDef members_getset[] = {
    {"answer", get_answer, NULL, "Always 42.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyObject *add_one(PyObject *self, PyObject *argument) {
  PyObject *one = PyLong_FromLong(1);
  PyObject *sum = one != NULL ? PyNumber_Add(argument, one) : NULL;
  Py_XDECREF(one);
  return sum;
}

static PyObject *return_self(PyObject *self, PyObject *unused) {
  Py_INCREF(self);
  return self;
}

static PyObject *return_none(PyObject *self, PyObject *unused) { Py_RETURN_NONE; }

static PyObject *defining_class(PyObject *self, PyTypeObject *cls, PyObject *const *args,
                                Py_ssize_t count, PyObject *names) {
  Py_INCREF((PyObject *)cls);
  return (PyObject *)cls;
}

static PyMethodDef members_methods[] = {
    {"add_one", add_one, METH_O, "add_one($self, x, /)\n--\n\nx + 1."},
    {"itself", return_self, METH_NOARGS, NULL},
    {"cls", return_self, METH_NOARGS | METH_CLASS, NULL},
    {"static", return_none, METH_NOARGS | METH_STATIC, NULL},
    {"defining_class", (PyCFunction)POINTER(defining_class),
     METH_METHOD | METH_FASTCALL | METH_KEYWORDS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot empty_slots[] = {{0, NULL}};

static PyType_Slot members_slots[] = {
    {Py_tp_doc, (void *)"members(number=0)\n--\n\nHas members."},
    {Py_tp_members, members_members},
    {Py_tp_getset, members_getset},
    {Py_tp_methods, members_methods},
    {0, NULL},
};

typedef struct {
  PyObject_HEAD
  PyObject *dict;
  PyObject *weakrefs;
} WeakDict;

static int weakdict_traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(((WeakDict *)self)->dict);
  return 0;
}

static int weakdict_clear(PyObject *self) {
  Py_CLEAR(((WeakDict *)self)->dict);
  return 0;
}

static void weakdict_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  ++dealloc_calls;
  PyObject_GC_UnTrack(self);
  if (((WeakDict *)self)->weakrefs != NULL) PyObject_ClearWeakRefs(self);
  Py_CLEAR(((WeakDict *)self)->dict);
  type->tp_free(self);
  Py_DECREF((PyObject *)type);
}

static PyMemberDef weakdict_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(WeakDict, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(WeakDict, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef weakdict_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot weakdict_slots[] = {
    {Py_tp_members, weakdict_members},
    {Py_tp_getset, weakdict_getset},
    {Py_tp_traverse, POINTER(weakdict_traverse)},
    {Py_tp_clear, POINTER(weakdict_clear)},
    {Py_tp_dealloc, POINTER(weakdict_dealloc)},
    {0, NULL},
};

static PyObject *seven_binary(PyObject *a, PyObject *b) { return PyLong_FromLong(7); }

static PyObject *seven_item(PyObject *self, Py_ssize_t i) {
  if (i >= 7) PyErr_SetNone(PyExc_IndexError);
  return i < 7 ? PyLong_FromSsize_t(i) : NULL;
}

static Py_ssize_t seven_length(PyObject *self) { return 7; }

static PyObject *seven_repr(PyObject *self) { return PyUnicode_FromString("<seven>"); }

static PyObject *seven_compare(PyObject *a, PyObject *b, int op) {
  if (op != Py_EQ && op != Py_NE) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((op == Py_EQ) == (Py_TYPE(a) == Py_TYPE(b)));
}

static PyType_Slot number_slots[] = {
    {Py_tp_doc, (void *)"No signature here."},
    {Py_nb_add, POINTER(seven_binary)},
    {Py_sq_length, POINTER(seven_length)},
    {Py_sq_item, POINTER(seven_item)},
    {Py_tp_repr, POINTER(seven_repr)},
    {Py_tp_richcompare, POINTER(seven_compare)},
    {0, NULL},
};

typedef struct {
  PyObject_HEAD
  vectorcallfunc vectorcall;
} Vectorcall;

static PyObject *count_arguments(PyObject *self, PyObject *const *args, size_t count,
                                 PyObject *names) {
  return PyLong_FromSsize_t(PyVectorcall_NARGS(count));
}

static PyObject *vectorcall_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  PyObject *self = type->tp_alloc(type, 0);
  if (self != NULL) ((Vectorcall *)self)->vectorcall = count_arguments;
  return self;
}

static PyMemberDef vectorcall_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Vectorcall, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot vectorcall_slots[] = {
    {Py_tp_members, vectorcall_members},
    {Py_tp_call, POINTER(PyVectorcall_Call)},
    {Py_tp_new, POINTER(vectorcall_new)},
    {0, NULL},
};

static PyObject *await_self(PyObject *self) { return PyObject_GetIter(self); }

static PyObject *next_nothing(PyObject *self) { return NULL; }

static int get_buffer(PyObject *self, Py_buffer *view, int flags) {
  return PyBuffer_FillInfo(view, self, (void *)(uintptr_t) "abc", 3, 1, flags);
}

static PyType_Slot protocol_slots[] = {
    {Py_am_await, POINTER(await_self)},
    {Py_tp_iter, POINTER(PyObject_SelfIter)},
    {Py_tp_iternext, POINTER(next_nothing)},
    {Py_bf_getbuffer, POINTER(get_buffer)},
    {Py_mp_subscript, POINTER(seven_binary)},
    {Py_tp_hash, POINTER(seven_length)},
    {0, NULL},
};

static PyType_Slot two_docs_slots[] = {
    {Py_tp_doc, (void *)"One."}, {Py_tp_doc, (void *)"Two."}, {0, NULL}};
static PyType_Slot two_members_slots[] = {
    {Py_tp_members, members_members}, {Py_tp_members, members_members}, {0, NULL}};
static PyType_Slot no_doc_slots[] = {{Py_tp_doc, NULL}, {0, NULL}};
static PyType_Slot unknown_slots[] = {{999, NULL}, {0, NULL}};
static PyType_Slot negative_slots[] = {{-3, NULL}, {0, NULL}};
static PyType_Slot list_base_slots[] = {{Py_tp_base, &PyList_Type}, {0, NULL}};
static PyType_Slot bool_base_slots[] = {{Py_tp_base, &PyBool_Type}, {0, NULL}};
static PyType_Slot not_a_tuple_slots[] = {{Py_tp_bases, &PyList_Type}, {0, NULL}};
static PyType_Slot bases_slots[] = {{Py_tp_bases, NULL}, {0, NULL}};     // set to (int,) on import
static PyType_Slot no_bases_slots[] = {{Py_tp_bases, NULL}, {0, NULL}};  // set to () on import

#define DEFAULT (Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE)
static PyType_Spec specs[] = {
    {"fromspec.empty", 0, 0, DEFAULT, empty_slots},
    {"fromspec.members", sizeof(Members), 0, DEFAULT, members_slots},
    {"fromspec.weakdict", sizeof(WeakDict), 0, DEFAULT | Py_TPFLAGS_HAVE_GC, weakdict_slots},
    {"fromspec.number", 0, 0, DEFAULT, number_slots},
    {"fromspec.vectorcall", sizeof(Vectorcall), 0, DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
     vectorcall_slots},
    {"fromspec.protocol", 0, 0, DEFAULT, protocol_slots},
    {"fromspec.final", 0, 0, Py_TPFLAGS_DEFAULT, empty_slots},
    {"fromspec.sized", sizeof(PyVarObject), 8, DEFAULT, empty_slots},
    {"fromspec.inner.dotted", 0, 0, DEFAULT, no_doc_slots},
    {"fromspec.list_base", 0, 0, DEFAULT, list_base_slots},
    {"fromspec.tuple_of_bases", 0, 0, DEFAULT, bases_slots},
#ifdef Py_TPFLAGS_IMMUTABLETYPE
    {"fromspec.immutable", 0, 0, DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, number_slots},
    {"fromspec.abstract", 0, 0, DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, number_slots},
#endif
    {"undotted", 0, 0, DEFAULT, empty_slots},
    {"fromspec.bad_two_docs", 0, 0, DEFAULT, two_docs_slots},
    {"fromspec.bad_two_members", sizeof(Members), 0, DEFAULT, two_members_slots},
    {"fromspec.bad_unknown", 0, 0, DEFAULT, unknown_slots},
    {"fromspec.bad_negative", 0, 0, DEFAULT, negative_slots},
    {"fromspec.bad_bool_base", 0, 0, DEFAULT, bool_base_slots},
    {"fromspec.bad_not_a_tuple", 0, 0, DEFAULT, not_a_tuple_slots},
    {"fromspec.bad_no_bases", 0, 0, DEFAULT, no_bases_slots},
    {"fromspec.bad_small", 1, 0, DEFAULT, empty_slots},
    {"fromspec.bad_offset", sizeof(PyObject), 0, DEFAULT | Py_TPFLAGS_HAVE_GC, weakdict_slots},
    {"fromspec.pep697", -16, 0, DEFAULT, empty_slots},
    {NULL, 0, 0, DEFAULT, empty_slots},
};

static PyType_Spec *find_spec(const char *kind) {
  const size_t count = sizeof(specs) / sizeof(specs[0]);
  for (size_t i = 0; i < count; ++i) {
    const char *dot = specs[i].name != NULL ? strrchr(specs[i].name, '.') : NULL;
    const char *name = dot != NULL ? dot + 1 : specs[i].name;
    if (strcmp(name != NULL ? name : "unnamed", kind) == 0) return &specs[i];
  }
  PyErr_Format(PyExc_LookupError, "no spec '%s'", kind);
  return NULL;
}

// make(kind, metaclass or None, bases=None) returns a type that our function makes.
static PyObject *make(PyObject *module, PyObject *args) {
  const char *kind;
  PyObject *metaclass, *bases = NULL;
  if (!PyArg_ParseTuple(args, "sO|O", &kind, &metaclass, &bases)) return NULL;
  PyType_Spec *spec = find_spec(kind);
  if (spec == NULL) return NULL;
  return PyExtensibleType_FromMetaclass(metaclass != Py_None ? (PyTypeObject *)metaclass : NULL,
                                        module, spec, bases == Py_None ? NULL : bases);
}

// plain(kind, bases=None) returns a type that CPython makes from the same spec.
static PyObject *plain(PyObject *module, PyObject *args) {
  const char *kind;
  PyObject *bases = NULL;
  if (!PyArg_ParseTuple(args, "s|O", &kind, &bases)) return NULL;
  PyType_Spec *spec = find_spec(kind);
  if (spec == NULL) return NULL;
  return PyType_FromModuleAndSpec(module, spec, bases == Py_None ? NULL : bases);
}

static char target[1] = {0};  // the zero also ends any array of defs

// one_slot(id, metaclass or None) returns a type whose spec has only this slot. The type must not
// be instantiated, because the slot does not point to a function.
static PyObject *one_slot(PyObject *module, PyObject *args) {
  static PyMethodDef no_methods[] = {{NULL, NULL, 0, NULL}};
  static PyGetSetDef no_getset[] = {{NULL, NULL, NULL, NULL, NULL}};
  PyObject *metaclass;
  PyType_Slot slots[2] = {{0, target}, {0, NULL}};
  PyType_Spec spec = {"fromspec.one_slot", 0, 0, Py_TPFLAGS_DEFAULT, slots};
  if (!PyArg_ParseTuple(args, "iO", &slots[0].slot, &metaclass)) return NULL;
  if (slots[0].slot == Py_tp_methods) slots[0].pfunc = no_methods;
  if (slots[0].slot == Py_tp_getset) slots[0].pfunc = no_getset;
  if (metaclass == Py_None) return PyType_FromModuleAndSpec(module, &spec, NULL);
  return PyExtensibleType_FromMetaclass((PyTypeObject *)metaclass, module, &spec, NULL);
}

// slots(type) returns {ID: pointer} for the slots that must be equal.
static PyObject *slots_of(PyObject *module, PyObject *type) {
  PyObject *result = PyDict_New();
  for (int id = 1; result != NULL && id <= 81; ++id) {
    if (id == Py_tp_base || id == Py_tp_bases || id == Py_tp_doc || id == Py_tp_members) continue;
    void *pointer = PyType_GetSlot((PyTypeObject *)type, id);
    if (PyErr_Occurred()) PyErr_Clear();
    if (pointer == NULL) continue;
    PyObject *key = PyLong_FromLong(id), *value = PyLong_FromVoidPtr(pointer);
    if (key == NULL || value == NULL || PyDict_SetItem(result, key, value) < 0) Py_CLEAR(result);
    Py_XDECREF(key);
    Py_XDECREF(value);
  }
  return result;
}

// extra(type) returns the bytes that Metaclass adds. fill_extra(type) sets all of them.
static PyObject *extra(PyObject *module, PyObject *type) {
  return PyBytes_FromStringAndSize((char *)type + PyType_Type.tp_basicsize, EXTRA_BYTES);
}

static PyObject *fill_extra(PyObject *module, PyObject *type) {
  memset((char *)type + PyType_Type.tp_basicsize, 0xA5, EXTRA_BYTES);
  Py_RETURN_NONE;
}

// layout(type) returns the other fields that must be equal, and the offset of the members or None.
static PyObject *layout(PyObject *module, PyObject *object) {
  PyTypeObject *type = (PyTypeObject *)object;
  PyObject *members = Py_None;
  Py_INCREF(members);
  if (type->tp_members != NULL) {
    Py_DECREF(members);
    members = PyLong_FromSsize_t((char *)type->tp_members - (char *)type);
  }
  return Py_BuildValue("(nnnnnnksN)", Py_SIZE(object), type->tp_basicsize, type->tp_itemsize,
                       type->tp_dictoffset, type->tp_weaklistoffset, type->tp_vectorcall_offset,
                       type->tp_flags, type->tp_name, members);
}

static PyObject *module_of(PyObject *module, PyObject *type) {
  PyObject *result = PyType_GetModule((PyTypeObject *)type);
  Py_XINCREF(result);
  return result;
}

static PyObject *take_dealloc_calls(PyObject *module, PyObject *unused) {
  PyObject *result = PyLong_FromLong(dealloc_calls);
  dealloc_calls = 0;
  return result;
}

static PyMethodDef module_methods[] = {
    {"make", make, METH_VARARGS, NULL},
    {"plain", plain, METH_VARARGS, NULL},
    {"one_slot", one_slot, METH_VARARGS, NULL},
    {"slots", slots_of, METH_O, NULL},
    {"extra", extra, METH_O, NULL},
    {"fill_extra", fill_extra, METH_O, NULL},
    {"layout", layout, METH_O, NULL},
    {"module_of", module_of, METH_O, NULL},
    {"take_dealloc_calls", take_dealloc_calls, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static int exec(PyObject *module) {
  PyType_Slot no_slots[] = {{0, NULL}};
  PyType_Spec spec = {"fromspec_module.Metaclass", 0, 0, DEFAULT, no_slots};
  spec.basicsize = (int)PyType_Type.tp_basicsize + EXTRA_BYTES;
  PyObject *type_as_base = PyTuple_Pack(1, (PyObject *)&PyType_Type);
  PyObject *metaclass = PyType_FromSpecWithBases(&spec, type_as_base);
  spec.name = "fromspec_module.NoNew";
  PyObject *no_new = PyType_FromSpecWithBases(&spec, type_as_base);
  Py_XDECREF(type_as_base);
  bases_slots[0].pfunc = PyTuple_Pack(1, (PyObject *)&PyLong_Type);
  no_bases_slots[0].pfunc = PyTuple_New(0);
  if (no_new != NULL) ((PyTypeObject *)no_new)->tp_new = NULL;
#ifdef Py_REF_DEBUG
  const long counts_references = 1;
#else
  const long counts_references = 0;
#endif
  if (metaclass == NULL || no_new == NULL || bases_slots[0].pfunc == NULL ||
      no_bases_slots[0].pfunc == NULL ||
      PyModule_AddIntConstant(module, "COUNTS_REFERENCES", counts_references) < 0 ||
      PyModule_AddObject(module, "Metaclass", metaclass) < 0) {
    return -1;
  }
  return PyModule_AddObject(module, "NoNew", no_new);
}

TEST_MODULE_EXEC(fromspec_module, module_methods, exec)
