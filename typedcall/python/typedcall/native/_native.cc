// The extension module `typedcall.native._native` for CPython, which makes functions of the C++
// headers available to Python.
#include "typedcall/provider.h"
#include "typedcall/resolve.h"

// After Python.h.
#include "typedcall/calling.h"

#include "array_call.h"
#include "capsule.h"
#include "fall_back.h"
#include "function.h"
#include "numpy_ufuncs.h"
#include "signatures.h"
#include "tag.h"

namespace {

using typedcall::casting;
using typedcall::object_ref;
using typedcall::python::add;
using typedcall::python::casting_names;

struct native_state : typedcall::module_state {
  static constexpr bool runs_without_gil = true;
  const PyTypedcall_Interface *interface = nullptr;
  object_ref function_type;

  int exec(PyObject *module);
  int traverse(visitproc visit, void *arg) const noexcept {
    Py_VISIT(function_type.get());
    return 0;
  }
};

const PyTypedcall_Interface *interface_of(PyObject *module) {
  return typedcall::state_of<native_state>(module).interface;
}

PyTypeObject *function_type_of(PyObject *module) {
  return reinterpret_cast<PyTypeObject *>(
      typedcall::state_of<native_state>(module).function_type.get());
}

/// Returns false with TypeError set if the object does not have this type.
bool check_type(PyObject *object, PyTypeObject *type, const char *name) {
  if (PyObject_TypeCheck(object, type)) return true;
  PyErr_Format(PyExc_TypeError, "%s must be %.100s, not '%.100s'", name, type->tp_name,
               Py_TYPE(object)->tp_name);
  return false;
}

PyObject *make_row(const PyNativeCallableEntry &entry, typedcall::place where,
                   const object_ref &reference) {
  return Py_BuildValue("skNsO", entry.signature, static_cast<unsigned long>(entry.flags),
                       PyLong_FromVoidPtr(entry.funcptr), typedcall::describe(where),
                       reference.get());
}

// Returns the object's type. As CPython does before it looks an attribute up, makes a static type
// ready, because Python code must not get a type whose own type is NULL.
PyObject *type_of(PyObject *object) {
  PyTypeObject *const type = Py_TYPE(object);
  if (Py_TYPE(type) == nullptr && PyType_Ready(type) < 0) return nullptr;
  return object_ref::borrow(reinterpret_cast<PyObject *>(type)).release();
}

PyObject *entries(PyObject *module, PyObject *callable) {
  PyObject *list = PyList_New(0);
  if (list == nullptr) return nullptr;
  bool failed = false;
  // True for static methods and for functions without self.
  const bool has_no_self =
      !typedcall::internal::is_unbound(callable) && typedcall::self_of(callable) == nullptr;
  typedcall::for_each_entry(
      interface_of(module), callable,
      [&](const PyNativeCallableEntry &entry, typedcall::place where, const object_ref &reference) {
        if (failed || entry.funcptr == nullptr) return;
        if ((entry.flags & PyNativeCallable_TAKES_SELF) != 0 && has_no_self) return;
        PyNativeSignature parsed;
        if (PyNativeSignature_ParseString(entry.signature, &parsed, nullptr) < 0) return;
        if (!PyNativeCallable_IsWellFormed(entry.flags, parsed.result)) return;
        const object_ref row = object_ref::steal(make_row(entry, where, reference));
        failed = !row || PyList_Append(list, row.get()) < 0;
      });
  if (PyErr_Occurred() != nullptr) Py_CLEAR(list);
  return list;
}

/// Reads the arguments of a query. `handled` are the flags that the caller handles. Returns false
/// with an exception set on failure.
bool read_question(const char *signature, unsigned long handled, const char *allowed,
                   typedcall::request *asked, PyNativeSignature *parsed = nullptr) {
  asked->signature = signature;
  asked->capabilities = handled;
  asked->unbound = true;
  for (unsigned i = 0; i < std::size(casting_names); ++i) {
    if (std::strcmp(allowed, casting_names[i]) != 0) continue;
    asked->casting = static_cast<casting>(i);
    return typedcall::internal::check_signature(asked->signature, parsed);
  }
  PyErr_Format(PyExc_ValueError, "'%.100s' is not a casting", allowed);
  return false;
}

PyObject *find(PyObject *module, PyObject *callable, const char *signature, unsigned long handled,
               const char *allowed) {
  typedcall::request asked;
  if (!read_question(signature, handled, allowed, &asked)) return nullptr;
  std::optional<typedcall::resolution> found;
  typedcall::internal::find_held(interface_of(module), callable, asked, &found);
  if (!found && PyErr_Occurred() != nullptr) return nullptr;  // out of memory
  PyErr_Clear();
  if (!found) Py_RETURN_NONE;
  return make_row({found->signature.c_str(), found->flags, found->funcptr}, found->place,
                  found->keep_alive);
}

PyObject *refuse(PyObject *module, PyObject *callable, const char *signature, unsigned long handled,
                 const char *allowed) {
  typedcall::request asked;
  if (read_question(signature, handled, allowed, &asked)) {
    typedcall::internal::set_refusal(interface_of(module), callable, asked);
  }
  return nullptr;
}

PyObject *select(PyObject *rows, const char *signature, unsigned long handled,
                 const char *allowed) {
  typedcall::request asked;
  PyNativeSignature parsed;
  if (!read_question(signature, handled, allowed, &asked, &parsed)) return nullptr;
  const PyNativeCallableTable *const table = typedcall::python::make_table(rows);
  if (table == nullptr) return nullptr;
  const auto *best = typedcall::internal::select(*table, asked);
  if (best == nullptr && asked.casting == casting::safe) {
    int cost = std::numeric_limits<int>::max();
    best = typedcall::internal::select_cheapest(*table, asked, parsed, &cost);
  }
  const Py_ssize_t at = best != nullptr ? best - table->entries : -1;
  typedcall::python::free_table(table);
  if (at < 0) Py_RETURN_NONE;
  return PyLong_FromSsize_t(at);
}

PyObject *make_function(PyObject *module, PyObject *callable, PyObject *signature, PyObject *flags,
                        PyObject *address, PyObject *place, PyObject *keep_alive, PyObject *asked,
                        PyObject *casting, bool has_keyword_only, PyObject *capabilities) {
  const bool fits =
      check_type(signature, &PyUnicode_Type, "signature") &&
      check_type(flags, &PyLong_Type, "flags") && check_type(address, &PyLong_Type, "address") &&
      check_type(place, &PyUnicode_Type, "place") && check_type(asked, &PyUnicode_Type, "asked") &&
      check_type(casting, &PyUnicode_Type, "casting");
  if (!fits) return nullptr;
  return typedcall::python::internal::make_function(
      function_type_of(module), {callable, keep_alive, signature, asked, flags, address, place,
                                 casting, capabilities, has_keyword_only});
}

PyObject *tag(PyObject *module, PyObject *callable, PyObject *rows, PyObject *keep_alive) {
  return typedcall::python::tag_callable(interface_of(module), callable, rows, keep_alive);
}

PyObject *untag(PyObject *module, PyObject *callable) {
  return PyBool_FromLong(typedcall::python::untag_callable(interface_of(module), callable));
}

PyObject *fall_back_plan(PyObject *callable, const char *signature) {
  const auto *made = typedcall::python::fall_back_plan::make(callable, signature);
  if (made == nullptr) return nullptr;
  return PyLong_FromVoidPtr(const_cast<void *>(static_cast<const void *>(made)));
}

// Calls a callable from C `count` times, and returns the seconds.
PyObject *time_boxed(PyObject *callable, PyObject *arguments, Py_ssize_t count) {
  if (!check_type(arguments, &PyTuple_Type, "arguments")) return nullptr;
  const object_ref kept = object_ref::borrow(callable), all = object_ref::borrow(arguments);
  // A bound method can store its self in the first element.
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

// Returns the seconds for `count` calls to a TypedFunction's native function. The arguments are
// converted only once.
PyObject *time_unboxed(PyObject *module, PyObject *function, PyObject *arguments,
                       Py_ssize_t count) {
  if (!check_type(function, function_type_of(module), "function") ||
      !check_type(arguments, &PyTuple_Type, "arguments")) {
    return nullptr;
  }
  const object_ref kept = object_ref::borrow(function), all = object_ref::borrow(arguments);
  const auto *typed = reinterpret_cast<typedcall::python::typed_function *>(function);
  std::vector<PyObject *> given;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); ++i) {
    given.push_back(PyTuple_GET_ITEM(arguments, i));
  }
  if (!typed->call->accepts(given.size())) return nullptr;
  return typed->call->time(typed->parts.callable, typed->self, given.data(), count);
}

/// Adds the addresses of functions that compiled code calls.
bool add_addresses(PyObject *module) {
  const struct {
    const char *name;
    void *address;
  } all[] = {
      // CALL_WITH_ARRAY is a double (int, double *, void *), whose last argument array_callee()
      // makes.
      {"CALL_WITH_ARRAY", reinterpret_cast<void *>(typedcall::python::call_with_array)},
      // FALL_BACK is an int (const fall_back_plan *, const native_value *, void *, int).
      {"FALL_BACK", reinterpret_cast<void *>(typedcall::python::fall_back)},
      // The types of these functions are int (void), int (void), void (int) and int (PyObject *,
      // int).
      {"IS_ATTACHED", reinterpret_cast<void *>(typedcall::python::is_attached)},
      {"ENTER", reinterpret_cast<void *>(typedcall::python::enter)},
      {"LEAVE", reinterpret_cast<void *>(typedcall::python::leave)},
      {"CHECK", reinterpret_cast<void *>(typedcall::python::check)},
      // DETACH is a PyThreadState *(void), and REATTACH is a void (PyThreadState *).
      {"DETACH", reinterpret_cast<void *>(typedcall::calling::detach)},
      {"REATTACH", reinterpret_cast<void *>(typedcall::calling::reattach)},
  };
  return std::all_of(std::begin(all), std::end(all), [module](const auto &each) {
    return add(module, each.name, PyLong_FromVoidPtr(each.address));
  });
}

int native_state::exec(PyObject *module) {
  interface = PyTypedcall_Import();
  if (interface == nullptr) return -1;
  PyTypeObject *const type = typedcall::python::internal::make_function_type(module);
  function_type = object_ref::steal(reinterpret_cast<PyObject *>(type));
  if (type == nullptr || PyModule_AddType(module, type) < 0) return -1;
  PyObject *const capsule_type = reinterpret_cast<PyObject *>(&PyCapsule_Type);
  Py_INCREF(capsule_type);
  // ROW_FLAGS is true if METH_TYPED bits in a PyMethodDef mark typed functions. Otherwise the side
  // table is used.
  const bool is_complete =
      add(module, "Capsule", capsule_type) &&
      add(module, "ROW_FLAGS", PyLong_FromLong(PyTypedMethod_FLAGS)) &&
      add(module, "REGISTER_IMAGE", PyLong_FromLong(TYPEDCALL_REGISTER_IMAGE)) &&
      add_addresses(module) && typedcall::python::add_lists(module);
  return is_complete ? 0 : -1;
}

using typedcall::def;
using typedcall::positional;
using typedcall::takes_self;

typedcall::method_table methods{
    def<type_of>("type_of", positional("object"), "type(object), which is made ready."),
    def<entries>("entries", takes_self, positional("callable"),
                 "(signature, flags, address, place, keep_alive) of every usable entry in the "
                 "places that native code searches."),
    def<find>("find", takes_self, positional("callable"), positional("signature"),
              positional("capabilities"), positional("casting"),
              "The entry that answers the request best, in the form of entries(), or None."),
    def<refuse>("refuse", takes_self, positional("callable"), positional("signature"),
                positional("capabilities"), positional("casting"),
                "Raises TypeError with the reason why find() returns None."),
    def<select>("select", positional("rows"), positional("signature"), positional("capabilities"),
                positional("casting"),
                "The index of the (signature, flags, address) that answers the request best, or "
                "None."),
    def<make_function>("make_function", takes_self, positional("callable"), positional("signature"),
                       positional("flags"), positional("address"), positional("place"),
                       positional("keep_alive"), positional("asked"), positional("casting"),
                       positional("has_keyword_only") = false, positional("capabilities") = nullptr,
                       "A TypedFunction of an entry."),
    def<tag>("tag", takes_self, positional("callable"), positional("rows"),
             positional("keep_alive"),
             "Publishes (signature, flags, address) rows. False if they are there already. Returns "
             "a text if there are others."),
    def<untag>("untag", takes_self, positional("callable"),
               "Removes the tag. False if there was none."),
    def<typedcall::python::kept_by>(
        "kept_by", positional("callable"),
        "The object that the callable itself keeps for its tags, or None."),
    TYPEDCALL_PYTHON_SIGNATURE_METHODS,
    def<typedcall::python::capsule_name>("capsule_name", positional("capsule"),
                                         "Its name, or None."),
    def<typedcall::python::capsule_address>("capsule_address", positional("capsule"),
                                            "The address in it, as an int."),
    def<typedcall::python::make_capsule>(
        "make_capsule", positional("address"), positional("name"),
        "A capsule of an int; the caller never frees its name, which is bytes."),
    def<fall_back_plan>("fall_back_plan", positional("callable"), positional("signature"),
                        "The address of FALL_BACK's first argument, which is never freed, and "
                        "holds the callable."),
    def<typedcall::python::raise_again>(
        "raise_again", "Raises the exception that FALL_BACK has put aside, unchanged."),
    def<typedcall::python::scalar_functions>(
        "scalar_functions", positional("ufunc"),
        "(signature, address) of each C function that one of NumPy's generic loops calls."),
    def<typedcall::python::array_callee::make>(
        "array_callee", positional("signature"), positional("address"),
        "The capsule that CALL_WITH_ARRAY, a double (int, double *, void *), takes "
        "as its data; it does not keep the address valid."),
    def<time_boxed>("time_boxed", positional("callable"), positional("arguments"),
                    positional("count"),
                    "Returns the seconds that `count` calls from C with objects take."),
    def<time_unboxed>("time_unboxed", takes_self, positional("function"), positional("arguments"),
                      positional("count"),
                      "Returns the seconds that `count` calls of a TypedFunction's C function "
                      "take; the arguments are converted once."),
};

}  // namespace

TYPEDCALL_MODULE_STATE(_native, "The C++ headers of typedcall, for Python.", methods.required(),
                       native_state);
