// The body of type_data_standards: a list followed by an int, in the common subset of C and C++.
#ifndef TYPEDCALL_TESTS_TYPE_DATA_STANDARDS_H_
#define TYPEDCALL_TESTS_TYPE_DATA_STANDARDS_H_

#include "core/type_data.h"

typedef struct {
  int state;
} SubListState;

// Returns 0, or the number of the check that failed.
static int check_list(void) {
  PyType_Slot slots[] = {{0, NULL}};
  PyType_Spec spec = {"standards.SubList", -(int)sizeof(SubListState), 0, 0, slots};
  spec.flags = Py_TPFLAGS_DEFAULT;
  PyTypeObject *cls =
      (PyTypeObject *)PyTypeData_FromSpec(NULL, NULL, &spec, (PyObject *)&PyList_Type);
  if (cls == NULL) return 1;
  PyObject *list = PyObject_CallObject((PyObject *)cls, NULL);
  if (list == NULL) return 2;
  SubListState *data = (SubListState *)PyTypeData_Get(list, cls);
  if (data->state != 0) return 3;
  data->state = 42;
  if (PyList_Append(list, Py_None) < 0 || PyList_GET_SIZE(list) != 1) return 4;
  if (((SubListState *)PyTypeData_Get(list, cls))->state != 42) return 5;
  if (PyTypeData_Size(cls) < (Py_ssize_t)sizeof(SubListState)) return 6;
  if (PyTypeData_HasItemsAtEnd(cls) || PyTypeData_Items(list) != NULL) return 7;
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) return 8;
  PyErr_Clear();
  Py_DECREF(list);
  Py_DECREF((PyObject *)cls);
  return 0;
}

#endif  // TYPEDCALL_TESTS_TYPE_DATA_STANDARDS_H_
