// The functions of core/foreign_slots.h on platforms without tags (core/compiler.h): no type has
// slots, and registering reports no error.
#ifndef TYPEDCALL_CORE_SLOTS_NO_FOREIGN_SLOTS_H_
#define TYPEDCALL_CORE_SLOTS_NO_FOREIGN_SLOTS_H_

#include "core/interface.h"

TYPEDCALL_BEGIN_C

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

TYPEDCALL_END_C
#endif  // TYPEDCALL_CORE_SLOTS_NO_FOREIGN_SLOTS_H_
