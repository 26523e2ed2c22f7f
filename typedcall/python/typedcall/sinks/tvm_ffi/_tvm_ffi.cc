// The extension module `typedcall.sinks.tvm_ffi._tvm_ffi`. tvm-ffi is not needed to compile or link
// it.
#define PY_SSIZE_T_CLEAN
#include "typedcall/provider.h"

#include "../../calling/entry_row.h"
#include "../../calling/error_text.h"
#include "../../calling/python_access.h"
#include "../../calling/shared_state.h"
#include "closure.h"
#include "values.h"

#include <memory>

namespace {

using namespace typedcall::python;
namespace calling = typedcall::calling;
using typedcall::object_ref;

// There is a single table because a process has only one tvm-ffi.
tvm_api api;
using state = state_with_one_access;

/// Converts the pending exception to the thread's tvm-ffi error. Returns the error's status. GIL:
/// held.
__attribute__((noinline, cold)) int set_error() {
  const error_text said;
  typedcall::internal::clear_exception();
  const char *name = said.type();
  // The exceptions that tvm-ffi has names for.
  PyObject *const known[] = {PyExc_ValueError, PyExc_TypeError,  PyExc_AttributeError,
                             PyExc_KeyError,   PyExc_IndexError, PyExc_AssertionError,
                             PyExc_MemoryError};
  for (PyObject *each : known) {
    if (said.is(each)) name = reinterpret_cast<PyTypeObject *>(each)->tp_name;
  }
  return api.fail({name, std::strlen(name)}, {said.text().data(), said.text().size()});
}

/// The data of a tvm-ffi function that calls a typed function. `fallback` is a tvm-ffi function
/// that calls the Python function. `fallback` handles all values that `functions` do not accept.
/// `fallback` also keeps the addresses of `functions` valid. tvm-ffi does not hold a function that
/// it calls.
struct bridge : shared_state<bridge> {
  calling::overloads functions;
  void *fallback = nullptr;
  bool is_held = false;  ///< true if calls hold the bridge, because they may run Python code

  ~bridge() {
    if (fallback != nullptr) api.decref(fallback);
  }
};

/// The levels of recursion that must be left for tvm-ffi, which crashes if its own Python code
/// reaches Python's limit while it converts an exception.
constexpr int kTvmLevels = 50;

/// One call by tvm-ffi to a typed function, as the sink of typedcall's engine.
struct bridge_call {
  bridge_call(const bridge &called, const tvm_any *from, tvm_any *to)
      : self(called), args(from), result(to) {}

  const bridge &self;
  const tvm_any *args;
  tvm_any *result;
  int status = 0;
  tvm_scratch scratches[PyNativeSignature_MAX_ARGS];  // room for the bytes of small texts

  argument_value argument(std::size_t i) { return look_at(args[i], scratches[i]); }
  void set_result(const value_type &type, const void *at) {
    status = typedcall::python::set_result(api, type, at, result);
  }
  void raised() { status = set_error(); }
  void detached(const char *why) { status = api.fail("RuntimeError", why); }
  bool settles(std::size_t) const { return false; }
  /// The arguments are converted to Python objects by tvm-ffi, which has more types than typedcall.
  void fall_back(std::size_t count) {
    using typedcall::internal::call_counted;
    if (state::where->has_ended()) return detached(state::where->why_detached());
    const auto nothing = [] { return object_ref::borrow(Py_None).release(); };
    const auto call = [&] {
      *result = {kTvmNone, 0, {0}};
      status = api.call(self.fallback, args, static_cast<std::int32_t>(count), result);
      return nothing();
    };
    // A pending exception stays where it is, because tvm-ffi may report it, or leave another one.
    const auto run = [&](bool) {
      const bool has_room = object_ref::steal(call_counted(nothing, kTvmLevels)) &&
                            object_ref::steal(call_counted(call));
      if (!has_room) raised();
      return true;
    };
    if (!typedcall::internal::run_attached_to(state::where->interpreter, nullptr, run)) {
      detached(state::where->why_detached());
    }
  }
};

int run_bridge(void *data, const tvm_any *args, std::int32_t count, tvm_any *result) {
  const auto &self = *static_cast<const bridge *>(data);
  bridge_call sink(self, args, result);
  const bool is_held = self.is_held;
  if (is_held) self.hold();
  calling::call(self.functions, nullptr, *state::where, static_cast<std::size_t>(count), sink);
  if (is_held) self.release();
  return sink.status;
}

/// tvm-ffi calls this in any thread. tvm-ffi itself releases the Python function in `fallback`.
void destroy_bridge(void *data) { static_cast<const bridge *>(data)->release(); }

PyObject *make_bridge(PyObject *rows, Py_ssize_t fallback) {
  auto made = std::make_unique<bridge>();
  if (!read_entries(rows, "tvm-ffi", &made->functions)) return nullptr;
  made->is_held = thread_state_of(made->functions) != PyNativeThreadState_ANY;
  PyObject *const found =
      Py_BuildValue("NNN", PyLong_FromVoidPtr(made.get()),
                    PyLong_FromVoidPtr(reinterpret_cast<void *>(run_bridge)),
                    PyLong_FromVoidPtr(reinterpret_cast<void *>(destroy_bridge)));
  if (found == nullptr) return nullptr;
  made->fallback = reinterpret_cast<void *>(fallback);
  api.incref(made->fallback);
  made.release();
  return found;
}

PyObject *make_closure(const char *signature, unsigned long flags, Py_ssize_t function,
                       PyObject *error) {
  auto made = tvm_closure::make(api, signature, flags, reinterpret_cast<void *>(function),
                                object_ref::borrow(error));
  if (!made) return nullptr;
  PyObject *const capsule = PyCapsule_New(made->address(), nullptr, [](PyObject *dying) {
    delete static_cast<tvm_closure *>(PyCapsule_GetContext(dying));
  });
  if (capsule != nullptr) PyCapsule_SetContext(capsule, made.release());
  return capsule;
}

/// Returns the parts of a tensor that a Python buffer needs.
PyObject *elements(Py_ssize_t tensor) {
  const argument_value found =
      look_at_tensor(behind_header<tvm_tensor>(reinterpret_cast<const void *>(tensor)));
  for (int code = 0; found.element_size != 0 && code < PyNativeType_COUNT; ++code) {
    if (PyNativeCode_Kind(code) != found.element || PyNativeCode_Size(code) != found.element_size)
      continue;
    return Py_BuildValue("sKL", PyNativeCode_Letters(code),
                         static_cast<unsigned long long>(found.bits),
                         static_cast<long long>(found.size));
  }
  Py_RETURN_NONE;
}

bool use(PyObject *addresses) {
  Py_ssize_t found[sizeof(tvm_api) / sizeof(void *)];
  static_assert(sizeof(found) == sizeof(tvm_api) && sizeof(found) == 7 * sizeof(void *));
  if (!PyArg_ParseTuple(addresses, "nnnnnnn", &found[0], &found[1], &found[2], &found[3], &found[4],
                        &found[5], &found[6])) {
    return false;
  }
  std::memcpy(&api, found, sizeof(found));
  return true;
}

using typedcall::positional;

typedcall::method_table methods{
    typedcall::def<use>("use", positional("addresses"),
                        "Sets the addresses of tvm-ffi's functions, once."),
    typedcall::def<make_bridge>(
        "make_bridge", positional("rows"), positional("fallback"),
        "Returns handle, call and deleter for TVMFFIFunctionCreate, made from ((signature, flags, "
        "address), ...) and the handle of `fallback`, which keeps these valid."),
    typedcall::def<make_closure>(
        "make_closure", positional("signature"), positional("flags"), positional("function"),
        positional("error"),
        "The capsule of a C function that calls the tvm-ffi function with that handle. "
        "error(kind, message) makes an error's exception."),
    typedcall::def<elements>("elements", positional("tensor"),
                             "The type code of the elements of the tensor with that handle, their "
                             "address and their number; None if they are not a buffer."),
};

}  // namespace

TYPEDCALL_MODULE_STATE(_tvm_ffi, "Typed functions and functions of tvm-ffi.", methods.required(),
                       state);
