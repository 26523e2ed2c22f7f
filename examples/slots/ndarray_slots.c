// A third provider, which adds the vtable to numpy.ndarray in two ways. The vtable reads the
// buffer, so NumPy's headers are not needed.
//
// - numpy.ndarray is a foreign type. Its slot is registered in the side table, where
//   PyCustomSlots_FindAny finds it.
// - Array is a subclass with the metaclass for slots. PyCustomSlots_Find also finds its slot.
#include "agreed.h"
#include "core/extensibletype.h"
#include "core/foreign_slots.h"

// Accepts one-dimensional arrays of float64, with any stride.
static int open_buffer(PyObject *array, Py_buffer *view) {
  if (PyObject_GetBuffer(array, view, PyBUF_RECORDS_RO) < 0) return -1;
  if (view->ndim == 1 && strcmp(view->format, "d") == 0) return 0;
  PyBuffer_Release(view);
  PyErr_SetString(PyExc_TypeError, "numbers are float64, in one dimension");
  return -1;
}

static Py_ssize_t array_count(PyObject *array) {
  Py_buffer view;
  if (open_buffer(array, &view) < 0) return -1;
  const Py_ssize_t count = view.shape[0];
  PyBuffer_Release(&view);
  return count;
}

static int array_copy(PyObject *array, double *to, Py_ssize_t count) {
  Py_buffer view;
  if (open_buffer(array, &view) < 0) return -1;
  const int changed = view.shape[0] != count;
  const char *from = (const char *)view.buf;
  for (Py_ssize_t i = 0; !changed && i < count; ++i, from += view.strides[0]) {
    memcpy(&to[i], from, sizeof(double));
  }
  PyBuffer_Release(&view);
  if (changed) PyErr_SetString(PyExc_RuntimeError, "the array has another length now");
  return changed ? -1 : 0;
}

static numbers_vtable vtable = {array_count, array_copy};
static PyType_Slot type_slots[] = {{0, NULL}};
static PyType_Spec spec = {"ndarray_slots.Array", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                           type_slots};

static int offer(PyObject *module, PyObject *ndarray) {
  const PyCustomSlot slot = {NUMBERS_VTABLE_ID, {&vtable}};
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (interface == NULL) return -1;
  if (PyForeignSlots_Register(interface, (PyTypeObject *)ndarray, &slot, 1) < 0) return -1;
  PyObject *type = PyExtensibleType_FromSpec(module, &spec, ndarray, &slot, 1);
  if (type == NULL) return -1;
  const int status = PyModule_AddType(module, (PyTypeObject *)type);
  Py_DECREF(type);
  return status;
}

static int exec_module(PyObject *module) {
  PyObject *numpy = PyImport_ImportModule("numpy");
  PyObject *ndarray = numpy != NULL ? PyObject_GetAttrString(numpy, "ndarray") : NULL;
  const int status = ndarray != NULL ? offer(module, ndarray) : -1;
  Py_XDECREF(ndarray);
  Py_XDECREF(numpy);
  return status;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)exec_module}, {0, NULL}};
static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "ndarray_slots", .m_slots = slots};

PyMODINIT_FUNC PyInit_ndarray_slots(void) { return PyModuleDef_Init(&definition); }
