// References to rows: counted, so that a row outlives its place in the table while someone uses
// it, and the Python object that a consumer gets, in which the garbage collector sees what it
// keeps.
#ifndef TYPEDCALL_CORE_RENDEZVOUS_ROW_REFERENCE_H_
#define TYPEDCALL_CORE_RENDEZVOUS_ROW_REFERENCE_H_

#include "core/rendezvous/interpreter_state.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline PyTypedcall_Internal_Row *PyTypedcall_Internal_ShareRow(
    PyTypedcall_Internal_Row *row) {
  __atomic_add_fetch(&row->references, 1, __ATOMIC_RELAXED);
  return row;
}

// One reference fewer. May run anything: `destroy`, and whatever was kept.
static inline void PyTypedcall_Internal_ReleaseRow(PyTypedcall_Internal_Row *row) {
  if (__atomic_sub_fetch(&row->references, 1, __ATOMIC_ACQ_REL) > 0) return;
  PyObject **kept = row->kept;
  const size_t capacity = row->kept_capacity;
  const void *value = row->value;
  void (*destroy)(const void *value) = row->destroy;
  PyTypedcall_RAW_FREE(row);
  if (destroy != NULL) destroy(value);
  for (size_t i = 0; i < capacity; ++i) Py_XDECREF(kept[i]);
  PyTypedcall_RAW_FREE(kept);
}

// The same for each of a chain. They are out of the table, so what runs meanwhile finds none.
static inline void PyTypedcall_Internal_ReleaseRows(PyTypedcall_Internal_Row *rows) {
  while (rows != NULL) {
    PyTypedcall_Internal_Row *next = rows->next;
    PyTypedcall_Internal_ReleaseRow(rows);
    rows = next;
  }
}

// What a consumer holds. Nothing in it changes, so a cycle that it is part of can be broken at some
// other place, and it needs no tp_clear: as long as someone has it, the row is valid.
typedef struct PyTypedcall_Internal_Reference {
#ifndef Py_TARGET_ABI3T
  PyObject_HEAD
#endif
  PyTypedcall_Internal_Row *row;
  PyObject *owner;
  PyObject *callable;
} PyTypedcall_Internal_Reference;

// The fields of such an object. Its type has no subclasses.
static inline PyTypedcall_Internal_Reference *PyTypedcall_Internal_AsReference(PyObject *object) {
#ifdef Py_TARGET_ABI3T  // where they are behind a head of unknown size (PEP 697)
  return (PyTypedcall_Internal_Reference *)PyObject_GetTypeData_DuringGC(object, Py_TYPE(object));
#else
  return (PyTypedcall_Internal_Reference *)object;
#endif
}

// What is kept with a row is a set. `references` is the type of the references above: two of them
// that keep the same are the same, for who asks twice gets two.
static inline int PyTypedcall_Internal_IsSameKept(const PyTypeObject *references, PyObject *one,
                                                  PyObject *other) {
  if (one == other) return 1;
  if (Py_TYPE(one) != references || Py_TYPE(other) != references) return 0;
  const PyTypedcall_Internal_Reference *a = PyTypedcall_Internal_AsReference(one);
  const PyTypedcall_Internal_Reference *b = PyTypedcall_Internal_AsReference(other);
  return a->row == b->row && a->owner == b->owner && a->callable == b->callable;
}

// Where `object` is among `capacity` cells, or the free one where it belongs. There is one.
static inline PyObject **PyTypedcall_Internal_KeptCell(PyObject **cells, size_t capacity,
                                                       const PyTypeObject *references,
                                                       PyObject *object) {
  size_t hash;
  if (Py_TYPE(object) == references) {
    // One row may be kept with many callables: each access makes a bound method.
    const PyTypedcall_Internal_Reference *kept = PyTypedcall_Internal_AsReference(object);
    hash = PyTypedcall_Internal_Hash(kept->row) + 3 * PyTypedcall_Internal_Hash(kept->owner) +
           5 * PyTypedcall_Internal_Hash(kept->callable);
  } else {
    hash = PyTypedcall_Internal_Hash(object);
  }
  for (size_t i = hash;; ++i) {
    PyObject **cell = cells + (i & (capacity - 1));
    if (*cell == NULL || PyTypedcall_Internal_IsSameKept(references, *cell, object)) return cell;
  }
}

// Keeps `object` with the row, once. -1 when there is no memory (no exception set). The caller has
// the state for itself.
static inline int PyTypedcall_Internal_KeepOne(PyTypedcall_Internal_Row *row,
                                               const PyTypeObject *references, PyObject *object) {
  if (row->kept_capacity > 0 &&
      *PyTypedcall_Internal_KeptCell(row->kept, row->kept_capacity, references, object) != NULL) {
    return 0;
  }
  if ((row->kept_count + 1) * 2 > row->kept_capacity) {
    const size_t capacity = row->kept_capacity > 0 ? row->kept_capacity * 2 : 4;
    PyObject **cells = (PyObject **)PyTypedcall_RAW_CALLOC(capacity, sizeof(*cells));
    if (cells == NULL) return -1;
    for (size_t i = 0; i < row->kept_capacity; ++i) {
      PyObject *each = row->kept[i];
      if (each != NULL) *PyTypedcall_Internal_KeptCell(cells, capacity, references, each) = each;
    }
    PyTypedcall_RAW_FREE(row->kept);
    row->kept = cells;
    row->kept_capacity = capacity;
  }
  Py_INCREF(object);
  *PyTypedcall_Internal_KeptCell(row->kept, row->kept_capacity, references, object) = object;
  ++row->kept_count;
  return 0;
}

// Keeps `object`, or what is in it if it is a tuple: who tags the same again makes the tuple again.
// Nothing for NULL, and not `owner`, with which the row goes. As KeepOne.
static inline int PyTypedcall_Internal_Keep(PyTypedcall_Internal_Row *row,
                                            const PyTypeObject *references, PyObject *object,
                                            const PyObject *owner) {
  if (object == NULL || object == owner) return 0;
  if (!PyTuple_CheckExact(object)) {
    return PyTypedcall_Internal_KeepOne(row, references, object);
  }
  for (Py_ssize_t i = 0; i < PyTuple_Size(object); ++i) {
    PyObject *item = PyTuple_GetItem(object, i);
    if (item != owner && PyTypedcall_Internal_KeepOne(row, references, item) < 0) return -1;
  }
  return 0;
}

static inline int PyTypedcall_Internal_TraverseReference(PyObject *self, visitproc visit,
                                                         void *arg) {
  PyTypedcall_Internal_Reference *reference = PyTypedcall_Internal_AsReference(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reference->owner);
  Py_VISIT(reference->callable);
  return 0;
}

static inline void PyTypedcall_Internal_FreeReference(PyObject *self) {
  PyTypedcall_Internal_Reference *reference = PyTypedcall_Internal_AsReference(self);
  PyTypeObject *type = Py_TYPE(self);
  PyTypedcall_Internal_Row *row = reference->row;
  PyObject *owner = reference->owner, *callable = reference->callable;
  PyObject_GC_UnTrack(self);
  PyObject_GC_Del(self);
  // Before the owner goes, which may be what the value is in.
  if (row != NULL) PyTypedcall_Internal_ReleaseRow(row);
  Py_XDECREF(callable);
  Py_XDECREF(owner);
  Py_DECREF((PyObject *)type);
}

// A new type for this interpreter, or NULL with an exception.
static inline PyTypeObject *PyTypedcall_Internal_NewReferenceType(void) {
  static const char doc[] =
      "Keeps what a native address depends on: the tag, what was tagged, and the callable that was "
      "asked.";
  PyType_Slot slots[] = {{Py_tp_doc, (void *)(uintptr_t)doc},
                         {Py_tp_traverse, (void *)PyTypedcall_Internal_TraverseReference},
                         {Py_tp_dealloc, (void *)PyTypedcall_Internal_FreeReference},
                         {0, NULL}};
  PyType_Spec spec;
  memset(&spec, 0, sizeof(spec));
  spec.name = PyTypedcall_MODULE ".reference";
  spec.basicsize = (int)sizeof(PyTypedcall_Internal_Reference);
#ifdef Py_TARGET_ABI3T
  spec.basicsize = -spec.basicsize;  // what is behind the head
#endif
  spec.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC;
#ifdef Py_TPFLAGS_DISALLOW_INSTANTIATION
  spec.flags |= Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE;
#endif
  spec.slots = slots;
  PyTypeObject *type = (PyTypeObject *)PyType_FromSpec(&spec);
  if (type == NULL && !PyErr_Occurred()) PyErr_NoMemory();  // as for the metaclass
#ifndef Py_TPFLAGS_DISALLOW_INSTANTIATION
  if (type != NULL) type->tp_new = NULL;
#endif
  return type;
}

// What a weak reference refers to: a new reference, or NULL. Keeps a pending exception.
static inline PyObject *PyTypedcall_Internal_Referent(PyObject *reference) {
#if PY_VERSION_HEX >= 0x030D0000 && !defined(Py_LIMITED_API)
  PyObject *object = NULL;
  (void)PyWeakref_GetRef(reference, &object);
  return object;
#elif defined(Py_LIMITED_API)
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  PyObject *object = PyObject_CallObject(reference, NULL);
  if (object == Py_None) Py_CLEAR(object);
  PyTypedcall_RestoreError(saved);
  return object;
#else
  PyObject *object = PyWeakref_GET_OBJECT(reference);
  if (object == Py_None) return NULL;
  Py_INCREF(object);
  return object;
#endif
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_CORE_RENDEZVOUS_ROW_REFERENCE_H_
