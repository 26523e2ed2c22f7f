// A module that is provider and consumer at once, compiled with the headers of one version of the
// interface: MEMBER is its name, MEMBER_TIMES what its tagged function multiplies by.
#ifndef TYPEDCALL_TESTS_OLD_INTERFACES_MEMBER_H_
#define TYPEDCALL_TESTS_OLD_INTERFACES_MEMBER_H_

#include <optional>
#include <string>

#define MEMBER_JOIN_(a, b) a##b
#define MEMBER_JOIN(a, b) MEMBER_JOIN_(a, b)
#define MEMBER_TEXT_(a) #a
#define MEMBER_TEXT(a) MEMBER_TEXT_(a)

namespace {

using Signature = double(double);

struct State {
  const PyTypedcall_Interface *interface;
  typedcall::call_site<Signature> *site;
};

State *StateOf(PyObject *module) { return static_cast<State *>(PyModule_GetState(module)); }

double Times(double x) noexcept { return MEMBER_TIMES * x; }

const PyNativeCallableTable table = {1, {{"d->d", 0, reinterpret_cast<void *>(Times)}}};

// times(x): the tagged one, boxed.
PyObject *BoxedTimes(PyObject *, PyObject *x) {
  const double value = PyFloat_AsDouble(x);
  if (value == -1 && PyErr_Occurred()) return nullptr;
  return PyFloat_FromDouble(Times(value));
}

// abi() -> (major, minor, size, address) of what this module uses.
PyObject *Abi(PyObject *module, PyObject *) {
  const PyTypedcall_Interface *interface = StateOf(module)->interface;
  return Py_BuildValue("iiIN", interface->abi_major, interface->abi_minor, interface->size,
                       PyLong_FromVoidPtr(const_cast<PyTypedcall_Interface *>(interface)));
}

// rows() -> (added, removed, conflicts)
PyObject *Rows(PyObject *module, PyObject *) {
  const PyTypedcall_Interface *interface = StateOf(module)->interface;
  PyTypedcall_Counters counted = {};
  interface->counters(interface->state, &counted, sizeof(counted));
  return Py_BuildValue("KKK", (unsigned long long)counted.rows_added,
                       (unsigned long long)counted.rows_removed,
                       (unsigned long long)counted.conflicts);
}

// call(callable, x): resolved at compile time's signature.
PyObject *Call(PyObject *module, PyObject *args) {
  PyObject *callable;
  double x;
  if (!PyArg_ParseTuple(args, "Od", &callable, &x)) return nullptr;
  const auto found = typedcall::resolve<Signature>(StateOf(module)->interface, callable);
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

// where(callable) -> (signature, place), or None.
PyObject *Where(PyObject *module, PyObject *callable) {
  const auto found = typedcall::find(StateOf(module)->interface, callable, "d->d");
  if (!found) Py_RETURN_NONE;
  return Py_BuildValue("ss", found->signature.c_str(), typedcall::describe(found->where));
}

// hold(callable) -> a capsule with a resolution, or TypeError; held(capsule, x) calls it.
void Drop(PyObject *capsule) {
  delete static_cast<typedcall::resolution *>(PyCapsule_GetPointer(capsule, MEMBER_TEXT(MEMBER)));
}
PyObject *Hold(PyObject *module, PyObject *callable) {
  auto found = typedcall::resolve(StateOf(module)->interface, callable, "d->d");
  if (!found) return nullptr;
  return PyCapsule_New(new typedcall::resolution(std::move(*found)), MEMBER_TEXT(MEMBER), Drop);
}
PyObject *Held(PyObject *, PyObject *args) {
  PyObject *capsule;
  double x;
  if (!PyArg_ParseTuple(args, "Od", &capsule, &x)) return nullptr;
  const auto *held =
      static_cast<typedcall::resolution *>(PyCapsule_GetPointer(capsule, MEMBER_TEXT(MEMBER)));
  if (held == nullptr) return nullptr;
  return PyFloat_FromDouble(reinterpret_cast<double (*)(double)>(held->funcptr)(x));
}

// tag(callable, address): with a table on the heap -> taken? ; made() is how many are not freed.
long living;
void Destroy(const void *ended) {
  --living;
  memset(const_cast<void *>(ended), 0xdd, sizeof(PyNativeCallableTable));
  PyMem_RawFree(const_cast<void *>(ended));
}
PyObject *Tag(PyObject *module, PyObject *args) {
  PyObject *callable, *address;
  if (!PyArg_ParseTuple(args, "OO!", &callable, &PyLong_Type, &address)) return nullptr;
  auto *made = static_cast<PyNativeCallableTable *>(PyMem_RawMalloc(sizeof(table)));
  if (made == nullptr) return PyErr_NoMemory();
  *made = table;
  made->entries[0].funcptr = PyLong_AsVoidPtr(address);
  ++living;
  const PyTypedcall_Interface *interface = StateOf(module)->interface;
  const int taken = PyTypedMethod_DefOf(callable) != nullptr
                        ? PyTypedMethod_TagCallable(interface, callable, made, Destroy)
                        : PyNativeCallable_TagObject(interface, callable, made, Destroy);
  if (taken != 1) Destroy(made);
  return taken < 0 ? nullptr : PyBool_FromLong(taken);
}
PyObject *Living(PyObject *, PyObject *) { return PyLong_FromLong(living); }

PyObject *Untag(PyObject *module, PyObject *callable) {
  const PyTypedcall_Interface *interface = StateOf(module)->interface;
  const PyMethodDef *def = PyTypedMethod_DefOf(callable);
  return PyBool_FromLong(def != nullptr ? PyTypedMethod_UntagDef(interface, def)
                                        : PyNativeCallable_UntagObject(interface, callable));
}

std::uintptr_t IdOf(unsigned long idea) {
  return PyCustomSlot_ID(PyCustomSlot_REGISTRAR_PRIVATE, idea, 0);
}

// slot(object, idea): its flags, or None; the type's own or a foreign one.
PyObject *Slot(PyObject *module, PyObject *args) {
  PyObject *object;
  unsigned long idea;
  if (!PyArg_ParseTuple(args, "Ok", &object, &idea)) return nullptr;
  const PyCustomSlot *slot =
      PyCustomSlots_FindAny(StateOf(module)->interface, object, IdOf(idea), 0);
  if (slot == nullptr) Py_RETURN_NONE;
  return PyLong_FromSize_t(slot->data.flags);
}

// register(type, idea, flags), unregister(type, idea)
PyObject *Register(PyObject *module, PyObject *args) {
  PyObject *type;
  unsigned long idea, flags;
  if (!PyArg_ParseTuple(args, "O!kk", &PyType_Type, &type, &idea, &flags)) return nullptr;
  PyCustomSlot slot;
  slot.id = IdOf(idea);
  slot.data.flags = flags;
  if (PyForeignSlots_Register(StateOf(module)->interface, reinterpret_cast<PyTypeObject *>(type),
                              &slot, 1) < 0) {
    return nullptr;
  }
  Py_RETURN_NONE;
}
PyObject *Unregister(PyObject *module, PyObject *args) {
  PyObject *type;
  unsigned long idea;
  if (!PyArg_ParseTuple(args, "O!k", &PyType_Type, &type, &idea)) return nullptr;
  const int was_there = PyForeignSlots_Unregister(
      StateOf(module)->interface, reinterpret_cast<PyTypeObject *>(type), IdOf(idea));
  return was_there < 0 ? nullptr : PyBool_FromLong(was_there);
}

PyObject *SlotId(PyObject *module, PyObject *name) {
  const char *text = PyUnicode_AsUTF8(name);
  if (text == nullptr) return nullptr;
  const std::uintptr_t id = PyCustomSlot_IDByName(StateOf(module)->interface, text);
  return id != 0 ? PyLong_FromSize_t(id) : nullptr;
}

PyObject *Combined(PyObject *, PyObject *metaclasses) {
  return reinterpret_cast<PyObject *>(PyExtensibleType_CombinedMetaclass(metaclasses));
}

PyObject *Metaclass(PyObject *, PyObject *) {
  return reinterpret_cast<PyObject *>(PyExtensibleType_Import());
}

PyMethodDef methods[] = {
    {"times", BoxedTimes, METH_O, nullptr},
    {"abi", Abi, METH_NOARGS, nullptr},
    {"rows", Rows, METH_NOARGS, nullptr},
    {"call", Call, METH_VARARGS, nullptr},
    {"by_site", BySite, METH_VARARGS, nullptr},
    {"where", Where, METH_O, nullptr},
    {"hold", Hold, METH_O, nullptr},
    {"held", Held, METH_VARARGS, nullptr},
    {"tag", Tag, METH_VARARGS, nullptr},
    {"living", Living, METH_NOARGS, nullptr},
    {"untag", Untag, METH_O, nullptr},
    {"slot", Slot, METH_VARARGS, nullptr},
    {"register", Register, METH_VARARGS, nullptr},
    {"unregister", Unregister, METH_VARARGS, nullptr},
    {"slot_id", SlotId, METH_O, nullptr},
    {"combined", Combined, METH_VARARGS, nullptr},
    {"metaclass", Metaclass, METH_NOARGS, nullptr},
#ifdef MEMBER_METHODS
    MEMBER_METHODS,
#endif
    {nullptr, nullptr, 0, nullptr},
};

int Traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  return 0;
}

int Exec(PyObject *module) {
  State *state = StateOf(module);
  state->interface = PyTypedcall_Import();
  if (state->interface == nullptr) return -1;
  state->site = new typedcall::call_site<Signature>(state->interface);
  if (PyTypedMethod_TagDef(state->interface, &methods[0], module, &table, nullptr) < 0) return -1;

  PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void *>(Traverse)}, {0, nullptr}};
  PyType_Spec spec = {MEMBER_TEXT(MEMBER) ".Type", 0, 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  PyCustomSlot own;
  own.id = IdOf(MEMBER_TIMES);
  own.data.flags = MEMBER_TIMES * 100;
  PyObject *type = PyExtensibleType_FromSpec(module, &spec, nullptr, &own, 1);
  if (type == nullptr) return -1;
  const int added = PyModule_AddObject(module, "Type", type);
  if (added < 0) Py_DECREF(type);
  PyObject *address = PyLong_FromVoidPtr(table.entries[0].funcptr);
  if (added < 0 || address == nullptr) return -1;
  if (PyModule_AddObject(module, "address", address) == 0) return 0;
  Py_DECREF(address);
  return -1;
}

void Free(void *module) {
  const State *state = StateOf(static_cast<PyObject *>(module));
  if (state != nullptr) delete state->site;
}

PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, reinterpret_cast<void *>(Exec)},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
    {0, nullptr},
};

PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    MEMBER_TEXT(MEMBER),
    nullptr,
    sizeof(State),
    methods,
    module_slots,
    nullptr,
    nullptr,
    Free,
};

}  // namespace

PyMODINIT_FUNC MEMBER_JOIN(PyInit_, MEMBER)() { return PyModuleDef_Init(&module_def); }

#endif  // TYPEDCALL_TESTS_OLD_INTERFACES_MEMBER_H_
