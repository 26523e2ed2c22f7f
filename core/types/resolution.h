// Resolves a type's slots once, after the slots of its bases.
#ifndef TYPEDCALL_CORE_TYPES_RESOLUTION_H_
#define TYPEDCALL_CORE_TYPES_RESOLUTION_H_

#include "core/slots/own_slots.h"

// The magic of a type that this thread is resolving. Python code that runs meanwhile finds no slots
// on it, and settles no subclass. Other threads see an unsettled type. The first to finish wins.
#define PyTC_ON_THE_WAY ((uint64_t)PyThread_get_thread_ident() | 1)

// True if the type is neither settled nor being settled by this thread.
static inline int PyTC_IsOpen(uint64_t magic) {
  return magic != PyExtensibleType_MAGIC && magic != PyTC_ON_THE_WAY;
}

static inline uint64_t *PyTC_MagicOf(PyTypeObject *metaclass, PyTypeObject *type) {
  return &PyTC_DataOf(metaclass, type)->shared.magic;
}

// A type that is being resolved.
typedef struct PyTC_Step {
  PyTypeObject *type;  // a reference
  PyObject *mro;       // a reference
  PyTC_Own own;
  int is_given;        // `own` belongs to the caller
  int is_blocked;      // another resolution is busy with a base, so this type cannot be settled
  Py_ssize_t rest;     // number of entries at the start of the MRO that are still to be visited
  Py_ssize_t came_of;  // the step that led to this type; -1 for the first
  Py_ssize_t lowest;   // the earliest step reachable from here, which may be this step
} PyTC_Step;

// One call of `resolve`. A metaclass's mro() can put types into each other's MRO. Such types are
// settled together (Tarjan's strongly connected components).
typedef struct PyTC_Resolution {
  PyTypeObject *metaclass;
  PyTC_Step *steps;
  Py_ssize_t count, capacity;
  int has_settled_first;
  PyTC_Index seen;  // maps a type's address to its step, or to -1 after the step has ended
} PyTC_Resolution;

// Ends a step. May run Python code, because it releases objects.
static inline TYPEDCALL_COLD void PyTC_EndStep(PyTypeObject *metaclass, PyTC_Step *step) {
  uint64_t *magic = PyTC_MagicOf(metaclass, step->type);
  if (*magic == PyTC_ON_THE_WAY) __atomic_store_n(magic, (uint64_t)0, __ATOMIC_RELAXED);
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  // The table has its own references to the capsules.
  if (!step->is_given) PyTC_DropOwn(&step->own);
  Py_XDECREF(step->mro);
  Py_DECREF((PyObject *)step->type);
  PyTypedcall_RestoreError(saved);
}

static inline void PyTC_EndLastStep(PyTC_Resolution *resolution) {
  PyTC_Step step = resolution->steps[--resolution->count];
  PyTC_IndexFind(&resolution->seen, (uintptr_t)step.type)->at = -1;
  PyTC_EndStep(resolution->metaclass, &step);
}

// Makes room for one more step. Returns 0, or -1 with MemoryError.
static inline int PyTC_ReserveStep(PyTC_Resolution *resolution) {
  if (PyTC_IndexReserve(&resolution->seen, 1) < 0) return -1;
  if (resolution->count < resolution->capacity) return 0;
  const Py_ssize_t capacity = resolution->capacity > 0 ? resolution->capacity * 2 : 2;
  void *grown = PyMem_Realloc(resolution->steps, (size_t)capacity * sizeof(*resolution->steps));
  if (grown == NULL) return PyTC_NoMemory();
  resolution->steps = (PyTC_Step *)grown;
  resolution->capacity = capacity;
  return 0;
}

// Reads the class body's slots unless some are `given`, and adds a step. Returns 1, 0 if the type
// need not or cannot be settled now, or -1 with an exception set. May run Python code.
static inline TYPEDCALL_COLD int PyTC_AddStep(PyTC_Resolution *resolution, PyTypeObject *type,
                                              const PyTC_Own *given, Py_ssize_t came_of) {
  uint64_t *magic = PyTC_MagicOf(resolution->metaclass, type);
  if (*magic == PyExtensibleType_MAGIC) return 0;  // another thread has settled the type
  PyTC_Step step = {type, NULL, {NULL, 0, NULL, 0}, given != NULL, 0, 0, came_of, 0};
  if (given != NULL) step.own = *given;
  Py_INCREF((PyObject *)type);
  __atomic_store_n(magic, PyTC_ON_THE_WAY, __ATOMIC_RELAXED);
  int result = given != NULL ? 0 : PyTC_ReadOwn(type, &step.own);
  if (result == 0) {
    step.mro = PyTC_Mro(type);
    if (step.mro == NULL && PyErr_Occurred()) result = -1;
  }
  if (step.mro != NULL && *magic != PyExtensibleType_MAGIC) {
    result = PyTC_ReserveStep(resolution);
    if (result == 0) {
      step.rest = PyTuple_Size(step.mro);
      step.lowest = resolution->count;
      (void)PyTC_IndexAdd(&resolution->seen, (uintptr_t)type, resolution->count);
      __atomic_store_n(magic, PyTC_ON_THE_WAY, __ATOMIC_RELAXED);
      resolution->steps[resolution->count++] = step;
      return 1;
    }
  }
  PyTC_EndStep(resolution->metaclass, &step);
  return result;
}

// Visits the last unvisited entry of a step's MRO, because later entries are bases of earlier ones.
// Returns 1 if it added a step, after which the entry must be visited again. Returns 0 if the entry
// is done, or -1 with an exception set. May run Python code.
static inline int PyTC_LookAtBase(PyTC_Resolution *resolution, Py_ssize_t at) {
  PyTC_Step *step = &resolution->steps[at];
  PyTypeObject *base = (PyTypeObject *)PyTuple_GetItem(step->mro, step->rest - 1);
  if (base == step->type || !PyTC_IsHeapType(base) ||
      !PyType_IsSubtype(Py_TYPE((PyObject *)base), resolution->metaclass)) {
    return 0;
  }
  const uint64_t *magic = PyTC_MagicOf(resolution->metaclass, base);
  if (*magic == PyExtensibleType_MAGIC) return 0;
  const PyTC_IndexCell *seen = PyTC_IndexFind(&resolution->seen, (uintptr_t)base);
  if (seen != NULL && seen->at >= 0) {
    const Py_ssize_t lowest = resolution->steps[seen->at].lowest;
    if (lowest < step->lowest) step->lowest = lowest;
    return 0;
  }
  if (seen == NULL && PyTC_IsOpen(*magic)) {
    if (PyErr_CheckSignals() < 0) return -1;
    const int result = PyTC_AddStep(resolution, base, NULL, at);
    if (result != 0 || *magic == PyExtensibleType_MAGIC) return result;
    step = &resolution->steps[at];
  }
  step->is_blocked = 1;
  return 0;
}

// Settles the types from this step on. The last type comes first, so that the first type gets the
// slots of all others. Runs no Python code until then. Returns 0, or -1 with MemoryError.
static inline int PyTC_SettleSteps(PyTC_Resolution *resolution, Py_ssize_t at) {
  int is_blocked = 0;
  for (Py_ssize_t i = at; i < resolution->count; ++i) is_blocked |= resolution->steps[i].is_blocked;
  for (Py_ssize_t i = resolution->count - 1; !is_blocked && i >= at; --i) {
    const PyTC_Step *step = &resolution->steps[i];
    uint64_t *magic = PyTC_MagicOf(resolution->metaclass, step->type);
    if (*magic == PyExtensibleType_MAGIC) continue;
    if (PyTC_BuildTable(resolution->metaclass, step->type, step->mro, &step->own) < 0) return -1;
    PyTypedcall_STORE_RELEASE(magic, PyExtensibleType_MAGIC);
    if (i == 0) resolution->has_settled_first = 1;
  }
  while (resolution->count > at) PyTC_EndLastStep(resolution);
  return 0;
}

// Returns the first step from `at` whose type has a new MRO, or -1, or -2 (raised). No Python runs.
static inline Py_ssize_t PyTC_ChangedStep(PyTC_Resolution *resolution, Py_ssize_t at) {
  for (Py_ssize_t i = at; i < resolution->count; ++i) {
    PyTC_Step *step = &resolution->steps[i];
    PyObject *mro = PyTC_Mro(step->type);
    if (mro == NULL && PyErr_Occurred()) return -2;
    const int has_changed = mro != NULL && mro != step->mro;
    if (has_changed) step->rest = PyTuple_Size(mro);
    Py_XDECREF(has_changed ? step->mro : mro);
    if (!has_changed) continue;
    step->mro = mro;
    return i;
  }
  return -1;
}

// Runs the steps until none is left. Returns 0, or -1 with an exception set.
static inline int PyTC_RunSteps(PyTC_Resolution *resolution) {
  for (Py_ssize_t at = 0; at >= 0;) {
    PyTC_Step *step = &resolution->steps[at];
    if (step->rest > 0) {
      const int result = PyTC_LookAtBase(resolution, at);
      if (result < 0) return -1;
      if (result > 0) {
        at = resolution->count - 1;
      } else {
        --resolution->steps[at].rest;
      }
      continue;
    }
    const Py_ssize_t came_of = step->came_of;
    if (step->lowest == at) {
      // No other code runs between this check and PyTC_SettleSteps.
      const Py_ssize_t changed = PyTC_ChangedStep(resolution, at);
      if (changed < -1) return -1;
      if (changed >= 0) {
        at = changed;
        continue;
      }
      if (PyTC_SettleSteps(resolution, at) < 0) return -1;
    } else if (step->lowest < resolution->steps[came_of].lowest) {
      // If the bases changed, the step that led here may already be finished.
      resolution->steps[came_of].lowest = step->lowest;
    }
    at = came_of;
  }
  return 0;
}

// Resolves a type with the `given` slots or, if NULL, those of its class body. May run Python code.
static inline TYPEDCALL_COLD int PyTC_ResolveWith(PyTypeObject *metaclass, PyTypeObject *type,
                                                  const PyTC_Own *given) {
  PyTC_Resolution resolution = {metaclass, NULL, 0, 0, 0, {NULL, 0, 0}};
  const int has_begun = PyTC_AddStep(&resolution, type, given, -1);
  int result = has_begun > 0 ? PyTC_RunSteps(&resolution) : has_begun;
  while (resolution.count > 0) PyTC_EndLastStep(&resolution);
  PyMem_Free(resolution.steps);
  PyMem_Free(resolution.seen.cells);
  if (result < 0 || given == NULL || resolution.has_settled_first) return result;
  if (has_begun == 0 || *PyTC_MagicOf(metaclass, type) == PyExtensibleType_MAGIC) {
    return PyTC_Refuse(type, PyExc_SystemError,
                       "another call has already settled the custom slots of type '%s'");
  }
  // The next look-up settles the type without the given slots.
  return PyTC_Refuse(type, PyExc_RuntimeError,
                     "the custom slots of a base of type '%s' are being settled");
}

#endif  // TYPEDCALL_CORE_TYPES_RESOLUTION_H_
