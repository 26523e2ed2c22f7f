// The metaclass of types with custom slots. core/rendezvous.h makes one per interpreter.
#ifndef TYPEDCALL_CORE_TYPES_METACLASS_H_
#define TYPEDCALL_CORE_TYPES_METACLASS_H_

#include "core/types/resolution.h"

#define PyExtensibleType_ATTRIBUTE "extensibletype_v2"

// See PyTypedcall_Interface.resolve. The caller has locked `metaclass`.
static inline TYPEDCALL_COLD int PyTC_ResolveAlone(PyTypeObject *metaclass, PyTypeObject *type,
                                                   const PyCustomSlot *slots, Py_ssize_t count) {
  if (!PyType_IsSubtype(Py_TYPE((PyObject *)type), metaclass)) {
    return PyTC_Refuse(type, PyExc_TypeError, "type '%s' is not an extensible type");
  }
  const uint64_t magic = PyTC_HasData(type) ? *PyTC_MagicOf(metaclass, type) : 0;
  if (magic == PyExtensibleType_MAGIC) {
    if (count == 0) return 0;
    return PyTC_Refuse(type, PyExc_SystemError, "the custom slots of type '%s' are final already");
  }
  if (!PyTC_IsHeapType(type)) {
    return PyTC_Refuse(type, PyExc_TypeError,
                       "PyExtensibleType_Ready did not make the static type '%s' ready");
  }
  if (count == 0 && !PyTC_IsOpen(magic)) return 0;
  if (count < 0 || (slots == NULL && count > 0)) {
    return PyTC_Refuse(
        type, PyExc_SystemError,
        "type '%s' was given a negative number of custom slots, or no table of them");
  }
  PyObject *mro = PyTC_Mro(type);
  // A type without an MRO is still being made, and has no bases yet.
  if (mro == NULL) return PyErr_Occurred() ? -1 : 0;
  Py_DECREF(mro);
  if (count == 0) return PyTC_ResolveWith(metaclass, type, NULL);
  if (PyTC_ValidateOwn(type, slots, count) < 0) return -1;
  const PyTC_Own own = {slots, count, NULL, 0};
  return PyTC_ResolveWith(metaclass, type, &own);
}

static inline TYPEDCALL_COLD int PyTC_Resolve(PyTypeObject *metaclass, PyTypeObject *type,
                                              const PyCustomSlot *slots, Py_ssize_t count) {
  int result;
  PyTypedcall_BEGIN_EXCLUSIVE(metaclass);
  result = PyTC_ResolveAlone(metaclass, type, slots, count);
  PyTypedcall_END_EXCLUSIVE();
  return result;
}

static inline void PyTC_Dealloc(PyObject *self);

// Returns our metaclass, from which the type's metaclass derives. It is always on the tp_base path,
// because no other base adds data. (On 3.9 Python code can assign to our metaclass's `__bases__`.)
static inline PyTypeObject *PyTC_MetaclassOf(PyTypeObject *type) {
  PyTypeObject *metaclass = Py_TYPE((PyObject *)type);
  for (;;) {
    PyTypeObject *base = PyTC_SLOT(PyTypeObject *, metaclass, tp_base);
    if (base == NULL || base == &PyType_Type ||
        PyTC_SLOT(destructor, metaclass, tp_dealloc) == PyTC_Dealloc) {
      return metaclass;
    }
    metaclass = base;
  }
}

static inline TYPEDCALL_COLD int PyTC_Init(PyObject *self, PyObject *args, PyObject *kwargs) {
  const initproc init = PyTC_SLOT(initproc, &PyType_Type, tp_init);
  if (init(self, args, kwargs) < 0) return -1;
  PyTypeObject *type = (PyTypeObject *)self;
  return PyTC_Resolve(PyTC_MetaclassOf(type), type, NULL, 0);
}

static inline void PyTC_Dealloc(PyObject *self) {
  PyTypeObject *metaclass = Py_TYPE(self);
  PyTypeObject *type = (PyTypeObject *)self;
  PyTC_Table *table = PyTC_TableOf(PyTC_MetaclassOf(type), type);
  // Clear the owner before another type can reuse this type's address.
  if (table != NULL) PyTC_LeaveTable(table, type);
  PyTC_SLOT(destructor, &PyType_Type, tp_dealloc)(self);
  PyTC_ReleaseTable(table);
  Py_DECREF(metaclass);
}

static inline int PyTC_Traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  return PyTC_SLOT(traverseproc, &PyType_Type, tp_traverse)(self, visit, arg);
}

// Returns a new metaclass, or NULL, with SystemError if compiled for another layout of types.
static inline PyTypeObject *PyTC_NewMetaclass(void) {
  static const char doc[] =
      "Metaclass of types with custom slots (SEP 200).\n\n"
      "Subclasses of an extensible type inherit its slots; nothing needs to be called. A class "
      "body may add or override slots: __customslots__ is a mapping or a list of (id, value), "
      "where a value is a capsule for a pointer, or an int for flags or an offset. Like a ctypes "
      "prototype, it is a promise: consumers follow the pointers. Assigning to __customslots__ or "
      "__bases__ afterwards changes no slots.";
  PyType_Slot slots[] = {
      {Py_tp_doc, (void *)(uintptr_t)doc},
      {Py_tp_base, (void *)&PyType_Type},
      {Py_tp_init, (void *)PyTC_Init},
      {Py_tp_dealloc, (void *)PyTC_Dealloc},
      {Py_tp_traverse, (void *)PyTC_Traverse},
      {Py_tp_clear, (void *)PyTC_SLOT(inquiry, &PyType_Type, tp_clear)},
      {0, NULL},
  };
#if PY_VERSION_HEX >= 0x030C0000
  const int size = -(int)sizeof(PyExtensibleHeapTypeData);  // PEP 697
#else
  const int size = (int)(PyExtensibleType_DATA_OFFSET + sizeof(PyExtensibleHeapTypeData));
#endif
  PyType_Spec spec = {PyTypedcall_MODULE "." PyExtensibleType_ATTRIBUTE, size, 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
#ifdef Py_TPFLAGS_IMMUTABLETYPE
  spec.flags |= Py_TPFLAGS_IMMUTABLETYPE;
#endif
  PyTypeObject *metaclass = (PyTypeObject *)PyType_FromSpec(&spec);
  if (metaclass == NULL) {
    if (!PyErr_Occurred()) PyErr_NoMemory();  // CPython sets no error if copying the name fails
    return NULL;
  }
#ifndef Py_LIMITED_API  // limited API modules find the data at run time (PyObject_GetTypeData)
#if PY_VERSION_HEX >= 0x030C0000
  const size_t compiled = PyExtensibleType_DATA_OFFSET;
  const Py_ssize_t found = PyTC_TypeDataOffset(metaclass);
#else
  const size_t compiled = sizeof(PyHeapTypeObject);
  const Py_ssize_t found = PyType_Type.tp_basicsize;
#endif
  if (found != (Py_ssize_t)compiled) {
    PyErr_Format(PyExc_SystemError,
                 "typedcall: compiled for a CPython with heap types of %zu bytes, but they have "
                 "%zd: compile it again for this version",
                 compiled, found);
    Py_CLEAR(metaclass);
  }
#endif
  return metaclass;
}

#endif  // TYPEDCALL_CORE_TYPES_METACLASS_H_
