// The extension module `typedcall._native` of CPython: what the C++ headers know, for Python.
// Its parts are in the _native_*.h beside this file.
#include "core/rendezvous.h"
#include "typedcall/resolve.h"

// Behind Python.h.
#include "_native_array_call.h"
#include "_native_capsule.h"
#include "_native_function.h"
#include "_native_tag.h"
#include "_signatures.h"

namespace {

using typedcall::casting;
using typedcall::object_ref;

struct module_state {
  const PyTypedcall_Interface *interface;
  PyTypeObject *function_type;
};

module_state *state_of(PyObject *module) {
  return static_cast<module_state *>(PyModule_GetState(module));
}

constexpr char place_names[][16] = {"instance slot", "method metadata", "PyPy metadata",
                                    "def row",       "object row",      "sibling symbol"};
constexpr const char *casting_names[] = {"exact", "equivalent", "safe"};

PyObject *make_row(const PyNativeCallableEntry &entry, typedcall::place where,
                   const object_ref &reference) {
  return Py_BuildValue("skNsO", entry.signature, static_cast<unsigned long>(entry.flags),
                       PyLong_FromVoidPtr(entry.funcptr), place_names[static_cast<unsigned>(where)],
                       reference.get());
}

PyObject *entries(PyObject *module, PyObject *callable) {
  PyObject *list = PyList_New(0);
  if (list == nullptr) return nullptr;
  bool failed = false;
  typedcall::for_each_entry(
      state_of(module)->interface, callable,
      [&](const PyNativeCallableEntry &entry, typedcall::place where, const object_ref &reference) {
        // What nobody can use is nothing that is offered.
        if (failed || entry.funcptr == nullptr) return;
        if (!PyNativeCallable_FlagsAreUsable(entry.flags)) return;
        if (PyNativeSignature_ParseString(entry.signature, nullptr, nullptr) < 0) return;
        const object_ref row = object_ref::steal(make_row(entry, where, reference));
        failed = !row || PyList_Append(list, row.get()) < 0;
      });
  if (PyErr_Occurred() != nullptr) Py_CLEAR(list);
  return list;
}

constexpr char kQuestion[] = "Osks";  // subject, signature, flags that are honoured, casting

/// A question as Python asks it: what the TypedFunction honours is its caller's to say. False with
/// the exception of a faulty one.
bool read_question(PyObject *args, PyObject **subject, typedcall::request *asked,
                   PyNativeSignature *parsed = nullptr) {
  unsigned long honoured;
  const char *allowed;
  if (!PyArg_ParseTuple(args, kQuestion, subject, &asked->signature, &honoured, &allowed)) {
    return false;
  }
  asked->honoured = honoured;
  asked->unbound = true;
  for (unsigned i = 0; i < std::size(casting_names); ++i) {
    if (std::strcmp(allowed, casting_names[i]) != 0) continue;
    asked->allowed = static_cast<casting>(i);
    return typedcall::internal::check_signature(asked->signature, parsed);
  }
  PyErr_Format(PyExc_ValueError, "casting is 'exact', 'equivalent' or 'safe', not '%.100s'",
               allowed);
  return false;
}

PyObject *find(PyObject *module, PyObject *args) {
  PyObject *callable;
  typedcall::request asked;
  if (!read_question(args, &callable, &asked)) return nullptr;
  std::optional<typedcall::resolution> found;
  typedcall::internal::find_held(state_of(module)->interface, callable, asked, &found);
  if (!found && PyErr_Occurred() != nullptr) return nullptr;  // no memory: it may be offered
  PyErr_Clear();
  if (!found) Py_RETURN_NONE;
  return make_row({found->signature.c_str(), found->flags, found->funcptr}, found->where,
                  found->keep_alive);
}

PyObject *refuse(PyObject *module, PyObject *args) {
  PyObject *callable;
  typedcall::request asked;
  if (read_question(args, &callable, &asked)) {
    typedcall::internal::set_refusal(state_of(module)->interface, callable, asked);
  }
  return nullptr;
}

PyObject *select(PyObject *, PyObject *args) {
  PyObject *rows;
  typedcall::request asked;
  PyNativeSignature parsed;
  if (!read_question(args, &rows, &asked, &parsed)) return nullptr;
  auto *owned = typedcall::python::owned_table::make(rows, nullptr);
  if (owned == nullptr) return nullptr;
  const PyNativeCallableTable &table = owned->table;
  const auto *best = typedcall::internal::select(table, asked);
  if (best == nullptr && asked.allowed == casting::safe) {
    int cost = std::numeric_limits<int>::max();
    best = typedcall::internal::select_cheapest(table, asked, parsed, &cost);
  }
  const Py_ssize_t at = best != nullptr ? best - table.entries : -1;
  typedcall::python::owned_table::destroy(&table);
  if (at < 0) Py_RETURN_NONE;
  return PyLong_FromSsize_t(at);
}

PyObject *make_function(PyObject *module, PyObject *args) {
  typedcall::python::internal::function_parts parts;
  if (!PyArg_ParseTuple(args, "OUO!O!UOUU:make_function", &parts.callable, &parts.signature,
                        &PyLong_Type, &parts.flags, &PyLong_Type, &parts.address, &parts.place,
                        &parts.keep_alive, &parts.asked, &parts.casting)) {
    return nullptr;
  }
  return typedcall::python::internal::make_function(state_of(module)->function_type, parts);
}

PyObject *tag(PyObject *module, PyObject *args) {
  PyObject *callable, *rows, *keep_alive;
  if (!PyArg_ParseTuple(args, "OOO:tag", &callable, &rows, &keep_alive)) return nullptr;
  const int taken =
      typedcall::python::tag_callable(state_of(module)->interface, callable, rows, keep_alive);
  return taken < 0 ? nullptr : PyBool_FromLong(taken);
}

PyObject *untag(PyObject *module, PyObject *callable) {
  return PyBool_FromLong(typedcall::python::untag_callable(state_of(module)->interface, callable));
}

PyObject *array_callee(PyObject *, PyObject *args) {
  const char *signature;
  PyObject *address;
  if (!PyArg_ParseTuple(args, "sO!:array_callee", &signature, &PyLong_Type, &address)) {
    return nullptr;
  }
  void *const funcptr = PyLong_AsVoidPtr(address);
  if (funcptr == nullptr && PyErr_Occurred() != nullptr) return nullptr;
  return typedcall::python::array_callee::make(signature, funcptr);
}

// Seconds for `count` calls of a callable with the same objects, from C.
PyObject *time_boxed(PyObject *, PyObject *args) {
  PyObject *callable, *arguments;
  Py_ssize_t count;
  if (!PyArg_ParseTuple(args, "OO!n:time_boxed", &callable, &PyTuple_Type, &arguments, &count)) {
    return nullptr;
  }
  // One place more in front lets a bound method put its self there.
  std::vector<PyObject *> stack(1, nullptr);
  const std::size_t given = static_cast<std::size_t>(PyTuple_GET_SIZE(arguments));
  for (std::size_t i = 0; i < given; ++i) {
    stack.push_back(PyTuple_GET_ITEM(arguments, static_cast<Py_ssize_t>(i)));
  }
  const auto start = std::chrono::steady_clock::now();
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject *result = PyObject_Vectorcall(callable, stack.data() + 1,
                                           given | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
    if (result == nullptr) return nullptr;
    Py_DECREF(result);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return PyFloat_FromDouble(took.count());
}

// The same for the native function behind a TypedFunction; the arguments are converted once.
PyObject *time_unboxed(PyObject *module, PyObject *args) {
  PyObject *function, *arguments;
  Py_ssize_t count;
  if (!PyArg_ParseTuple(args, "O!O!n:time_unboxed", state_of(module)->function_type, &function,
                        &PyTuple_Type, &arguments, &count)) {
    return nullptr;
  }
  const auto *typed = reinterpret_cast<typedcall::python::typed_function *>(function);
  std::vector<PyObject *> given;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); ++i) {
    given.push_back(PyTuple_GET_ITEM(arguments, i));
  }
  return typed->call->time(typed->callable, typed->self, given.data(), given.size(), count);
}

// Nothing that C++ throws may leave a function that C calls. Not noexcept: CPython before 3.14
// unwinds a thread that runs Python code in here when the interpreter ends (typedcall/gil.h).
template <PyObject *(*Function)(PyObject *, PyObject *)>
PyObject *guarded(PyObject *module, PyObject *argument) {
  try {
    return Function(module, argument);
  } catch (const std::bad_alloc &) {
    return PyErr_NoMemory();
  }
}

int exec(PyObject *module) {
  module_state *state = state_of(module);
  state->interface = PyTypedcall_Import();
  if (state->interface == nullptr) return -1;
  state->function_type = typedcall::python::internal::make_function_type(module);
  if (state->function_type == nullptr) return -1;
  if (PyModule_AddType(module, state->function_type) < 0) return -1;
  // Does this interpreter want METH_TYPED bits in the row, or a side table?
  if (PyModule_AddIntConstant(module, "ROW_FLAGS", PyTypedMethod_FLAGS) < 0) return -1;
  if (PyModule_AddIntConstant(module, "REGISTER_IMAGE", TYPEDCALL_REGISTER_IMAGE) < 0) return -1;
  if (PyObject_SetAttrString(module, "Capsule", reinterpret_cast<PyObject *>(&PyCapsule_Type)) <
      0) {
    return -1;
  }
  // A double (int, double *, void *), whose data is what array_callee() makes.
  const object_ref with_array = object_ref::steal(
      PyLong_FromVoidPtr(reinterpret_cast<void *>(typedcall::python::call_with_array)));
  if (!with_array || PyObject_SetAttrString(module, "CALL_WITH_ARRAY", with_array.get()) < 0) {
    return -1;
  }
  const object_ref codes = object_ref::steal(PyNativeType_Codes());
  return codes ? PyObject_SetAttrString(module, "TYPE_CODES", codes.get()) : -1;
}

int traverse(PyObject *module, visitproc visit, void *arg) {
  Py_VISIT(state_of(module)->function_type);
  return 0;
}

int clear(PyObject *module) {
  Py_CLEAR(state_of(module)->function_type);
  return 0;
}

PyMethodDef methods[] = {
    {"entries", guarded<entries>, METH_O,
     "entries($module, callable, /)\n--\n\n"
     "(signature, flags, address, place, keep_alive) of every usable entry in the places that "
     "native "
     "code looks at."},
    {"find", guarded<find>, METH_VARARGS,
     "find($module, callable, signature, honours, casting, /)\n--\n\n"
     "The entry, as entries() has it, that answers the request best, or None."},
    {"refuse", guarded<refuse>, METH_VARARGS,
     "refuse($module, callable, signature, honours, casting, /)\n--\n\n"
     "Raises the TypeError that says why find() gives None."},
    {"select", guarded<select>, METH_VARARGS,
     "select($module, rows, signature, honours, casting, /)\n--\n\n"
     "The index of the (signature, flags, address) that answers the request best, or None."},
    {"make_function", guarded<make_function>, METH_VARARGS,
     "make_function($module, callable, signature, flags, address, place, keep_alive, asked, "
     "casting, /)\n--\n\nA TypedFunction of an entry."},
    {"tag", guarded<tag>, METH_VARARGS,
     "tag($module, callable, rows, keep_alive, /)\n--\n\n"
     "Publishes (signature, flags, address) rows. False: they stand there already."},
    {"untag", guarded<untag>, METH_O,
     "untag($module, callable, /)\n--\n\nTakes the tag away. False: there was none."},
    {"parse_signature", PyNativeSignature_ParseForPython, METH_O, PyNativeSignature_PARSE_DOC},
    {"capsule_name", typedcall::python::capsule_name, METH_O,
     "capsule_name($module, capsule, /)\n--\n\nIts name, or None."},
    {"capsule_address", typedcall::python::capsule_address, METH_O,
     "capsule_address($module, capsule, /)\n--\n\nThe address in it, as an int."},
    {"make_capsule", typedcall::python::make_capsule, METH_VARARGS,
     "make_capsule($module, address, name, /)\n--\n\n"
     "A capsule of an int, whose name is bytes that the caller keeps for ever."},
    {"array_callee", guarded<array_callee>, METH_VARARGS,
     "array_callee($module, signature, address, /)\n--\n\n"
     "The capsule that CALL_WITH_ARRAY, a double (int, double *, void *), takes as its data; it "
     "does "
     "not keep what the address depends on."},
    {"time_boxed", guarded<time_boxed>, METH_VARARGS,
     "time_boxed($module, callable, arguments, count, /)\n--\n\n"
     "Seconds for `count` calls from C with objects."},
    {"time_unboxed", guarded<time_unboxed>, METH_VARARGS,
     "time_unboxed($module, function, arguments, count, /)\n--\n\n"
     "Seconds for `count` calls of a TypedFunction's C function; arguments are converted once."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void *>(exec)},
#if PY_VERSION_HEX >= 0x030C0000
                            {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#ifdef Py_GIL_DISABLED
                            {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
                            {0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "typedcall._native",
                          "What the C++ headers of typedcall know, for Python.",
                          sizeof(module_state),
                          methods,
                          slots,
                          traverse,
                          clear,
                          [](void *module) { clear(static_cast<PyObject *>(module)); }};

}  // namespace

PyMODINIT_FUNC PyInit__native() { return PyModuleDef_Init(&definition); }
