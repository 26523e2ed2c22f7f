// Makes types with core/type_data.h, and reads their data and layout.
#include "core/type_data.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <structmember.h>

#include "tests/support/c_module.h"

#define POINTER(function) ((void *)(uintptr_t)(function))
#define BASETYPE (Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE)

// The names must outlive the types.
static const char *const names[] = {
    "a", "b", "c", "__weaklistoffset__", "__dictoffset__", "__vectorcalloffset__"};

static int parse_members(PyObject *list, PyMemberDef *members, size_t room) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    const char *name;
    PyMemberDef *m = &members[i];
    if ((size_t)i + 1 >= room) {
      PyErr_SetString(PyExc_ValueError, "too many members");
      return -1;
    }
    if (!PyArg_ParseTuple(PyList_GET_ITEM(list, i), "sini", &name, &m->type, &m->offset,
                          &m->flags)) {
      return -1;
    }
    for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); ++n) {
      if (strcmp(names[n], name) == 0) m->name = names[n];
    }
  }
  return 0;
}

// For types that the garbage collector tracks.
static int traverse_type(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  return 0;
}

// make(bases, basicsize, itemsize=0, flags=0, members=[], metaclass=None, frees=0) returns a new
// type. With `frees`, its spec has a tp_free.
static PyObject *make(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *keywords[] = {
      (char *)"bases",   (char *)"basicsize", (char *)"itemsize", (char *)"flags",
      (char *)"members", (char *)"metaclass", (char *)"frees",    NULL};
  int frees = 0;
  PyObject *bases, *members_list = NULL, *metaclass = Py_None;
  PyMemberDef members[8];
  PyType_Slot slots[] = {{0, NULL}, {0, NULL}, {0, NULL}, {0, NULL}, {0, NULL}}, *next = slots;
  PyType_Spec spec = {"type_data_module.Made", 0, 0, BASETYPE, slots};
  unsigned int flags = 0;
  memset(members, 0, sizeof(members));
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Oi|iIO!Oi", keywords, &bases, &spec.basicsize,
                                   &spec.itemsize, &flags, &PyList_Type, &members_list, &metaclass,
                                   &frees)) {
    return NULL;
  }
  if (frees) {
    next->slot = Py_tp_free;
    next++->pfunc = flags & Py_TPFLAGS_HAVE_GC ? POINTER(PyObject_GC_Del) : POINTER(PyObject_Free);
  }
  if (members_list != NULL) {
    if (parse_members(members_list, members, sizeof(members) / sizeof(members[0])) < 0) return NULL;
    next->slot = Py_tp_members;
    next++->pfunc = members;
  }
  if (flags & Py_TPFLAGS_HAVE_GC) {
    next->slot = Py_tp_traverse;
    next++->pfunc = POINTER(traverse_type);
  }
  if (flags & Py_TPFLAGS_HAVE_VECTORCALL) {
    next->slot = Py_tp_call;
    next->pfunc = POINTER(PyVectorcall_Call);
  }
  spec.flags |= flags;
  return PyTypeData_FromSpec(metaclass == Py_None ? NULL : (PyTypeObject *)metaclass, module, &spec,
                             bases == Py_None ? NULL : bases);
}

// refuse(kind) tries specs that `make` cannot express. It always raises an exception.
static PyObject *refuse(PyObject *module, PyObject *kind) {
  PyMemberDef members[] = {{"a", T_INT, 0, Py_RELATIVE_OFFSET, NULL}, {NULL, 0, 0, 0, NULL}};
  PyType_Slot slots[] = {{0, NULL}, {0, NULL}, {0, NULL}};
  PyType_Spec spec = {"type_data_module.Refused", -8, 0, BASETYPE, slots};
  if (PyUnicode_CompareWithASCIIString(kind, "unnamed") == 0) {
    spec.name = NULL;
  } else if (PyUnicode_CompareWithASCIIString(kind, "two members") == 0) {
    slots[0].slot = slots[1].slot = Py_tp_members;
    slots[0].pfunc = slots[1].pfunc = members;
  } else {
    slots[0].slot = 999;
  }
  return PyTypeData_FromSpec(NULL, module, &spec, NULL);
}

static PyObject *where(PyObject *module, PyObject *args) {
  PyObject *object, *cls;
  if (!PyArg_ParseTuple(args, "OO!", &object, &PyType_Type, &cls)) return NULL;
  const char *data = (const char *)PyTypeData_Get(object, (PyTypeObject *)cls);
  return PyLong_FromSsize_t(data - (const char *)object);
}

static PyObject *data(PyObject *module, PyObject *args) {
  PyObject *object, *cls;
  if (!PyArg_ParseTuple(args, "OO!", &object, &PyType_Type, &cls)) return NULL;
  return PyBytes_FromStringAndSize((const char *)PyTypeData_Get(object, (PyTypeObject *)cls),
                                   PyTypeData_Size((PyTypeObject *)cls));
}

// fill(object, cls, byte) sets all data bytes.
static PyObject *fill(PyObject *module, PyObject *args) {
  PyObject *object, *cls;
  int byte;
  if (!PyArg_ParseTuple(args, "OO!i", &object, &PyType_Type, &cls, &byte)) return NULL;
  memset(PyTypeData_Get(object, (PyTypeObject *)cls), byte,
         (size_t)PyTypeData_Size((PyTypeObject *)cls));
  Py_RETURN_NONE;
}

// items(object) returns the offset of the items.
static PyObject *items(PyObject *module, PyObject *object) {
  const char *first = (const char *)PyTypeData_Items(object);
  return first != NULL ? PyLong_FromSsize_t(first - (const char *)object) : NULL;
}

// layout(cls) returns the sizes and offsets of the type.
static PyObject *layout(PyObject *module, PyObject *object) {
  const PyTypeObject *type = (PyTypeObject *)object;
  // `object` has no base.
  const Py_ssize_t size = type->tp_base != NULL ? PyTypeData_Size((PyTypeObject *)object) : 0;
  return Py_BuildValue("{sn sn sn sn sn sn si}", "basicsize", type->tp_basicsize, "itemsize",
                       type->tp_itemsize, "dict", type->tp_dictoffset, "weaklist",
                       type->tp_weaklistoffset, "vectorcall", type->tp_vectorcall_offset, "size",
                       size, "at_end", PyTypeData_HasItemsAtEnd(type));
}

// member_flags(cls) returns {name: (offset, flags)} from the PyMemberDefs of the finished type.
static PyObject *member_flags(PyObject *module, PyObject *object) {
  PyObject *all = PyDict_New();
  for (PyMemberDef *m = ((PyTypeObject *)object)->tp_members; all != NULL && m->name != NULL; ++m) {
    PyObject *value = Py_BuildValue("(ni)", m->offset, m->flags);
    if (value == NULL || PyDict_SetItemString(all, m->name, value) < 0) Py_CLEAR(all);
    Py_XDECREF(value);
  }
  return all;
}

static PyObject *count_arguments(PyObject *self, PyObject *const *args, size_t count,
                                 PyObject *kwnames) {
  return PyLong_FromSsize_t(PyVectorcall_NARGS(count));
}

// set_vectorcall(object, cls, offset) stores a function in the data.
static PyObject *set_vectorcall(PyObject *module, PyObject *args) {
  PyObject *object, *cls;
  Py_ssize_t offset;
  vectorcallfunc function = count_arguments;
  if (!PyArg_ParseTuple(args, "OO!n", &object, &PyType_Type, &cls, &offset)) return NULL;
  memcpy((char *)PyTypeData_Get(object, (PyTypeObject *)cls) + offset, &function, sizeof(function));
  Py_RETURN_NONE;
}

// A tag and the number of calls to `bump`.
typedef struct {
  PyObject *tag;
  int bumps;
} Tag;

static int tag_traverse(PyObject *self, visitproc visit, void *arg);

// Returns the class to which the data belong. This is the last class with our tp_traverse.
static PyTypeObject *tag_class(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self), *found = NULL;
  for (; type != NULL; type = type->tp_base) {
    if (type->tp_traverse == tag_traverse) found = type;
  }
  return found;
}

static int tag_traverse(PyObject *self, visitproc visit, void *arg) {
  PyTypeObject *cls = tag_class(self);
  Py_VISIT(((Tag *)PyTypeData_Get(self, cls))->tag);
  // A static base does not visit the type.
  if (!(cls->tp_base->tp_flags & Py_TPFLAGS_HEAPTYPE)) Py_VISIT(Py_TYPE(self));
  return cls->tp_base->tp_traverse != NULL ? cls->tp_base->tp_traverse(self, visit, arg) : 0;
}

static int tag_clear(PyObject *self) {
  PyTypeObject *cls = tag_class(self);
  Py_CLEAR(((Tag *)PyTypeData_Get(self, cls))->tag);
  return cls->tp_base->tp_clear != NULL ? cls->tp_base->tp_clear(self) : 0;
}

static PyObject *tag_bump(PyObject *self, PyTypeObject *cls, PyObject *const *args,
                          Py_ssize_t count, PyObject *kwnames) {
  return PyLong_FromLong(++((Tag *)PyTypeData_Get(self, cls))->bumps);
}

static PyMethodDef tag_methods[] = {
    {"bump", (PyCFunction)POINTER(tag_bump), METH_METHOD | METH_FASTCALL | METH_KEYWORDS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef tag_members[] = {
    {"tag", T_OBJECT_EX, offsetof(Tag, tag), Py_RELATIVE_OFFSET, NULL},
    {"bumps", T_INT, offsetof(Tag, bumps), READONLY | Py_RELATIVE_OFFSET, NULL},
    {NULL, 0, 0, 0, NULL},
};

// tagged(base) returns a new subclass whose instances have a tag.
static PyObject *tagged(PyObject *module, PyObject *base) {
  PyType_Slot slots[] = {{Py_tp_members, tag_members},
                         {Py_tp_methods, tag_methods},
                         {Py_tp_traverse, POINTER(tag_traverse)},
                         {Py_tp_clear, POINTER(tag_clear)},
                         {0, NULL}};
  PyType_Spec spec = {"type_data_module.Tagged", -(int)sizeof(Tag), 0,
                      BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  PyObject *python = PyObject_CallFunction((PyObject *)&PyType_Type, "s(){}", "Python");
  if (python == NULL) return NULL;
  if (((PyTypeObject *)base)->tp_traverse == ((PyTypeObject *)python)->tp_traverse) {
    slots[2].slot = 0;
    spec.flags = BASETYPE;
  }
  Py_DECREF(python);
  return PyTypeData_FromSpec(NULL, module, &spec, base);
}

static PyMethodDef module_methods[] = {
    {"make", (PyCFunction)POINTER(make), METH_VARARGS | METH_KEYWORDS, NULL},
    {"refuse", refuse, METH_O, NULL},
    {"where", where, METH_VARARGS, NULL},
    {"data", data, METH_VARARGS, NULL},
    {"fill", fill, METH_VARARGS, NULL},
    {"items", items, METH_O, NULL},
    {"layout", layout, METH_O, NULL},
    {"member_flags", member_flags, METH_O, NULL},
    {"set_vectorcall", set_vectorcall, METH_VARARGS, NULL},
    {"tagged", tagged, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

#ifdef Py_REF_DEBUG
#define COUNTS_REFERENCES 1
#else
#define COUNTS_REFERENCES 0
#endif

static int exec(PyObject *module) {
  static const struct {
    const char *name;
    long value;
  } constants[] = {
      {"ALIGNMENT", 16},
      {"COUNTS_REFERENCES", COUNTS_REFERENCES},
      {"HAVE_GC", (long)Py_TPFLAGS_HAVE_GC},
      {"HAVE_VECTORCALL", (long)Py_TPFLAGS_HAVE_VECTORCALL},
      {"ITEMS_AT_END", (long)Py_TPFLAGS_ITEMS_AT_END},
      {"READONLY", READONLY},
      {"RELATIVE", Py_RELATIVE_OFFSET},
      {"T_DOUBLE", T_DOUBLE},
      {"T_INT", T_INT},
      {"T_OBJECT_EX", T_OBJECT_EX},
      {"T_PYSSIZET", T_PYSSIZET},
      {"T_STRING_INPLACE", T_STRING_INPLACE},
  };
  for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); ++i) {
    if (PyModule_AddIntConstant(module, constants[i].name, constants[i].value) < 0) return -1;
  }
  return 0;
}

TEST_MODULE_EXEC(type_data_module, module_methods, exec)
