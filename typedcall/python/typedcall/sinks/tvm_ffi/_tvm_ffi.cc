// The extension module `typedcall.sinks.tvm_ffi._tvm_ffi`: what a function of tvm-ffi calls to run
// a typed function, and C functions that call a function of tvm-ffi. Compiled and linked without
// tvm-ffi.
#define PY_SSIZE_T_CLEAN
#include "typedcall/provider.h"

#include "../../calling/error_text.h"
#include "../../calling/home.h"
#include "../../calling/overload.h"
#include "closure.h"
#include "values.h"

#include <memory>
#include <vector>

namespace {

using namespace typedcall::python;
using typedcall::native_value;
using typedcall::object_ref;
using typedcall::wide_value;

// There is one tvm-ffi in a process: its objects are of one library.
tvm_api api;
using state = state_with_one_home;

/// The pending exception becomes the thread's error of tvm-ffi. GIL: held.
__attribute__((noinline, cold)) int set_error() {
  const error_text said;
  said.interrupts_again();
  const char *name = said.type();
  // Those that tvm-ffi has a name for, which Python gets as such.
  PyObject *const known[] = {PyExc_ValueError, PyExc_TypeError,  PyExc_AttributeError,
                             PyExc_KeyError,   PyExc_IndexError, PyExc_AssertionError,
                             PyExc_MemoryError};
  for (PyObject *each : known) {
    if (said.is(each)) name = reinterpret_cast<PyTypeObject *>(each)->tp_name;
  }
  return api.fail({name, std::strlen(name)}, {said.text().data(), said.text().size()});
}

suits convert(const overload &chosen, const tvm_any *args, tvm_scratch *scratches,
              native_value *out) {
  suits worst = suits::exactly;
  for (std::size_t i = 0; i < chosen.parameters.size(); ++i) {
    const auto &type = chosen.parameters[i];
    const suits found = typedcall::python::convert(args[i], type, scratches[i], out);
    if (found == suits::not_at_all) return found;
    if (found > worst) worst = found;
    out += type.is_buffer ? 2 : 1;
  }
  return worst;
}

/// Arrays of bools that may be written to: any bytes become 0 and 1.
__attribute__((noinline, cold)) void make_bools(const overload &chosen,
                                                const native_value *values) {
  for (const auto &type : chosen.parameters) {
    if (type.is_buffer && type.element == PyNativeKind_BOOL &&
        PyNativeType_IsConst(type.type) == 0) {
      typedcall::internal::make_bools(values[0].get<void *>(), values[1].get<std::size_t>());
    }
    values += type.is_buffer ? 2 : 1;
  }
}

/// As a function of tvm-ffi; 1: there is no result for these.
int run(const overload &chosen, native_value *values, tvm_any *result) {
  if (chosen.is_plain) {
    const native_value returned = chosen.call(values);
    return give(api, chosen.result, &returned, result);
  }
  wide_value place;
  native_value returned;
  const void *at;
  overload::outcome found;
  const auto finish = [&] {
    if (found == overload::outcome::none) return 1;
    return found == overload::outcome::exception ? set_error()
                                                 : give(api, chosen.result, at, result);
  };
  if (chosen.needs_thread) {
    int done = -1;
    const bool is_run = state::where->attached(nullptr, [&] {
      found = chosen(values, &place, &returned, &at);
      done = finish();
    });
    return is_run ? done : api.fail("RuntimeError", state::where->why_detached());
  }
  let_go_for(chosen.call.flags(), [&] { found = chosen(values, &place, &returned, &at); });
  return finish();
}

/// A typed function as tvm-ffi's. `fallback` is the Python function as tvm-ffi's own, which takes
/// everything that these do not, and keeps what their addresses depend on.
struct bridge {
  std::vector<overload> overloads;
  void *fallback;
};

__attribute__((noinline, cold)) int fall_back(const bridge &self, const tvm_any *args,
                                              std::int32_t count, tvm_any *result) {
  if (state::where->has_ended()) return api.fail("RuntimeError", state::where->why_detached());
  *result = {kTvmNone, 0, {0}};
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
    const suits found = convert(each, args, scratches, values);
    if (found >= how) continue;
    best = &each;
    how = found;
    if (how == suits::exactly) break;
  }
  if (best == nullptr) return fall_back(self, args, count, result);
  // Others may have been tried behind it.
  if (how != suits::exactly && self.overloads.size() > 1) convert(*best, args, scratches, values);
  if (best->has_bools) make_bools(*best, values);
  const int done = run(*best, values, result);
  return done == 1 ? fall_back(self, args, count, result) : done;
}

/// In any thread; tvm-ffi lets go of the Python function by itself.
void destroy_bridge(void *data) {
  auto *const self = static_cast<bridge *>(data);
  api.decref(self->fallback);
  delete self;
}

PyObject *make_bridge(PyObject *rows, Py_ssize_t fallback) {
  auto made = std::make_unique<bridge>();
  if (!read_overloads(rows, "tvm-ffi", &made->overloads)) return nullptr;
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

TYPEDCALL_MODULE_STATE(_tvm_ffi, "Typed functions and functions of tvm-ffi.", methods, state);
