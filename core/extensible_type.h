// The provider's side of SEP 200: makes types with custom slots. Consumers include custom_slots.h.
#include "core/version.h"

#ifndef TYPEDCALL_CORE_EXTENSIBLE_TYPE_H_
#define TYPEDCALL_CORE_EXTENSIBLE_TYPE_H_

#include "core/custom_slots.h"
#include "core/rendezvous.h"
#include "core/types/type_from_metaclass.h"

// How classes get slots if no C code gives them any:
//
// - Class statements, type(Base)(name, bases, ns), types.new_class and dataclasses: the class
//   inherits the slots of all its bases in MRO order, and adds those of its own `__customslots__`.
// - PyType_FromSpec and its variants: from 3.12 on, the class inherits slots in the same way.
//   Earlier versions of CPython give it the metaclass `type`, so it has no slots.
// - Classes whose metaclass's __init__ does not run (type.__new__, Enum("X", ...)) or has not run
//   yet (__init_subclass__, __set_name__): the first look-up in an attached thread settles the
//   slots. Only __init__ reports a faulty `__customslots__`. If __init__ does not run, a class with
//   a faulty `__customslots__` has no slots and cannot be subclassed.
// - Inside a metaclass's mro(), a class has no slots, because it has no bases yet.
// - After assignment to `__bases__`, the class keeps its slots, and new subclasses inherit them. So
//   pointers from C must be static or kept by the module; tables keep capsules alive.
// - For a runtime_checkable Protocol, isinstance() treats `__customslots__` as a member. Give such
//   a class its slots in C.
// - If a base has another metaclass, CPython raises "metaclass conflict" unless the class statement
//   names the combined metaclass (PyExtensibleType_CombinedMetaclass).

#ifndef Py_LIMITED_API  // the limited API hides the size of types

/// A static extensible type, with SEP 200's names. PyExtensibleType_Ready sets `etp_magic`.
typedef struct PyHeapExtensibleTypeObject {
  PyHeapTypeObject etp_heaptype;
#if TYPEDCALL_IS_SUPPORTED
  Py_ssize_t etp_custom_slot_count __attribute__((aligned(PyExtensibleType_ALIGNMENT)));
#else
  Py_ssize_t etp_custom_slot_count;
#endif
  PyCustomSlot *etp_custom_slot_table;
  uint64_t etp_magic;
} PyHeapExtensibleTypeObject;

#endif  // Py_LIMITED_API

#if !TYPEDCALL_IS_SUPPORTED

// On this platform these functions make ordinary types, without slots.
static inline PyTypeObject *PyExtensibleType_Import(void) {
  Py_INCREF((PyObject *)&PyType_Type);
  return &PyType_Type;
}
#ifndef Py_LIMITED_API
static inline int PyExtensibleType_Ready(PyHeapExtensibleTypeObject *type,
                                         Py_ssize_t slot_table_size) {
  (void)slot_table_size;
  return PyType_Ready(&type->etp_heaptype.ht_type);
}
#endif
static inline PyObject *PyExtensibleType_FromSpec(PyObject *module, PyType_Spec *spec,
                                                  PyObject *bases, const PyCustomSlot *slots,
                                                  Py_ssize_t count) {
  (void)slots, (void)count;
  // Before CPython 3.10 `bases` must be a tuple.
  PyObject *all = bases == NULL || PyTuple_Check(bases) ? bases : PyTuple_Pack(1, bases);
  if (all == NULL && bases != NULL) return NULL;
  PyObject *type = PyType_FromModuleAndSpec(module, spec, all);
  if (all != bases) Py_DECREF(all);
  return type;
}

#else

/// Returns a new reference to the interpreter's metaclass, or NULL with an exception from
/// PyTypedcall_Import. GIL: held. Source: SEP 200, "Provider API".
static inline PyTypeObject *PyExtensibleType_Import(void) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (interface == NULL) return NULL;
  PyTypeObject *metaclass = interface->metaclass(interface->state);
  if (metaclass == NULL) PyErr_SetString(PyExc_ImportError, "typedcall: the interpreter is ending");
  Py_XINCREF((PyObject *)metaclass);
  return metaclass;
}

#ifndef Py_LIMITED_API

/// Makes a statically allocated extensible type ready, as docs/ABI.md, 5.20 to 5.22, says: calls
/// PyType_Ready with our metaclass, and settles the slots. Fill in count and table first. Inherited
/// slots are put in front of the type's own, so leave room for them: slots with ID 0 at the table's
/// end. The table must outlive the type. Call it again in the next main interpreter. Bases first.
///
/// Returns 0, or -1 with an exception set and an unchanged slot table: ValueError if the slots do
/// not fit, an ID is invalid or repeated, or the table has more slots than its count; TypeError for
/// a heap type, a type with another metaclass, or a base with a metaclass that cannot be combined
/// with ours; ImportError outside the main interpreter (use PyExtensibleType_FromSpec there); or an
/// exception from PyType_Ready or PyTypedcall_Import. GIL: held. Source: SEP 200, "Provider API".
static inline int PyExtensibleType_Ready(PyHeapExtensibleTypeObject *type,
                                         Py_ssize_t slot_table_size) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (interface == NULL) return -1;
  PyTypeObject *made = &type->etp_heaptype.ht_type;
  if (made->tp_basicsize == 0 && made->tp_base != NULL) {
    // PyType_Ready compares layouts before it inherits sizes, unless the metaclass is `type`.
    made->tp_basicsize = made->tp_base->tp_basicsize;
    if (made->tp_itemsize == 0) made->tp_itemsize = made->tp_base->tp_itemsize;
  }
  return interface->ready_static(interface->state, made, slot_table_size);
}

#endif  // Py_LIMITED_API

/// Makes a type, as PyType_FromModuleAndSpec does, with copies of `count` slots.
///
/// `module` may be NULL. `bases` is NULL, a type or a tuple of types. Merging with the slots of
/// bases: docs/ABI.md, 1.14 and 1.15. Subclasses inherit the slots.
///
/// Returns a new reference, or NULL with ValueError for an invalid or repeated ID, TypeError if a
/// base's metaclass cannot be combined with ours, or an exception from PyType_FromModuleAndSpec or
/// PyTypedcall_Import. GIL: held. The type belongs to the calling interpreter.
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

#endif  // TYPEDCALL_IS_SUPPORTED

/// Returns a metaclass that derives from ours and from those in the tuple `metaclasses` (ABCMeta,
/// EnumMeta, ...). A class that derives from an extensible type and an ABC needs this metaclass.
/// The same metaclasses, in any order, give the same result. Python code calls this function as
/// `_extensibletype.combined_metaclass(*metaclasses)`.
///
/// Their __new__ and __init__ run in the order of their names, and need not call super().__init__.
///
/// Returns a new reference, or NULL with an exception set: TypeError if an item is not a metaclass,
/// or is written in C and has fields, a tp_new, a second tp_dealloc or, in a limited API module,
/// any tp_dealloc; or an exception from making the class. GIL: held. For this interpreter only.
static inline PyTypeObject *PyExtensibleType_CombinedMetaclass(PyObject *metaclasses) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  return interface != NULL ? interface->combined_metaclass(interface->state, metaclasses) : NULL;
}

#endif  // TYPEDCALL_CORE_EXTENSIBLE_TYPE_H_
