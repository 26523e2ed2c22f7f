// PyType_FromMetaclass for CPython 3.9 to 3.11. Used by core/types/type_from_metaclass.h.
#ifndef TYPEDCALL_CORE_TYPES_TYPE_FROM_METACLASS_BACKPORT_H_
#define TYPEDCALL_CORE_TYPES_TYPE_FROM_METACLASS_BACKPORT_H_

#include "core/type_access.h"

#if PY_VERSION_HEX >= 0x030C0000
#error "this CPython has PyType_FromMetaclass: include core/types/type_from_metaclass.h"
#endif

#include <string.h>
#include <structmember.h>  // for PyMemberDef, which Python.h has only from 3.12 on

// The slots of a spec that are not simply copied. All pointers are borrowed from the spec.
typedef struct {
  const char *doc;
  const PyMemberDef *members;  // NULL if there are none
  Py_ssize_t member_count;
  Py_ssize_t weaklist_offset, dict_offset, vectorcall_offset;
  PyTypeObject *base;  // Py_tp_base
  PyObject *bases;     // Py_tp_bases
} PyTC_Special;

// clang-format off
#define PyTC_SLOTS(T, A, N, M, S, B) \
  T(tp_alloc) T(tp_call) T(tp_clear) T(tp_dealloc) T(tp_del) T(tp_descr_get) T(tp_descr_set) \
  T(tp_finalize) T(tp_free) T(tp_getattr) T(tp_getattro) T(tp_getset) T(tp_hash) T(tp_init) \
  T(tp_is_gc) T(tp_iter) T(tp_iternext) T(tp_methods) T(tp_new) T(tp_repr) T(tp_richcompare) \
  T(tp_setattr) T(tp_setattro) T(tp_str) T(tp_traverse) A(am_aiter) A(am_anext) A(am_await) \
  N(nb_absolute) N(nb_add) N(nb_and) N(nb_bool) N(nb_divmod) N(nb_float) N(nb_floor_divide) \
  N(nb_index) N(nb_inplace_add) N(nb_inplace_and) N(nb_inplace_floor_divide) \
  N(nb_inplace_lshift) N(nb_inplace_matrix_multiply) N(nb_inplace_multiply) N(nb_inplace_or) \
  N(nb_inplace_power) N(nb_inplace_remainder) N(nb_inplace_rshift) N(nb_inplace_subtract) \
  N(nb_inplace_true_divide) N(nb_inplace_xor) N(nb_int) N(nb_invert) N(nb_lshift) \
  N(nb_matrix_multiply) N(nb_multiply) N(nb_negative) N(nb_or) N(nb_positive) N(nb_power) \
  N(nb_remainder) N(nb_rshift) N(nb_subtract) N(nb_true_divide) N(nb_xor) M(mp_ass_subscript) \
  M(mp_length) M(mp_subscript) S(sq_ass_item) S(sq_concat) S(sq_contains) S(sq_inplace_concat) \
  S(sq_inplace_repeat) S(sq_item) S(sq_length) S(sq_repeat) B(bf_getbuffer) B(bf_releasebuffer)
#define PyTC_OFFSET(part, Struct, f) \
  {Py_##f, offsetof(PyHeapTypeObject, part) + offsetof(Struct, f)},
#define PyTC_T(f) PyTC_OFFSET(ht_type, PyTypeObject, f)
#define PyTC_A(f) PyTC_OFFSET(as_async, PyAsyncMethods, f)
#define PyTC_N(f) PyTC_OFFSET(as_number, PyNumberMethods, f)
#define PyTC_M(f) PyTC_OFFSET(as_mapping, PyMappingMethods, f)
#define PyTC_S(f) PyTC_OFFSET(as_sequence, PySequenceMethods, f)
#define PyTC_B(f) PyTC_OFFSET(as_buffer, PyBufferProcs, f)

// Returns the offset of a slot in PyHeapTypeObject, or 0 for an unknown ID.
static inline size_t PyTC_FindSlot(int id) {
  static const struct {
    int id;
    size_t offset;
  } table[] = {
    PyTC_SLOTS(PyTC_T, PyTC_A, PyTC_N, PyTC_M, PyTC_S, PyTC_B)
#if PY_VERSION_HEX >= 0x030A0000
    PyTC_A(am_send)
#endif
  };
  // clang-format on
  for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); ++i) {
    if (table[i].id == id) return table[i].offset;
  }
  return 0;
}

// Checks the spec and collects its special slots. Returns 0, or -1 with an exception set.
static inline int PyTC_ReadSpec(const PyType_Spec *spec, PyTC_Special *special) {
  memset(special, 0, sizeof(*special));
  if (PyTC_CheckName(spec) < 0) return -1;
  if (spec->basicsize < 0) {
    PyErr_Format(PyExc_SystemError, "type '%.100s': a negative basicsize needs Python 3.12",
                 spec->name);
    return -1;
  }
  for (const PyType_Slot *slot = spec->slots; slot->slot != 0; ++slot) {
    if ((slot->slot == Py_tp_doc && special->doc != NULL) ||
        (slot->slot == Py_tp_members && special->members != NULL)) {
      // A second doc would leak the first, and second members would overflow the room for members.
      PyErr_Format(PyExc_SystemError, "type '%.100s': the spec has multiple Py_tp_%s", spec->name,
                   slot->slot == Py_tp_doc ? "doc" : "members");
      return -1;
    }
    if (slot->slot == Py_tp_doc) {
      special->doc = (const char *)slot->pfunc;
    } else if (slot->slot == Py_tp_members) {
      special->members = (const PyMemberDef *)slot->pfunc;
    } else if (slot->slot == Py_tp_base) {
      special->base = (PyTypeObject *)slot->pfunc;
    } else if (slot->slot == Py_tp_bases) {
      special->bases = (PyObject *)slot->pfunc;
    } else if (PyTC_FindSlot(slot->slot) == 0) {
      PyErr_Format(PyExc_RuntimeError, "type '%.100s': invalid slot %d", spec->name, slot->slot);
      return -1;
    }
  }
  for (const PyMemberDef *m = special->members; m != NULL && m->name != NULL; ++m) {
    ++special->member_count;
    if (strcmp(m->name, "__weaklistoffset__") == 0) special->weaklist_offset = m->offset;
    if (strcmp(m->name, "__dictoffset__") == 0) special->dict_offset = m->offset;
    if (strcmp(m->name, "__vectorcalloffset__") == 0) special->vectorcall_offset = m->offset;
  }
  return 0;
}

// Returns a new reference to a tuple of the bases, or NULL with an exception set.
static inline PyObject *PyTC_Bases(PyObject *bases, const PyTC_Special *special) {
  if (bases == NULL && special->bases != NULL) {
    bases = special->bases;
    if (!PyTuple_Check(bases)) {
      PyErr_SetString(PyExc_SystemError, "the bases in the spec's slots are not a tuple");
      return NULL;
    }
  }
  if (bases == NULL) {
    bases = (PyObject *)(special->base != NULL ? special->base : &PyBaseObject_Type);
  }
  if (!PyTuple_Check(bases)) return PyTuple_Pack(1, bases);
  if (PyTuple_GET_SIZE(bases) == 0) {
    PyErr_SetString(PyExc_TypeError, "a type needs at least one base");
    return NULL;
  }
  Py_INCREF(bases);
  return bases;
}

// Returns the most derived of `metaclass` and the bases' metaclasses; NULL with an exception set.
static inline PyTypeObject *PyTC_Winner(PyTypeObject *metaclass, PyObject *bases) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(bases); ++i) {
    PyTypeObject *other = Py_TYPE(PyTuple_GET_ITEM(bases, i));
    if (PyType_IsSubtype(metaclass, other)) continue;
    if (!PyType_IsSubtype(other, metaclass)) {
      PyErr_Format(PyExc_TypeError, "metaclass conflict: '%.100s' and '%.100s' are unrelated",
                   metaclass->tp_name, other->tp_name);
      return NULL;
    }
    metaclass = other;
  }
  // tp_new is not called here, so a metaclass's own tp_new would be skipped silently.
  if (metaclass->tp_new != NULL && metaclass->tp_new != PyType_Type.tp_new) {
    PyErr_Format(PyExc_TypeError, "metaclass '%.100s': its custom tp_new would not be called",
                 metaclass->tp_name);
    return NULL;
  }
  return metaclass;
}

// Returns the base that determines the layout (borrowed), and stores the default tp_dealloc.
// Returns NULL with an exception set if the bases do not fit together.
//
// CPython's rules differ between versions, so this function makes an empty type and inspects it.
// Nothing but its MRO refers to an empty type, so it dies when tp_clear removes the MRO.
static inline PyTypeObject *PyTC_BestBase(PyObject *bases, destructor *dealloc) {
  PyType_Slot slots[] = {{0, NULL}};
  PyType_Spec spec = {"typedcall.probe", 0, 0, Py_TPFLAGS_DEFAULT, slots};
  PyTypeObject *probe = (PyTypeObject *)PyType_FromSpecWithBases(&spec, bases);
  if (probe == NULL) {
    if (!PyErr_Occurred()) PyErr_NoMemory();  // 3.11 sets no error if copying the name fails
    return NULL;
  }
  PyTypeObject *base = probe->tp_base;
  *dealloc = probe->tp_dealloc;
  // If another thread has found the type in base.__subclasses__(), leave it whole.
  if (Py_REFCNT((PyObject *)probe) == 2) (void)PyType_Type.tp_clear((PyObject *)probe);
  Py_DECREF((PyObject *)probe);
  return base;
}

// Copies a string into memory from `allocate`, or returns NULL with MemoryError.
static inline char *PyTC_Copy(const char *text, void *(*allocate)(size_t)) {
  const size_t size = strlen(text) + 1;
  char *copy = (char *)allocate(size);
  if (copy == NULL) {
    PyErr_NoMemory();
    return NULL;
  }
  return (char *)memcpy(copy, text, size);
}

// Fills a zeroed type. Sets only the spec's slots. PyType_Ready would treat others as the type's
// own, too, and subclasses would prefer them to slots of other bases.
static inline void PyTC_Fill(PyHeapTypeObject *heap, const PyType_Spec *spec,
                             const PyTC_Special *special, destructor dealloc) {
  PyTypeObject *type = &heap->ht_type;
  type->tp_as_async = &heap->as_async;
  type->tp_as_number = &heap->as_number;
  type->tp_as_sequence = &heap->as_sequence;
  type->tp_as_mapping = &heap->as_mapping;
  type->tp_as_buffer = &heap->as_buffer;
  // PyType_Ready compares layouts before it inherits sizes, unless the metaclass is `type`.
  const PyTypeObject *base = type->tp_base;
  type->tp_basicsize = spec->basicsize != 0 ? spec->basicsize : base->tp_basicsize;
  type->tp_itemsize = spec->itemsize != 0 ? spec->itemsize : base->tp_itemsize;
  for (const PyType_Slot *slot = spec->slots; slot->slot != 0; ++slot) {
    const size_t offset = PyTC_FindSlot(slot->slot);
    if (offset != 0) memcpy((char *)heap + offset, &slot->pfunc, sizeof(slot->pfunc));
  }
  if (type->tp_dealloc == NULL) type->tp_dealloc = dealloc;
  if (special->members != NULL) {
    // CPython expects the members after the metaclass's data.
    type->tp_members =
        (PyMemberDef *)(void *)((char *)type + Py_TYPE((PyObject *)type)->tp_basicsize);
    memcpy(type->tp_members, special->members, (size_t)special->member_count * sizeof(PyMemberDef));
  }
  type->tp_weaklistoffset = special->weaklist_offset;
  type->tp_dictoffset = special->dict_offset;
  type->tp_vectorcall_offset = special->vectorcall_offset;
}

// Refuses sizes that would allow writes outside an instance, as CPython does from 3.12 on.
static inline int PyTC_CheckSizes(const PyType_Spec *spec, const PyTC_Special *special,
                                  const PyTypeObject *base) {
  const Py_ssize_t size = spec->basicsize != 0 ? spec->basicsize : base->tp_basicsize;
  const Py_ssize_t last = size - (Py_ssize_t)sizeof(PyObject *);
  if (size < base->tp_basicsize) {
    PyErr_Format(PyExc_TypeError,
                 "type '%.100s': basicsize %zd is too small: base '%.100s' has %zd", spec->name,
                 size, base->tp_name, base->tp_basicsize);
    return -1;
  }
  // Another tp_alloc may allocate more than tp_basicsize.
  const int inherits = size == base->tp_basicsize && base->tp_alloc != PyType_GenericAlloc;
  if (inherits || PyTC_HasSlot(spec, Py_tp_alloc)) return 0;
  if (special->weaklist_offset > last || special->dict_offset > last ||
      special->vectorcall_offset > last) {
    PyErr_Format(PyExc_TypeError,
                 "type '%.100s': a special member is out of bounds: instances have %zd bytes",
                 spec->name, size);
    return -1;
  }
  return 0;
}

// Sets __module__ from the spec's name, unless the spec has a member of that name.
static inline int PyTC_SetModule(PyTypeObject *type, const char *name) {
  const char *dot = strrchr(name, '.');
  PyObject *key = PyUnicode_InternFromString("__module__");
  if (key == NULL) return -1;
  int result = PyDict_Contains(type->tp_dict, key);
  if (result == 0 && dot != NULL) {
    PyObject *module = PyUnicode_FromStringAndSize(name, dot - name);
    result = module != NULL ? PyDict_SetItem(type->tp_dict, key, module) : -1;
    Py_XDECREF(module);
  } else if (result == 0) {
    result = PyErr_WarnFormat(PyExc_DeprecationWarning, 1,
                              "type '%.200s' has no __module__: its name has no dot", name);
  }
  Py_DECREF(key);
  return result < 0 ? -1 : 0;
}

// Makes a filled type usable. Returns 0, or -1 with an exception set.
static inline int PyTC_Finish(PyTypeObject *type, const char *name, const PyTC_Special *special) {
  if (PyType_Ready(type) < 0) return -1;
  if ((special->weaklist_offset != 0 &&
       PyDict_DelItemString(type->tp_dict, "__weaklistoffset__") < 0) ||
      (special->dict_offset != 0 && PyDict_DelItemString(type->tp_dict, "__dictoffset__") < 0) ||
      PyTC_SetModule(type, name) < 0) {
    return -1;
  }
  PyType_Modified(type);  // a metaclass's mro() may have looked up names
  return 0;
}

// Implements PyExtensibleType_FromMetaclass before 3.12.
static inline PyObject *PyTC_Make(PyTypeObject *metaclass, PyObject *module,
                                  const PyType_Spec *spec, PyObject *bases) {
  PyTC_Special special;
  if (PyTC_ReadSpec(spec, &special) < 0) return NULL;
  bases = PyTC_Bases(bases, &special);
  if (bases == NULL) return NULL;

  // Do most of the work before allocating the type, because the garbage collector then sees it.
  destructor dealloc = NULL;
  PyTypeObject *base = PyTC_BestBase(bases, &dealloc);
  if (metaclass == NULL) metaclass = &PyType_Type;
  if (base != NULL) metaclass = PyTC_Winner(metaclass, bases);
  const char *dot = strrchr(spec->name, '.');
  PyObject *name = NULL;
  char *doc = NULL, *full_name = NULL;
  int ok = base != NULL && metaclass != NULL && PyTC_CheckSizes(spec, &special, base) == 0;
  ok = ok && (name = PyUnicode_FromString(dot != NULL ? dot + 1 : spec->name)) != NULL;
  ok = ok && (special.doc == NULL || (doc = PyTC_Copy(special.doc, PyObject_Malloc)) != NULL);
#if PY_VERSION_HEX >= 0x030B0000
  ok = ok && (full_name = PyTC_Copy(spec->name, PyMem_Malloc)) != NULL;
#endif
  PyHeapTypeObject *heap = NULL;
  if (ok) heap = (PyHeapTypeObject *)(void *)metaclass->tp_alloc(metaclass, special.member_count);
  if (heap == NULL) {
    Py_DECREF(bases);
    Py_XDECREF(name);
    PyObject_Free(doc);
    PyMem_Free(full_name);
    return NULL;
  }

  PyTypeObject *type = &heap->ht_type;
  type->tp_flags = spec->flags | Py_TPFLAGS_HEAPTYPE;
  Py_INCREF((PyObject *)base);
  type->tp_base = base;
  type->tp_bases = bases;
  type->tp_doc = doc;  // includes the signature, for __text_signature__; __doc__ omits it
  type->tp_name = spec->name;
#if PY_VERSION_HEX >= 0x030B0000
  type->tp_name = heap->_ht_tpname = full_name;  // before 3.11 a copy would leak
#endif
  Py_INCREF(name);
  heap->ht_name = name;
  heap->ht_qualname = name;
  Py_XINCREF(module);
  heap->ht_module = module;
  PyTC_Fill(heap, spec, &special, dealloc);
  if (PyTC_Finish(type, spec->name, &special) < 0) {
    Py_DECREF((PyObject *)type);
    return NULL;
  }
  return (PyObject *)type;
}

#endif  // TYPEDCALL_CORE_TYPES_TYPE_FROM_METACLASS_BACKPORT_H_
