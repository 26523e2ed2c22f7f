// The functions of core/foreign_slots.h where there are no tags (core/compiler.h): no type has
// slots, and who registers some is not told of a failure.
#ifndef TYPEDCALL_CORE_SLOTS_NO_FOREIGN_SLOTS_H_
#define TYPEDCALL_CORE_SLOTS_NO_FOREIGN_SLOTS_H_

#include "core/interface.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline int PyForeignSlots_Register(const PyTypedcall_Interface *interface,
                                          PyTypeObject *type, const PyCustomSlot *slots,
                                          Py_ssize_t count) {
  (void)interface, (void)type, (void)slots, (void)count;
  return 0;
}
static inline int PyForeignSlots_Unregister(const PyTypedcall_Interface *interface,
                                            PyTypeObject *type, uintptr_t id) {
  (void)interface, (void)type, (void)id;
  return 0;
}
static inline const PyCustomSlot *PyForeignSlots_Find(const PyTypedcall_Interface *interface,
                                                      PyObject *obj, uintptr_t id,
                                                      Py_ssize_t expected_pos) {
  (void)interface, (void)obj, (void)id, (void)expected_pos;
  return NULL;
}
static inline const PyCustomSlot *PyCustomSlots_FindAny(const PyTypedcall_Interface *interface,
                                                        PyObject *obj, uintptr_t id,
                                                        Py_ssize_t expected_pos) {
  return PyForeignSlots_Find(interface, obj, id, expected_pos);
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_CORE_SLOTS_NO_FOREIGN_SLOTS_H_
