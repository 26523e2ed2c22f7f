// The extension module `typedcall.sinks.callbacks._callbacks`. A callback uses a compiled shape, or
// a libffi closure if there is none.
#include "../../calling/python_access.h"
#include "callback_object.h"
#include "shapes.h"
#include "typedcall/provider.h"
#include "typedcall/resolve.h"

namespace {

using namespace typedcall::python;
using typedcall::object_ref;

struct callbacks_state : typedcall::module_state {
  static constexpr bool runs_without_gil = true;
  object_ref type;

  int exec(PyObject *module) {
    if (!is_interpreter_supported()) return -1;
    PyTypeObject *const made = make_callback_type(module);
    type = object_ref::steal(reinterpret_cast<PyObject *>(made));
    return made != nullptr && PyModule_AddType(module, made) == 0 ? 0 : -1;
  }
  int traverse(visitproc visit, void *arg) const noexcept {
    Py_VISIT(type.get());
    return 0;
  }
};

/// Reads a tuple of (kind, parameter, at, factors, pointer_of, length_of). On failure, returns
/// false with an exception set.
bool read_source(PyObject *row, source *made) {
  int kind;
  Py_ssize_t parameter, at, pointer_of, length_of;
  PyObject *factors;
  if (!PyArg_ParseTuple(row, "innO!nn", &kind, &parameter, &at, &PyTuple_Type, &factors,
                        &pointer_of, &length_of)) {
    return false;
  }
  made->kind = static_cast<source::kind_of_source>(kind);
  made->parameter = static_cast<std::size_t>(parameter);
  made->at = static_cast<std::size_t>(at);
  made->pointer_of = reinterpret_cast<void *(*)(void *)>(pointer_of);
  made->length_of = reinterpret_cast<std::int64_t (*)(void *)>(length_of);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(factors); ++i) {
    made->factors.push_back(PyLong_AsSsize_t(PyTuple_GET_ITEM(factors, i)));
  }
  return PyErr_Occurred() == nullptr;
}

bool read_sources(callback *core, PyObject *sources, PyObject *unused, PyObject *place) {
  for (Py_ssize_t i = 0; i < PyTuple_Size(sources); ++i) {
    source made;
    if (!read_source(PyTuple_GET_ITEM(sources, i), &made)) return false;
    if (made.kind == source::view && core->pointer_of == nullptr) {
      core->pointer_of = made.pointer_of;
      core->length_of = made.length_of;
    }
    const bool is_number = made.factors.size() == 1 && made.factors[0] < 0;
    if (is_number && made.parameter < std::size(core->counts)) {
      core->counts[made.parameter] = -1 - made.factors[0];
    }
    core->sources.push_back(std::move(made));
  }
  for (Py_ssize_t i = 0; i < PyTuple_Size(unused); ++i) {
    core->unused.push_back(PyLong_AsSize_t(PyTuple_GET_ITEM(unused, i)));
  }
  return PyErr_Occurred() == nullptr &&
         (place == Py_None || read_source(place, &core->place.emplace()));
}

/// Reads the entry, and prepares the conversions. On failure, returns false with an exception set.
bool read_entry(callback *core, PyObject *entry, const char *asked, const char *offered) {
  entry_row row;
  if (!row.read(entry)) return false;
  PyNativeSignature wanted;
  core->entry =
      typedcall::calling::entry::make(row.signature, row.flags, row.address, "a C callback", true);
  if (!core->entry || !typedcall::internal::check_signature(asked, &wanted)) return false;
  if (PyNativeSignature_Satisfies(offered, asked) == 0) {
    core->cast = typedcall::safe_cast::make(asked, offered);
    if (!core->cast) {
      PyErr_Format(PyExc_ValueError, "'%.200s' cannot be called as '%.200s'", offered, asked);
      return false;
    }
  }
  core->function = row.address;
  core->asked = typedcall::calling::description(wanted);
  return true;
}

/// Returns 2 if a function of signature `offered` can be called unchanged, 1 if the call needs
/// lossless conversions, and 0 otherwise.
int fits(const char *asked, const char *offered) {
  if (PyNativeSignature_Satisfies(offered, asked) != 0) return 2;
  return typedcall::safe_cast::make(asked, offered) ? 1 : 0;
}

/// Sets the callback's address: a compiled shape, the entry itself, or a closure. On failure,
/// returns false with an exception set.
bool give_address(callback_object *own, bool has_data) {
  callback *const core = own->core;
  const PyNativeView &view = core->entry->view;
  // Compiled shapes call the function without a thread state, so they cannot pass self or report
  // exceptions. On success, their status is 0.
  const typedcall::wide_value zero = {};
  const bool is_called = view.thread_state == PyNativeThreadState_ANY && !core->cast &&
                         std::memcmp(&core->success, &zero, sizeof(zero)) == 0;
  void *address = is_called ? find_code(*core, view.may_fall_back) : nullptr;
  const bool is_compiled = address != nullptr;
  if (address == nullptr) {
    own->code = new closure;
    if (!own->code->make(core->parameters, run_callback, core)) {
      PyErr_SetString(PyExc_RuntimeError, "libffi cannot make a function of this C type here");
      return false;
    }
    address = own->code->address();
  }
  own->is_compiled = PyBool_FromLong(is_compiled);
  own->address = PyLong_FromVoidPtr(address);
  own->data = has_data ? PyLong_FromVoidPtr(core) : object_ref::borrow(Py_None).release();
  return own->address != nullptr && own->data != nullptr;
}

/// Makes a Callback. `called` accepts all arguments by position.
PyObject *make(PyObject *module, PyObject *callable, PyObject *called, PyObject *entry,
               PyObject *keep_alive, PyObject *row, PyObject *declaration, PyObject *how) {
  const char *parameters, *asked, *offered;
  int has_data, is_checked;
  PyObject *error, *success, *sources, *unused, *place;
  if (!PyArg_ParseTuple(how, "sssSSO!O!Opp", &parameters, &asked, &offered, &error, &success,
                        &PyTuple_Type, &sources, &PyTuple_Type, &unused, &place, &has_data,
                        &is_checked)) {
    return nullptr;
  }
  auto *const type =
      reinterpret_cast<PyTypeObject *>(typedcall::state_of<callbacks_state>(module).type.get());
  object_ref made = object_ref::steal(type->tp_alloc(type, 0));
  if (!made) return nullptr;
  callback_object *const own = object_of(made.get());
  own->callable = object_ref::borrow(callable).release();
  own->keep_alive = PyTuple_Pack(2, keep_alive, called);
  if (own->keep_alive == nullptr) return nullptr;
  own->entry = object_ref::borrow(entry).release();
  own->declaration = object_ref::borrow(declaration).release();
  callback *const core = own->core = new callback;
  core->owner = made.get();
  core->is_checked = is_checked != 0;
  if (PyNativeSignature_ParseString(parameters, &core->parameters, nullptr) < 0 ||
      PyBytes_GET_SIZE(error) !=
          static_cast<Py_ssize_t>(PyNativeType_Size(core->parameters.result)) ||
      PyBytes_GET_SIZE(success) != PyBytes_GET_SIZE(error)) {
    PyErr_Format(PyExc_ValueError, "not a C function: '%.200s'", parameters);
    return nullptr;
  }
  std::memcpy(&core->error, PyBytes_AS_STRING(error),
              static_cast<std::size_t>(PyBytes_GET_SIZE(error)));
  std::memcpy(&core->success, PyBytes_AS_STRING(success),
              static_cast<std::size_t>(PyBytes_GET_SIZE(success)));
  if (!read_sources(core, sources, unused, place) || !read_entry(core, row, asked, offered) ||
      !core->callee.set(called, core->asked.parameters.size())) {
    return nullptr;
  }
  if (core->entry->view.takes_self) {
    core->self = typedcall::self_of(callable);
    if (core->self == nullptr) {
      PyErr_SetString(PyExc_TypeError, "the entry takes self, but this callable has none");
      return nullptr;
    }
  }
  return give_address(own, has_data != 0) ? made.release() : nullptr;
}

using typedcall::def;
using typedcall::positional;
using typedcall::takes_self;

typedcall::method_table methods{
    def<fits>("fits", positional("asked"), positional("offered"),
              "2 if `offered` can be called as `asked`, 1 with lossless conversions, else 0."),
    def<make>("make", takes_self, positional("callable"), positional("called"), positional("entry"),
              positional("keep_alive"), positional("row"), positional("declaration"),
              positional("how"), "Returns a Callback of an entry; `how` is from shape.py."),
};

}  // namespace

TYPEDCALL_MODULE_STATE(_callbacks, "Typed functions as C functions that libraries call.",
                       methods.required(), callbacks_state);
