// The provider's side of SEP 200: making types that offer custom slots.
// Consumers need only core/custom_slots.h.
#ifndef TYPEDCALL_CORE_EXTENSIBLE_TYPE_H_
#define TYPEDCALL_CORE_EXTENSIBLE_TYPE_H_

#include "core/rendezvous.h"
#include "core/type_from_metaclass.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A statically allocated extensible type: SEP 200's struct, with the SEP's field names, and the
/// magic behind it. The SEP's positional initialiser compiles; the magic is set when the type is
/// made ready.
typedef struct PyHeapExtensibleTypeObject {
  PyHeapTypeObject etp_heaptype;
  Py_ssize_t etp_custom_slot_count __attribute__((aligned(PyExtensibleType_ALIGNMENT)));
  PyCustomSlot *etp_custom_slot_table;
  uint64_t etp_magic;
} PyHeapExtensibleTypeObject;

/// The interpreter's metaclass, installed now if nobody has done so before. New reference, or NULL
/// with the exceptions of PyTypedcall_Import. GIL: held.
/// Source: SEP 200, "Provider API".
static inline PyTypeObject *PyExtensibleType_Import(void) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (interface == NULL) return NULL;
  PyTypeObject *metaclass = interface->metaclass(interface->state);
  Py_INCREF(metaclass);
  return metaclass;
}

/// A new heap type as PyType_FromModuleAndSpec makes it, with `count` custom slots of its own,
/// which are copied, and those of its bases.
///
/// `module` may be NULL; `bases` is NULL, a type or a tuple of types. Inherited slots keep their
/// positions and come first; an own slot with the ID of an inherited one takes its place; with
/// nothing inherited the own table is taken as it stands, skipped positions included. Python
/// subclasses inherit the slots; in classes with several bases the first in MRO order that brings
/// an ID wins.
///
/// New reference, or NULL: ValueError for an ID that is invalid or stands twice; TypeError when a
/// base has a metaclass that cannot be combined with ours; else what PyType_FromModuleAndSpec or
/// PyTypedcall_Import raise. GIL: held; the type belongs to the calling interpreter.
static inline PyObject *PyExtensibleType_FromSpec(PyObject *module, PyType_Spec *spec,
                                                  PyObject *bases, const PyCustomSlot *slots,
                                                  Py_ssize_t count) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (interface == NULL) return NULL;
  PyTypeObject *metaclass = interface->metaclass(interface->state);
  PyObject *type = PyExtensibleType_FromMetaclass(metaclass, module, spec, bases);
  if (type == NULL) return NULL;
  if (interface->resolve(interface->state, (PyTypeObject *)type, slots, count) < 0) {
    Py_DECREF(type);
    return NULL;
  }
  return type;
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_CORE_EXTENSIBLE_TYPE_H_
