// The extension module `typedcall.tvm_ffi._tvm_ffi`: what a function of tvm-ffi calls to run a
// typed function, and C functions that call a function of tvm-ffi. Compiled and linked without
// tvm-ffi.
#define PY_SSIZE_T_CLEAN
#include "typedcall/error_value.h"
#include "typedcall/invoker.h"
#include "typedcall/provider.h"

#include "../_home.h"
#include "_tvm_ffi_closure.h"
#include "_tvm_ffi_values.h"

#include <memory>
#include <vector>

namespace {

using typedcall::invoker;
using typedcall::native_value;
using typedcall::object_ref;
using typedcall::wide_value;
using typedcall::python::home;
using typedcall::python::suits;
using typedcall::python::tvm_any;
using typedcall::python::tvm_api;
using typedcall::python::tvm_bytes;
using typedcall::python::tvm_closure;
using typedcall::python::tvm_parameter;
using typedcall::python::tvm_scratch;

// There is one tvm-ffi in a process: its objects are of one library.
tvm_api api;
home *where = nullptr;

/// The pending exception becomes the thread's error of tvm-ffi. GIL: held.
__attribute__((noinline, cold)) int set_error() {
  PyObject *kind, *exception, *traceback;
  PyErr_Fetch(&kind, &exception, &traceback);
  PyErr_NormalizeException(&kind, &exception, &traceback);
  const object_ref keep[] = {object_ref::steal(kind), object_ref::steal(exception),
                             object_ref::steal(traceback)};
  const char *name = reinterpret_cast<PyTypeObject *>(kind)->tp_name;
  // Those that tvm-ffi has a name for, which Python gets as such.
  PyObject *const known[] = {PyExc_ValueError, PyExc_TypeError,  PyExc_AttributeError,
                             PyExc_KeyError,   PyExc_IndexError, PyExc_AssertionError,
                             PyExc_MemoryError};
  for (PyObject *each : known) {
    if (PyErr_GivenExceptionMatches(kind, each))
      name = reinterpret_cast<PyTypeObject *>(each)->tp_name;
  }
  const object_ref said = object_ref::steal(PyObject_Str(exception));
  const object_ref text = object_ref::steal(
      said ? PyUnicode_AsEncodedString(said.get(), "utf-8", "backslashreplace") : nullptr);
  PyErr_Clear();
  // It is not lost: Python raises it again. Behind PyObject_Str, which looks for signals.
  if (PyErr_GivenExceptionMatches(kind, PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();
  if (!text) return api.fail(name, "");
  return api.fail(
      {name, std::strlen(name)},
      {PyBytes_AS_STRING(text.get()), static_cast<std::size_t>(PyBytes_GET_SIZE(text.get()))});
}

struct overload {
  invoker call;
  std::vector<tvm_parameter> parameters;
  tvm_parameter result;
  bool needs_thread, has_place;
  bool is_plain;  // it is called, and has a result

  suits convert(const tvm_any *args, tvm_scratch *scratches, native_value *out) const {
    suits worst = suits::exactly;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const suits found = typedcall::python::convert(args[i], parameters[i], scratches[i], out);
      if (found == suits::not_at_all) return found;
      if (found > worst) worst = found;
      out += parameters[i].is_buffer ? 2 : 1;
    }
    return worst;
  }

  /// As a function of tvm-ffi; 1: there is no result for these.
  int run(native_value *values, tvm_any *result) const {
    if (is_plain) {
      const native_value returned = call(values);
      return give(api, this->result, &returned, result);
    }
    wide_value place;
    const std::uintptr_t flags = call.flags();
    if (has_place) values[call.arity() - 1] = native_value::at(&place);
    const auto finish = [&](const native_value &returned) {
      if ((flags & PyNativeCallable_FALLS_BACK) != 0 && returned.get<int>() != 0) return 1;
      return give(api, this->result, has_place ? static_cast<const void *>(&place) : &returned,
                  result);
    };
    if (needs_thread) {
      int done = -1;
      const bool is_run = where->attached(nullptr, [&] {
        const native_value returned = call(values);
        const bool has_failed =
            (flags & PyNativeCallable_RETURNS_STATUS) != 0 && returned.get<int>() != 0;
        if (has_failed) typedcall::internal::set_missing_error();
        done = has_failed || call.raised(returned) ? set_error() : finish(returned);
      });
      return is_run ? done : api.fail("RuntimeError", "the Python interpreter has ended");
    }
    // A function that takes the GIL may wait for another thread to let go of it.
    const bool lets_go = (flags & PyNativeCallable_ACQUIRES_GIL) != 0 && PyTypedcall_IsAttached();
    PyThreadState *const thread = lets_go ? PyEval_SaveThread() : nullptr;
    const native_value returned = call(values);
    if (lets_go) typedcall::internal::restore_thread(thread);
    return finish(returned);
  }
};

/// A typed function as tvm-ffi's. `fallback` is the Python function as tvm-ffi's own, which takes
/// everything that these do not, and keeps what their addresses depend on.
struct bridge {
  std::vector<overload> overloads;
  void *fallback;
};

__attribute__((noinline, cold)) int fall_back(const bridge &self, const tvm_any *args,
                                              std::int32_t count, tvm_any *result) {
  if (where->has_ended()) return api.fail("RuntimeError", "the Python interpreter has ended");
  *result = {typedcall::python::kTvmNone, 0, {0}};
  return api.call(self.fallback, args, count, result);
}

int run_bridge(void *data, const tvm_any *args, std::int32_t count, tvm_any *result) {
  const auto &self = *static_cast<const bridge *>(data);
  native_value values[PyNativeSignature_MAX_ARGS + 1];
  tvm_scratch scratches[PyNativeSignature_MAX_ARGS];
  const overload *best = nullptr;
  suits how = suits::not_at_all;
  for (const overload &each : self.overloads) {
    if (each.parameters.size() != static_cast<std::size_t>(count)) continue;
    const suits found = each.convert(args, scratches, values);
    if (found >= how) continue;
    best = &each;
    how = found;
    if (how == suits::exactly) break;
  }
  if (best == nullptr) return fall_back(self, args, count, result);
  // Others may have been tried behind it.
  if (how != suits::exactly && self.overloads.size() > 1) best->convert(args, scratches, values);
  const int done = best->run(values, result);
  return done == 1 ? fall_back(self, args, count, result) : done;
}

/// In any thread; tvm-ffi lets go of the Python function by itself.
void destroy_bridge(void *data) {
  auto *const self = static_cast<bridge *>(data);
  api.decref(self->fallback);
  delete self;
}

/// False with ValueError.
bool add_overload(bridge *made, const char *signature, std::uintptr_t flags, std::uintptr_t at) {
  PyNativeSignature parsed;
  const auto call = invoker::make(signature, flags, reinterpret_cast<void *>(at));
  if (!call || PyNativeSignature_ParseString(signature, &parsed, nullptr) < 0 ||
      (flags & PyNativeCallable_TAKES_SELF) != 0) {
    PyErr_Format(PyExc_ValueError, "'%.200s' cannot be called from tvm-ffi", signature);
    return false;
  }
  std::size_t count = static_cast<std::size_t>(parsed.nargs);
  PyNativeType result = parsed.result;
  bool has_place = false;
  if ((flags & (PyNativeCallable_RETURNS_STATUS | PyNativeCallable_FALLS_BACK)) != 0) {
    has_place = count > 0 && PyNativeType_IsPlace(parsed.args[count - 1]);
    result =
        has_place ? PyNativeType{parsed.args[--count].code, 0} : PyNativeType{PyNativeType_VOID, 0};
  }
  // Without THREAD_SAFE it is not to be in two threads at once, and tvm-ffi calls without the GIL.
  const bool needs_thread =
      (flags & PyNativeCallable_NEEDS_THREAD) != 0 ||
      (flags & (PyNativeCallable_THREAD_SAFE | PyNativeCallable_ACQUIRES_GIL)) == 0;
  const bool is_plain =
      !needs_thread && (flags & (PyNativeCallable_FALLS_BACK | PyNativeCallable_ACQUIRES_GIL)) == 0;
  std::vector<tvm_parameter> parameters(parsed.args, parsed.args + count);
  made->overloads.push_back(
      {*call, std::move(parameters), tvm_parameter(result), needs_thread, has_place, is_plain});
  return true;
}

PyObject *make_bridge(PyObject *rows, Py_ssize_t fallback) {
  auto made = std::make_unique<bridge>();
  for (Py_ssize_t i = 0; i < PyTuple_Size(rows); ++i) {
    const char *signature;
    unsigned long flags;
    Py_ssize_t at;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(rows, i), "skn", &signature, &flags, &at) ||
        !add_overload(made.get(), signature, flags, static_cast<std::uintptr_t>(at))) {
      return nullptr;
    }
  }
  if (PyErr_Occurred() != nullptr) return nullptr;
  made->fallback = reinterpret_cast<void *>(fallback);
  PyObject *const found =
      Py_BuildValue("NNN", PyLong_FromVoidPtr(made.get()),
                    PyLong_FromVoidPtr(reinterpret_cast<void *>(run_bridge)),
                    PyLong_FromVoidPtr(reinterpret_cast<void *>(destroy_bridge)));
  if (found == nullptr) return nullptr;
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

struct tvm_state : typedcall::module_state {
  static constexpr bool runs_without_gil = true;
  static constexpr bool supports_interpreters = false;  // as tvm-ffi

  int exec(PyObject *) {
    if (where != nullptr) return 0;
    where = new home;
    return where->interpreter.set_current() ? 0 : -1;
  }
};

using typedcall::positional;

typedcall::method_table methods{
    typedcall::def<use>("use", positional("addresses"),
                        "The addresses of the functions of tvm-ffi's library, once."),
    typedcall::def<make_bridge>(
        "make_bridge", positional("rows"), positional("fallback"),
        "Of ((signature, flags, address), ...), which `fallback` keeps valid, and the handle of "
        "that: handle, call and deleter for TVMFFIFunctionCreate."),
    typedcall::def<make_closure>(
        "make_closure", positional("signature"), positional("flags"), positional("function"),
        positional("error"),
        "The capsule of a C function that calls the function of tvm-ffi with that handle. "
        "error(kind, message) makes the exception of an error."),
};

}  // namespace

TYPEDCALL_MODULE_STATE(_tvm_ffi, "Typed functions and functions of tvm-ffi.", methods, tvm_state);
