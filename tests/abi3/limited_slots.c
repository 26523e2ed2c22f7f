// A provider and consumer of slots, compiled for the limited API. abi3t_slots is the same module
// compiled for abi3t.
#include "core/custom_slots_limited.h"
#include "core/extensible_type.h"

static const PyCustomSlots_Limited *Api(PyObject *module) {
  return (const PyCustomSlots_Limited *)PyModule_GetState(module);
}

#define PROBE_MADE "limited_slots.Made"
#define PROBE_INTERFACE Api(module)->interface
#define PROBE_CHECK(object) PyCustomSlots_LimitedCheck(Api(module), object)
#define PROBE_COUNT(object) PyCustomSlots_LimitedCount(Api(module), object)
#define PROBE_TABLE(object) PyCustomSlots_LimitedTable(Api(module), object)
#define PROBE_FIND(object, id, position) \
  PyCustomSlots_LimitedFind(Api(module), object, id, position)
#include "tests/class_slots/slot_probe.h"

// Like find(), but releases the GIL for the look-up.
static PyObject *FindDetached(PyObject *module, PyObject *args) {
  PyObject *object;
  unsigned long long id;
  if (!PyArg_ParseTuple(args, "OK", &object, &id)) return NULL;
  const PyCustomSlots_Limited *api = Api(module);
  const PyCustomSlot *slot;
  Py_BEGIN_ALLOW_THREADS;
  slot = PyCustomSlots_LimitedFindDetached(api, object, (uintptr_t)id, 0);
  Py_END_ALLOW_THREADS;
  return Result(slot);
}

static PyObject *FindForeign(PyObject *module, PyObject *args) {
  PyObject *object;
  unsigned long long id;
  if (!PyArg_ParseTuple(args, "OK", &object, &id)) return NULL;
  return Result(PyForeignSlots_Find(Api(module)->interface, object, (uintptr_t)id, 0));
}

// find_under_error(object, id) is find() with a pending exception, which must stay set.
static PyObject *FindUnderError(PyObject *module, PyObject *args) {
  PyObject *object;
  unsigned long long id;
  if (!PyArg_ParseTuple(args, "OK", &object, &id)) return NULL;
  PyErr_SetString(PyExc_LookupError, "pending");
  PyObject *pending = PyErr_GetRaisedException();
  Py_INCREF(pending);
  PyErr_SetRaisedException(pending);
  const PyCustomSlot *slot = PyCustomSlots_LimitedFind(Api(module), object, (uintptr_t)id, 0);
  PyObject *raised = PyErr_GetRaisedException();
  const int same = raised == pending;
  Py_XDECREF(raised);
  Py_DECREF(pending);
  if (same) return Result(slot);
  PyErr_SetString(PyExc_AssertionError, "the pending exception is gone");
  return NULL;
}

// counters() returns (rows added, rows removed).
static PyObject *Counters(PyObject *module, PyObject *unused) {
  (void)unused;
  const PyTypedcall_Interface *interface = Api(module)->interface;
  PyTypedcall_Counters counters = {0, 0, 0, 0};
  interface->counters(interface->state, &counters, sizeof(counters));
  return Py_BuildValue("KK", (unsigned long long)counters.rows_added,
                       (unsigned long long)counters.rows_removed);
}

static PyObject *Offset(PyObject *module, PyObject *unused) {
  (void)unused;
  return PyLong_FromSsize_t(Api(module)->offset);
}

// installed() returns True if this module installed the interface.
static PyObject *Installed(PyObject *module, PyObject *unused) {
  (void)unused;
  return PyBool_FromLong(Api(module)->interface->resolve == PyTC_DoResolve);
}

static PyMethodDef methods[] = {PROBE_METHODS,
                                {"find_detached", FindDetached, METH_VARARGS, NULL},
                                {"find_under_error", FindUnderError, METH_VARARGS, NULL},
                                {"find_foreign", FindForeign, METH_VARARGS, NULL},
                                {"counters", Counters, METH_NOARGS, NULL},
                                {"installed", Installed, METH_NOARGS, NULL},
                                {"offset", Offset, METH_NOARGS, NULL},
                                {NULL, NULL, 0, NULL}};

static int Exec(PyObject *module) {
  PyCustomSlots_Limited *api = (PyCustomSlots_Limited *)PyModule_GetState(module);
  if (PyCustomSlots_LimitedImport(api) < 0) return -1;
  return PyModule_AddObjectRef(module, "Metaclass", (PyObject *)api->metaclass);
}

#ifdef Py_TARGET_ABI3T
PyABIInfo_VAR(abi_info);

static PySlot module_slots[] = {
    PySlot_STATIC_DATA(Py_mod_name, "abi3t_slots"),
    PySlot_STATIC_DATA(Py_mod_abi, &abi_info),
    PySlot_STATIC_DATA(Py_mod_methods, methods),
    PySlot_SIZE(Py_mod_state_size, sizeof(PyCustomSlots_Limited)),
    PySlot_FUNC(Py_mod_exec, Exec),
    PySlot_DATA(Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED),
    PySlot_DATA(Py_mod_gil, Py_MOD_GIL_NOT_USED),
    PySlot_END};

PyMODEXPORT_FUNC PyModExport_abi3t_slots(void) { return module_slots; }
#else
static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, (void *)Exec},
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
    {0, NULL}};

static struct PyModuleDef module_def = {PyModuleDef_HEAD_INIT,
                                        "limited_slots",
                                        NULL,
                                        sizeof(PyCustomSlots_Limited),
                                        methods,
                                        module_slots,
                                        NULL,
                                        NULL,
                                        NULL};

PyMODINIT_FUNC PyInit_limited_slots(void) { return PyModuleDef_Init(&module_def); }
#endif
