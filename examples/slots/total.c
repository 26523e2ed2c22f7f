// A consumer: total(numbers) reads the memory in place if the type offers it, and otherwise calls
// the vtable. This module imports nothing, initialises nothing and has no state.
#include "agreed.h"
#include "core/customslots.h"

static double sum_of(const char *data, Py_ssize_t count, Py_ssize_t stride) {
  double sum = 0;
  for (Py_ssize_t i = 0; i < count; ++i) sum += *(const double *)(const void *)(data + i * stride);
  return sum;
}

static PyObject *sum_of_copy(const numbers_vtable *vtable, PyObject *numbers) {
  const Py_ssize_t count = vtable->count(numbers);
  if (count < 0) return NULL;
  double *copy = PyMem_New(double, (size_t)count);
  if (copy == NULL) return PyErr_NoMemory();
  PyObject *result = NULL;
  if (vtable->copy(numbers, copy, count) == 0) {
    result = PyFloat_FromDouble(sum_of((const char *)copy, count, sizeof(double)));
  }
  PyMem_Free(copy);
  return result;
}

static PyObject *total(PyObject *module, PyObject *numbers) {
  (void)module;
  PyCustomSlot *slot = PyCustomSlots_Find(numbers, NUMBERS_MEMORY_ID, NUMBERS_MEMORY_POSITION);
  if (slot != NULL) {
    const numbers_memory *memory =
        (const numbers_memory *)(const void *)((const char *)numbers + slot->data.objoffset);
    return PyFloat_FromDouble(sum_of(memory->data, memory->count, memory->stride));
  }
  slot = PyCustomSlots_Find(numbers, NUMBERS_VTABLE_ID, NUMBERS_VTABLE_POSITION);
  if (slot != NULL) return sum_of_copy((const numbers_vtable *)slot->data.pointer, numbers);
  return PyErr_Format(PyExc_TypeError, "a %.200s has no numbers", Py_TYPE(numbers)->tp_name);
}

static PyMethodDef methods[] = {{"total", total, METH_O, "The sum of the numbers."},
                                {NULL, NULL, 0, NULL}};
static PyModuleDef_Slot slots[] = {{0, NULL}};
static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "total", .m_methods = methods, .m_slots = slots};

PyMODINIT_FUNC PyInit_total(void) { return PyModuleDef_Init(&definition); }
