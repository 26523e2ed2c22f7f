// What a custom slot is: the (id, data) pair of SEP 200 and how its 32-bit IDs are made up.
// Source: SEP 200, sections "The custom slot table" and "The custom slot ID space".
#ifndef TYPEDCALL_CORE_SLOT_ID_H_
#define TYPEDCALL_CORE_SLOT_ID_H_

#include "core/platform.h"

#ifdef __cplusplus
extern "C" {
#endif

/// One custom slot. What `data` means is defined by whoever defined the ID.
typedef struct PyCustomSlot {
  uintptr_t
      id;  ///< odd: an allocated ID, see below; even: the address of something both sides know
  union {
    void *pointer;
    Py_ssize_t objoffset;  ///< bytes from the start of the instance
    uintptr_t flags;
  } data;
} PyCustomSlot;

/// IDs that no slot can have: a position left empty behind the last slot of an over-allocated
/// table, and a position skipped so that the next slot stands where its consumers expect it.
#define PyCustomSlot_ID_EMPTY ((uintptr_t)0x0)
#define PyCustomSlot_ID_SKIP ((uintptr_t)0x1)

/// Registrars (bits 31-24). 0x05 and up are for whoever asks.
#define PyCustomSlot_REGISTRAR_RESERVED 0x00
#define PyCustomSlot_REGISTRAR_PRIVATE 0x01  ///< never in released libraries
#define PyCustomSlot_REGISTRAR_CYTHON 0x02
#define PyCustomSlot_REGISTRAR_NUMPY 0x03
#define PyCustomSlot_REGISTRAR_NUMFOCUS 0x04

/// The allocated ID for a registrar (0-0xff), an idea (0-0xffff) and the idea's
/// backwards-incompatible version (0-0x7f), as a constant expression. Bits that do not fit are cut
/// off.
#define PyCustomSlot_ID(registrar, idea, version)                                \
  ((((uintptr_t)(registrar)&0xffu) << 24) | (((uintptr_t)(idea)&0xffffu) << 8) | \
   (((uintptr_t)(version)&0x7fu) << 1) | 1u)

#define PyCustomSlot_ID_REGISTRAR(id) ((unsigned)(((id) >> 24) & 0xffu))
#define PyCustomSlot_ID_IDEA(id) ((unsigned)(((id) >> 8) & 0xffffu))
#define PyCustomSlot_ID_VERSION(id) ((unsigned)(((id) >> 1) & 0x7fu))

/// Can `id` name a slot? Not the two special IDs, and no allocated ID with bits above the 32nd.
/// GIL: none; any thread; any interpreter.
static inline int PyCustomSlot_IsValidID(uintptr_t id) {
  if (id == PyCustomSlot_ID_EMPTY || id == PyCustomSlot_ID_SKIP) return 0;
  return (id & 1u) == 0 || id <= UINT32_MAX;
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_CORE_SLOT_ID_H_
