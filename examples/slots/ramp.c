// A provider: Ramp(start, step, count) computes its numbers, so it has no memory to offer. It skips
// the position for memory, so its unit is at the position where consumers expect it.
#include "agreed.h"
#include "core/extensibletype.h"

typedef struct {
  PyObject_HEAD
  double start, step;
  Py_ssize_t count;
} Ramp;

static int ramp_init(PyObject *self, PyObject *args, PyObject *names) {
  static char *keywords[] = {"start", "step", "count", NULL};
  Ramp *ramp = (Ramp *)self;
  return PyArg_ParseTupleAndKeywords(args, names, "ddn", keywords, &ramp->start, &ramp->step,
                                     &ramp->count)
             ? 0
             : -1;
}

static Py_ssize_t ramp_count(PyObject *self) {
  const Py_ssize_t count = ((Ramp *)self)->count;
  return count > 0 ? count : 0;
}

static int ramp_copy(PyObject *self, double *to, Py_ssize_t count) {
  const Ramp *ramp = (Ramp *)self;
  for (Py_ssize_t i = 0; i < count; ++i) to[i] = ramp->start + ramp->step * (double)i;
  return 0;
}

static numbers_vtable vtable = {ramp_count, ramp_copy};
static PyType_Slot type_slots[] = {
    {Py_tp_init, (void *)ramp_init}, {Py_tp_new, (void *)PyType_GenericNew}, {0, NULL}};
static PyType_Spec spec = {"ramp.Ramp", sizeof(Ramp), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                           type_slots};

static int exec_ramp(PyObject *module) {
  PyObject *measured = measured_interface();
  if (measured == NULL) return -1;
  PyCustomSlot slots[] = {{NUMBERS_VTABLE_ID, {&vtable}},
                          {PyCustomSlot_ID_SKIP, {NULL}},
                          {PyCustomSlot_POINTER_ID(measured), {(void *)"s"}}};
  PyObject *type = PyExtensibleType_FromSpec(module, &spec, NULL, slots, 3);
  // The type keeps a reference to the object whose address is the ID of one of its slots.
  int status = type != NULL ? PyObject_SetAttrString(type, "interface", measured) : -1;
  if (status == 0) status = PyModule_AddType(module, (PyTypeObject *)type);
  Py_XDECREF(type);
  Py_DECREF(measured);
  return status;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)exec_ramp}, {0, NULL}};
static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "ramp", .m_slots = slots};

PyMODINIT_FUNC PyInit_ramp(void) { return PyModuleDef_Init(&definition); }
