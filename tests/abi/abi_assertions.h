// Static assertions, in C and C++, for every struct, offset, size, bit, name and constant of
// docs/ABI.md.
#ifndef TYPEDCALL_TESTS_ABI_ABI_ASSERTIONS_H_
#define TYPEDCALL_TESTS_ABI_ABI_ASSERTIONS_H_

#include "core/extensible_type.h"
#include "core/foreign_slots.h"
#include "core/lazy_import.h"
#include "typedcall/tag.h"
#include "typedcall/typed_method.h"

#define SAME(a, b) PyTypedcall_STATIC_ASSERT((a) == (b), abi)
#define TYPE_OF(Struct, field) (((Struct *)0)->field)
// Asserts the offset and size of a field.
#define FIELD(Struct, field, at, bytes) \
  SAME(offsetof(Struct, field) == (at) && sizeof(TYPE_OF(Struct, field)) == (bytes), 1)

// --- 1. Slots on types ---------------------------------------------------------------------------

FIELD(PyCustomSlot, id, 0, 8);
FIELD(PyCustomSlot, data, 8, 8);
FIELD(PyCustomSlot, data.pointer, 8, 8);
FIELD(PyCustomSlot, data.objoffset, 8, 8);
FIELD(PyCustomSlot, data.flags, 8, 8);
SAME(sizeof(PyCustomSlot), 16);

FIELD(PyExtensibleTypeData, count, 0, 8);
FIELD(PyExtensibleTypeData, table, 8, 8);
FIELD(PyExtensibleTypeData, magic, 16, 8);
SAME(sizeof(PyExtensibleTypeData), 24);
SAME(PyExtensibleType_MAGIC, UINT64_C(0xd1a0c5b3e7f42961));

FIELD(PyExtensibleHeapTypeData, shared, 0, 24);
FIELD(PyExtensibleHeapTypeData, key, 24, 8);
SAME(sizeof(PyExtensibleHeapTypeData), 32);
SAME(PyExtensibleType_KEY(0x04000001u), UINT64_C(0xd1a0c5b3e3f42960));

SAME(PyExtensibleType_ALIGNMENT, 16);
SAME(PyExtensibleType_DATA_OFFSET % 16, 0);
PyTypedcall_STATIC_ASSERT(PyExtensibleType_DATA_OFFSET >= sizeof(PyHeapTypeObject), abi);
PyTypedcall_STATIC_ASSERT(PyExtensibleType_DATA_OFFSET < sizeof(PyHeapTypeObject) + 16, abi);
#ifndef Py_GIL_DISABLED  // free-threaded minor versions still change the object header
// The sizes for each CPython minor version on x86-64. Debug builds have the same layout.
#if PY_VERSION_HEX < 0x030A0000
SAME(PyExtensibleType_DATA_OFFSET, 880);
#elif PY_VERSION_HEX < 0x030B0000
SAME(PyExtensibleType_DATA_OFFSET, 896);
#elif PY_VERSION_HEX < 0x030C0000
SAME(PyExtensibleType_DATA_OFFSET, 912);
#elif PY_VERSION_HEX < 0x030E0000
SAME(PyExtensibleType_DATA_OFFSET, 928);
#endif
#endif

FIELD(PyHeapExtensibleTypeObject, etp_heaptype, 0, sizeof(PyHeapTypeObject));
FIELD(PyHeapExtensibleTypeObject, etp_custom_slot_count, PyExtensibleType_DATA_OFFSET, 8);
FIELD(PyHeapExtensibleTypeObject, etp_custom_slot_table, PyExtensibleType_DATA_OFFSET + 8, 8);
FIELD(PyHeapExtensibleTypeObject, etp_magic, PyExtensibleType_DATA_OFFSET + 16, 8);

// --- 2. IDs --------------------------------------------------------------------------------------

SAME(PyCustomSlot_ID_EMPTY, 0);
SAME(PyCustomSlot_ID_SKIP, 1);
SAME(PyCustomSlot_ID(0, 0, 0), 0x00000001);
SAME(PyCustomSlot_ID(0xff, 0, 0), 0xff000001);
SAME(PyCustomSlot_ID(0, 0xffff, 0), 0x00ffff01);
SAME(PyCustomSlot_ID(0, 0, 0x7f), 0x000000ff);
SAME(PyCustomSlot_ID(0x12, 0x3456, 0x78), 0x123456f1);
SAME(PyCustomSlot_ID_REGISTRAR(0x123456f1), 0x12);
SAME(PyCustomSlot_ID_IDEA(0x123456f1), 0x3456);
SAME(PyCustomSlot_ID_VERSION(0x123456f1), 0x78);
SAME(PyCustomSlot_REGISTRAR_RESERVED, 0);
SAME(PyCustomSlot_REGISTRAR_PRIVATE, 1);
SAME(PyCustomSlot_REGISTRAR_CYTHON, 2);
SAME(PyCustomSlot_REGISTRAR_NUMPY, 3);
SAME(PyCustomSlot_REGISTRAR_NUMFOCUS, 4);
SAME(PyCustomSlot_REGISTRAR_TYPEDCALL, 5);
SAME(PYCUSTOMSLOT_NATIVECALLABLE_ID, 0x04000001);
SAME(PYCUSTOMSLOT_NATIVECALLABLE_EXPECTED_POS, 0);

// --- 3. The record -------------------------------------------------------------------------------

FIELD(PyNativeCallableEntry, signature, 0, 8);
FIELD(PyNativeCallableEntry, flags, 8, 8);
FIELD(PyNativeCallableEntry, funcptr, 16, 8);
SAME(sizeof(PyNativeCallableEntry), 24);

FIELD(PyNativeCallableTable, count, 0, 8);
FIELD(PyNativeCallableTable, entries, 8, 24);
SAME(sizeof(PyNativeCallableTable), 32);

SAME(PyNativeCallable_ABI_MASK, 0xff000000u);
SAME(PyNativeCallable_NEEDS_THREAD, 0x0001);
SAME(PyNativeCallable_ACQUIRES_GIL, 0x0002);
SAME(PyNativeCallable_MAY_RAISE, 0x0004);
SAME(PyNativeCallable_ERROR_IS_NEG_ZERO, 0x0008);
SAME(PyNativeCallable_RETURNS_STATUS, 0x0010);
SAME(PyNativeCallable_TAKES_SELF, 0x0020);
SAME(PyNativeCallable_SETS_ERRNO, 0x0040);
SAME(PyNativeCallable_DIFFERS, 0x0080);
SAME(PyNativeCallable_FALLS_BACK, 0x0100);
SAME(PyNativeCallable_MANDATORY_MASK, 0xffff);
SAME(PyNativeCallable_KNOWN_MASK, 0x01ff);
SAME(PyNativeCallable_THREAD_SAFE, 0x010000);
SAME(PyNativeCallable_PURE, 0x020000);
SAME(PyNativeCallable_SHORT, 0x040000);

// --- 4. METH_TYPED -------------------------------------------------------------------------------

SAME(METH_TYPED, 0x1000);
SAME(METH_TYPED_EXT, 0x2000);
// CPython does not use these bits, so a def that has them still loads.
SAME((METH_TYPED | METH_TYPED_EXT) &
         (METH_VARARGS | METH_KEYWORDS | METH_NOARGS | METH_O | METH_CLASS | METH_STATIC |
          METH_COEXIST | METH_FASTCALL | METH_METHOD),
     0);
SAME(T_C_LONG, 1);
SAME(T_C_DOUBLE, 2);
SAME(T_PY_OBJECT, 3);
SAME(PyTypedMethod_NOT_FOR_PYPY, 0x100);

FIELD(PyPyTypedMethodMetadata, arg_types, 0, 8);
FIELD(PyPyTypedMethodMetadata, ret_type, 8, 4);
FIELD(PyPyTypedMethodMetadata, underlying_func, 16, 8);
FIELD(PyPyTypedMethodMetadata, ml_name, 24, 100);
SAME(sizeof(PyPyTypedMethodMetadata), 128);

FIELD(PyTypedMethod_Sibling, def, 0, 8);
FIELD(PyTypedMethod_Sibling, table, 8, 8);
SAME(sizeof(PyTypedMethod_Sibling), 16);

FIELD(PyTypedMethodMetadata, reserved, 0, 8);
FIELD(PyTypedMethodMetadata, table, 8, 8);
FIELD(PyTypedMethodMetadata, size, 16, 4);
FIELD(PyTypedMethodMetadata, abi_major, 20, 2);
FIELD(PyTypedMethodMetadata, abi_minor, 22, 2);
FIELD(PyTypedMethodMetadata, magic, 24, 8);
FIELD(PyTypedMethodMetadata, pypy, 32, 128);
FIELD(PyTypedMethodMetadata, pypy.ml_name, 56, 100);
SAME(sizeof(PyTypedMethodMetadata), 160);
SAME(PyTypedMethod_MAGIC, UINT64_C(0x5059545950454431));
SAME(PyTypedMethod_ABI_MAJOR, 1);
SAME(PyTypedMethod_ABI_MINOR, 0);
SAME(PyTypedMethod_SIZE, 56);

FIELD(PyTypedMethod_OneArgMetadata, arg_type, 0, 4);
FIELD(PyTypedMethod_OneArgMetadata, ret_type, 4, 4);
FIELD(PyTypedMethod_OneArgMetadata, underlying_func, 8, 8);
FIELD(PyTypedMethod_OneArgMetadata, ml_name, 16, 100);
// The int at ml_name - 12 is a field in the first struct and padding in the second.
SAME(offsetof(PyTypedMethod_OneArgMetadata, ret_type), 16 - 12);
SAME(offsetof(PyPyTypedMethodMetadata, ret_type) + sizeof(int), 24 - 12);

#if PY_VERSION_HEX >= 0x030B0000
SAME(PyTypedMethod_FLAGS, 0);
#else
SAME(PyTypedMethod_FLAGS, 0x3000);
#endif

// --- 5. The interface between modules ------------------------------------------------------------

FIELD(PyTypedcall_Interface, abi_major, 0, 2);
FIELD(PyTypedcall_Interface, abi_minor, 2, 2);
FIELD(PyTypedcall_Interface, size, 4, 4);
FIELD(PyTypedcall_Interface, state, 8, 8);
// New members are only added at the end.
FIELD(PyTypedcall_Interface, metaclass, 16, 8);
FIELD(PyTypedcall_Interface, resolve, 24, 8);
FIELD(PyTypedcall_Interface, find, 32, 8);
FIELD(PyTypedcall_Interface, hold, 40, 8);
FIELD(PyTypedcall_Interface, publish, 48, 8);
FIELD(PyTypedcall_Interface, exchange, 56, 8);
FIELD(PyTypedcall_Interface, retract, 64, 8);
FIELD(PyTypedcall_Interface, sibling, 72, 8);
FIELD(PyTypedcall_Interface, counters, 80, 8);
FIELD(PyTypedcall_Interface, live_counters, 88, 8);
FIELD(PyTypedcall_Interface, slot_id, 96, 8);
FIELD(PyTypedcall_Interface, ready_static, 104, 8);
FIELD(PyTypedcall_Interface, combined_metaclass, 112, 8);
FIELD(PyTypedcall_Placeholder, installed, 0, 8);
FIELD(PyTypedcall_Placeholder, interpreter, 8, 8);
FIELD(PyTypedcall_Placeholder, searched_length, 16, 8);
FIELD(PyTypedcall_Placeholder, interface, 24, sizeof(PyTypedcall_Interface));
SAME(PyTypedcall_CONFLICT, -2);
SAME(PyTypedcall_REPUBLISHED, 2);
SAME(PyTypedcall_INTERFACE_SIZE_1_0, 120);
SAME(sizeof(PyTypedcall_Interface), 120);
SAME(PyTypedcall_ABI_MINOR, 0);

FIELD(PyForeignSlots_Table, count, 0, 8);
FIELD(PyForeignSlots_Table, slots, 8, 16);
SAME(PyTypedcall_ABI_MAJOR, 1);

SAME(PyTypedcall_BY_TYPE, 0);
SAME(PyTypedcall_BY_DEF, 1);
SAME(PyTypedcall_BY_OBJECT, 2);
SAME(PyTypedcall_MERGED_BY_TYPE, 3);

FIELD(PyTypedcall_Counters, rows_added, 0, 8);
FIELD(PyTypedcall_Counters, rows_removed, 8, 8);
FIELD(PyTypedcall_Counters, conflicts, 16, 8);
FIELD(PyTypedcall_Counters, generations, 24, 8);

// --- Checked at run time -------------------------------------------------------------------------

static PyCustomSlot abi_slots[] = {{PyCustomSlot_ID_SKIP, {NULL}},
                                   {PYCUSTOMSLOT_NATIVECALLABLE_ID, {NULL}}};

// SEP 200's positional initialiser (type, count, table). The SEP's struct ends with the table.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
static PyHeapExtensibleTypeObject abi_sep200_type = {
    {{PyVarObject_HEAD_INIT(NULL, 0) "abi.Sep200"}}, 2, abi_slots};
#pragma GCC diagnostic pop

PyTypedMethod_DEFINE(abi_longest_name,
                     "123456789012345678901234567890123456789012345678901234567890"
                     "123456789012345678901234567890123456789",
                     {"d->d", 0, NULL});

// Returns the number of the first check that failed, or 0.
static inline int abi_check_at_run_time(void) {
  if (strcmp(PyTypedcall_MODULE, "_extensibletype") != 0) return 1;
  if (strcmp(PyTypedcall_CAPSULE, "typedcall_v2") != 0) return 2;
  if (strcmp(PyTypedcall_CAPSULE_NAME, "_extensibletype.typedcall_v2") != 0) return 3;
  if (strcmp(PyExtensibleType_ATTRIBUTE, "extensibletype_v2") != 0) return 4;
  if (abi_sep200_type.etp_custom_slot_count != 2) return 5;
  if (abi_sep200_type.etp_custom_slot_table != abi_slots) return 6;
  if (abi_sep200_type.etp_magic != 0) return 7;
  if (strcmp(abi_sep200_type.etp_heaptype.ht_type.tp_name, "abi.Sep200") != 0) return 8;
  // Both layouts find the data that the macro wrote before the name.
  const char *name = abi_longest_name.pypy.ml_name;
  if (strlen(name) != 99) return 9;
  if (name - offsetof(PyPyTypedMethodMetadata, ml_name) !=
      (const char *)&abi_longest_name.pypy.arg_types) {
    return 10;
  }
  if (abi_longest_name.pypy.arg_types[0] != 0x100) return 11;
  if (abi_longest_name.size != 56 || abi_longest_name.magic != UINT64_C(0x5059545950454431)) {
    return 12;
  }
  if (abi_longest_name.abi_major != 1 || abi_longest_name.abi_minor != 0) return 13;
  if (abi_longest_name.table->count != 1) return 14;
  if (strcmp(abi_longest_name.table->entries[0].signature, "d->d") != 0) return 15;
  return 0;
}

#endif  // TYPEDCALL_TESTS_ABI_ABI_ASSERTIONS_H_
