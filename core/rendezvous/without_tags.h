// Stands in for the interface on platforms without tags (core/compiler.h): readers find nothing,
// and modules that tag their functions are imported without tags.
#include "core/version.h"

#ifndef TYPEDCALL_CORE_RENDEZVOUS_WITHOUT_TAGS_H_
#define TYPEDCALL_CORE_RENDEZVOUS_WITHOUT_TAGS_H_

#include "core/interface.h"

#include <string.h>

#if !TYPEDCALL_IS_SUPPORTED

TYPEDCALL_BEGIN_C

static inline int PyTypedcall_Internal_SetNoTags(void) {
  PyErr_SetString(PyExc_RuntimeError,
                  "typedcall has neither tags nor slots on this platform (TYPEDCALL_IS_SUPPORTED)");
  return -1;
}

static inline PyTypeObject *PyTypedcall_Internal_NoMetaclass(void *state) {
  (void)state;
  return NULL;
}
static inline int PyTypedcall_Internal_NoResolve(void *state, PyTypeObject *type,
                                                 const PyCustomSlot *own, Py_ssize_t own_count) {
  (void)state, (void)type, (void)own, (void)own_count;
  return PyTypedcall_Internal_SetNoTags();
}
static inline const void *PyTypedcall_Internal_NoFind(void *state, int space, const void *key) {
  (void)state, (void)space, (void)key;
  return NULL;
}
static inline int PyTypedcall_Internal_NoRetract(void *state, int space, const void *key) {
  (void)state, (void)space, (void)key;
  return 0;
}
static inline void PyTypedcall_Internal_NoCounters(void *state, PyTypedcall_Counters *out,
                                                   size_t size) {
  (void)state;
  memset(out, 0, size < sizeof(*out) ? size : sizeof(*out));
}
static inline uintptr_t PyTypedcall_Internal_NoSlotId(void *state, const char *name) {
  (void)state, (void)name;
  (void)PyTypedcall_Internal_SetNoTags();
  return 0;
}
static inline int PyTypedcall_Internal_NoReadyStatic(void *state, PyTypeObject *type,
                                                     Py_ssize_t slot_table_size) {
  (void)state, (void)type, (void)slot_table_size;
  return PyTypedcall_Internal_SetNoTags();
}
static inline PyTypeObject *PyTypedcall_Internal_NoCombined(void *state, PyObject *metaclasses) {
  (void)state, (void)metaclasses;
  (void)PyTypedcall_Internal_SetNoTags();
  return NULL;
}
static inline int PyTypedcall_Internal_NoExchange(void *state, int space, const void *key,
                                                  PyObject *owner, const void *expected,
                                                  const void *value,
                                                  void (*destroy)(const void *value)) {
  (void)state, (void)space, (void)key, (void)owner, (void)expected, (void)value, (void)destroy;
  return PyTypedcall_Internal_SetNoTags();
}
static inline PyObject *PyTypedcall_Internal_NoHold(void *state, int space, const void *key,
                                                    PyObject *callable, const void **value) {
  (void)state, (void)space, (void)key, (void)callable;
  *value = NULL;
  return NULL;
}
// Not taken, without an error: a module that tags its functions works without tags.
static inline int PyTypedcall_Internal_NoPublish(
    void *state, int space, const void *key, PyObject *owner, const void *value,
    int (*equal)(const void *existing, const void *offered), void (*destroy)(const void *value),
    PyObject *kept) {
  (void)state, (void)space, (void)key, (void)owner, (void)value, (void)equal, (void)destroy;
  (void)kept;
  return 0;
}
static inline const void *PyTypedcall_Internal_NoSibling(
    void *state, const PyMethodDef *def, const void *(*read)(const PyMethodDef *def)) {
  (void)state, (void)def, (void)read;
  return NULL;
}

/// As in core/rendezvous.h and core/await.h. Never NULL.
static inline const PyTypedcall_Interface *PyTypedcall_Await(void) {
  static const PyTypedcall_Counters none = {0, 0, 0, 0};
  static const PyTypedcall_Interface empty = {PyTypedcall_ABI_MAJOR,
                                              PyTypedcall_ABI_MINOR,
                                              (uint32_t)sizeof(PyTypedcall_Interface),
                                              NULL,
                                              PyTypedcall_Internal_NoMetaclass,
                                              PyTypedcall_Internal_NoResolve,
                                              PyTypedcall_Internal_NoFind,
                                              PyTypedcall_Internal_NoHold,
                                              PyTypedcall_Internal_NoPublish,
                                              PyTypedcall_Internal_NoExchange,
                                              PyTypedcall_Internal_NoRetract,
                                              PyTypedcall_Internal_NoSibling,
                                              PyTypedcall_Internal_NoCounters,
                                              &none,
                                              PyTypedcall_Internal_NoSlotId,
                                              PyTypedcall_Internal_NoReadyStatic,
                                              PyTypedcall_Internal_NoCombined};
  return &empty;
}
static inline const PyTypedcall_Interface *PyTypedcall_Installed(
    const PyTypedcall_Interface *interface) {
  (void)interface;
  return NULL;
}
#define PyTypedcall_Import PyTypedcall_Await

TYPEDCALL_END_C

#endif  // TYPEDCALL_IS_SUPPORTED
#endif  // TYPEDCALL_CORE_RENDEZVOUS_WITHOUT_TAGS_H_
