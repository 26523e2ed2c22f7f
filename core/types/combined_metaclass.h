// Metaclasses that combine ours with others (ABCMeta, EnumMeta). Each set of metaclasses has one.
#ifndef TYPEDCALL_CORE_TYPES_COMBINED_METACLASS_H_
#define TYPEDCALL_CORE_TYPES_COMBINED_METACLASS_H_

#include "core/types/c_metaclass.h"

// `__init__` of a combined metaclass. Resolves the type even if another `__init__` does not call
// super().__init__, so that a faulty `__customslots__` is reported.
static inline TYPEDCALL_COLD PyObject *PyTC_CombinedInit(PyObject *self,
                                                         PyTypeObject *defining_class,
                                                         PyObject *const *args, Py_ssize_t nargs,
                                                         PyObject *kwnames) {
  PyObject *super = PyObject_CallFunctionObjArgs((PyObject *)&PySuper_Type,
                                                 (PyObject *)defining_class, self, NULL);
  PyObject *init = super != NULL ? PyObject_GetAttrString(super, "__init__") : NULL;
  PyObject *result = init != NULL ? PyObject_Vectorcall(init, args, (size_t)nargs, kwnames) : NULL;
  Py_XDECREF(init);
  Py_XDECREF(super);
  PyTypeObject *type = (PyTypeObject *)self;
  if (result != NULL && PyTC_Resolve(PyTC_MetaclassOf(type), type, NULL, 0) < 0) Py_CLEAR(result);
  return result;
}

static PyMethodDef PyTC_CombinedInitDef = {"__init__",
                                           (PyCFunction)(void (*)(void))PyTC_CombinedInit,
                                           METH_METHOD | METH_FASTCALL | METH_KEYWORDS, NULL};

// True if another metaclass in `all` derives from `all[at]`, or is the same and comes earlier.
static inline int PyTC_IsImplied(PyObject *all, Py_ssize_t at) {
  PyTypeObject *metaclass = (PyTypeObject *)PyList_GetItem(all, at);
  for (Py_ssize_t i = 0; i < PyList_Size(all); ++i) {
    PyTypeObject *other = (PyTypeObject *)PyList_GetItem(all, i);
    if (i != at && PyType_IsSubtype(other, metaclass) && (other != metaclass || i < at)) return 1;
  }
  return 0;
}

// True if `left` comes before `right` among the bases. Metaclasses that derive from ours come last,
// because the others expect to run first. The others are sorted by name, then by address.
static inline int PyTC_ComesBefore(PyTypeObject *ours, PyObject *left, PyObject *right) {
  char left_name[PyTC_NAME_SIZE], right_name[PyTC_NAME_SIZE];
  const int left_last = PyType_IsSubtype((PyTypeObject *)left, ours);
  const int right_last = PyType_IsSubtype((PyTypeObject *)right, ours);
  if (left_last != right_last) return right_last;
  const int names = strcmp(PyTC_Name((PyTypeObject *)left, left_name),
                           PyTC_Name((PyTypeObject *)right, right_name));
  return names != 0 ? names < 0 : (uintptr_t)left < (uintptr_t)right;
}

// Inserts a metaclass into `bases`, sorted from `start` on. Returns 0, or -1 with MemoryError.
static inline int PyTC_InsertBase(PyTypeObject *ours, PyObject *bases, Py_ssize_t start,
                                  PyObject *metaclass) {
  Py_ssize_t at = start;
  while (at < PyList_Size(bases) && !PyTC_ComesBefore(ours, metaclass, PyList_GetItem(bases, at))) {
    ++at;
  }
  return PyList_Insert(bases, at, metaclass);
}

// Returns a new list of the live combined metaclasses, or NULL. Removes dead ones from the cache.
static inline PyObject *PyTC_AllCombined(PyObject *cache) {
  PyObject *all = PyList_New(0);
  // Up to 3.11 making a list may run the garbage collector, so make this one last.
  PyObject *items = all != NULL ? PyDict_Items(cache) : NULL;
  if (items == NULL) Py_CLEAR(all);
  for (Py_ssize_t i = 0; all != NULL && i < PyList_Size(items); ++i) {
    PyObject *item = PyList_GetItem(items, i), *alive;
    int failed = 0;
    if (PyTC_GetReferent(PyTuple_GetItem(item, 1), &alive) == 0) {
      failed = PyDict_DelItem(cache, PyTuple_GetItem(item, 0)) < 0;
    } else if (alive != NULL) {
      failed = PyList_Append(all, alive) < 0;
    }
    if (failed) Py_CLEAR(all);
    Py_XDECREF(alive);
  }
  Py_XDECREF(items);
  return all;
}

static inline int PyTC_IsCombined(PyObject *all_combined, PyObject *metaclass) {
  for (Py_ssize_t i = 0; i < PyList_Size(all_combined); ++i) {
    PyObject *combined = PyList_GetItem(all_combined, i);
    if (PyType_IsSubtype((PyTypeObject *)metaclass, (PyTypeObject *)combined)) return 1;
  }
  return 0;
}

// Appends the bases of the combined metaclasses from which `metaclass` derives. Returns 0 or -1.
static inline int PyTC_AppendComponents(PyObject *all_combined, PyObject *metaclass,
                                        PyObject *components) {
  for (Py_ssize_t i = 0; i < PyList_Size(all_combined); ++i) {
    PyTypeObject *combined = (PyTypeObject *)PyList_GetItem(all_combined, i);
    if (!PyType_IsSubtype((PyTypeObject *)metaclass, combined)) continue;
    PyObject *bases = PyTC_SLOT(PyObject *, combined, tp_bases);
    Py_XINCREF(bases);
    int failed = 0;
    for (Py_ssize_t at = 0; !failed && bases != NULL && at < PyTuple_Size(bases); ++at) {
      PyObject *base = PyTuple_GetItem(bases, at);
      if (PyTC_IsCombined(all_combined, base)) continue;
      failed = PyList_Append(components, base) < 0;
    }
    Py_XDECREF(bases);
    if (failed) return -1;
  }
  return 0;
}

// Returns a new list of the metaclasses in `all` from which no other derives, or NULL.
static inline PyObject *PyTC_NotImplied(PyObject *all) {
  PyObject *rest = PyList_New(0);
  for (Py_ssize_t i = 0; rest != NULL && i < PyList_Size(all); ++i) {
    if (PyTC_IsImplied(all, i)) continue;
    if (PyList_Append(rest, PyList_GetItem(all, i)) < 0) Py_CLEAR(rest);
  }
  return rest;
}

// Returns a new list of bases for `wanted`, or NULL. Combined metaclasses come first, then their
// bases and the other metaclasses, always in one order, so that they can be combined again.
static inline PyObject *PyTC_OrderedBases(PyTypeObject *ours, PyObject *cache, PyObject *wanted) {
  PyObject *all_combined = PyTC_AllCombined(cache);
  PyObject *components = all_combined != NULL ? PyList_New(0) : NULL;
  PyObject *bases = components != NULL ? PyList_New(0) : NULL, *rest = NULL;
  int failed = bases == NULL;
  for (Py_ssize_t i = 0; !failed && i < PyList_Size(wanted); ++i) {
    PyObject *metaclass = PyList_GetItem(wanted, i);
    if (PyTC_IsCombined(all_combined, metaclass)) {
      failed = PyTC_InsertBase(ours, bases, 0, metaclass) < 0 ||
               PyTC_AppendComponents(all_combined, metaclass, components) < 0;
    } else {
      failed = PyList_Append(components, metaclass) < 0;
    }
  }
  if (!failed) {
    rest = PyTC_NotImplied(components);
    failed = rest == NULL;
  }
  const Py_ssize_t start = failed ? 0 : PyList_Size(bases);
  for (Py_ssize_t i = 0; !failed && i < PyList_Size(rest); ++i) {
    failed = PyTC_InsertBase(ours, bases, start, PyList_GetItem(rest, i)) < 0;
  }
  Py_XDECREF(rest);
  Py_XDECREF(components);
  Py_XDECREF(all_combined);
  if (failed) Py_CLEAR(bases);
  return bases;
}

// Returns a new list of the combined metaclass's bases, in order, or NULL with an exception set.
static inline PyObject *PyTC_CombinedBases(PyTypeObject *ours, PyObject *cache,
                                           PyObject *metaclasses) {
  PyObject *all = PySequence_List(metaclasses);
  if (all == NULL || PyList_Append(all, (PyObject *)ours) < 0) {
    Py_XDECREF(all);
    return NULL;
  }
  for (Py_ssize_t i = 0; i < PyList_Size(all); ++i) {
    PyObject *metaclass = PyList_GetItem(all, i);
    if (PyType_Check(metaclass) && PyType_IsSubtype((PyTypeObject *)metaclass, &PyType_Type)) {
      continue;
    }
    // The message does not contain repr(), which can run any code.
    const int is_type = PyType_Check(metaclass);
    PyTC_Refuse(is_type ? (PyTypeObject *)metaclass : Py_TYPE(metaclass), PyExc_TypeError,
                is_type ? "type '%s' is not a metaclass: it does not derive from type"
                        : "a '%s' object is not a metaclass: it does not derive from type");
    Py_DECREF(all);
    return NULL;
  }
  PyObject *bases = PyTC_NotImplied(all);
  Py_DECREF(all);
  if (bases != NULL && PyList_Size(bases) > 1) {
    PyObject *ordered = PyTC_OrderedBases(ours, cache, bases);
    Py_DECREF(bases);
    bases = ordered;
  }
  return bases;
}

// Returns the key in the cache, a frozenset of addresses. Callers must check the metaclass that
// they find, because an address may have been reused.
static inline PyObject *PyTC_CombinedKey(PyObject *bases) {
  PyObject *key = PyFrozenSet_New(NULL);
  for (Py_ssize_t i = 0; key != NULL && i < PyList_Size(bases); ++i) {
    PyObject *address = PyLong_FromVoidPtr(PyList_GetItem(bases, i));
    if (address == NULL || PySet_Add(key, address) < 0) Py_CLEAR(key);
    Py_XDECREF(address);
  }
  return key;
}

// True if `object` is a type that has our metaclass's layout and derives from all `bases`.
static inline int PyTC_DerivesFrom(PyTypeObject *ours, PyObject *object, PyObject *bases) {
  if (!PyType_Check(object)) return 0;
  for (Py_ssize_t i = 0; i < PyList_Size(bases); ++i) {
    PyTypeObject *base = (PyTypeObject *)PyList_GetItem(bases, i);
    if (!PyType_IsSubtype((PyTypeObject *)object, base)) return 0;
  }
  PyTypeObject *type = (PyTypeObject *)object;
  while (type != NULL && type != ours) type = PyTC_SLOT(PyTypeObject *, type, tp_base);
  return type == ours;
}

// Returns a new metaclass with these bases, or NULL with an exception set.
static inline PyObject *PyTC_NewCombined(PyTypeObject *ours, PyObject *bases) {
  if (PyTC_CheckForeign(ours, bases) < 0) return NULL;
  char name[PyTC_NAME_SIZE];
  PyObject *full_name = PyUnicode_FromString("");
  for (Py_ssize_t i = 0; full_name != NULL && i < PyList_Size(bases); ++i) {
    if (PyTC_IsImplied(bases, i)) continue;  // the name of a base derived from it is enough
    PyTC_Name((PyTypeObject *)PyList_GetItem(bases, i), name);
    const char *dot = strrchr(name, '.');
    PyObject *longer =
        PyUnicode_FromFormat("%U%s%s", full_name, i > 0 ? "_" : "", dot != NULL ? dot + 1 : name);
    Py_DECREF(full_name);
    full_name = longer;
  }
  PyObject *tuple = full_name != NULL ? PyList_AsTuple(bases) : NULL;
  PyObject *combined =
      tuple == NULL ? NULL
                    : PyObject_CallFunction(
                          (PyObject *)&PyType_Type, "OO{s:s,s:s}", full_name, tuple, "__module__",
                          PyTypedcall_MODULE, "__doc__",
                          "Metaclass of types with custom slots (SEP 200), combined with another.");
  Py_XDECREF(tuple);
  Py_XDECREF(full_name);
  if (combined == NULL) return NULL;
  // The metaclass of a base may return anything.
  if (!PyTC_DerivesFrom(ours, combined, bases)) {
    PyTC_Refuse(Py_TYPE(combined), PyExc_TypeError,
                "the metaclass of a metaclass returned a '%s' instead of a combined one");
    Py_DECREF(combined);
    return NULL;
  }
  PyObject *init = PyDescr_NewMethod((PyTypeObject *)combined, &PyTC_CombinedInitDef);
  if (init == NULL || PyObject_SetAttrString(combined, "__init__", init) < 0 ||
      PyTC_TakeDealloc(ours, (PyTypeObject *)combined) < 0) {
    Py_CLEAR(combined);
  }
  Py_XDECREF(init);
  return combined;
}

// See PyExtensibleType_CombinedMetaclass. `cache` contains the interpreter's combined metaclasses.
static inline TYPEDCALL_COLD PyTypeObject *PyTC_Combine(PyTypeObject *ours, PyObject *cache,
                                                        PyObject *metaclasses) {
  PyObject *bases = PyTC_CombinedBases(ours, cache, metaclasses);
  if (bases == NULL) return NULL;
  PyObject *combined = NULL, *key = NULL;
  if (PyList_Size(bases) == 1) {
    combined = PyList_GetItem(bases, 0);
    Py_INCREF(combined);
  } else if ((key = PyTC_CombinedKey(bases)) != NULL) {
    PyObject *known = PyTC_GetItem(cache, key);
    if (known != NULL) (void)PyTC_GetReferent(known, &combined);
    Py_XDECREF(known);
    if (known != NULL && (combined == NULL || !PyTC_DerivesFrom(ours, combined, bases))) {
      // The metaclass has died, or its `__bases__` have changed.
      Py_CLEAR(combined);
      if (PyDict_DelItem(cache, key) < 0 && PyErr_ExceptionMatches(PyExc_KeyError)) PyErr_Clear();
    }
    if (combined == NULL && !PyErr_Occurred() &&
        (combined = PyTC_NewCombined(ours, bases)) != NULL) {
      // Other code may have made the same metaclass meanwhile. The first one wins.
      PyObject *reference = PyWeakref_NewRef(combined, NULL);
      PyObject *existing = reference != NULL ? PyTC_SetDefaultOfOurs(cache, key, reference) : NULL;
      PyTC_Hide(cache);
      if (existing != reference || existing == NULL) {
        // Keep the first one alive, because releasing ours may run code that drops it.
        PyObject *first = NULL;
        if (existing != NULL) (void)PyTC_GetReferent(existing, &first);
        Py_DECREF(combined);
        combined = first;
      }
      Py_XDECREF(existing);
      Py_XDECREF(reference);
    }
  }
  Py_XDECREF(key);
  Py_DECREF(bases);
  if (combined == NULL && !PyErr_Occurred()) {
    PyErr_SetString(PyExc_RuntimeError,
                    "typedcall: another thread dropped the metaclass just made");
  }
  return (PyTypeObject *)combined;
}

#endif  // TYPEDCALL_CORE_TYPES_COMBINED_METACLASS_H_
