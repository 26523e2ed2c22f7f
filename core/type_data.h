// Adds C data to the instances of any type, on every CPython since 3.9 (PEP 697).
#ifndef TYPEDCALL_CORE_TYPE_DATA_H_
#define TYPEDCALL_CORE_TYPE_DATA_H_

#include "core/custom_slots.h"
#include "core/types/type_from_metaclass.h"

#ifdef Py_LIMITED_API
#error "core/type_data.h needs the full API; limited API 3.12 has PEP 697's own functions"
#endif

#include <limits.h>
#include <string.h>

/// A flag of PyMemberDef: the offset is relative to the type's own data. Before 3.12 only
/// PyTypeData_FromSpec accepts it. Source: PEP 697, "Relative member offsets".
#ifndef Py_RELATIVE_OFFSET
#define Py_RELATIVE_OFFSET 8
#endif

/// A flag of PyType_Spec, which subclasses inherit: variable-size instances have their items at the
/// end, behind the data of subclasses. Before 3.12, call PyTypeData_HasItemsAtEnd instead of
/// PyType_HasFeature. Source: PEP 697, "Inheriting itemsize".
#ifndef Py_TPFLAGS_ITEMS_AT_END
#define Py_TPFLAGS_ITEMS_AT_END (1UL << 23)
#endif

// Returns the offset of the PyTypeObject field that a special member sets, or 0 for other members.
static inline size_t PyTC_SpecialField(const PyMemberDef *member) {
  if (strcmp(member->name, "__weaklistoffset__") == 0) {
    return offsetof(PyTypeObject, tp_weaklistoffset);
  }
  if (strcmp(member->name, "__dictoffset__") == 0) return offsetof(PyTypeObject, tp_dictoffset);
  if (strcmp(member->name, "__vectorcalloffset__") == 0) {
    return offsetof(PyTypeObject, tp_vectorcall_offset);
  }
  return 0;
}

// Checks a member as CPython 3.12 and later should. Returns 0, or -1 with SystemError.
static inline int PyTC_CheckMember(const PyType_Spec *spec, const PyMemberDef *member) {
#if PY_VERSION_HEX >= 0x030C0000
  const int offset_type = Py_T_PYSSIZET, offset_flags = Py_READONLY | Py_RELATIVE_OFFSET;
#else
  const int offset_type = T_PYSSIZET, offset_flags = READONLY | Py_RELATIVE_OFFSET;
#endif
  const int extends = spec->basicsize < 0;
  const int special = PyTC_SpecialField(member) != 0;
  // A special member gives the offset of a pointer. The lengths of other members are not checked.
  const Py_ssize_t length = special ? (Py_ssize_t)sizeof(PyObject *) : 1;
  const char *fault = NULL;
  if (!extends && (member->flags & Py_RELATIVE_OFFSET)) {
    fault = "a relative offset needs a negative basicsize";
  } else if (!extends) {
    return 0;
  } else if (!(member->flags & Py_RELATIVE_OFFSET)) {
    fault = "a negative basicsize needs relative offsets (Py_RELATIVE_OFFSET)";
  } else if (member->offset < 0 || member->offset > -(Py_ssize_t)spec->basicsize - length) {
    fault = "the offset is outside the data that the type adds";
  } else if (special && (member->type != offset_type || member->flags != offset_flags)) {
    fault = "this offset is given by a read-only, relative T_PYSSIZET";
  } else {
    return 0;
  }
  PyErr_Format(PyExc_SystemError, "type '%.100s', member '%.100s': %s", spec->name, member->name,
               fault);
  return -1;
}

// Checks everything that does not depend on the base. Returns 0, or -1 with SystemError.
static inline int PyTC_CheckSpec(const PyType_Spec *spec) {
  const char *fault = NULL;
  if (PyTC_CheckName(spec) < 0) return -1;
  if (spec->itemsize < 0) fault = "itemsize is negative";
  if (spec->itemsize > 0 && spec->basicsize < 0) {
    fault = "with a negative basicsize, itemsize can only be inherited";
  }
  if (spec->basicsize == INT_MIN) fault = "basicsize is out of range";  // CPython negates this int
  if (fault != NULL) {
    PyErr_Format(PyExc_SystemError, "type '%.100s': %s", spec->name, fault);
    return -1;
  }
  for (const PyMemberDef *m = PyTC_Members(spec); m->name != NULL; ++m) {
    if (PyTC_CheckMember(spec, m) < 0) return -1;
  }
  return 0;
}

#if PY_VERSION_HEX < 0x030C0000
static inline Py_ssize_t PyTC_Align(Py_ssize_t size) {
  const Py_ssize_t unit = (Py_ssize_t)PyExtensibleType_ALIGNMENT;
  return (size + unit - 1) / unit * unit;
}
#endif

// Returns a copy of the spec's slots, with absolute offsets in the members that CPython does not
// read as relative ones, or NULL with MemoryError. The caller frees the copy with PyMem_Free.
static inline PyType_Slot *PyTC_Absolute(const PyType_Spec *spec, Py_ssize_t start) {
  const PyMemberDef *given = PyTC_Members(spec);
  size_t slots = 1, members = 1;
  while (spec->slots[slots - 1].slot != 0) ++slots;
  while (given[members - 1].name != NULL) ++members;
  char *block =
      (char *)PyMem_Calloc(1, slots * sizeof(PyType_Slot) + members * sizeof(PyMemberDef));
  if (block == NULL) {
    PyErr_NoMemory();
    return NULL;
  }
  PyType_Slot *copy = (PyType_Slot *)(void *)block;
  PyMemberDef *member = (PyMemberDef *)(void *)(block + slots * sizeof(PyType_Slot));
  memcpy(copy, spec->slots, slots * sizeof(PyType_Slot));
  memcpy(member, given, members * sizeof(PyMemberDef));
  for (PyType_Slot *slot = copy; slot->slot != 0; ++slot) {
    if (slot->slot == Py_tp_members && slot->pfunc == given) slot->pfunc = member;
  }
  for (; member->name != NULL; ++member) {
#if PY_VERSION_HEX >= 0x030C0000
    if (PyTC_SpecialField(member) == 0) continue;
#endif
    member->offset += start;
    member->flags &= ~Py_RELATIVE_OFFSET;
  }
  return copy;
}

/// Returns 1 if instances of `type` are known to have their items at the end, else 0. This is true
/// for `type`, for types with Py_TPFLAGS_ITEMS_AT_END, and for subclasses. No exception. GIL: held.
static inline int PyTypeData_HasItemsAtEnd(const PyTypeObject *type) {
#if PY_VERSION_HEX >= 0x030C0000
  return (type->tp_flags & Py_TPFLAGS_ITEMS_AT_END) != 0;
#else
  for (; type != NULL; type = type->tp_base) {
    if (type == &PyType_Type || (type->tp_flags & Py_TPFLAGS_ITEMS_AT_END)) return 1;
  }
  return 0;
#endif
}

// Makes a type with a negative basicsize. Returns a new reference, or NULL with an exception set.
static inline PyObject *PyTC_ExtendBase(PyTypeObject *metaclass, PyObject *module,
                                        const PyType_Spec *spec, PyObject *bases) {
  PyType_Spec absolute = *spec;
#if PY_VERSION_HEX >= 0x030C0000
  // CPython 3.12 and 3.13 treat the offsets of special members as absolute, and builds with
  // assertions abort if they are relative. PyTC_PlaceSpecial sets the correct ones later.
  absolute.slots = PyTC_Absolute(spec, (Py_ssize_t)sizeof(PyObject));
  if (absolute.slots == NULL) return NULL;
  PyObject *type = PyExtensibleType_FromMetaclass(metaclass, module, &absolute, bases);
  PyMem_Free(absolute.slots);
#else
  absolute.basicsize = 0;
  PyTC_Special special;
  if (PyTC_ReadSpec(&absolute, &special) < 0) return NULL;
  bases = PyTC_Bases(bases, &special);
  if (bases == NULL) return NULL;
  destructor unused;
  PyObject *type = NULL;
  const PyTypeObject *base = PyTC_BestBase(bases, &unused);
  if (base != NULL) {
    const Py_ssize_t start = PyTC_Align(base->tp_basicsize);
    const Py_ssize_t size = start + PyTC_Align(-(Py_ssize_t)spec->basicsize);
    if (base->tp_itemsize != 0 && !(spec->flags & Py_TPFLAGS_ITEMS_AT_END) &&
        !PyTypeData_HasItemsAtEnd(base)) {
      PyErr_Format(PyExc_SystemError,
                   "type '%.100s': base '%.100s' has items without Py_TPFLAGS_ITEMS_AT_END",
                   spec->name, base->tp_name);
    } else if (size > INT_MAX) {
      PyErr_Format(PyExc_SystemError, "type '%.100s': basicsize is out of range", spec->name);
    } else {
      absolute.basicsize = (int)size;
      absolute.slots = PyTC_Absolute(spec, start);
      if (absolute.slots != NULL) {
        type = PyExtensibleType_FromMetaclass(metaclass, module, &absolute, bases);
      }
      PyMem_Free(absolute.slots);
    }
  }
  Py_DECREF(bases);
#endif
  return type;
}

/// Returns the size in bytes of the data that `cls` adds: -basicsize, rounded up to
/// alignof(max_align_t). `cls` must have been made with a negative basicsize; this is not checked.
/// Cannot fail. GIL: not needed. Source: PEP 697, "Relative basicsize" (PyType_GetTypeDataSize).
static inline Py_ssize_t PyTypeData_Size(PyTypeObject *cls) {
#if PY_VERSION_HEX >= 0x030C0000
  return PyType_GetTypeDataSize(cls);
#else
  const Py_ssize_t size = cls->tp_basicsize - PyTC_Align(cls->tp_base->tp_basicsize);
  return size > 0 ? size : 0;
#endif
}

#if PY_VERSION_HEX >= 0x030C0000
// Sets the offsets that special members give relative to the data. Returns 0, or -1 (raised).
static inline int PyTC_PlaceSpecial(PyTypeObject *type, const PyType_Spec *spec) {
  const Py_ssize_t start = type->tp_basicsize - PyTypeData_Size(type);
  for (const PyMemberDef *m = PyTC_Members(spec); m->name != NULL; ++m) {
    const size_t field = PyTC_SpecialField(m);
    if (field == 0) continue;
    const Py_ssize_t offset = start + m->offset;
    memcpy((char *)type + field, &offset, sizeof(offset));
    // Special members are not attributes, but CPython leaves `__vectorcalloffset__` in tp_dict.
    PyObject *left = PyTC_Look(type->tp_dict, m->name);
    const int is_left = left != NULL;
    Py_XDECREF(left);
    if (is_left && PyDict_DelItemString(type->tp_dict, m->name) < 0) return -1;
    if (is_left) PyType_Modified(type);
  }
  return 0;
}
#endif

/// Makes a heap type, as PyType_FromMetaclass does. A negative `spec->basicsize` adds at least that
/// many bytes to the base's instances, zeroed and aligned for any C type. 0 is the base's size, and
/// a positive value the total size.
///
/// The base may be any type: `list`, a class made in Python, another extension's type or a
/// metaclass. Larger instances are allocated as those of classes made in Python, unless the spec
/// has Py_tp_alloc: datetime's own allocates too little. `metaclass` and `module` may be NULL.
/// `bases` is a type, a tuple of types, or NULL for the bases in the spec. With a negative
/// basicsize, all members, even `__dictoffset__`, must have Py_RELATIVE_OFFSET. Before 3.11
/// `spec->name` must outlive the type.
///
/// Keep objects in writable T_OBJECT_EX members, which CPython clears if the type has
/// Py_TPFLAGS_HAVE_GC. tp_traverse must visit the objects and call the base's tp_traverse, if any.
/// But if a base is a class made in Python, CPython traverses the members itself. The spec must
/// then not have tp_traverse, tp_clear or tp_dealloc, because they cannot call the base's. Release
/// anything else in tp_finalize. Before 3.12, a Python subclass of a variable-size type without
/// `__dict__` needs `__slots__ = ()`, because CPython puts its `__dict__` where the last item is.
///
/// Returns a new reference, or NULL with an exception set: SystemError if a size, an offset or a
/// flag in the spec is invalid, or if the base has items and neither it nor the spec has
/// Py_TPFLAGS_ITEMS_AT_END; or an exception from PyExtensibleType_FromMetaclass. GIL: held. The
/// type belongs to the calling interpreter. Source: PEP 697, "Specification".
static inline PyObject *PyTypeData_FromSpec(PyTypeObject *metaclass, PyObject *module,
                                            PyType_Spec *spec, PyObject *bases) {
  if (PyTC_CheckSpec(spec) < 0) return NULL;
  PyObject *type = spec->basicsize < 0
                       ? PyTC_ExtendBase(metaclass, module, spec, bases)
                       : PyExtensibleType_FromMetaclass(metaclass, module, spec, bases);
#if PY_VERSION_HEX >= 0x030C0000
  if (type != NULL && spec->basicsize < 0 && PyTC_PlaceSpecial((PyTypeObject *)type, spec) < 0) {
    Py_CLEAR(type);
  }
#endif
  if (type != NULL && (spec->flags & Py_TPFLAGS_ITEMS_AT_END) &&
      ((PyTypeObject *)type)->tp_itemsize == 0) {
    PyErr_Format(PyExc_SystemError, "type '%.100s': Py_TPFLAGS_ITEMS_AT_END without items",
                 spec->name);
    Py_CLEAR(type);
  }
  return type;
}

/// Returns the data that `cls` adds to `obj`, aligned to alignof(max_align_t). Valid while `obj`
/// lives. `cls` must have been made with a negative basicsize, and `obj` must be an instance of
/// `cls`; neither is checked. Cannot fail, and may be called in tp_traverse. GIL: not needed for
/// the address. Source: PEP 697, "Relative basicsize" (PyObject_GetTypeData).
static inline void *PyTypeData_Get(PyObject *obj, PyTypeObject *cls) {
#if PY_VERSION_HEX >= 0x030F0000
  return PyObject_GetTypeData_DuringGC(obj, cls);
#elif PY_VERSION_HEX >= 0x030C0000
  return PyObject_GetTypeData(obj, cls);
#else
  return (char *)obj + PyTC_Align(cls->tp_base->tp_basicsize);
#endif
}

/// Returns the first item of a variable-size object, or NULL with TypeError if
/// PyTypeData_HasItemsAtEnd is false. Valid while `obj` lives. GIL: held. Source: PEP 697.
static inline void *PyTypeData_Items(PyObject *obj) {
#if PY_VERSION_HEX >= 0x030C0000
  return PyObject_GetItemData(obj);
#else
  if (PyTypeData_HasItemsAtEnd(Py_TYPE(obj))) return (char *)obj + Py_TYPE(obj)->tp_basicsize;
  PyErr_Format(PyExc_TypeError, "the type '%.200s' must have Py_TPFLAGS_ITEMS_AT_END",
               Py_TYPE(obj)->tp_name);
  return NULL;
#endif
}

#endif  // TYPEDCALL_CORE_TYPE_DATA_H_
