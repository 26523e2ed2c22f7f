// Types and interfaces for records about them. Include after record_module.h.
#ifndef TYPEDCALL_TESTS_CONFORMANCE_RECORD_TYPES_H_
#define TYPEDCALL_TESTS_CONFORMANCE_RECORD_TYPES_H_

#include "record_instances.h"

#ifndef PYPY_VERSION

// --- Types that only look like ours ---

static size_t DataOffset(void) {
  const size_t alignment = _Alignof(max_align_t);
  return (sizeof(PyHeapTypeObject) + alignment - 1) / alignment * alignment;
}

// Makes an instance of a type whose metaclass is not typedcall's, but has `room` bytes for our
// data.
static PyObject *TypeOfLargerMetaclass(int room, uint64_t magic, const Slot *table,
                                       Py_ssize_t count) {
  PyType_Slot slots[] = {{0, NULL}};
  PyType_Spec spec = {"conformance.LargerMetaclass", (int)DataOffset() + room,
                      (int)PyType_Type.tp_itemsize, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                      slots};
  PyObject *bases = PyTuple_Pack(1, &PyType_Type);
  PyObject *metaclass = bases != NULL ? PyType_FromSpecWithBases(&spec, bases) : NULL;
  Py_XDECREF(bases);
  PyObject *type = metaclass != NULL ? PyObject_CallFunction(metaclass, "s(){}", "Larger") : NULL;
  Py_XDECREF(metaclass);
  if (type == NULL) return NULL;
  memcpy((char *)type + DataOffset(), &count, 8);
  memcpy((char *)type + DataOffset() + 8, &table, 8);
  memcpy((char *)type + DataOffset() + 16, &magic, 8);
  PyObject *made = PyObject_CallObject(type, NULL);
  Py_DECREF(type);
  return made;
}

// Like TypeOfLargerMetaclass, but without magic, and with the key of this ID where our heap types
// have it.
static PyObject *TypeWithKey(uint64_t id, const Slot *table) {
  const uint64_t key = id ^ UINT64_C(0xd1a0c5b3e7f42961);
  PyObject *made = TypeOfLargerMetaclass(64, 0, table, 1);
  if (made != NULL) memcpy((char *)Py_TYPE(made) + DataOffset() + 24, &key, 8);
  return made;
}

// Returns an object of a type that nobody has made ready.
static PyObject *ObjectOfUnreadyType(void) {
  static PyTypeObject type = {PyVarObject_HEAD_INIT(NULL, 0)};
  static struct { PyObject head; } made = {PyObject_HEAD_INIT(&type)};
  type.tp_name = "conformance.Unready";
  type.tp_basicsize = sizeof(PyObject);
  type.tp_flags = Py_TPFLAGS_DEFAULT;
  Py_INCREF(&made.head);  // It is never freed.
  Py_INCREF(&made.head);
  return &made.head;
}

// A static type with slots (rule 5.20).
typedef struct StaticType {
  PyHeapTypeObject type;
  _Alignas(max_align_t) Py_ssize_t count;
  Slot *table;
  uint64_t magic;
} StaticType;

static PyTypeObject *ReadyStatic(StaticType *type, PyTypeObject *base, Slot *table,
                                 Py_ssize_t count, Py_ssize_t room) {
  const Interface *interface = FindInterface();
  PyTypeObject *made = &type->type.ht_type;
  if (interface == NULL) return NULL;
  Py_SET_REFCNT((PyObject *)type, 1);
  made->tp_name = "conformance.Static";
  made->tp_basicsize = base != NULL ? base->tp_basicsize : (Py_ssize_t)sizeof(PyObject);
  made->tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
  made->tp_base = base;
  made->tp_as_buffer = &type->type.as_buffer;
  type->count = count;
  type->table = table;
  return interface->ready_static(interface->state, made, room) < 0 ? NULL : made;
}

static PyTypeObject *StaticBase(void) {
  static StaticType type;
  static Slot table[] = {{0x01000101, 77}, {0, 0}};
  static int is_ready;
  if (is_ready) return &type.type.ht_type;
  is_ready = ReadyStatic(&type, NULL, table, 1, 2) != NULL;
  return is_ready ? &type.type.ht_type : NULL;
}

static PyTypeObject *StaticDerived(void) {
  static StaticType type;
  static Slot table[] = {{0x01000201, 78}, {0, 0}};
  static int is_ready;
  PyTypeObject *base = StaticBase();
  if (base == NULL || is_ready) return base != NULL ? &type.type.ht_type : NULL;
  is_ready = ReadyStatic(&type, base, table, 1, 2) != NULL;
  return is_ready ? &type.type.ht_type : NULL;
}

// Makes a static type derived from an extensible one. The memory after the type is unmapped.
static PyTypeObject *StaticTypeBelow(void) {
  PyTypeObject *base = StaticBase();
  if (base == NULL) return NULL;
  PyTypeObject *type = (PyTypeObject *)(void *)Guarded(sizeof(PyTypeObject), 1);
  memset(type, 0, sizeof(*type));
  Py_SET_REFCNT((PyObject *)type, 1);
  type->tp_name = "conformance.Below";
  type->tp_basicsize = base->tp_basicsize;
  type->tp_flags = Py_TPFLAGS_DEFAULT;
  type->tp_base = base;
  return PyType_Ready(type) < 0 ? NULL : type;
}

// Makes a static type with two slots. The table is between other slots, which the type does not
// have.
static PyTypeObject *StaticAmongOthers(void) {
  static StaticType type;
  static Slot table[] = {{0x01000301, 70}, {0x01000101, 77}, {0x01000201, 78}, {0x01000401, 79}};
  static int is_ready;
  if (is_ready) return &type.type.ht_type;
  is_ready = ReadyStatic(&type, NULL, table + 1, 2, 2) != NULL;
  return is_ready ? &type.type.ht_type : NULL;
}

// Makes a static type with the metaclass `type`, followed by data that look like ours.
static PyTypeObject *StaticTypeWithMagic(void) {
  static StaticType type;
  static Slot table[] = {{0x01000101, 77}};
  PyTypeObject *made = &type.type.ht_type;
  if (type.magic != 0) return made;
  Py_SET_REFCNT((PyObject *)made, 1);
  made->tp_name = "conformance.WithMagic";
  made->tp_basicsize = sizeof(PyObject);
  made->tp_flags = Py_TPFLAGS_DEFAULT;
  made->tp_as_buffer = &type.type.as_buffer;
  type.count = 1;
  type.table = table;
  type.magic = UINT64_C(0xd1a0c5b3e7f42961);
  return PyType_Ready(made) < 0 ? NULL : made;
}

// Makes a class whose table begins with a skipped position.
static PyTypeObject *ClassWithASkip(void) {
  static const Slot slots[] = {{1, 99}, {0x01000101, 77}};
  PyObject *body = PyDict_New();
  PyTypeObject *plain = PlainClass(1), *made = ClassWithSlots(plain, body, slots, 2);
  Py_XDECREF(body);
  Py_XDECREF(plain);
  return made;
}

// --- Interfaces that are invalid, or newer ---

// Replaces the installed interface with a copy that has this name, version and size.
enum Where { EVERYWHERE, IN_THE_MODULE, IN_THE_DICTIONARY };
static int ForgeInterface(const char *name, int major, int minor, int size, enum Where where) {
  const Interface *real = FindInterface();
  PyObject *kept = PyInterpreterState_GetDict(PyInterpreterState_Get());
  PyObject *module = real != NULL ? PyImport_ImportModule("_extensibletype") : NULL;
  if (module == NULL) return -1;
  Interface *copy = (Interface *)(void *)Guarded((size_t)size, 1);
  memcpy(copy, real, (size_t)size < sizeof(*real) ? (size_t)size : sizeof(*real));
  copy->major = (uint16_t)major;
  copy->minor = (uint16_t)minor;
  copy->size = (uint32_t)size;
  // This reference is never released, because the capsule would come back.
  Py_XINCREF(PyDict_GetItemString(kept, kCapsuleName));
  PyObject *capsule = PyCapsule_New(copy, strdup(name), NULL);
  int failed = capsule == NULL || PyDict_DelItemString(kept, kCapsuleName) < 0;
  if (!failed && where != IN_THE_DICTIONARY) {
    failed = PyObject_SetAttrString(module, "typedcall_v2", capsule) < 0;
  }
  if (!failed && where != IN_THE_MODULE)
    failed = PyDict_SetItemString(kept, kCapsuleName, capsule) < 0;
  Py_XDECREF(capsule);
  Py_DECREF(module);
  return failed ? -1 : 0;
}

#endif  // PYPY_VERSION
#endif  // TYPEDCALL_TESTS_CONFORMANCE_RECORD_TYPES_H_
