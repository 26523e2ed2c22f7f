// The metaclass that puts custom slots on types: its data, its one-time resolution of a type's
// slots along the MRO, its creation. Used by core/rendezvous.h, which makes one per interpreter.
#ifndef TYPEDCALL_CORE_METACLASS_H_
#define TYPEDCALL_CORE_METACLASS_H_

#include <stdlib.h>
#include <string.h>

#include "core/custom_slots.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PyExtensibleType_ATTRIBUTE "extensibletype_v2"

// A slot table made by `resolve`. Subclasses that add nothing share their base's; it is freed with
// the last of them, because a base can go before its subclass when `__bases__` is assigned.
typedef struct PyExtensibleType_Internal_Table {
  Py_ssize_t references;
  PyCustomSlot slots[1];  // the resolved slots, then the type's own once more
} PyExtensibleType_Internal_Table;

// What the metaclass really adds: the part that readers know, then what only `resolve` uses. Static
// types end with the shared part: the rest is there on heap types only.
typedef struct PyExtensibleType_Internal_TypeData {
  PyExtensibleTypeData shared;
  PyExtensibleType_Internal_Table *table;
  Py_ssize_t own_count;  // how many slots the type brought itself; they end `table`
} PyExtensibleType_Internal_TypeData;

static inline PyExtensibleType_Internal_TypeData *PyExtensibleType_Internal_DataOf(
    PyTypeObject *type) {
  return (PyExtensibleType_Internal_TypeData *)(void *)((char *)type +
                                                        PyExtensibleType_DATA_OFFSET);
}

static inline void PyExtensibleType_Internal_ReleaseTable(PyExtensibleType_Internal_Table *table) {
  if (table != NULL && --table->references == 0) PyMem_Free(table);
}

// The slots that a type brought itself, as opposed to those it inherited. A static type's all count
// as its own: nothing says which it inherited.
static inline const PyCustomSlot *PyExtensibleType_Internal_OwnSlots(PyTypeObject *type,
                                                                     Py_ssize_t *count) {
  const PyExtensibleType_Internal_TypeData *data = PyExtensibleType_Internal_DataOf(type);
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0) {
    *count = data->shared.count;
    return data->shared.table;
  }
  *count = data->own_count;
  return data->table != NULL ? data->table->slots + data->shared.count : NULL;
}

// Is the slot with this ID among the first `count`? Returns its position, or -1.
static inline Py_ssize_t PyExtensibleType_Internal_Position(const PyCustomSlot *slots,
                                                            Py_ssize_t count, uintptr_t id) {
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (slots[i].id == id) return i;
  }
  return -1;
}

static inline int PyExtensibleType_Internal_ValidateOwn(PyTypeObject *type, const PyCustomSlot *own,
                                                        Py_ssize_t own_count) {
  for (Py_ssize_t i = 0; i < own_count; ++i) {
    if (own[i].id == PyCustomSlot_ID_SKIP) continue;
    const int valid = PyCustomSlot_IsValidID(own[i].id);
    if (valid && PyExtensibleType_Internal_Position(own, i, own[i].id) < 0) continue;
    char id[2 + 2 * sizeof(uintptr_t) + 1];  // before 3.12 PyErr_Format has no %llx
    PyOS_snprintf(id, sizeof(id), "0x%llx", (unsigned long long)own[i].id);
    PyErr_Format(PyExc_ValueError,
                 valid ? "type '%.100s': custom slot %zd has ID %s, which stands there already"
                       : "type '%.100s': custom slot %zd has the invalid ID %s",
                 type->tp_name, i, id);
    return -1;
  }
  return 0;
}

// The merge under way: inherited positions first, so that slots stay where consumers expect them.
typedef struct PyExtensibleType_Internal_Merge {
  PyCustomSlot *slots;
  unsigned char *decided;  // per slot: a type earlier in the MRO has given its value
  Py_ssize_t count;
} PyExtensibleType_Internal_Merge;

static inline void PyExtensibleType_Internal_MergeIn(PyExtensibleType_Internal_Merge *merge,
                                                     const PyCustomSlot *slots, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (slots[i].id == PyCustomSlot_ID_SKIP) continue;
    Py_ssize_t at = PyExtensibleType_Internal_Position(merge->slots, merge->count, slots[i].id);
    if (at < 0) at = merge->count++;
    if (merge->decided[at]) continue;
    merge->slots[at] = slots[i];
    merge->decided[at] = 1;
  }
}

// Is `base` a type whose slots `resolve` has settled?
static inline int PyExtensibleType_Internal_IsResolved(PyTypeObject *metaclass, PyObject *base) {
  return PyType_IsSubtype(Py_TYPE(base), metaclass) &&
         PyExtensibleType_Internal_DataOf((PyTypeObject *)base)->shared.magic ==
             PyExtensibleType_MAGIC;
}

// Merges into freshly allocated memory; on success the type owns it. `layout` is the first type in
// the MRO that has slots, or NULL: its positions are kept, the values are decided by MRO order.
static inline int PyExtensibleType_Internal_BuildTable(PyTypeObject *metaclass, PyTypeObject *type,
                                                       PyTypeObject *layout,
                                                       const PyCustomSlot *own,
                                                       Py_ssize_t own_count) {
  PyObject *mro = type->tp_mro;
  const Py_ssize_t bases = PyTuple_GET_SIZE(mro);
  Py_ssize_t most = own_count;
  for (Py_ssize_t i = 0; i < bases; ++i) {
    PyObject *base = PyTuple_GET_ITEM(mro, i);
    if (!PyExtensibleType_Internal_IsResolved(metaclass, base)) continue;
    most += PyExtensibleType_Internal_DataOf((PyTypeObject *)base)->shared.count;
  }
  PyExtensibleType_Internal_TypeData *data = PyExtensibleType_Internal_DataOf(type);
  if (most == 0) return 0;

  PyExtensibleType_Internal_Merge merge = {NULL, NULL, 0};
  const size_t header = offsetof(PyExtensibleType_Internal_Table, slots);
  const size_t slot_bytes = (size_t)(most + own_count) * sizeof(PyCustomSlot);
  PyExtensibleType_Internal_Table *table =
      (PyExtensibleType_Internal_Table *)PyMem_Malloc(header + slot_bytes);
  merge.decided = (unsigned char *)PyMem_Calloc((size_t)most, 1);
  if (table == NULL || merge.decided == NULL) {
    PyMem_Free(table);
    PyMem_Free(merge.decided);
    PyErr_NoMemory();
    return -1;
  }
  merge.slots = table->slots;
  if (layout != NULL) {
    const PyExtensibleTypeData *inherited = &PyExtensibleType_Internal_DataOf(layout)->shared;
    merge.count = inherited->count;
    memcpy(merge.slots, inherited->table, (size_t)merge.count * sizeof(PyCustomSlot));
    PyExtensibleType_Internal_MergeIn(&merge, own, own_count);
  } else {
    // Nothing inherited: the type's own table is taken as it is, skipped positions included.
    merge.count = own_count;
    memcpy(merge.slots, own, (size_t)own_count * sizeof(PyCustomSlot));
    memset(merge.decided, 1, (size_t)own_count);
  }
  for (Py_ssize_t i = 0; i < bases; ++i) {
    PyObject *base = PyTuple_GET_ITEM(mro, i);
    if (!PyExtensibleType_Internal_IsResolved(metaclass, base)) continue;
    Py_ssize_t count;
    const PyCustomSlot *slots = PyExtensibleType_Internal_OwnSlots((PyTypeObject *)base, &count);
    PyExtensibleType_Internal_MergeIn(&merge, slots, count);
  }
  PyMem_Free(merge.decided);

  const PyExtensibleType_Internal_TypeData *base_data =
      layout != NULL ? PyExtensibleType_Internal_DataOf(layout) : NULL;
  if (own_count == 0 && base_data != NULL && base_data->shared.count == merge.count &&
      memcmp(base_data->shared.table, merge.slots, (size_t)merge.count * sizeof(PyCustomSlot)) ==
          0) {
    PyMem_Free(table);
    data->shared.count = base_data->shared.count;
    data->shared.table = base_data->shared.table;
    // A table that came from a static type is nobody's to free.
    table = (layout->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0 ? base_data->table : NULL;
    if (table != NULL) ++table->references;
    data->table = table;
    return 0;
  }
  table->references = 1;
  if (own_count > 0) {
    memcpy(table->slots + merge.count, own, (size_t)own_count * sizeof(PyCustomSlot));
  }
  data->table = table;
  data->own_count = own_count;
  data->shared.count = merge.count;
  data->shared.table = table->slots;
  return 0;
}

// See PyTypedcall_Interface.resolve. No Python code runs in here, so with the GIL held nobody sees
// a type half resolved.
static inline int PyExtensibleType_Internal_Resolve(PyTypeObject *metaclass, PyTypeObject *type,
                                                    const PyCustomSlot *own, Py_ssize_t own_count) {
  if (!PyType_IsSubtype(Py_TYPE(type), metaclass)) {
    PyErr_Format(PyExc_TypeError, "type '%.100s' is not an extensible type", type->tp_name);
    return -1;
  }
  PyExtensibleType_Internal_TypeData *data = PyExtensibleType_Internal_DataOf(type);
  if (data->shared.magic == PyExtensibleType_MAGIC) {
    if (own_count == 0) return 0;
    PyErr_Format(PyExc_SystemError, "the custom slots of type '%.100s' are final already",
                 type->tp_name);
    return -1;
  }
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0) {
    PyErr_Format(PyExc_TypeError, "the slots of the static type '%.100s' have not been made ready",
                 type->tp_name);
    return -1;
  }
  if (own_count < 0 || (own == NULL && own_count > 0)) {
    PyErr_Format(PyExc_SystemError, "type '%.100s' was given no table of %zd custom slots",
                 type->tp_name, own_count);
    return -1;
  }
  if (type->tp_mro == NULL) return 0;  // still being made: there is nothing to inherit from yet
  if (PyExtensibleType_Internal_ValidateOwn(type, own, own_count) < 0) return -1;
  PyTypeObject *layout = NULL;
  // From the first entry on: a derived metaclass's mro() can leave the type itself out, and where
  // it is in, it is passed over as not resolved yet.
  for (Py_ssize_t i = 0; layout == NULL && i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
    PyObject *base = PyTuple_GET_ITEM(type->tp_mro, i);
    if (!PyExtensibleType_Internal_IsResolved(metaclass, base)) continue;
    if (PyExtensibleType_Internal_DataOf((PyTypeObject *)base)->shared.count == 0) continue;
    layout = (PyTypeObject *)base;
  }
  if (PyExtensibleType_Internal_BuildTable(metaclass, type, layout, own, own_count) < 0) return -1;
  PyTypedcall_STORE_RELEASE(&data->shared.magic, PyExtensibleType_MAGIC);
  return 0;
}

// Our metaclass among the ancestors of a type's metaclass: the one that derives from `type` itself,
// which is always on the way because no other adds data there.
static inline PyTypeObject *PyExtensibleType_Internal_MetaclassOf(PyTypeObject *type) {
  PyTypeObject *metaclass = Py_TYPE(type);
  while (metaclass->tp_base != NULL && metaclass->tp_base != &PyType_Type) {
    metaclass = metaclass->tp_base;
  }
  return metaclass;
}

static inline int PyExtensibleType_Internal_Init(PyObject *self, PyObject *args, PyObject *kwargs) {
  if (PyType_Type.tp_init(self, args, kwargs) < 0) return -1;
  PyTypeObject *type = (PyTypeObject *)self;
  return PyExtensibleType_Internal_Resolve(PyExtensibleType_Internal_MetaclassOf(type), type, NULL,
                                           0);
}

static inline void PyExtensibleType_Internal_Dealloc(PyObject *self) {
  PyTypeObject *metaclass = Py_TYPE(self);
  PyExtensibleType_Internal_Table *table =
      PyExtensibleType_Internal_DataOf((PyTypeObject *)self)->table;
  PyType_Type.tp_dealloc(self);
  PyExtensibleType_Internal_ReleaseTable(table);
  Py_DECREF(metaclass);
}

static inline int PyExtensibleType_Internal_Traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  return PyType_Type.tp_traverse(self, visit, arg);
}

// A new metaclass for this interpreter. New reference, or NULL with an exception: SystemError when
// the running CPython lays out types differently from the one compiled for. GIL: held.
static inline PyTypeObject *PyExtensibleType_Internal_NewMetaclass(void) {
  static const char doc[] =
      "Metaclass of types with custom slots (SEP 200).\n\n"
      "Subclasses of an extensible type inherit its slots; nothing needs to be called.";
  PyType_Slot slots[] = {
      {Py_tp_doc, (void *)(uintptr_t)doc},
      {Py_tp_init, (void *)PyExtensibleType_Internal_Init},
      {Py_tp_dealloc, (void *)PyExtensibleType_Internal_Dealloc},
      {Py_tp_traverse, (void *)PyExtensibleType_Internal_Traverse},
      {Py_tp_clear, (void *)PyType_Type.tp_clear},
      {0, NULL},
  };
  PyType_Spec spec;
  memset(&spec, 0, sizeof(spec));
  spec.name = PyTypedcall_MODULE "." PyExtensibleType_ATTRIBUTE;
#if PY_VERSION_HEX >= 0x030C0000
  spec.basicsize = -(int)sizeof(PyExtensibleType_Internal_TypeData);  // PEP 697
#else
  spec.basicsize = (int)(PyExtensibleType_DATA_OFFSET + sizeof(PyExtensibleType_Internal_TypeData));
#endif
  spec.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC;
#ifdef Py_TPFLAGS_IMMUTABLETYPE
  spec.flags |= Py_TPFLAGS_IMMUTABLETYPE;
#endif
  spec.slots = slots;
  PyObject *bases = PyTuple_Pack(1, (PyObject *)&PyType_Type);
  if (bases == NULL) return NULL;
  PyTypeObject *metaclass = (PyTypeObject *)PyType_FromSpecWithBases(&spec, bases);
  Py_DECREF(bases);
  if (metaclass == NULL) return NULL;
#if PY_VERSION_HEX >= 0x030C0000
  const Py_ssize_t where = metaclass->tp_basicsize - PyType_GetTypeDataSize(metaclass);
  if (where != (Py_ssize_t)PyExtensibleType_DATA_OFFSET) {
    PyErr_Format(PyExc_SystemError,
                 "compiled for a CPython with type data at %zu, but this one has it at %zd",
                 PyExtensibleType_DATA_OFFSET, where);
    Py_DECREF(metaclass);
    return NULL;
  }
#else
  if (PyType_Type.tp_basicsize != (Py_ssize_t)sizeof(PyHeapTypeObject)) {
    PyErr_Format(PyExc_SystemError, "compiled for heap types of %zu bytes, but they have %zd",
                 sizeof(PyHeapTypeObject), PyType_Type.tp_basicsize);
    Py_DECREF(metaclass);
    return NULL;
  }
#endif
  return metaclass;
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_CORE_METACLASS_H_
