// The provider's side of SEP 200: making types that offer custom slots.
// Consumers need only core/custom_slots.h.
#include "core/version.h"

#ifndef TYPEDCALL_CORE_EXTENSIBLE_TYPE_H_
#define TYPEDCALL_CORE_EXTENSIBLE_TYPE_H_

#include "core/rendezvous.h"

#if TYPEDCALL_IS_SUPPORTED
#include "core/types/type_from_metaclass.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

// How classes come by their slots, when nobody gives them any from C:
//
// - Class statements, `type(Base)(name, bases, ns)`, types.new_class, dataclasses, C code that
//   calls the metaclass: a class inherits the slots of all its bases by MRO order, wherever the
//   extensible ones stand, and has those of its own `__customslots__` (core/slots/own_slots.h).
//   With nothing extensible among the bases, `Meta("X", (object,), {})` has none.
// - C code that makes a subclass with PyType_FromSpec and its kin: the same from 3.12 on. Before,
//   CPython gives such a type the metaclass `type`, and with it no slots; a class below it that has
//   our metaclass inherits them again.
// - Past the metaclass's __init__ (type.__new__, a derived metaclass whose __init__ forgets super,
//   Enum("X", ...)), and before it (__init_subclass__, __set_name__): the same, settled by the
//   first look-up in an attached thread; a thread that is not attached finds nothing until then.
//   A faulty `__customslots__` is reported by __init__ only: past it, such a class offers nothing,
//   and classes that derive from it cannot be made: the fault is reported there.
// - Inside a metaclass's mro(): nothing, as there are no bases yet.
// - `__class__` assignment: an instance has the slots of the class that it has now.
// - `__bases__` assignment: the slots stay those that the class has; classes derived afterwards
//   inherit by the new MRO, and what their bases have kept. What slots point to must therefore
//   outlive every subclass, also those that have left: pointers from C are static or kept by the
//   module; capsules are kept by the tables.
// - A Protocol that is runtime_checkable: `__customslots__` in its body counts as a member that
//   isinstance() asks for, as CPython counts every name it does not know; give such slots from C.
// - A metaclass other than ours among the bases: CPython's "metaclass conflict", unless the class
//   statement names the combined one, see PyExtensibleType_CombinedMetaclass.

#ifndef Py_LIMITED_API  // which does not say how large a type is

/// A statically allocated extensible type: SEP 200's struct, with the SEP's field names, and the
/// magic behind it. The SEP's positional initialiser compiles, with the fields in today's order;
/// the magic is set when the type is made ready.
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
static inline PyTypeObject *PyExtensibleType_CombinedMetaclass(PyObject *metaclasses) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  return interface->combined_metaclass(interface->state, metaclasses);
}
static inline PyObject *PyExtensibleType_FromSpec(PyObject *module, PyType_Spec *spec,
                                                  PyObject *bases, const PyCustomSlot *slots,
                                                  Py_ssize_t count) {
  (void)slots, (void)count;
  // Before CPython 3.10 one base alone is none.
  PyObject *all = bases == NULL || PyTuple_Check(bases) ? bases : PyTuple_Pack(1, bases);
  if (all == NULL && bases != NULL) return NULL;
  PyObject *type = PyType_FromModuleAndSpec(module, spec, all);
  if (all != bases) Py_DECREF(all);
  return type;
}

#else

/// The interpreter's metaclass, installed now if nobody has done so before. New reference, or NULL
/// with the exceptions of PyTypedcall_Import. GIL: held.
/// Source: SEP 200, "Provider API".
static inline PyTypeObject *PyExtensibleType_Import(void) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (interface == NULL) return NULL;
  PyTypeObject *metaclass = interface->metaclass(interface->state);
  if (metaclass == NULL) PyErr_SetString(PyExc_ImportError, "typedcall: the interpreter is ending");
  Py_XINCREF((PyObject *)metaclass);
  return metaclass;
}

#ifndef Py_LIMITED_API

/// Makes a statically allocated extensible type usable: PyType_Ready, but its metaclass becomes
/// ours, and its slots are settled. Fill in count and table first; `slot_table_size` is how many
/// slots the table has room for. What it inherits is put in front of its own slots, so leave room
/// behind them: slots with the ID 0. A base's slot whose ID the type has itself is not inherited
/// (unlike in heap types, the own one does not take its position). The table must live as long as
/// the type, and is written to here only.
///
/// Bases come first: a type cannot be made ready after one that derives from it. tp_as_buffer is
/// pointed to the struct behind the type, whose contents stay.
///
/// Python code can subclass the type if it has Py_TPFLAGS_BASETYPE. Its slots cannot be changed
/// afterwards. Called again it does nothing; in a new main interpreter after Py_FinalizeEx it must
/// be called again, as the interpreter's end makes the type a plain one.
///
/// Returns 0, or -1: ValueError when the slots do not fit, an ID is invalid or occurs twice, or a
/// slot is behind the last one counted; TypeError for a heap type, another metaclass, or a base
/// with a metaclass that cannot be combined with ours; ImportError outside the main interpreter,
/// because static types are shared and metaclasses are not (use PyExtensibleType_FromSpec there);
/// else what PyType_Ready or PyTypedcall_Import raise. The slot table is unchanged then.
/// GIL: held.
/// Source: SEP 200, "Provider API" and "Subclassing".
static inline int PyExtensibleType_Ready(PyHeapExtensibleTypeObject *type,
                                         Py_ssize_t slot_table_size) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (interface == NULL) return -1;
  PyTypeObject *made = &type->etp_heaptype.ht_type;
  if (made->tp_basicsize == 0 && made->tp_base != NULL) {
    // PyType_Ready inherits sizes too, but if the metaclass is not `type` it compares layouts
    // first.
    made->tp_basicsize = made->tp_base->tp_basicsize;
    if (made->tp_itemsize == 0) made->tp_itemsize = made->tp_base->tp_itemsize;
  }
  // The mark of types made ready, see custom_slots.h: no subtype inherits it.
  if (made->tp_as_buffer != NULL && made->tp_as_buffer != &type->etp_heaptype.as_buffer) {
    type->etp_heaptype.as_buffer = *made->tp_as_buffer;
  }
  made->tp_as_buffer = &type->etp_heaptype.as_buffer;
  return interface->ready_static(interface->state, made, slot_table_size);
}

#endif  // Py_LIMITED_API

/// A metaclass for classes that derive from extensible types and from classes with the metaclasses
/// in the tuple `metaclasses` (ABCMeta, EnumMeta, ...), which CPython otherwise refuses with
/// "metaclass conflict". The same set gives the same metaclass, in whatever order; combined ones
/// can be combined further; if one of them derives from ours and from all others already, it is
/// that one. Python code finds this function as `_extensibletype.combined_metaclass(*metaclasses)`.
///
/// Their __new__ and __init__ run as they would alone, in the order of their names (of one name: in
/// an order that is the same for the life of the process); a metaclass's
/// __init__ that forgets super().__init__ does no harm. So does the tp_dealloc of one that is
/// written in C.
///
/// New reference, or NULL: TypeError when one is no metaclass; or is written in C and has what
/// CPython has no place for beside ours: fields, a tp_new, a second tp_dealloc (in a module of the
/// limited API any); else what making a class raises. GIL: held; for the calling interpreter.
static inline PyTypeObject *PyExtensibleType_CombinedMetaclass(PyObject *metaclasses) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  return interface != NULL ? interface->combined_metaclass(interface->state, metaclasses) : NULL;
}

/// A new heap type as PyType_FromModuleAndSpec makes it, with `count` custom slots of its own,
/// which are copied, and those of its bases.
///
/// `module` may be NULL; `bases` is NULL, a type or a tuple of types. Inherited slots keep their
/// positions and come first, those of the first base in the MRO that has any; an own slot with the
/// ID of an inherited one takes its place; behind the own ones stands what other bases bring; with
/// nothing inherited the own table is taken as it stands, skipped positions included. Python
/// subclasses inherit the slots; in classes with several bases the first in MRO order that brings
/// an ID wins.
///
/// New reference, or NULL: ValueError for an ID that is invalid or occurs twice; TypeError when a
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

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_CORE_EXTENSIBLE_TYPE_H_
