// The metaclass that puts custom slots on types: the one-time resolution of a type's slots along
// the MRO, what the metaclass does at a type's birth and death, its creation. Used by
// core/rendezvous.h, which makes one per interpreter.
#ifndef TYPEDCALL_CORE_METACLASS_H_
#define TYPEDCALL_CORE_METACLASS_H_

#include "core/own_slots.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PyExtensibleType_ATTRIBUTE "extensibletype_v2"

// The last step of `resolve`. No Python code runs in here, so nobody sees a type half resolved.
static inline int PyExtensibleType_Internal_Commit(PyTypeObject *metaclass, PyTypeObject *type,
                                                   PyObject *mro,
                                                   const PyExtensibleType_Internal_Own *own) {
  PyExtensibleType_Internal_TypeData *data = PyExtensibleType_Internal_DataOf(metaclass, type);
  if (PyExtensibleType_Internal_BuildTable(metaclass, type, mro, own) < 0) return -1;
  PyTypedcall_STORE_RELEASE(&data->shared.magic, PyExtensibleType_MAGIC);
  return 0;
}

// Always -1. `format` has one %s, for the type's name.
static inline int PyExtensibleType_Internal_Refuse(PyTypeObject *type, PyObject *exception,
                                                   const char *format) {
  char name[PyTypedcall_Internal_NAME_SIZE];
  PyErr_Format(exception, format, PyTypedcall_Internal_Name(type, name));
  return -1;
}

// The magic of a type whose bases are being resolved by this thread. Without the GIL another thread
// may come to the type meanwhile: for it nobody has settled it yet, and the first to the end does.
#ifdef Py_GIL_DISABLED
#define PyExtensibleType_Internal_ON_THE_WAY ((uint64_t)PyThread_get_thread_ident() | 1)
#else
#define PyExtensibleType_Internal_ON_THE_WAY ((uint64_t)1)
#endif

// Neither settled nor being settled by this thread?
static inline int PyExtensibleType_Internal_IsOpen(uint64_t magic) {
  return magic != PyExtensibleType_MAGIC && magic != PyExtensibleType_Internal_ON_THE_WAY;
}

static inline int PyExtensibleType_Internal_ResolveAlone(PyTypeObject *metaclass,
                                                         PyTypeObject *type,
                                                         const PyCustomSlot *slots,
                                                         Py_ssize_t count);

// Resolves those bases that came past the metaclass's __init__ and that nobody has looked at yet:
// what `type` inherits must not depend on who looked first. Returns 0, or -1 with the exception
// that a base's declaration causes. May run Python code.
static inline int PyExtensibleType_Internal_ResolveBases(PyTypeObject *metaclass,
                                                         PyTypeObject *type) {
  PyObject *mro = PyTypedcall_Internal_Mro(type);
  int result = mro == NULL && PyErr_Occurred() ? -1 : 0;
  uint64_t *magic = &PyExtensibleType_Internal_DataOf(metaclass, type)->shared.magic;
  // The last ones first: they are bases of the others, and the recursion stays flat.
  for (Py_ssize_t i = mro != NULL ? PyTuple_Size(mro) - 1 : -1; result == 0 && i >= 0; --i) {
    PyTypeObject *base = (PyTypeObject *)PyTuple_GetItem(mro, i);
    if (base == type || !PyTypedcall_Internal_IsHeapType(base) ||
        !PyType_IsSubtype(Py_TYPE((PyObject *)base), metaclass) ||
        !PyExtensibleType_Internal_IsOpen(
            PyExtensibleType_Internal_DataOf(metaclass, base)->shared.magic)) {
      continue;
    }
    // Metaclasses' mro() can put classes into the MRO of each other: who is on the way is passed
    // over, offers nothing meanwhile, and those below it are not settled before it is.
    if (PyExtensibleType_Internal_IsOpen(*magic)) {
      __atomic_store_n(magic, PyExtensibleType_Internal_ON_THE_WAY, __ATOMIC_RELAXED);
    }
    if (Py_EnterRecursiveCall(" while custom slots are inherited") != 0) {
      result = -1;
    } else {
      result = PyExtensibleType_Internal_ResolveAlone(metaclass, base, NULL, 0);
      Py_LeaveRecursiveCall();
    }
  }
  if (*magic == PyExtensibleType_Internal_ON_THE_WAY) {
    __atomic_store_n(magic, (uint64_t)0, __ATOMIC_RELAXED);
  }
  Py_XDECREF(mro);
  return result;
}

// Is one of the bases being resolved, by somebody whose Python code has led here? With the GIL also
// if by another thread: the mark there does not say whose it is. What `type` would inherit now
// lacks what that base is about to have. Runs no Python code.
static inline int PyExtensibleType_Internal_BaseIsOnTheWay(PyTypeObject *metaclass,
                                                           PyTypeObject *type, PyObject *mro) {
  for (Py_ssize_t i = 0; i < PyTuple_Size(mro); ++i) {
    PyTypeObject *base = (PyTypeObject *)PyTuple_GetItem(mro, i);
    if (base == type || !PyTypedcall_Internal_IsHeapType(base) ||
        !PyType_IsSubtype(Py_TYPE((PyObject *)base), metaclass)) {
      continue;
    }
    if (PyExtensibleType_Internal_DataOf(metaclass, base)->shared.magic ==
        PyExtensibleType_Internal_ON_THE_WAY) {
      return 1;
    }
  }
  return 0;
}

// Resolves with the slots of the class body, or with `given` ones. Reading the body's can run
// Python code, and with it another thread or a look-up on this very type: whoever comes first to
// the end has resolved it.
static inline int PyExtensibleType_Internal_ResolveWith(
    PyTypeObject *metaclass, PyTypeObject *type, const PyExtensibleType_Internal_Own *given) {
  PyExtensibleType_Internal_Own body = {NULL, 0, NULL, 0};
  PyObject *mro = NULL;
  int result = given == NULL ? PyExtensibleType_Internal_ReadOwn(type, &body) : 0;
  if (result == 0) result = PyExtensibleType_Internal_ResolveBases(metaclass, type);
  if (result == 0) {
    mro = PyTypedcall_Internal_Mro(type);
    if (mro == NULL && PyErr_Occurred()) result = -1;
  }
  if (mro != NULL && PyExtensibleType_Internal_BaseIsOnTheWay(metaclass, type, mro)) {
    // The next look-up settles it. Given slots would be lost till then.
    if (given != NULL) {
      result = PyExtensibleType_Internal_Refuse(
          type, PyExc_RuntimeError, "the custom slots of a base of type '%s' are being settled");
    }
  } else if (mro != NULL && PyExtensibleType_Internal_IsOpen(
                                PyExtensibleType_Internal_DataOf(metaclass, type)->shared.magic)) {
    result = PyExtensibleType_Internal_Commit(metaclass, type, mro, given != NULL ? given : &body);
  } else if (result == 0 && given != NULL) {
    result = PyExtensibleType_Internal_Refuse(
        type, PyExc_SystemError, "somebody else has settled the custom slots of type '%s'");
  }
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  Py_XDECREF(mro);
  PyExtensibleType_Internal_DropOwn(&body);  // the table has references of its own to the capsules
  PyTypedcall_RestoreError(saved);
  return result;
}

// See PyTypedcall_Interface.resolve. The caller has `metaclass` for itself.
static inline int PyExtensibleType_Internal_ResolveAlone(PyTypeObject *metaclass,
                                                         PyTypeObject *type,
                                                         const PyCustomSlot *slots,
                                                         Py_ssize_t count) {
  if (!PyType_IsSubtype(Py_TYPE((PyObject *)type), metaclass)) {
    return PyExtensibleType_Internal_Refuse(type, PyExc_TypeError,
                                            "type '%s' is not an extensible type");
  }
  if (!PyExtensibleType_Internal_HasData(type)) {
    return PyExtensibleType_Internal_Refuse(
        type, PyExc_TypeError, "the slots of the static type '%s' have not been made ready");
  }
  if (PyExtensibleType_Internal_DataOf(metaclass, type)->shared.magic == PyExtensibleType_MAGIC) {
    if (count == 0) return 0;
    return PyExtensibleType_Internal_Refuse(type, PyExc_SystemError,
                                            "the custom slots of type '%s' are final already");
  }
  if (count == 0 && !PyExtensibleType_Internal_IsOpen(
                        PyExtensibleType_Internal_DataOf(metaclass, type)->shared.magic)) {
    return 0;
  }
  if (!PyTypedcall_Internal_IsHeapType(type)) {
    return PyExtensibleType_Internal_Refuse(
        type, PyExc_TypeError, "the slots of the static type '%s' have not been made ready");
  }
  if (count < 0 || (slots == NULL && count > 0)) {
    return PyExtensibleType_Internal_Refuse(
        type, PyExc_SystemError,
        "type '%s' was given a negative number of custom slots, or no table of them");
  }
  PyObject *mro = PyTypedcall_Internal_Mro(type);
  // Without one it is still being made: there is nothing to inherit from yet.
  if (mro == NULL) return PyErr_Occurred() ? -1 : 0;
  Py_DECREF(mro);
  if (count == 0) return PyExtensibleType_Internal_ResolveWith(metaclass, type, NULL);
  if (PyExtensibleType_Internal_ValidateOwn(type, slots, count) < 0) return -1;
  const PyExtensibleType_Internal_Own own = {slots, count, NULL, 0};
  return PyExtensibleType_Internal_ResolveWith(metaclass, type, &own);
}

// See PyTypedcall_Interface.resolve. One type at a time, because a base must be settled before what
// derives from it.
static inline int PyExtensibleType_Internal_Resolve(PyTypeObject *metaclass, PyTypeObject *type,
                                                    const PyCustomSlot *slots, Py_ssize_t count) {
  int result;
  PyTypedcall_BEGIN_EXCLUSIVE(metaclass);
  result = PyExtensibleType_Internal_ResolveAlone(metaclass, type, slots, count);
  PyTypedcall_END_EXCLUSIVE();
  return result;
}

static inline void PyExtensibleType_Internal_Dealloc(PyObject *self);

// Our metaclass among the ancestors of a type's metaclass: the one that has our tp_dealloc, which
// Python code cannot give to another one. It is always on the way, because no other base of it adds
// data. (On 3.9 it is mutable, and its own `__bases__` can be assigned.)
static inline PyTypeObject *PyExtensibleType_Internal_MetaclassOf(PyTypeObject *type) {
  PyTypeObject *metaclass = Py_TYPE((PyObject *)type);
  for (;;) {
    PyTypeObject *base = PyTypedcall_Internal_SLOT(PyTypeObject *, metaclass, tp_base);
    if (base == NULL || base == &PyType_Type ||
        PyTypedcall_Internal_SLOT(destructor, metaclass, tp_dealloc) ==
            PyExtensibleType_Internal_Dealloc) {
      return metaclass;
    }
    metaclass = base;
  }
}

static inline int PyExtensibleType_Internal_Init(PyObject *self, PyObject *args, PyObject *kwargs) {
  const initproc init = PyTypedcall_Internal_SLOT(initproc, &PyType_Type, tp_init);
  if (init(self, args, kwargs) < 0) return -1;
  PyTypeObject *type = (PyTypeObject *)self;
  return PyExtensibleType_Internal_Resolve(PyExtensibleType_Internal_MetaclassOf(type), type, NULL,
                                           0);
}

static inline void PyExtensibleType_Internal_Dealloc(PyObject *self) {
  PyTypeObject *metaclass = Py_TYPE(self);
  PyTypeObject *type = (PyTypeObject *)self;
  PyExtensibleType_Internal_Table *table =
      PyExtensibleType_Internal_DataOf(PyExtensibleType_Internal_MetaclassOf(type), type)->table;
  // Before its memory is another type's.
  if (table != NULL) PyExtensibleType_Internal_LeaveTable(table, type);
  PyTypedcall_Internal_SLOT(destructor, &PyType_Type, tp_dealloc)(self);
  PyExtensibleType_Internal_ReleaseTable(table);
  Py_DECREF(metaclass);
}

static inline int PyExtensibleType_Internal_Traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  return PyTypedcall_Internal_SLOT(traverseproc, &PyType_Type, tp_traverse)(self, visit, arg);
}

// A new metaclass for this interpreter. New reference, or NULL with an exception: SystemError when
// the running CPython lays out types differently from the one compiled for. GIL: held.
static inline PyTypeObject *PyExtensibleType_Internal_NewMetaclass(void) {
  static const char doc[] =
      "Metaclass of types with custom slots (SEP 200).\n\n"
      "Subclasses of an extensible type inherit its slots; nothing needs to be called. A class "
      "body "
      "may add or override slots: __customslots__ is a mapping or a list of (id, value), where a "
      "value is a capsule for a pointer, or an int for flags or an offset. Like a ctypes "
      "prototype, "
      "it is a promise: consumers follow the pointers. Assigning to __customslots__ or __bases__ "
      "afterwards changes no slots.";
  PyType_Slot slots[] = {
      {Py_tp_doc, (void *)(uintptr_t)doc},
      {Py_tp_init, (void *)PyExtensibleType_Internal_Init},
      {Py_tp_dealloc, (void *)PyExtensibleType_Internal_Dealloc},
      {Py_tp_traverse, (void *)PyExtensibleType_Internal_Traverse},
      {Py_tp_clear, (void *)PyTypedcall_Internal_SLOT(inquiry, &PyType_Type, tp_clear)},
      {0, NULL},
  };
  PyType_Spec spec;
  memset(&spec, 0, sizeof(spec));
  spec.name = PyTypedcall_MODULE "." PyExtensibleType_ATTRIBUTE;
#if defined(Py_LIMITED_API) || PY_VERSION_HEX >= 0x030C0000
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
  if (metaclass == NULL) {
    if (!PyErr_Occurred()) PyErr_NoMemory();  // CPython forgets to, for its copy of the name
    return NULL;
  }
#ifdef Py_LIMITED_API
  // Nothing is compiled in: PyObject_GetTypeData says where the data is.
#elif PY_VERSION_HEX >= 0x030C0000
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
