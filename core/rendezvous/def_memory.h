// A cache for the sibling symbols of PyMethodDefs, which are slow to find.
#ifndef TYPEDCALL_CORE_RENDEZVOUS_DEF_MEMORY_H_
#define TYPEDCALL_CORE_RENDEZVOUS_DEF_MEMORY_H_

#include "core/platform.h"

#define PyTC_KNOWN_DEFS 4096  // stored in pairs, with the more recently used def first

typedef struct PyTC_KnownDef {
  const PyMethodDef *def;
  const char *name;
  PyCFunction function;
  const void *answer;
} PyTC_KnownDef;

typedef struct PyTC_DefMemory {
  PyTC_KnownDef *known;  // NULL until the first look-up
  int is_closed;         // the interpreter is ending, so nothing is cached
} PyTC_DefMemory;

// A new def may have the address of a freed one. If both are on the heap, neither has a sibling
// symbol, so the answer stays right. Another shared object there has another name and function.
static inline int PyTC_IsKnown(const PyTC_KnownDef *known, const PyMethodDef *def) {
  return known->def == def && known->name == def->ml_name && known->function == def->ml_meth;
}

// Returns `ask(def)`, and caches the result if memory permits. GIL: held. Sets no exception.
static inline const void *PyTC_AskOnce(PyTC_DefMemory *memory, const PyMethodDef *def,
                                       const void *(*ask)(const PyMethodDef *def)) {
  const uint64_t spread = (uint64_t)(uintptr_t)def * UINT64_C(0x9e3779b97f4a7c15) >> 32;
  const size_t home = (size_t)(spread % (PyTC_KNOWN_DEFS / 2) * 2);
  PyTC_KnownDef found = {NULL, NULL, NULL, NULL};
  PyTypedcall_BEGIN_EXCLUSIVE(Py_None);
  PyTC_KnownDef *pair = memory->known != NULL ? memory->known + home : NULL;
  if (pair != NULL && PyTC_IsKnown(&pair[1], def)) {
    found = pair[1];
    pair[1] = pair[0];
    pair[0] = found;
  } else if (pair != NULL && PyTC_IsKnown(&pair[0], def)) {
    found = pair[0];
  }
  PyTypedcall_END_EXCLUSIVE();
  if (found.def != NULL) return found.answer;
  // Not locked, because `ask` may wait for dlopen() in another thread, which may need the lock.
  const PyTC_KnownDef asked = {def, def->ml_name, def->ml_meth, ask(def)};
  PyTypedcall_BEGIN_EXCLUSIVE(Py_None);
  if (memory->known == NULL && !memory->is_closed) {
    memory->known =
        (PyTC_KnownDef *)PyTypedcall_RAW_CALLOC(PyTC_KNOWN_DEFS, sizeof(*memory->known));
  }
  if (memory->known != NULL) {
    memory->known[home + 1] = memory->known[home];
    memory->known[home] = asked;
  }
  PyTypedcall_END_EXCLUSIVE();
  return asked.answer;
}

// Call this when the interpreter ends.
static inline void PyTC_CloseDefMemory(PyTC_DefMemory *memory) {
  PyTypedcall_BEGIN_EXCLUSIVE(Py_None);
  memory->is_closed = 1;
  PyTypedcall_RAW_FREE(memory->known);
  memory->known = NULL;
  PyTypedcall_END_EXCLUSIVE();
}

#endif  // TYPEDCALL_CORE_RENDEZVOUS_DEF_MEMORY_H_
