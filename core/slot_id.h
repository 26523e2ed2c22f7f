// Custom slots and their IDs. Source: SEP 200, "The custom slot table", "The custom slot ID space".
#include "core/version.h"

#ifndef TYPEDCALL_CORE_SLOT_ID_H_
#define TYPEDCALL_CORE_SLOT_ID_H_

#include "core/platform.h"

/// One custom slot. The ID determines the meaning of `data`.
typedef struct PyCustomSlot {
  uintptr_t id;  ///< odd: an allocated ID; even: an address that both sides know
  union {
    void *pointer;
    Py_ssize_t objoffset;  ///< bytes from the start of the instance
    uintptr_t flags;
  } data;
} PyCustomSlot;

/// No slot has one of these IDs, which mark free positions at a table's end and skipped positions.
#define PyCustomSlot_ID_EMPTY ((uintptr_t)0x0)
#define PyCustomSlot_ID_SKIP ((uintptr_t)0x1)

/// Registrars (bits 31-24). docs/reference/slot-ids.md explains how to request one.
#define PyCustomSlot_REGISTRAR_RESERVED 0x00
#define PyCustomSlot_REGISTRAR_PRIVATE 0x01  ///< never in released libraries
#define PyCustomSlot_REGISTRAR_CYTHON 0x02
#define PyCustomSlot_REGISTRAR_NUMPY 0x03
#define PyCustomSlot_REGISTRAR_NUMFOCUS 0x04
#define PyCustomSlot_REGISTRAR_TYPEDCALL 0x05
#define PyCustomSlot_REGISTRAR_RUNTIME 0xff  ///< for PyCustomSlot_IDByName

/// The allocated ID for a registrar (0-0xff), an idea (0-0xffff) and a version of the idea
/// (0-0x7f). Different versions are incompatible. A constant expression. Excess bits are ignored.
#define PyCustomSlot_ID(registrar, idea, version)                                \
  ((((uintptr_t)(registrar)&0xffu) << 24) | (((uintptr_t)(idea)&0xffffu) << 8) | \
   (((uintptr_t)(version)&0x7fu) << 1) | 1u)

/// The ID for an address that both sides know: even, not NULL, and not reused while the ID is used.
#define PyCustomSlot_POINTER_ID(address) ((uintptr_t)(const void *)(address))

/// SEP 201's native-callable slot: the offset of the instance's table of native functions.
#define PyCustomSlot_ID_NATIVECALLABLE PyCustomSlot_ID(PyCustomSlot_REGISTRAR_NUMFOCUS, 0, 0)

#define PyCustomSlot_ID_REGISTRAR(id) ((unsigned)(((id) >> 24) & 0xffu))
#define PyCustomSlot_ID_IDEA(id) ((unsigned)(((id) >> 8) & 0xffffu))
#define PyCustomSlot_ID_VERSION(id) ((unsigned)(((id) >> 1) & 0x7fu))

/// True if a slot can have this ID: neither special, nor odd with more than 32 bits. GIL: none.
static inline int PyCustomSlot_IsValidID(uintptr_t id) {
  if (id == PyCustomSlot_ID_EMPTY || id == PyCustomSlot_ID_SKIP) return 0;
  return (id & 1u) == 0 || id <= UINT32_MAX;
}

/// True if `id` is an allocated ID: not an address and not one of the two special IDs. GIL: none.
static inline int PyCustomSlot_IsAllocatedID(uintptr_t id) {
  return (id & 1u) != 0 && PyCustomSlot_IsValidID(id);
}

#if defined(__cplusplus) && __cplusplus >= 201402L
namespace typedcall {

/// Like PyCustomSlot_ID, but a part that does not fit is a compile error.
template <unsigned registrar, unsigned idea, unsigned version = 0>
constexpr uintptr_t custom_slot_id() {
  static_assert(registrar <= 0xff, "a registrar is 0 to 0xff");
  static_assert(idea <= 0xffff, "an idea is 0 to 0xffff");
  static_assert(version <= 0x7f, "an idea's version is 0 to 0x7f");
  static_assert(registrar != 0 || idea != 0 || version != 0, "0x1 is the ID of a skipped slot");
  static_assert(registrar != PyCustomSlot_REGISTRAR_RUNTIME,
                "these IDs are assigned at run time: PyCustomSlot_IDByName");
  return PyCustomSlot_ID(registrar, idea, version);
}

/// The parts of an allocated ID.
constexpr unsigned custom_slot_registrar(uintptr_t id) { return PyCustomSlot_ID_REGISTRAR(id); }
constexpr unsigned custom_slot_idea(uintptr_t id) { return PyCustomSlot_ID_IDEA(id); }
constexpr unsigned custom_slot_version(uintptr_t id) { return PyCustomSlot_ID_VERSION(id); }

}  // namespace typedcall
#endif
#endif  // TYPEDCALL_CORE_SLOT_ID_H_
