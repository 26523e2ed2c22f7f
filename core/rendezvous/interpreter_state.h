// The state behind the interface, one per interpreter, and references to its rows.
#ifndef TYPEDCALL_CORE_RENDEZVOUS_INTERPRETER_STATE_H_
#define TYPEDCALL_CORE_RENDEZVOUS_INTERPRETER_STATE_H_

#include "core/rendezvous/def_memory.h"
#include "core/rendezvous/side_table.h"
#include "core/slots/static_type.h"

// The state's capsule is in `_extensibletype` and in the interpreter's own dictionary. Modules that
// are freed after `_extensibletype` can then still use the interface.
typedef struct PyTC_State {
  PyTypedcall_Interface interface;
  PyTypeObject *metaclass;
  PyTC_SideTable tables[PyTypedcall_SPACES];
  PyTypeObject *reference_type;  // the type of the references that hold() returns
  PyTypeObject *keeper_type;     // the type of the keepers that hold publish()'s `kept`
  PyObject *owners;              // dict: address of an owner -> capsule of its PyTC_Owner
  PyTypedcall_Counters counters;
  PyObject *slot_names;  // dict: name -> ID
  PyObject *combined;    // dict: metaclasses -> weak reference, see core/types/combined_metaclass.h
  PyTC_StaticType *static_types;
  PyTC_DefMemory defs;
  int is_installed, is_coming_back;  // see core/rendezvous.h
} PyTC_State;

// Adds to a counter. The caller has locked the state, but readers may load the counter meanwhile.
static inline void PyTC_Count(uint64_t *counter, uint64_t more) {
  __atomic_store_n(counter, *counter + more, __ATOMIC_RELEASE);
}

// Returns the object to lock before writing to the state. When the metaclass is gone, the
// interpreter is ending and has only one thread. The metaclass's functions lock the same object.
static inline PyObject *PyTC_LockOf(const PyTC_State *state) {
  return state->metaclass != NULL ? (PyObject *)state->metaclass : Py_None;
}

// True, with RuntimeError set, if the interpreter has released its state.
static inline int PyTC_IsEnding(const PyTC_State *state) {
  if (state->metaclass != NULL) return 0;
  PyErr_SetString(PyExc_RuntimeError, "typedcall: the interpreter is ending");
  return 1;
}

// References to rows are counted, because a row may be in use after it has left the table.

static inline PyTC_Row *PyTC_ShareRow(PyTC_Row *row) {
  __atomic_add_fetch(&row->references, 1, __ATOMIC_RELAXED);
  return row;
}

// Releases a reference, but not the table's (see PyTC_LetRowGo). `destroy` may run any code.
static inline void PyTC_ReleaseRow(PyTC_Row *row) {
  if (__atomic_sub_fetch(&row->references, 1, __ATOMIC_ACQ_REL) > 0) return;
  const void *value = row->value;
  void (*destroy)(const void *value) = row->destroy;
  PyTypedcall_RAW_FREE(row);
  if (destroy != NULL) destroy(value);
}

// abi3t hides PyObject's layout, but PEP 697 finds the fields. Our types have no subclasses.
#ifdef Py_TARGET_ABI3T
#define PyTC_HEAD
#define PyTC_FIELDS(object) PyObject_GetTypeData_DuringGC(object, Py_TYPE(object))
#else
#define PyTC_HEAD PyObject_HEAD
#define PyTC_FIELDS(object) ((void *)(object))
#endif

// A consumer's reference, which keeps the row valid. It never changes, so it can only be in a cycle
// with an object that does, and such an object has a tp_clear.
typedef struct PyTC_Reference {
  PyTC_HEAD
  PyTC_Row *row;
  PyObject *keeper;
  PyObject *owner;
  PyObject *callable;
} PyTC_Reference;

static inline PyTC_Reference *PyTC_AsReference(PyObject *object) {
  return (PyTC_Reference *)PyTC_FIELDS(object);
}

static inline int PyTC_TraverseReference(PyObject *self, visitproc visit, void *arg) {
  PyTC_Reference *reference = PyTC_AsReference(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reference->keeper);
  Py_VISIT(reference->owner);
  Py_VISIT(reference->callable);
  return 0;
}

static inline void PyTC_FreeReference(PyObject *self) {
  PyTC_Reference *reference = PyTC_AsReference(self);
  PyTypeObject *type = Py_TYPE(self);
  PyTC_Row *row = reference->row;
  PyObject *keeper = reference->keeper;
  PyObject *owner = reference->owner, *callable = reference->callable;
  PyObject_GC_UnTrack(self);
  PyObject_GC_Del(self);
  // Release the row before the owner, which may contain the value.
  if (row != NULL) PyTC_ReleaseRow(row);
  Py_XDECREF(keeper);
  Py_XDECREF(callable);
  Py_XDECREF(owner);
  Py_DECREF((PyObject *)type);
}

// Returns a new type that Python code can neither subclass nor call, or NULL with an exception set.
// `size` is the size of its instances. `clear` and `methods` may be NULL together.
static inline PyTypeObject *PyTC_NewType(const char *name, const char *doc, size_t size,
                                         traverseproc traverse, inquiry clear, destructor dealloc,
                                         PyMethodDef *methods) {
  PyType_Slot slots[] = {
      {Py_tp_doc, (void *)(uintptr_t)doc}, {Py_tp_traverse, (void *)traverse},
      {Py_tp_dealloc, (void *)dealloc},    {methods != NULL ? Py_tp_methods : 0, (void *)methods},
      {Py_tp_clear, (void *)clear},        {0, NULL}};
  PyType_Spec spec = {name, (int)size, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
#ifdef Py_TARGET_ABI3T
  spec.basicsize = -spec.basicsize;  // this size excludes the object head
#endif
#ifdef Py_TPFLAGS_DISALLOW_INSTANTIATION
  spec.flags |= Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE;
#endif
  PyTypeObject *type = (PyTypeObject *)PyType_FromSpec(&spec);
  if (type == NULL && !PyErr_Occurred()) PyErr_NoMemory();  // CPython can forget to set the error
#ifndef Py_TPFLAGS_DISALLOW_INSTANTIATION
  if (type != NULL) type->tp_new = NULL;
#endif
  return type;
}

static inline PyTypeObject *PyTC_NewReferenceType(void) {
  return PyTC_NewType(
      PyTypedcall_MODULE ".reference",
      "Keeps what a native address depends on: the tag, what was tagged, and the callable that was "
      "asked.",
      sizeof(PyTC_Reference), PyTC_TraverseReference, NULL, PyTC_FreeReference, NULL);
}

#endif  // TYPEDCALL_CORE_RENDEZVOUS_INTERPRETER_STATE_H_
