// Another provider: Samples(numbers) keeps its numbers in the instance. It offers the vtable and
// the memory, but no unit.
#include "agreed.h"
#include "core/extensibletype.h"

typedef struct {
  PyObject_VAR_HEAD
  numbers_memory memory;
  double numbers[];
} Samples;

static PyObject *samples_new(PyTypeObject *type, PyObject *args, PyObject *names) {
  static char *keywords[] = {"numbers", NULL};
  PyObject *numbers;
  if (!PyArg_ParseTupleAndKeywords(args, names, "O", keywords, &numbers)) return NULL;
  PyObject *given = PySequence_Tuple(numbers);  // a copy that Python code cannot change
  if (given == NULL) return NULL;
  const Py_ssize_t count = PyTuple_GET_SIZE(given);
  Samples *self = (Samples *)type->tp_alloc(type, count);
  for (Py_ssize_t i = 0; self != NULL && i < count; ++i) {
    self->numbers[i] = PyFloat_AsDouble(PyTuple_GET_ITEM(given, i));
    if (self->numbers[i] == -1.0 && PyErr_Occurred()) Py_CLEAR(self);
  }
  Py_DECREF(given);
  if (self == NULL) return NULL;
  self->memory.data = (const char *)self->numbers;
  self->memory.count = count;
  self->memory.stride = sizeof(double);
  return (PyObject *)self;
}

static Py_ssize_t samples_count(PyObject *self) { return ((Samples *)self)->memory.count; }

static int samples_copy(PyObject *self, double *to, Py_ssize_t count) {
  memcpy(to, ((Samples *)self)->numbers, (size_t)count * sizeof(double));
  return 0;
}

static numbers_vtable vtable = {samples_count, samples_copy};
static PyType_Slot type_slots[] = {{Py_tp_new, (void *)samples_new}, {0, NULL}};
static PyType_Spec spec = {"samples.Samples", sizeof(Samples), sizeof(double),
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, type_slots};

static int exec_samples(PyObject *module) {
  PyCustomSlot slots[] = {{NUMBERS_VTABLE_ID, {&vtable}}, {NUMBERS_MEMORY_ID, {NULL}}};
  slots[1].data.objoffset = offsetof(Samples, memory);
  PyObject *type = PyExtensibleType_FromSpec(module, &spec, NULL, slots, 2);
  if (type == NULL) return -1;
  const int status = PyModule_AddType(module, (PyTypeObject *)type);
  Py_DECREF(type);
  return status;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)exec_samples}, {0, NULL}};
static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "samples", .m_slots = slots};

PyMODINIT_FUNC PyInit_samples(void) { return PyModuleDef_Init(&definition); }
