// The structs, flags and constants of docs/ABI.md in C, written from that page alone. Both modules
// of this member include this header.
#ifndef MEMBER_C_ABI_H
#define MEMBER_C_ABI_H

#include <Python.h>
#include <stdint.h>

typedef struct {
  uintptr_t id;
  uintptr_t data;
} Slot;
typedef struct {
  Py_ssize_t count;
  Slot *table;
  uint64_t magic;
} TypeData;
typedef struct {
  const char *signature;
  uintptr_t flags;
  void *function;
} Entry;
typedef struct {
  Py_ssize_t count;
  Entry entries[1];
} Table;
typedef struct {
  const PyMethodDef *def;
  const Table *table;
} Sibling;
// The data in front of a name. The padding is a field, so that it is certain to be 0.
typedef struct {
  const int *arg_types;
  int ret_type, padding;
  void *function;
  char ml_name[100];
} PypyMetadata;
typedef struct {
  int arg_type, ret_type;
  void *function;
  char ml_name[100];
} OneArgMetadata;
typedef struct {
  const void *reserved;
  const Table *table;
  uint32_t size;
  uint16_t abi_major, abi_minor;
  uint64_t magic;
  PypyMetadata pypy;
} HeaderMetadata;

typedef struct {
  uint16_t abi_major, abi_minor;
  uint32_t size;
  void *state;
  PyTypeObject *(*metaclass)(void *state);
  int (*resolve)(void *state, PyTypeObject *type, const Slot *own, Py_ssize_t own_count);
  const void *(*find)(void *state, int space, const void *key);
  PyObject *(*hold)(void *state, int space, const void *key, PyObject *callable,
                    const void **value);
  int (*publish)(void *state, int space, const void *key, PyObject *owner, const void *value,
                 int (*equal)(const void *existing, const void *offered),
                 void (*destroy)(const void *value), PyObject *kept);
  void *others[8];  // `exchange` and later functions, which are not used here
} Interface;
#define INTERFACE_NAME "_extensibletype.typedcall_v2"
enum { BY_DEF = 1, BY_OBJECT = 2, INTERFACE_SIZE = 120 };
enum {
  NEEDS_THREAD = 1,
  ACQUIRES_GIL = 2,
  MAY_RAISE = 4,
  ERROR_IS_NEG_ZERO = 8,
  RETURNS_STATUS = 0x10,
  TAKES_SELF = 0x20,
  FALLS_BACK = 0x100,
  THREAD_SAFE = 0x10000,
  PURE = 0x20000,
  KNOWN_FLAGS = 0x1ff,
  MUST_UNDERSTAND = 0xffff,
};
enum { TYPED = 0x1000, TYPED_EXT = 0x2000, NATIVE_SLOT = 0x04000001, MAX_ARGUMENTS = 127 };
#define TYPE_MAGIC UINT64_C(0xd1a0c5b3e7f42961)
#define HEADER_MAGIC UINT64_C(0x5059545950454431)

#endif
