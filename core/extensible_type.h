// The provider's side of SEP 200: makes types with custom slots. Consumers include custom_slots.h.
#include "core/version.h"

#ifndef TYPEDCALL_CORE_EXTENSIBLE_TYPE_H_
#define TYPEDCALL_CORE_EXTENSIBLE_TYPE_H_

#include "core/custom_slots.h"
#include "core/rendezvous.h"
#include "core/types/type_from_metaclass.h"

// How classes get slots that no C code gives them:
//
// - Class statements, `type(Base)(name, bases, ns)`, types.new_class, dataclasses, and C code that
//   calls the metaclass: a class inherits the slots of all its bases in MRO order, wherever the
//   extensible ones are, and adds those of its own `__customslots__` (core/slots/own_slots.h).
//   `Meta("X", (object,), {})` has no slots, because it has no extensible base.
// - PyType_FromSpec and its kin, called for a subclass: the same from 3.12 on. Before, CPython
//   gives such a type the metaclass `type`, and so no slots; a class derived from it with our
//   metaclass inherits them again.
// - Classes made past the metaclass's __init__ (type.__new__, a derived metaclass whose __init__
//   forgets super, Enum("X", ...)) or looked up before it (__init_subclass__, __set_name__): the
//   same, settled by the first look-up in an attached thread; other threads find nothing until
//   then. Only __init__ reports a faulty `__customslots__`. Otherwise such a class offers nothing,
//   and making a class that derives from it reports the fault.
// - Inside a metaclass's mro(): none, because there are no bases yet.
// - `__class__` assignment: an instance has the slots of its present class.
// - `__bases__` assignment: the class keeps its slots; classes derived afterwards inherit by the
//   new MRO what their bases have kept. So slots' pointers must outlive every subclass, even one
//   that no longer derives from the type. Pointers from C are static or kept by the module; tables
//   keep capsules.
// - A runtime_checkable Protocol: `__customslots__` in its body counts as a member that
//   isinstance() checks, like every name that CPython does not know. Give such slots from C.
// - Another metaclass among the bases: CPython's "metaclass conflict", unless the class statement
//   names the combined one (PyExtensibleType_CombinedMetaclass).

#ifndef Py_LIMITED_API  // it hides the size of types

/// A statically allocated extensible type: SEP 200's struct and field names, and the magic behind
/// them. The SEP's positional initialiser compiles, with the fields in today's order;
/// PyExtensibleType_Ready sets the magic.
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

// Types without slots, as CPython makes them.
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

/// Returns the interpreter's metaclass, which it installs if no module has done so. New reference,
/// or NULL with the exceptions of PyTypedcall_Import. GIL: held. Source: SEP 200, "Provider API".
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
/// settles the slots. First fill in count and table; `slot_table_size` is its capacity. Inherited
/// slots are put in front of the type's own, so leave room behind those: slots with the ID 0. A
/// base's slot whose ID the type has itself is not inherited (in heap types, the own one takes its
/// position). Only this function writes to the table, which must live as long as the type.
///
/// Make bases ready before types that derive from them. tp_as_buffer is pointed to the struct
/// behind the type, whose contents stay.
///
/// Python code can subclass the type if it has Py_TPFLAGS_BASETYPE, but not change its slots. A
/// second call does nothing. The interpreter's end makes the type a plain one, so call this again
/// in a new main interpreter after Py_FinalizeEx.
///
/// Returns 0, or -1 with an exception and an unchanged slot table: ValueError if the slots do not
/// fit, an ID is invalid or occurs twice, or a slot is behind the last one counted; TypeError for a
/// heap type, another metaclass, or a base with a metaclass that cannot be combined with ours;
/// ImportError outside the main interpreter, because static types are shared and metaclasses are
/// not (use PyExtensibleType_FromSpec there); else what PyType_Ready or PyTypedcall_Import raise.
/// GIL: held. Source: SEP 200, "Provider API" and "Subclassing".
static inline int PyExtensibleType_Ready(PyHeapExtensibleTypeObject *type,
                                         Py_ssize_t slot_table_size) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (interface == NULL) return -1;
  PyTypeObject *made = &type->etp_heaptype.ht_type;
  if (made->tp_basicsize == 0 && made->tp_base != NULL) {
    // PyType_Ready inherits sizes too, but compares layouts first if the metaclass is not `type`.
    made->tp_basicsize = made->tp_base->tp_basicsize;
    if (made->tp_itemsize == 0) made->tp_itemsize = made->tp_base->tp_itemsize;
  }
  // Marks types made ready (custom_slots.h): no subtype inherits it.
  if (made->tp_as_buffer != NULL && made->tp_as_buffer != &type->etp_heaptype.as_buffer) {
    type->etp_heaptype.as_buffer = *made->tp_as_buffer;
  }
  made->tp_as_buffer = &type->etp_heaptype.as_buffer;
  return interface->ready_static(interface->state, made, slot_table_size);
}

#endif  // Py_LIMITED_API

/// Makes a heap type as PyType_FromModuleAndSpec does, with copies of `count` custom slots of its
/// own, and those of its bases.
///
/// `module` may be NULL; `bases` is NULL, a type or a tuple of types. Inherited slots keep their
/// positions and come first, beginning with the first base in the MRO that has any. An own slot
/// with the ID of an inherited one takes its place; slots of the other bases follow the own ones.
/// If nothing is inherited, the own table is taken as it is, with its skipped positions. Python
/// subclasses inherit the slots; if several bases have an ID, the first in MRO order wins.
///
/// New reference, or NULL: ValueError for an ID that is invalid or occurs twice; TypeError if a
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

#endif  // TYPEDCALL_IS_SUPPORTED

/// Returns a metaclass for classes that derive both from extensible types and from classes with the
/// metaclasses in the tuple `metaclasses` (ABCMeta, EnumMeta, ...), which CPython otherwise refuses
/// with "metaclass conflict". The same set gives the same metaclass, in any order, and combined
/// metaclasses can be combined further. If one of them already derives from ours and all others, it
/// is the result. Python code calls this as `_extensibletype.combined_metaclass(*metaclasses)`.
///
/// Their __new__ and __init__ run as they would alone, in the order of their names (of equal names,
/// in an order fixed for the life of the process); an __init__ that forgets super().__init__ does
/// no harm. The tp_dealloc of one that is written in C runs, too.
///
/// New reference, or NULL: TypeError if one is not a metaclass, or is written in C and has parts
/// that CPython has no place for beside ours: fields, a tp_new, a second tp_dealloc (in a limited
/// API module, any); else what making a class raises. GIL: held; for the calling interpreter.
static inline PyTypeObject *PyExtensibleType_CombinedMetaclass(PyObject *metaclasses) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  return interface != NULL ? interface->combined_metaclass(interface->state, metaclasses) : NULL;
}

#endif  // TYPEDCALL_CORE_EXTENSIBLE_TYPE_H_
