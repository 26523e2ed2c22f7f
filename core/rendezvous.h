// Installs the interface that the modules of one interpreter share. The first module puts it into
// module `_extensibletype`, and later modules find it there. Source: SEP 200, "Implementation and
// lack of runtime dependency"; docs/ABI.md, section 5.
#include "core/version.h"

#ifndef TYPEDCALL_CORE_RENDEZVOUS_H_
#define TYPEDCALL_CORE_RENDEZVOUS_H_

#include "core/lazy_import.h"

#if TYPEDCALL_IS_SUPPORTED  // otherwise core/lazy_import.h defines PyTypedcall_Import

// core/lazy_import.h defines this as a macro for modules that do not install the interface.
#undef PyTypedcall_Import

#if TYPEDCALL_INTERNAL_IS_DECLARED  // typedcall/separate.cc defines it
TYPEDCALL_BEGIN_C
#define PyTypedcall_Import TYPEDCALL_INTERNAL_EXTERNAL(PyTypedcall_Import)
TYPEDCALL_HIDDEN const PyTypedcall_Interface *PyTypedcall_Import(void);
TYPEDCALL_END_C
#else

#include "core/rendezvous/interface_functions.h"

// Implements `_extensibletype.combined_metaclass` for Python code.
static inline TYPEDCALL_COLD PyObject *PyTC_CombinedFromPython(PyObject *self,
                                                               PyObject *metaclasses) {
  (void)self;
  const PyTypedcall_Interface *interface = PyTypedcall_Peek();
  if (interface != NULL) {
    return (PyObject *)interface->combined_metaclass(interface->state, metaclasses);
  }
  PyErr_SetString(PyExc_RuntimeError, "typedcall: the interpreter is ending");
  return NULL;
}

static PyMethodDef PyTC_CombinedDef = {
    "combined_metaclass", PyTC_CombinedFromPython, METH_VARARGS,
    PyDoc_STR("combined_metaclass($module, /, *metaclasses)\n--\n\n"
              "The metaclass of classes that derive from extensible types and from classes with\n"
              "these metaclasses: class C(Extensible, abc.ABC, metaclass=combined_metaclass("
              "abc.ABCMeta)).\n"
              "The same metaclasses give the same result, in whatever order.")};

static inline TYPEDCALL_COLD void PyTC_DoCounters(void *opaque, PyTypedcall_Counters *out,
                                                  size_t size) {
  const PyTC_State *state = (const PyTC_State *)opaque;
  PyTypedcall_BEGIN_EXCLUSIVE(PyTC_LockOf(state));
  memcpy(out, &state->counters, size < sizeof(*out) ? size : sizeof(*out));
  PyTypedcall_END_EXCLUSIVE();
}

// Removes all rows from tables and owners. Returns the list of them. Runs no Python code.
static inline PyTC_Row *PyTC_TakeAllRows(PyTC_State *state, PyObject *owners) {
  PyTC_Row *rows = NULL;
  PyObject *capsule;
  for (Py_ssize_t at = 0; owners != NULL && PyDict_Next(owners, &at, NULL, &capsule);) {
    PyTC_DisownAll(PyTC_OwnerIn(capsule));
  }
  for (int space = 0; space < PyTypedcall_SPACES; ++space) {
    PyTC_SideTable *table = &state->tables[space];
    PyTC_Generation *generation = table->current;
    for (size_t i = 0; generation != NULL && i <= generation->mask; ++i) {
      const PyTC_Cell *cell = PyTC_CellAt(generation, i);
      for (PyTC_Row *row = cell->row; row != NULL; row = row->older) {
        row->is_in_table = 0;
        PyTC_LeaveHost(row);
        row->next = rows;
        rows = row;
      }
    }
    // Caches compare counters, and must notice that these rows are gone.
    PyTC_Count(&state->counters.rows_removed, table->live);
    table->live = 0;
    PyTC_TableFree(table);
  }
  return rows;
}

// Empties the struct before it releases the contents, because releasing them can run any code.
static inline TYPEDCALL_COLD void PyTC_EmptyState(PyTC_State *state) {
  PyObject *const parts[] = {(PyObject *)state->metaclass, (PyObject *)state->reference_type,
                             (PyObject *)state->keeper_type, state->slot_names, state->combined};
  PyTC_StaticType *static_types = state->static_types;
  PyObject *owners = state->owners, *capsule;
  state->metaclass = NULL;
  state->reference_type = NULL;
  state->keeper_type = NULL;
  state->slot_names = NULL;
  state->combined = NULL;
  state->owners = NULL;
  PyTC_CloseDefMemory(&state->defs);
  state->static_types = NULL;
  PyTC_Row *rows = PyTC_TakeAllRows(state, owners);
  PyTC_ForgetStatic(static_types);
  for (Py_ssize_t at = 0; owners != NULL && PyDict_Next(owners, &at, NULL, &capsule);) {
    PyTC_ForgetReference(PyTC_OwnerIn(capsule));
  }
  Py_XDECREF(owners);
  PyTC_LetRowsGo(rows);
  for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); ++i) Py_XDECREF(parts[i]);
}

// Returns `sys.<name>` (borrowed), or NULL with no exception set. Tries twice, because
// PySys_GetObject also returns NULL if memory runs out.
static inline PyObject *PyTC_OfSys(const char *name) {
  PyObject *found = PySys_GetObject(name);
  return found != NULL ? found : PySys_GetObject(name);
}

// True if `sys` has the attributes of a running interpreter. An ending interpreter clears `sys`
// before its own dictionary. Keeps a pending exception, which PySys_GetObject may clear on 3.9.
static inline int PyTC_IsRunning(void) {
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  PyObject *found = PyTC_OfSys("modules");
  int is_running = found != NULL && PyDict_Check(found);
  if (!is_running) is_running = (found = PyTC_OfSys("hexversion")) != NULL && PyLong_Check(found);
  PyTypedcall_RestoreError(saved);
  return is_running;
}

static inline TYPEDCALL_COLD void PyTC_CapsuleDied(PyObject *capsule);

// Puts the capsule back after Python code has removed it, as gc.get_objects() permits on 3.13.
static inline void PyTC_ComeBack(PyTC_State *state) {
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  PyObject *kept = PyInterpreterState_GetDict(PyInterpreterState_Get());
  PyObject *existing = NULL,
           *again = PyCapsule_New(&state->interface, PyTypedcall_CAPSULE_NAME, PyTC_CapsuleDied);
  if (kept != NULL && again != NULL) {
    existing = PyTC_Settle(PyTC_SetDefaultOfOurs, kept, PyTypedcall_CAPSULE_NAME, again);
  }
  // Even if restoring it failed, modules that already have this interface keep using it.
  state->is_coming_back = 1;
  Py_XDECREF(existing);
  Py_XDECREF(again);
  state->is_coming_back = 0;
  PyTypedcall_RestoreError(saved);
}

static inline PyTC_State *PyTC_StateIn(PyObject *capsule) {
  return (PyTC_State *)((PyTypedcall_Interface *)PyCapsule_GetPointer(capsule,
                                                                      PyTypedcall_CAPSULE_NAME))
      ->state;
}

static inline TYPEDCALL_COLD void PyTC_CapsuleDied(PyObject *capsule) {
  PyTC_State *state = PyTC_StateIn(capsule);
  if (state->is_coming_back) return;
  if (state->is_installed && PyTC_IsRunning()) {
    PyTC_ComeBack(state);
    return;
  }
  // The struct of an installed interface is never freed, because Python code may still use it.
  const int was_shown = state->is_installed;
  PyTC_EmptyState(state);
  if (!was_shown) PyTypedcall_RAW_FREE(state);
}

// Returns a capsule with a new interface, or NULL with an exception set.
static inline TYPEDCALL_COLD PyObject *PyTC_NewCapsule(void) {
  PyTC_State *state = (PyTC_State *)PyTypedcall_RAW_CALLOC(1, sizeof(*state));
  if (state == NULL) return PyErr_NoMemory();
  const PyTypedcall_Interface interface = PyTC_INTERFACE(Do, state, &state->counters);
  state->interface = interface;
  PyObject *capsule = NULL;
  state->metaclass = PyTC_NewMetaclass();
  if (state->metaclass != NULL) state->reference_type = PyTC_NewReferenceType();
  if (state->reference_type != NULL) state->keeper_type = PyTC_NewKeeperType();
  if (state->keeper_type != NULL) state->owners = PyDict_New();
  if (state->owners != NULL) state->slot_names = PyDict_New();
  if (state->slot_names != NULL) state->combined = PyDict_New();
  if (state->combined != NULL) {
    // CPython 3.14 tracks even empty dictionaries.
    PyTC_Hide(state->owners);
    PyTC_Hide(state->slot_names);
    PyTC_Hide(state->combined);
    capsule = PyCapsule_New(&state->interface, PyTypedcall_CAPSULE_NAME, PyTC_CapsuleDied);
  }
  if (capsule == NULL) {
    PyTC_EmptyState(state);
    PyTypedcall_RAW_FREE(state);
  }
  return capsule;
}

// Puts the metaclass and Python's function into the module. Returns 0, or -1 with ImportError.
static inline int PyTC_ShowMetaclass(PyObject *dict, const PyTypedcall_Interface *interface) {
  PyObject *metaclass = (PyObject *)interface->metaclass(interface->state);
  if (metaclass == NULL) {
    PyErr_SetString(PyExc_ImportError, "typedcall: the interpreter is ending");
    return -1;
  }
  Py_INCREF(metaclass);
  PyObject *existing = PyTC_Settle(PyTC_SetDefault, dict, PyExtensibleType_ATTRIBUTE, metaclass);
  const int is_ours = existing == metaclass;
  if (existing != NULL && !is_ours) {
    PyTC_Refuse(Py_TYPE(existing), PyExc_ImportError,
                PyTypedcall_MODULE "." PyExtensibleType_ATTRIBUTE
                                   " is a '%s' instead of typedcall's metaclass");
  }
  Py_XDECREF(existing);
  Py_DECREF(metaclass);
  if (!is_ours) return -1;
  PyObject *function = PyCFunction_NewEx(&PyTC_CombinedDef, NULL, NULL);
  existing = NULL;
  if (function != NULL) {
    existing = PyTC_Settle(PyTC_SetDefault, dict, PyTC_CombinedDef.ml_name, function);
  }
  Py_XDECREF(function);
  Py_XDECREF(existing);
  return existing != NULL ? 0 : -1;
}

// Returns a new reference to the dictionary of `_extensibletype`, which it may make, or NULL.
static inline PyObject *PyTC_MakeModule(void) {
  PyObject *modules = PyTC_OfSys("modules"), *dict = NULL;
  if (modules == NULL || !PyDict_Check(modules)) {
    // PySys_GetObject also returns NULL if memory runs out.
    PyObject *name = PyUnicode_FromString("modules");
    if (name == NULL) return NULL;
    Py_DECREF(name);
    PyErr_SetString(PyExc_ImportError, "typedcall: sys.modules is missing");
    return NULL;
  }
  Py_INCREF(modules);
  PyObject *module = PyTC_Look(modules, PyTypedcall_MODULE);
  if (module == NULL) {
    PyObject *fresh = PyModule_New(PyTypedcall_MODULE);
    if (fresh != NULL) module = PyTC_Settle(PyTC_SetDefault, modules, PyTypedcall_MODULE, fresh);
    Py_XDECREF(fresh);
  }
  Py_DECREF(modules);
  if (module == NULL) return NULL;
  if (PyModule_Check(module)) dict = PyModule_GetDict(module);
  if (dict == NULL) {
    PyTC_Refuse(Py_TYPE(module), PyExc_ImportError,
                "sys.modules['" PyTypedcall_MODULE "'] is a '%s' instead of a module");
  }
  Py_XINCREF(dict);
  Py_DECREF(module);
  return dict;
}

// Returns a new reference to the capsule in the module, or NULL with an exception set. Adds a
// capsule if there is none. `dict` is the module's dictionary, and `kept` is the interpreter's own.
static inline PyObject *PyTC_ExistingCapsule(PyObject *dict, PyObject *kept) {
  PyObject *existing = PyTC_Look(dict, PyTypedcall_CAPSULE);
  if (existing != NULL) return existing;
  // Emptying sys.modules removes the module, but not the interface that other modules use.
  PyObject *ours = PyTC_Look(kept, PyTypedcall_CAPSULE_NAME);
  if (ours == NULL) {
    // Making an interface may run other code. If that code installs one, it wins.
    PyObject *fresh = PyTC_NewCapsule();
    if (fresh == NULL) return NULL;
    ours = existing = PyTC_Look(dict, PyTypedcall_CAPSULE);
    if (ours == NULL) {
      ours = PyTC_Settle(PyTC_SetDefaultOfOurs, kept, PyTypedcall_CAPSULE_NAME, fresh);
    }
    if (ours == fresh) {
      PyTC_StateIn(fresh)->is_installed = 1;
      PyTC_TellWaiting(kept, &PyTC_StateIn(fresh)->interface);
    }
    Py_DECREF(fresh);
    if (existing != NULL || ours == NULL) return ours;
  }
  existing = PyTC_Settle(PyTC_SetDefault, dict, PyTypedcall_CAPSULE, ours);
  Py_DECREF(ours);
  return existing;
}

// Adds the capsule where it is missing. Returns the interface, or NULL with an exception set.
static inline const PyTypedcall_Interface *PyTC_Meet(PyObject *dict, PyObject *kept) {
  PyObject *existing = PyTC_ExistingCapsule(dict, kept);
  if (existing == NULL) return NULL;
  const PyTypedcall_Interface *interface = PyTC_Usable(existing);
  if (interface != NULL && PyTC_ShowMetaclass(dict, interface) < 0) interface = NULL;
  if (interface != NULL) {
    PyObject *first = PyTC_Settle(PyTC_SetDefaultOfOurs, kept, PyTypedcall_CAPSULE_NAME, existing);
    if (first != NULL && first != existing) {
      PyErr_Format(PyExc_ImportError,
                   "%s has been replaced: this interpreter has another interface",
                   PyTypedcall_CAPSULE_NAME);
    }
    if (first != existing) interface = NULL;
    Py_XDECREF(first);
  }
  Py_DECREF(existing);
  return interface;
}

/// Returns the calling interpreter's interface, and installs it if necessary. Call this function
/// once, when the module is executed. Keep the pointer in the module's state, never in a C static,
/// because each interpreter has its own interface. It is valid until the interpreter ends. Modules
/// that only read can call PyTypedcall_ImportLazily (core/lazy_import.h).
///
/// Returns NULL with ImportError if our names are taken or another major version is installed, with
/// MemoryError, or with SystemError if the module was compiled for another CPython. GIL: held.
static inline TYPEDCALL_COLD const PyTypedcall_Interface *PyTypedcall_Import(void) {
  PyObject *dict = PyTC_MakeModule();
  if (dict == NULL) return NULL;
  PyObject *kept = PyTC_OwnDict();
  const PyTypedcall_Interface *interface = kept != NULL ? PyTC_Meet(dict, kept) : NULL;
  Py_DECREF(dict);
  return interface;
}
#endif  // TYPEDCALL_INTERNAL_IS_DECLARED
#endif  // TYPEDCALL_IS_SUPPORTED

/// Returns the slot ID of `name` (UTF-8), which is the same for all modules of the interpreter. Use
/// this for ideas without a registered ID. Prefix the name with the project's name, as in
/// "scikit-foo.kernel". Other interpreters have other IDs, so keep none in a C static or a file.
///
/// Returns 0 with ValueError (no name, or all 2^23 IDs are taken), UnicodeDecodeError, RuntimeError
/// while the interpreter is ending, or MemoryError. GIL: held. `interface` must be from the calling
/// interpreter. Source: SEP 200, "Allocated IDs".
static inline uintptr_t PyCustomSlot_IDByName(const PyTypedcall_Interface *interface,
                                              const char *name) {
  return interface->slot_id(interface->state, name);
}

#endif  // TYPEDCALL_CORE_RENDEZVOUS_H_
