// A provider and consumer compiled for the limited API: types with slots, look-ups of both tiers,
// foreign types. State per module; works in interpreters with a GIL of their own. Compiled for
// abi3t, it is a separate module, abi3t_slots.
#include "core/custom_slots_limited.h"
#include "core/extensible_type.h"
#include "core/foreign_slots.h"

static const PyCustomSlots_Limited *Api(PyObject *module) {
  return (const PyCustomSlots_Limited *)PyModule_GetState(module);
}

// Reads {id: flags} into `slots`. Returns the number of slots, or -1 with an exception.
static Py_ssize_t ReadSlots(PyObject *given, PyCustomSlot slots[16]) {
  PyObject *id, *flags;
  Py_ssize_t count = 0;
  for (Py_ssize_t at = 0; count < 16 && PyDict_Next(given, &at, &id, &flags); ++count) {
    slots[count].id = PyLong_AsSize_t(id);
    slots[count].data.flags = PyLong_AsSize_t(flags);
  }
  return PyErr_Occurred() ? -1 : count;
}

static int Traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  return 0;
}

// make({id: flags}, bases=None)
static PyObject *Make(PyObject *module, PyObject *args) {
  static PyType_Slot type_slots[] = {{Py_tp_traverse, (void *)Traverse}, {0, NULL}};
  static PyType_Spec spec = {"limited_slots.Made", 0, 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                             type_slots};
  PyObject *given, *bases = NULL;
  PyCustomSlot slots[16];
  if (!PyArg_ParseTuple(args, "O!|O", &PyDict_Type, &given, &bases)) return NULL;
  const Py_ssize_t count = ReadSlots(given, slots);
  return count < 0 ? NULL : PyExtensibleType_FromSpec(module, &spec, bases, slots, count);
}

static PyObject *Result(const PyCustomSlot *slot) {
  if (slot != NULL) return PyLong_FromSize_t(slot->data.flags);
  Py_INCREF(Py_None);
  return Py_None;
}

// find(object, id, expected_position=0) -> flags or None
static PyObject *Find(PyObject *module, PyObject *args) {
  PyObject *object;
  unsigned long long id;
  Py_ssize_t position = 0;
  if (!PyArg_ParseTuple(args, "OK|n", &object, &id, &position)) return NULL;
  return Result(PyCustomSlots_LimitedFind(Api(module), object, (uintptr_t)id, position));
}

// The same without the GIL.
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

// table(object) -> [(id, flags)], or None if it is not extensible
static PyObject *Table(PyObject *module, PyObject *object) {
  const PyCustomSlots_Limited *api = Api(module);
  if (!PyCustomSlots_LimitedCheck(api, object)) return Result(NULL);
  const PyCustomSlot *table = PyCustomSlots_LimitedTable(api, object);
  PyObject *list = PyList_New(0);
  for (Py_ssize_t i = 0; list != NULL && i < PyCustomSlots_LimitedCount(api, object); ++i) {
    PyObject *pair = Py_BuildValue("KK", (unsigned long long)table[i].id,
                                   (unsigned long long)table[i].data.flags);
    if (pair == NULL || PyList_Append(list, pair) < 0) Py_CLEAR(list);
    Py_XDECREF(pair);
  }
  return list;
}

// register(type, {id: flags})
static PyObject *Register(PyObject *module, PyObject *args) {
  PyTypeObject *type;
  PyObject *given;
  PyCustomSlot slots[16];
  if (!PyArg_ParseTuple(args, "O!O!", &PyType_Type, &type, &PyDict_Type, &given)) return NULL;
  const Py_ssize_t count = ReadSlots(given, slots);
  if (count < 0 || PyForeignSlots_Register(Api(module)->interface, type, slots, count) < 0) {
    return NULL;
  }
  return Result(NULL);
}

static PyObject *FindForeign(PyObject *module, PyObject *args) {
  PyObject *object;
  unsigned long long id;
  if (!PyArg_ParseTuple(args, "OK", &object, &id)) return NULL;
  return Result(PyForeignSlots_Find(Api(module)->interface, object, (uintptr_t)id, 0));
}

// find_under_error(object, id): find() with an exception pending, which must be unchanged
// afterwards.
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

// counters() -> (rows added, rows removed)
static PyObject *Counters(PyObject *module, PyObject *unused) {
  (void)unused;
  const PyTypedcall_Interface *interface = Api(module)->interface;
  PyTypedcall_Counters counters = {0, 0, 0, 0};
  interface->counters(interface->state, &counters, sizeof(counters));
  return Py_BuildValue("KK", (unsigned long long)counters.rows_added,
                       (unsigned long long)counters.rows_removed);
}

static PyObject *IdByName(PyObject *module, PyObject *args) {
  const char *name;
  if (!PyArg_ParseTuple(args, "s", &name)) return NULL;
  const uintptr_t id = PyCustomSlot_IDByName(Api(module)->interface, name);
  return id != 0 ? PyLong_FromSize_t(id) : NULL;
}

static PyObject *Combined(PyObject *module, PyObject *metaclasses) {
  (void)module;
  return (PyObject *)PyExtensibleType_CombinedMetaclass(metaclasses);
}

static PyObject *Offset(PyObject *module, PyObject *unused) {
  (void)unused;
  return PyLong_FromSsize_t(Api(module)->offset);
}

// installed() -> True if this module installed the interface
static PyObject *Installed(PyObject *module, PyObject *unused) {
  (void)unused;
  return PyBool_FromLong(Api(module)->interface->resolve == PyTypedcall_Internal_Resolve);
}

static PyMethodDef methods[] = {{"make", Make, METH_VARARGS, NULL},
                                {"find", Find, METH_VARARGS, NULL},
                                {"find_detached", FindDetached, METH_VARARGS, NULL},
                                {"find_under_error", FindUnderError, METH_VARARGS, NULL},
                                {"table", Table, METH_O, NULL},
                                {"register", Register, METH_VARARGS, NULL},
                                {"find_foreign", FindForeign, METH_VARARGS, NULL},
                                {"counters", Counters, METH_NOARGS, NULL},
                                {"id_by_name", IdByName, METH_VARARGS, NULL},
                                {"combined", Combined, METH_VARARGS, NULL},
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
