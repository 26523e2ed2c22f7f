// Instances with a table for records about them. Include after record_module.h.
#ifndef TYPEDCALL_TESTS_CONFORMANCE_RECORD_INSTANCES_H_
#define TYPEDCALL_TESTS_CONFORMANCE_RECORD_INSTANCES_H_

#include "record_module.h"

#ifndef PYPY_VERSION

typedef struct Instance {
  PyObject_HEAD
  const Table *table;
  double factor;
  PyObject *weak_references;
  const Table *other;
} Instance;

static PyObject *CallInstance(PyObject *self, PyObject *arguments, PyObject *words) {
  (void)words;
  return BoxedTuple(self, arguments);
}

static void FreeInstance(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_ClearWeakRefs(self);
  type->tp_free(self);
  Py_DECREF(type);
}

// Another tp_call, for a class that keeps `__call__`.
static PyObject *CallOther(PyObject *self, PyObject *arguments, PyObject *words) {
  return CallInstance(self, arguments, words);
}

static PyTypeObject *PlainClass(int is_callable) {
  static PyMemberDef members[] = {
      {"__weaklistoffset__", T_PYSSIZET, offsetof(Instance, weak_references), READONLY, NULL},
      {NULL, 0, 0, 0, NULL}};
  PyType_Slot slots[] = {{Py_tp_dealloc, (void *)FreeInstance},
                         {Py_tp_members, members},
                         {is_callable ? Py_tp_call : 0, (void *)CallInstance},
                         {0, NULL}};
  PyType_Spec spec = {"conformance.Instance", (int)sizeof(Instance), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  return (PyTypeObject *)PyType_FromSpec(&spec);
}

// Returns a new subclass of `base` with slots (rule 1.11).
static PyTypeObject *ClassWithSlots(PyTypeObject *base, PyObject *body, const Slot *slots,
                                    Py_ssize_t count) {
  const Interface *interface = FindInterface();
  if (interface == NULL || base == NULL || body == NULL) return NULL;
  PyTypeObject *metaclass = interface->metaclass(interface->state);
  PyObject *arguments = Py_BuildValue("s(O)O", "WithSlots", base, body);
  PyTypeObject *type =
      arguments != NULL ? (PyTypeObject *)PyType_Type.tp_new(metaclass, arguments, NULL) : NULL;
  Py_XDECREF(arguments);
  if (type != NULL && interface->resolve(interface->state, type, slots, count) < 0) Py_CLEAR(type);
  return type;
}

// The native-callable slot at position 0, or at position 1 with the offset of another field.
static const Slot kTableSlot[] = {{0x04000001, offsetof(Instance, table)}};
static const Slot kOtherSlots[] = {{1, 0}, {0x04000001, offsetof(Instance, other)}};

static PyObject *InstanceOf(PyTypeObject *type, const Table *table, int is_elsewhere) {
  Instance *made = type != NULL ? (Instance *)type->tp_alloc(type, 0) : NULL;
  if (made == NULL) return NULL;
  *(is_elsewhere ? &made->other : &made->table) = table;
  made->factor = 4;
  return (PyObject *)made;
}

// Returns the class that introduces the slot. Its namespace is a copy of `body`, which may be NULL.
static PyTypeObject *InstanceClass(PyObject *body, int is_elsewhere, int is_callable) {
  PyObject *namespace = body != NULL ? PyDict_Copy(body) : PyDict_New();
  PyTypeObject *plain = PlainClass(is_callable);
  PyTypeObject *type = is_elsewhere ? ClassWithSlots(plain, namespace, kOtherSlots, 2)
                                    : ClassWithSlots(plain, namespace, kTableSlot, 1);
  Py_XDECREF(namespace);
  Py_XDECREF(plain);
  return type;
}

// Returns an instance with the table in front of it.
static PyObject *InstanceBehindItsTable(const Table *table) {
  static const Slot slots[] = {{0x04000001, (uintptr_t) - (intptr_t)sizeof(void *)}};
  const size_t front = _Alignof(max_align_t);
  PyObject *body = Py_BuildValue("{s()}", "__slots__");
  PyTypeObject *plain = PlainClass(1), *type = ClassWithSlots(plain, body, slots, 1);
  char *memory = (char *)calloc(1, front + sizeof(Instance));
  Py_XDECREF(body);
  Py_XDECREF(plain);
  if (type == NULL || memory == NULL) return NULL;
  memcpy(memory + front - sizeof(void *), &table, sizeof(void *));
  PyObject *made = PyObject_Init((PyObject *)(void *)(memory + front), type);
  Py_INCREF(made);  // The memory is never freed.
  return made;
}

static PyObject *InstanceCallable(const Record *record) {
  PyTypeObject *type = InstanceClass(NULL, 0, 1);
  PyObject *made = InstanceOf(type, GuardedTable(record), 0);
  Py_XDECREF(type);
  return made;
}

// Returns a class without slots of its own, for which the native-callable slot and another slot are
// registered (rule 5.18).
static PyTypeObject *ForeignClass(void) {
  static const struct {
    Py_ssize_t count;
    Slot slots[2];
  } table = {2, {{0x04000001, offsetof(Instance, table)}, {0x01000101, 77}}};
  PyTypeObject *plain = PlainClass(1);
  if (plain != NULL && PublishValue(0, plain, (PyObject *)plain, &table) < 0) Py_CLEAR(plain);
  return plain;
}

static PyObject *ObjectCallable(const Record *record) {
  PyTypeObject *plain = PlainClass(1);
  PyObject *made = InstanceOf(plain, NULL, 0);
  Py_XDECREF(plain);
  if (made != NULL && Publish(2, made, made, record) < 0) Py_CLEAR(made);
  return made;
}

#endif  // PYPY_VERSION
#endif  // TYPEDCALL_TESTS_CONFORMANCE_RECORD_INSTANCES_H_
