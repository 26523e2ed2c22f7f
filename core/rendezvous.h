// Where separately compiled modules of one interpreter meet: the first one in installs the
// metaclass and the side table in module `_extensibletype`, every later one finds them there.
// Source: SEP 200, "Implementation and lack of runtime dependency"; shared ABI, section 5.
#ifndef TYPEDCALL_CORE_RENDEZVOUS_H_
#define TYPEDCALL_CORE_RENDEZVOUS_H_

#include "core/metaclass.h"
#include "core/side_table.h"

#ifdef __cplusplus
extern "C" {
#endif

// All that belongs to one interpreter. Its capsule stands in `_extensibletype` and, so that modules
// torn down after that one can still call us, in the interpreter's own dictionary.
typedef struct PyTypedcall_Internal_State {
  PyTypedcall_Interface interface;
  PyTypeObject *metaclass;
  PyTypedcall_Internal_SideTable tables[PyTypedcall_SPACES];
  PyObject *owners;  // dict: address of an owner -> capsule of its PyTypedcall_Internal_Owner
  PyTypedcall_Internal_Row *retracted;
  PyTypedcall_Counters counters;
} PyTypedcall_Internal_State;

// Something whose life bounds the life of rows.
typedef struct PyTypedcall_Internal_Owner {
  PyTypedcall_Internal_State *state;
  const void *address;
  PyObject *reference;  // a weak reference, or the owner itself where it has no weak references
  size_t count, capacity;
  PyTypedcall_Internal_Row **rows;
} PyTypedcall_Internal_Owner;

#define PyTypedcall_Internal_OWNER_NAME PyTypedcall_MODULE ".owner"

static inline void PyTypedcall_Internal_FreeRow(PyTypedcall_Internal_Row *row) {
  if (row->destroy != NULL) row->destroy(row->value);
  PyMem_RawFree(row);
}

static inline void PyTypedcall_Internal_FreeOwner(PyObject *capsule) {
  PyTypedcall_Internal_Owner *owner =
      (PyTypedcall_Internal_Owner *)PyCapsule_GetPointer(capsule, PyTypedcall_Internal_OWNER_NAME);
  Py_XDECREF(owner->reference);
  PyMem_RawFree(owner->rows);
  PyMem_RawFree(owner);
}

// The weak reference's callback: `self` is the owner's capsule.
static inline PyObject *PyTypedcall_Internal_OwnerDied(PyObject *self, PyObject *reference) {
  (void)reference;
  PyTypedcall_Internal_Owner *owner =
      (PyTypedcall_Internal_Owner *)PyCapsule_GetPointer(self, PyTypedcall_Internal_OWNER_NAME);
  if (owner == NULL) return NULL;
  PyTypedcall_Internal_State *state = owner->state;
  for (size_t i = 0; i < owner->count; ++i) {
    PyTypedcall_Internal_Row *row = owner->rows[i];
    if (--row->owners > 0 || row->retracted) continue;
    PyTypedcall_Internal_TableRemove(&state->tables[row->space], row->key);
    ++state->counters.rows_removed;
    PyTypedcall_Internal_FreeRow(row);
  }
  owner->count = 0;
  PyObject *key = PyLong_FromVoidPtr((void *)(uintptr_t)owner->address);
  if (key == NULL) return NULL;
  // This may free the owner record: `self` is kept alive by the callback object that runs.
  int failed = PyDict_DelItem(state->owners, key);
  Py_DECREF(key);
  if (failed) return NULL;
  Py_RETURN_NONE;
}

static PyMethodDef PyTypedcall_Internal_OwnerDiedDef = {
    "_typedcall_owner_died", PyTypedcall_Internal_OwnerDied, METH_O, NULL};

// A record and its weak reference keep each other alive by way of the callback; this parts them.
static inline void PyTypedcall_Internal_ForgetReference(PyTypedcall_Internal_Owner *owner) {
  PyObject *reference = owner->reference;
  owner->reference = NULL;
  Py_XDECREF(reference);
}

// The record of an owner, made when it has none yet; NULL with an exception. Borrowed from the
// state.
static inline PyTypedcall_Internal_Owner *PyTypedcall_Internal_GetOwner(
    PyTypedcall_Internal_State *state, PyObject *object, int may_be_kept) {
  PyTypedcall_Internal_Owner *owner = NULL;
  PyObject *callback = NULL;
  PyObject *capsule = NULL;
  PyObject *key = PyLong_FromVoidPtr(object);
  if (key == NULL) return NULL;
  capsule = PyDict_GetItemWithError(state->owners, key);
  if (capsule != NULL || PyErr_Occurred()) {
    Py_DECREF(key);
    if (capsule == NULL) return NULL;
    return (PyTypedcall_Internal_Owner *)PyCapsule_GetPointer(capsule,
                                                              PyTypedcall_Internal_OWNER_NAME);
  }
  owner = (PyTypedcall_Internal_Owner *)PyMem_RawCalloc(1, sizeof(*owner));
  if (owner == NULL) {
    Py_DECREF(key);
    PyErr_NoMemory();
    return NULL;
  }
  owner->state = state;
  owner->address = object;
  capsule = PyCapsule_New(owner, PyTypedcall_Internal_OWNER_NAME, PyTypedcall_Internal_FreeOwner);
  if (capsule == NULL) {
    PyMem_RawFree(owner);
    Py_DECREF(key);
    return NULL;
  }
  callback = PyCFunction_New(&PyTypedcall_Internal_OwnerDiedDef, capsule);
  if (callback != NULL) {
    owner->reference = PyWeakref_NewRef(object, callback);
    Py_DECREF(callback);
    if (owner->reference == NULL && may_be_kept && PyErr_ExceptionMatches(PyExc_TypeError)) {
      PyErr_Clear();
      Py_INCREF(object);
      owner->reference = object;
    }
  }
  if (owner->reference == NULL) {
    owner = NULL;
  } else if (PyDict_SetItem(state->owners, key, capsule) < 0) {
    PyTypedcall_Internal_ForgetReference(owner);
    owner = NULL;
  }
  Py_DECREF(capsule);
  Py_DECREF(key);
  return owner;
}

static inline int PyTypedcall_Internal_Owns(const PyTypedcall_Internal_Owner *owner,
                                            const PyTypedcall_Internal_Row *row) {
  for (size_t i = 0; i < owner->count; ++i) {
    if (owner->rows[i] == row) return 1;
  }
  return 0;
}

// Room for one more row in the owner's list. -1 with MemoryError.
static inline int PyTypedcall_Internal_OwnerReserve(PyTypedcall_Internal_Owner *owner) {
  if (owner->count < owner->capacity) return 0;
  const size_t capacity = owner->capacity == 0 ? 4 : owner->capacity * 2;
  void *grown = PyMem_RawRealloc(owner->rows, capacity * sizeof(*owner->rows));
  if (grown == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  owner->rows = (PyTypedcall_Internal_Row **)grown;
  owner->capacity = capacity;
  return 0;
}

static inline const void *PyTypedcall_Internal_Publish(void *opaque, int space, const void *key,
                                                       PyObject *object, const void *value,
                                                       void (*destroy)(const void *value)) {
  PyTypedcall_Internal_State *state = (PyTypedcall_Internal_State *)opaque;
  if (space < 0 || space >= PyTypedcall_SPACES || key == NULL || value == NULL || object == NULL) {
    PyErr_SetString(PyExc_ValueError,
                    "typedcall: a row needs a space, a key, an owner and a value");
    return NULL;
  }
  const int may_be_kept = space == PyTypedcall_BY_OBJECT && key == (const void *)object;
  // Whatever can run Python code (and thereby another publish) comes before the table is looked at.
  PyTypedcall_Internal_Owner *owner = PyTypedcall_Internal_GetOwner(state, object, may_be_kept);
  if (owner == NULL || PyTypedcall_Internal_OwnerReserve(owner) < 0) return NULL;
  PyTypedcall_Internal_SideTable *table = &state->tables[space];
  PyTypedcall_Internal_Row *row = PyTypedcall_Internal_TableRow(table, key);
  if (row != NULL && row->value != value) {
    ++state->counters.conflicts;
    return row->value;
  }
  if (row == NULL) {
    const int reserved = PyTypedcall_Internal_TableReserve(table);
    if (reserved >= 0) {
      row = (PyTypedcall_Internal_Row *)PyMem_RawCalloc(1, sizeof(*row));
    }
    if (row == NULL) {
      PyErr_NoMemory();
      return NULL;
    }
    state->counters.generations += (uint64_t)reserved;
    ++state->counters.rows_added;
    row->space = space;
    row->key = key;
    row->value = value;
    row->destroy = destroy;
    PyTypedcall_Internal_TableInsert(table, row);
  }
  if (!PyTypedcall_Internal_Owns(owner, row)) {
    owner->rows[owner->count++] = row;
    ++row->owners;
  }
  return value;
}

// An object without weak references is kept alive by its record, and let go with its row.
static inline void PyTypedcall_Internal_ReleaseKept(PyTypedcall_Internal_State *state,
                                                    const void *address) {
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  PyObject *key = PyLong_FromVoidPtr((void *)(uintptr_t)address);
  PyObject *capsule = key != NULL ? PyDict_GetItemWithError(state->owners, key) : NULL;
  if (capsule != NULL) {
    const PyTypedcall_Internal_Owner *owner =
        (const PyTypedcall_Internal_Owner *)PyCapsule_GetPointer(capsule,
                                                                 PyTypedcall_Internal_OWNER_NAME);
    if ((const void *)owner->reference == address) PyDict_DelItem(state->owners, key);
  }
  Py_XDECREF(key);
  PyTypedcall_RestoreError(saved);
}

static inline int PyTypedcall_Internal_Retract(void *opaque, int space, const void *key) {
  PyTypedcall_Internal_State *state = (PyTypedcall_Internal_State *)opaque;
  if (space < 0 || space >= PyTypedcall_SPACES) return 0;
  PyTypedcall_Internal_Row *row = PyTypedcall_Internal_TableRow(&state->tables[space], key);
  if (row == NULL) return 0;
  PyTypedcall_Internal_TableRemove(&state->tables[space], key);
  ++state->counters.rows_removed;
  // Somebody may be using the value without a lock, so it is kept, and so is the row for its
  // owners.
  row->retracted = 1;
  row->next = state->retracted;
  state->retracted = row;
  if (space == PyTypedcall_BY_OBJECT) PyTypedcall_Internal_ReleaseKept(state, key);
  return 1;
}

static inline const void *PyTypedcall_Internal_Find(void *opaque, int space, const void *key) {
  PyTypedcall_Internal_State *state = (PyTypedcall_Internal_State *)opaque;
  if (space < 0 || space >= PyTypedcall_SPACES) return NULL;
  return PyTypedcall_Internal_TableFind(&state->tables[space], key);
}

static inline PyTypeObject *PyTypedcall_Internal_Metaclass(void *opaque) {
  return ((PyTypedcall_Internal_State *)opaque)->metaclass;
}

static inline int PyTypedcall_Internal_Resolve(void *opaque, PyTypeObject *type,
                                               const PyCustomSlot *own, Py_ssize_t own_count) {
  PyTypeObject *metaclass = ((PyTypedcall_Internal_State *)opaque)->metaclass;
  return PyExtensibleType_Internal_Resolve(metaclass, type, own, own_count);
}

static inline void PyTypedcall_Internal_ReadCounters(void *opaque, PyTypedcall_Counters *out,
                                                     size_t size) {
  const PyTypedcall_Internal_State *state = (const PyTypedcall_Internal_State *)opaque;
  memcpy(out, &state->counters, size < sizeof(*out) ? size : sizeof(*out));
}

static inline void PyTypedcall_Internal_FreeState(PyTypedcall_Internal_State *state) {
  PyObject *owners = state->owners != NULL ? PyDict_Values(state->owners) : NULL;
  for (Py_ssize_t i = 0; owners != NULL && i < PyList_GET_SIZE(owners); ++i) {
    PyTypedcall_Internal_ForgetReference((PyTypedcall_Internal_Owner *)PyCapsule_GetPointer(
        PyList_GET_ITEM(owners, i), PyTypedcall_Internal_OWNER_NAME));
  }
  Py_XDECREF(owners);
  Py_XDECREF(state->owners);
  for (int space = 0; space < PyTypedcall_SPACES; ++space) {
    PyTypedcall_Internal_Generation *generation = state->tables[space].current;
    for (size_t i = 0; generation != NULL && i <= generation->mask; ++i) {
      if (generation->cells[i].value != NULL) {
        PyTypedcall_Internal_FreeRow(generation->cells[i].row);
      }
    }
    PyTypedcall_Internal_TableFree(&state->tables[space]);
  }
  while (state->retracted != NULL) {
    PyTypedcall_Internal_Row *next = state->retracted->next;
    PyTypedcall_Internal_FreeRow(state->retracted);
    state->retracted = next;
  }
  Py_XDECREF(state->metaclass);
  PyMem_RawFree(state);
}

static inline void PyTypedcall_Internal_CapsuleDied(PyObject *capsule) {
  void *interface = PyCapsule_GetPointer(capsule, PyTypedcall_CAPSULE_NAME);
  PyTypedcall_Internal_FreeState(
      (PyTypedcall_Internal_State *)((PyTypedcall_Interface *)interface)->state);
}

// A capsule with a new interface, not yet shown to anybody. New reference, or NULL with an
// exception.
static inline PyObject *PyTypedcall_Internal_NewCapsule(void) {
  PyTypedcall_Internal_State *state =
      (PyTypedcall_Internal_State *)PyMem_RawCalloc(1, sizeof(*state));
  if (state == NULL) return PyErr_NoMemory();
  PyTypedcall_Interface *interface = &state->interface;
  interface->abi_major = PyTypedcall_ABI_MAJOR;
  interface->abi_minor = PyTypedcall_ABI_MINOR;
  interface->size = (uint32_t)sizeof(*interface);
  interface->state = state;
  interface->metaclass = PyTypedcall_Internal_Metaclass;
  interface->resolve = PyTypedcall_Internal_Resolve;
  interface->find = PyTypedcall_Internal_Find;
  interface->publish = PyTypedcall_Internal_Publish;
  interface->retract = PyTypedcall_Internal_Retract;
  interface->counters = PyTypedcall_Internal_ReadCounters;
  PyObject *capsule = NULL;
  state->metaclass = PyExtensibleType_Internal_NewMetaclass();
  if (state->metaclass != NULL) state->owners = PyDict_New();
  if (state->owners != NULL) {
    capsule = PyCapsule_New(interface, PyTypedcall_CAPSULE_NAME, PyTypedcall_Internal_CapsuleDied);
  }
  if (capsule == NULL) PyTypedcall_Internal_FreeState(state);
  return capsule;
}

// Is what stands in the module one that we can use? ImportError that says what is wrong if not.
static inline const PyTypedcall_Interface *PyTypedcall_Internal_Accept(PyObject *dict,
                                                                       PyObject *capsule) {
  if (!PyCapsule_IsValid(capsule, PyTypedcall_CAPSULE_NAME)) {
    PyErr_Format(PyExc_ImportError, "%s is not typedcall's interface but a '%.100s'",
                 PyTypedcall_CAPSULE_NAME, Py_TYPE(capsule)->tp_name);
    return NULL;
  }
  const PyTypedcall_Interface *interface =
      (const PyTypedcall_Interface *)PyCapsule_GetPointer(capsule, PyTypedcall_CAPSULE_NAME);
  if (!PyTypedcall_IsUsable(interface)) {
    PyErr_Format(PyExc_ImportError,
                 "%s has ABI version %d.%d and %u bytes; %d.%d and %zu are needed",
                 PyTypedcall_CAPSULE_NAME, (int)interface->abi_major, (int)interface->abi_minor,
                 (unsigned)interface->size, PyTypedcall_ABI_MAJOR, PyTypedcall_ABI_MINOR,
                 sizeof(PyTypedcall_Interface));
    return NULL;
  }
  PyObject *metaclass = (PyObject *)interface->metaclass(interface->state);
  PyObject *standing = NULL;
  PyObject *name = PyUnicode_FromString(PyExtensibleType_ATTRIBUTE);
  if (name == NULL) return NULL;
  standing = PyDict_SetDefault(dict, name, metaclass);
  Py_DECREF(name);
  if (standing == NULL) return NULL;
  if (standing != metaclass) {
    PyErr_Format(PyExc_ImportError, "%s.%s is not typedcall's metaclass but a '%.100s'",
                 PyTypedcall_MODULE, PyExtensibleType_ATTRIBUTE, Py_TYPE(standing)->tp_name);
    return NULL;
  }
  return interface;
}

// The dictionary of module `_extensibletype`, which is made when it is not there yet. Borrowed.
static inline PyObject *PyTypedcall_Internal_MakeModule(void) {
  PyObject *modules = PySys_GetObject("modules");
  if (modules == NULL || !PyDict_Check(modules)) {
    PyErr_SetString(PyExc_ImportError, "typedcall: sys.modules is not there");
    return NULL;
  }
  PyObject *name = PyUnicode_FromString(PyTypedcall_MODULE);
  PyObject *fresh = name != NULL ? PyModule_New(PyTypedcall_MODULE) : NULL;
  PyObject *module = fresh != NULL ? PyDict_SetDefault(modules, name, fresh) : NULL;
  Py_XDECREF(fresh);
  Py_XDECREF(name);
  if (module == NULL) return NULL;
  if (!PyModule_Check(module)) {
    PyErr_Format(PyExc_ImportError, "sys.modules['%s'] is not a module but a '%.100s'",
                 PyTypedcall_MODULE, Py_TYPE(module)->tp_name);
    return NULL;
  }
  return PyModule_GetDict(module);
}

// The interface of the calling interpreter, installed now if no module has done so before. Call it
// once, when a module is executed, and keep the pointer in the module's state, never in a C static:
// interpreters do not share it. Borrowed; valid until the interpreter ends.
//
// Returns NULL with ImportError when something else stands under our names or another major version
// was first, MemoryError, or SystemError (a CPython other than the one compiled for). GIL: held.
static inline const PyTypedcall_Interface *PyTypedcall_Import(void) {
  PyObject *dict = PyTypedcall_Internal_MakeModule();
  if (dict == NULL) return NULL;
  PyObject *name = PyUnicode_FromString(PyTypedcall_CAPSULE);
  if (name == NULL) return NULL;
  const PyTypedcall_Interface *interface = NULL;
  PyObject *standing = PyDict_GetItemWithError(dict, name);
  if (standing != NULL) {
    interface = PyTypedcall_Internal_Accept(dict, standing);
  } else if (!PyErr_Occurred()) {
    PyObject *fresh = PyTypedcall_Internal_NewCapsule();
    // Making it may have run other threads' code: what stands now counts, not what we made.
    if (fresh != NULL) standing = PyDict_SetDefault(dict, name, fresh);
    if (standing != NULL) interface = PyTypedcall_Internal_Accept(dict, standing);
    if (interface != NULL && standing == fresh) {
      PyObject *keep = PyInterpreterState_GetDict(PyInterpreterState_Get());
      if (keep == NULL || PyDict_SetItemString(keep, PyTypedcall_CAPSULE_NAME, fresh) < 0) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ImportError, "typedcall: no interpreter dict");
        interface = NULL;
      }
    }
    Py_XDECREF(fresh);
  }
  Py_DECREF(name);
  return interface;
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_CORE_RENDEZVOUS_H_
