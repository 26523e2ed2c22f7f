// Another consumer: extent(numbers) returns the smallest number, the largest, and their unit or
// None. It also finds slots that were registered for foreign types such as numpy.ndarray. This
// needs the interpreter's interface, which a consumer never installs.
#include "agreed.h"
#include "core/customslots.h"
#include "core/foreign_slots.h"
#include "core/lazy_import.h"

typedef struct {
  const PyTypedcall_Interface *interface;
  PyObject *measured;
} State;

static PyObject *extent_of_copy(const double *copy, Py_ssize_t count, const char *unit) {
  double least = copy[0], greatest = copy[0];
  for (Py_ssize_t i = 1; i < count; ++i) {
    if (copy[i] < least) least = copy[i];
    if (copy[i] > greatest) greatest = copy[i];
  }
  return Py_BuildValue("ddz", least, greatest, unit);
}

static PyObject *extent(PyObject *module, PyObject *numbers) {
  const State *state = (const State *)PyModule_GetState(module);
  const PyCustomSlot *slot =
      PyCustomSlots_FindAny(state->interface, numbers, NUMBERS_VTABLE_ID, NUMBERS_VTABLE_POSITION);
  if (slot == NULL) {
    return PyErr_Format(PyExc_TypeError, "a %.200s has no numbers", Py_TYPE(numbers)->tp_name);
  }
  const numbers_vtable *vtable = (const numbers_vtable *)slot->data.pointer;
  slot = PyCustomSlots_FindAny(state->interface, numbers, PyCustomSlot_POINTER_ID(state->measured),
                               MEASURED_POSITION);
  const char *unit = slot != NULL ? (const char *)slot->data.pointer : NULL;
  const Py_ssize_t count = vtable->count(numbers);
  if (count < 0) return NULL;
  if (count == 0) return PyErr_Format(PyExc_ValueError, "there are no numbers in it");
  double *copy = PyMem_New(double, (size_t)count);
  if (copy == NULL) return PyErr_NoMemory();
  PyObject *result = NULL;
  if (vtable->copy(numbers, copy, count) == 0) result = extent_of_copy(copy, count, unit);
  PyMem_Free(copy);
  return result;
}

static int exec_extent(PyObject *module) {
  State *state = (State *)PyModule_GetState(module);
  state->interface = PyTypedcall_ImportLazily();
  state->measured = state->interface != NULL ? measured_interface() : NULL;
  return state->measured != NULL ? 0 : -1;
}

static int traverse(PyObject *module, visitproc visit, void *arg) {
  Py_VISIT(((State *)PyModule_GetState(module))->measured);
  return 0;
}

static int clear(PyObject *module) {
  Py_CLEAR(((State *)PyModule_GetState(module))->measured);
  return 0;
}

static void free_state(void *module) { (void)clear((PyObject *)module); }

static PyMethodDef methods[] = {
    {"extent", extent, METH_O, "The least number, the greatest, and their unit or None."},
    {NULL, NULL, 0, NULL}};
static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)exec_extent}, {0, NULL}};
static struct PyModuleDef definition = {.m_base = PyModuleDef_HEAD_INIT,
                                        .m_name = "extent",
                                        .m_size = sizeof(State),
                                        .m_methods = methods,
                                        .m_slots = slots,
                                        .m_traverse = traverse,
                                        .m_clear = clear,
                                        .m_free = free_state};

PyMODINIT_FUNC PyInit_extent(void) { return PyModuleDef_Init(&definition); }
