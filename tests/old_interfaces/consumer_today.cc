// A consumer that installs nothing, compiled with today's headers: whoever comes later, of
// whichever version, installs what it uses.
#include "typedcall/call_site.h"
#include "typedcall/resolve.h"

#ifdef TYPEDCALL_CORE_RENDEZVOUS_H_
#error "a consumer compiles what only providers need"
#endif

namespace {

struct State {
  const PyTypedcall_Interface *interface;
  typedcall::call_site<double(double)> *site;
};

State *StateOf(PyObject *module) { return static_cast<State *>(PyModule_GetState(module)); }

// call(callable, x): resolved, or TypeError.
PyObject *Call(PyObject *module, PyObject *args) {
  PyObject *callable;
  double x;
  if (!PyArg_ParseTuple(args, "Od", &callable, &x)) return nullptr;
  const auto found = typedcall::resolve<double(double)>(StateOf(module)->interface, callable);
  return found ? PyFloat_FromDouble(found(x)) : nullptr;
}

// by_site(callable, x): by the module's call site; None when nothing is offered.
PyObject *BySite(PyObject *module, PyObject *args) {
  PyObject *callable;
  double x;
  if (!PyArg_ParseTuple(args, "Od", &callable, &x)) return nullptr;
  const auto found = StateOf(module)->site->find(callable);
  if (!found) Py_RETURN_NONE;
  return PyFloat_FromDouble(found(x));
}

// is_installed()
PyObject *IsInstalled(PyObject *module, PyObject *) {
  return PyBool_FromLong(PyTypedcall_Installed(StateOf(module)->interface) != nullptr);
}

// writes(owner): what publish_kept and exchange of the interface return, for a key of this
// module's.
PyObject *Writes(PyObject *module, PyObject *owner) {
  static const int key = 0, first = 1, second = 2;
  const PyTypedcall_Interface *to = StateOf(module)->interface;
  const auto publish = [&](const int *value) {
    return to->publish_kept(to->state, PyTypedcall_BY_DEF, &key, owner, value, nullptr, nullptr,
                            Py_None);
  };
  const auto exchange = [&](const int *expected, const int *value) {
    return to->exchange(to->state, PyTypedcall_BY_DEF, &key, owner, expected, value, nullptr);
  };
  const int published = publish(&first), again = publish(&first), conflict = publish(&second);
  const int wrong = exchange(&second, &first), right = exchange(&first, &second);
  const bool is_there = to->find(to->state, PyTypedcall_BY_DEF, &key) == &second;
  const int retracted = to->retract(to->state, PyTypedcall_BY_DEF, &key);
  return Py_BuildValue("iiiiiii", published, again, conflict, wrong, right, is_there, retracted);
}

PyMethodDef methods[] = {
    {"writes", Writes, METH_O, nullptr},
    {"call", Call, METH_VARARGS, nullptr},
    {"by_site", BySite, METH_VARARGS, nullptr},
    {"is_installed", IsInstalled, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

int Exec(PyObject *module) {
  State *state = StateOf(module);
  state->interface = PyTypedcall_Import();
  if (state->interface == nullptr) return -1;
  state->site = new typedcall::call_site<double(double)>(state->interface);
  return 0;
}

void Free(void *module) {
  const State *state = StateOf(static_cast<PyObject *>(module));
  if (state != nullptr) delete state->site;
}

PyModuleDef_Slot slots[] = {
    {Py_mod_exec, reinterpret_cast<void *>(Exec)},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
    {0, nullptr},
};

PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    "consumer_today",
    nullptr,
    sizeof(State),
    methods,
    slots,
    nullptr,
    nullptr,
    Free,
};

}  // namespace

PyMODINIT_FUNC PyInit_consumer_today() { return PyModuleDef_Init(&module_def); }
