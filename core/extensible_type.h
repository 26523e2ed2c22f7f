// The provider's side of SEP 200: makes types with custom slots. Consumers include custom_slots.h.
#include "core/version.h"

#ifndef TYPEDCALL_CORE_EXTENSIBLE_TYPE_H_
#define TYPEDCALL_CORE_EXTENSIBLE_TYPE_H_

#include "core/custom_slots.h"
#include "core/rendezvous.h"
#include "core/types/type_from_metaclass.h"

// How classes get slots if no C code gives them any:
//
// - Class statements, `type(Base)(name, bases, ns)`, types.new_class, dataclasses, and C code that
//   calls the metaclass: the class inherits the slots of all its bases in MRO order, wherever the
//   extensible bases are, and adds those of its own `__customslots__` (core/slots/own_slots.h).
//   `Meta("X", (object,), {})` has no slots, because it has no extensible base.
// - PyType_FromSpec and its kin, called for a subclass: from 3.12 on, the same applies. Before,
//   CPython gives such a type the metaclass `type`, and so no slots; a class that derives from it
//   and has our metaclass inherits the slots again.
// - Classes that bypass the metaclass's __init__ (type.__new__, a derived metaclass whose __init__
//   forgets super, Enum("X", ...)) or are looked up before it runs (__init_subclass__,
//   __set_name__): the same applies, but the first look-up in an attached thread settles the slots,
//   and other threads find nothing until then. Only __init__ reports a faulty `__customslots__`. A
//   class that bypasses it offers nothing, and making a class that derives from it reports it.
// - Inside a metaclass's mro(), a class has no slots, because it has no bases yet.
// - After assignment to `__class__`, an instance has the slots of its present class.
// - After assignment to `__bases__`, the class keeps its slots; classes derived afterwards inherit,
// by the new MRO, what their bases have kept. So the pointers in `slots` must outlive every
// subclass,
//   even one that no longer derives from the type. Pointers from C must be static or kept by the
//   module; tables keep capsules alive.
// - In the body of a runtime_checkable Protocol, `__customslots__` counts as a member that
//   isinstance() checks, like every name that CPython does not know. Give such slots from C.
// - If a base has another metaclass, CPython raises "metaclass conflict" unless the class statement
//   names the combined metaclass (PyExtensibleType_CombinedMetaclass).

#ifndef Py_LIMITED_API  // the limited API hides the size of types

/// A statically allocated extensible type, with SEP 200's struct and field names and the magic
/// behind them. The SEP's positional initialiser compiles if its fields are in CPython's present
/// order. PyExtensibleType_Ready sets the magic.
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

// These functions make ordinary CPython types, without slots.
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

/// Returns a new reference to the interpreter's metaclass, installed if necessary, or NULL with an
/// exception from PyTypedcall_Import. GIL: held. Source: SEP 200, "Provider API".
static inline PyTypeObject *PyExtensibleType_Import(void) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (interface == NULL) return NULL;
  PyTypeObject *metaclass = interface->metaclass(interface->state);
  if (metaclass == NULL) PyErr_SetString(PyExc_ImportError, "typedcall: the interpreter is ending");
  Py_XINCREF((PyObject *)metaclass);
  return metaclass;
}

#ifndef Py_LIMITED_API

/// Makes a statically allocated extensible type usable: calls PyType_Ready with our metaclass and
/// settles the slots. Fill in count and table first; `slot_table_size` is the table's capacity.
/// Inherited slots are put in front of the type's own, so leave room at the table's end: slots with
/// ID 0. The type does not inherit slots whose IDs are among its own (heap types put theirs in the
/// inherited position). Only this function writes to the table, which must outlive the type.
///
/// Make bases ready before types that derive from them. This function copies the buffer functions
/// into the struct behind the type and points tp_as_buffer to it.
///
/// Python code can subclass the type if it has Py_TPFLAGS_BASETYPE, but cannot change its slots. A
/// second call does nothing. When the interpreter ends, the type becomes an ordinary one, so call
/// this again in a new main interpreter after Py_FinalizeEx.
///
/// Returns 0, or -1 with an exception and an unchanged slot table: ValueError if the slots do not
/// fit, an ID is invalid or occurs twice, or the table has more slots than its count; TypeError for
/// a heap type, a type with another metaclass, or a base with a metaclass that cannot be combined
/// with ours; ImportError outside the main interpreter, because static types are shared and
/// metaclasses are not (use PyExtensibleType_FromSpec there); or an exception from PyType_Ready or
/// PyTypedcall_Import. GIL: held. Source: SEP 200, "Provider API" and "Subclassing".
static inline int PyExtensibleType_Ready(PyHeapExtensibleTypeObject *type,
                                         Py_ssize_t slot_table_size) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (interface == NULL) return -1;
  PyTypeObject *made = &type->etp_heaptype.ht_type;
  if (made->tp_basicsize == 0 && made->tp_base != NULL) {
    // PyType_Ready inherits sizes, too, but compares layouts first unless the metaclass is `type`.
    made->tp_basicsize = made->tp_base->tp_basicsize;
    if (made->tp_itemsize == 0) made->tp_itemsize = made->tp_base->tp_itemsize;
  }
  // tp_as_buffer marks the type as ready if it points into the type itself (custom_slots.h).
  if (made->tp_as_buffer != NULL && made->tp_as_buffer != &type->etp_heaptype.as_buffer) {
    type->etp_heaptype.as_buffer = *made->tp_as_buffer;
  }
  made->tp_as_buffer = &type->etp_heaptype.as_buffer;
  return interface->ready_static(interface->state, made, slot_table_size);
}

#endif  // Py_LIMITED_API

/// Makes a type like PyType_FromModuleAndSpec, with copies of `count` slots and those of its bases.
///
/// `module` may be NULL; `bases` is NULL, a type or a tuple of types. First come the slots of the
/// first base in the MRO that has any. An own slot with the ID of one of these takes its position;
/// the type's other slots come next, then those of other bases. If nothing is inherited, the type's
/// own table is used unchanged, with its skipped positions. Python subclasses inherit the slots; if
/// several bases have a slot with the same ID, the first in MRO order wins.
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

/// Returns a metaclass for classes that derive both from extensible types and from classes with the
/// metaclasses in the tuple `metaclasses` (ABCMeta, EnumMeta, ...), which CPython otherwise refuses
/// with "metaclass conflict". The same set, in any order, gives the same metaclass, and combined
/// metaclasses can be combined further. If one of the metaclasses already derives from ours and all
/// others, it is the result. Python code calls this as
/// `_extensibletype.combined_metaclass(*metaclasses)`.
///
/// The metaclasses' __new__ and __init__ run as usual, in the order of the metaclasses' names (for
/// equal names, in an order fixed for the life of the process). An __init__ that does not call
/// super().__init__ does no harm. If one metaclass is written in C, its tp_dealloc also runs.
///
/// Returns a new reference, or NULL with TypeError if one of them is not a metaclass, or is written
/// in C and has parts for which CPython has no place beside ours (fields, a tp_new, a second
/// tp_dealloc or, in a limited API module, any tp_dealloc), or with the exception that making a
/// class raised. GIL: held. The metaclass belongs to the calling interpreter.
static inline PyTypeObject *PyExtensibleType_CombinedMetaclass(PyObject *metaclasses) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  return interface != NULL ? interface->combined_metaclass(interface->state, metaclasses) : NULL;
}

#endif  // TYPEDCALL_CORE_EXTENSIBLE_TYPE_H_
