// The checks of slot_standards.c and slot_standards.cc, in the common subset of C and C++.
#ifndef TYPEDCALL_TESTS_INSTANCE_TABLE_STANDARDS_H_
#define TYPEDCALL_TESTS_INSTANCE_TABLE_STANDARDS_H_

#include "core/extensible_type.h"
#include "typedcall/native_callable_slot.h"

typedef struct {
  PyObject ob_base;
  double factor;
  PyNativeCallableTables native;
} Scale;

static double scale_d_d(PyObject *self, double x) { return ((Scale *)self)->factor * x; }

static void scale_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyNativeCallableTables_Release(&((Scale *)self)->native);
  type->tp_free(self);
  Py_DECREF((PyObject *)type);
}

// In C this must be a constant initialiser.
static const PyCustomSlot scale_slots[] = {PyNativeCallableTables_SLOT(Scale, native)};

// Returns 0, or the number of the check that failed.
static int check_scale(void) {
  PyType_Slot type_slots[] = {{Py_tp_dealloc, (void *)scale_dealloc}, {0, NULL}};
  PyType_Spec spec = {"standards.Scale", (int)sizeof(Scale), 0, 0, type_slots};
  spec.flags = Py_TPFLAGS_DEFAULT;
  const PyCustomSlot at = PyNativeCallableTables_SlotAt((Py_ssize_t)offsetof(Scale, native));
  if (at.id != scale_slots[0].id || at.data.objoffset != scale_slots[0].data.objoffset) return 1;
  PyObject *type = PyExtensibleType_FromSpec(NULL, &spec, NULL, scale_slots, 1);
  if (type == NULL) return 2;
  PyObject *object = PyObject_CallObject(type, NULL);
  if (object == NULL) return 3;
  if (PyNativeCallable_InstanceTable(object) != NULL) return 4;

  Scale *scale = (Scale *)object;
  scale->factor = 2.5;
  const uintptr_t flags = PyNativeCallable_TAKES_SELF | PyNativeCallable_SHORT;
  const PyNativeCallableEntry entries[] = {{"d->d", flags, (void *)scale_d_d},
                                           {"dd->d", flags, (void *)scale_d_d}};
  if (PyNativeCallableTables_Set(&scale->native, &entries[1], 1) < 0) return 5;
  if (PyNativeCallableTables_Append(&scale->native, &entries[0]) < 0) return 6;
  const PyNativeCallableTable *table = PyNativeCallable_InstanceTable(object);
  if (table == NULL || table->count != 2 || strcmp(table->entries[1].signature, "d->d")) return 7;
  double (*function)(PyObject *, double);
  memcpy(&function, &table->entries[1].funcptr, sizeof(function));
  if (function(object, 4.0) != 10.0) return 8;
  PyNativeCallableTables_Withdraw(&scale->native);
  if (PyNativeCallable_InstanceTable(object) != NULL) return 9;
  if (PyNativeCallableTables_Set(&scale->native, entries, -1) != -1) return 10;
  if (!PyErr_ExceptionMatches(PyExc_ValueError)) return 11;
  PyErr_Clear();
  Py_DECREF(object);
  Py_DECREF(type);

  PyNativeCallableTables alone;
  PyNativeCallableTables_Init(&alone);
  if (PyNativeCallableTables_Set(&alone, entries, 2) < 0 || alone.table->count != 2) return 12;
  PyNativeCallableTables_Release(&alone);
  return 0;
}

#endif  // TYPEDCALL_TESTS_INSTANCE_TABLE_STANDARDS_H_
