// The slot IDs and positions that providers and consumers of numbers share.
#ifndef TYPEDCALL_EXAMPLES_SLOTS_AGREED_H_
#define TYPEDCALL_EXAMPLES_SLOTS_AGREED_H_

#include "core/slot_id.h"

// A vtable: `data.pointer` is a numbers_vtable. A released library would use its own registrar, not
// the private one.
#define NUMBERS_VTABLE_ID PyCustomSlot_ID(PyCustomSlot_REGISTRAR_PRIVATE, 0x6e76 /* "nv" */, 0)
#define NUMBERS_VTABLE_POSITION 0
typedef struct {
  Py_ssize_t (*count)(PyObject *numbers);  // -1 with an exception set
  // Writes `count` doubles, which must be the result of count(). Returns 0, or -1 with an exception
  // set.
  int (*copy)(PyObject *numbers, double *to, Py_ssize_t count);
} numbers_vtable;

// The data of a memoryview: `data.objoffset` is the offset of the numbers_memory in an instance.
// The numbers_memory must not change while the instance exists.
#define NUMBERS_MEMORY_ID PyCustomSlot_ID(PyCustomSlot_REGISTRAR_PRIVATE, 0x6e6d /* "nm" */, 0)
#define NUMBERS_MEMORY_POSITION 1
typedef struct {
  const char *data;  // the first double
  Py_ssize_t count;
  Py_ssize_t stride;  // bytes from one double to the next
} numbers_memory;

// A unit: `data.pointer` is its name in UTF-8. The ID is a pointer ID, the address of the class
// measured.Measured. The ID is valid only while the class exists, so each side keeps a reference to
// the class.
#define MEASURED_POSITION 2
static inline PyObject *measured_interface(void) {
  PyObject *module = PyImport_ImportModule("measured");
  if (module == NULL) return NULL;
  PyObject *interface = PyObject_GetAttrString(module, "Measured");
  Py_DECREF(module);
  return interface;
}

#endif  // TYPEDCALL_EXAMPLES_SLOTS_AGREED_H_
