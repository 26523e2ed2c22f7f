// Calls tvm-ffi's functions in threads without a Python thread state. The C ABI is declared again
// here, to check the package's declarations.
#include <cstdint>
#include <thread>

#include "typedcall/provider.h"

namespace {

struct any {
  std::int32_t type;
  std::uint32_t padding;
  union {
    std::int64_t integer;
    double real;
  };
};
using function_call = int (*)(void *, any *, std::int32_t, any *);

// Calls f(x) `times` times in each of `threads` threads. Returns the number of calls that failed,
// or -1 if a result was not a float. `take_error` is the address of TVMFFIErrorMoveFromRaised.
long call_in_threads(Py_ssize_t call, Py_ssize_t handle, Py_ssize_t take_error, Py_ssize_t let_go,
                     double x, long times, long threads) noexcept {
  std::thread all[16];
  long failed[16] = {};
  PyThreadState *const thread = PyEval_SaveThread();
  for (long i = 0; i < threads; ++i) {
    all[i] = std::thread([=, &failed] {
      for (long j = 0; j < times; ++j) {
        any argument, result;
        argument.type = 3;
        argument.padding = 0;
        argument.real = x;
        result.type = 0;
        result.padding = 0;
        result.integer = 0;
        if (reinterpret_cast<function_call>(call)(reinterpret_cast<void *>(handle), &argument, 1,
                                                  &result) != 0) {
          void *error = nullptr;
          reinterpret_cast<void (*)(void **)>(take_error)(&error);
          if (error != nullptr) ++failed[i];
          reinterpret_cast<int (*)(void *)>(let_go)(error);
        } else if (result.type != 3) {
          failed[i] = -1;
          return;
        }
      }
    });
  }
  long sum = 0;
  for (long i = 0; i < threads; ++i) {
    all[i].join();
    sum = failed[i] < 0 || sum < 0 ? -1 : sum + failed[i];
  }
  PyEval_RestoreThread(thread);
  return sum;
}

long interrupted() noexcept {
  PyErr_SetNone(PyExc_KeyboardInterrupt);
  return -1;
}
int truth(bool x) noexcept { return x ? 1 : 0; }
float third(float x) noexcept { return x / 3; }
const char *no_text() noexcept { return nullptr; }
const char *no_utf8() noexcept { return "caf\xe9"; }

struct bytes {
  const char *data;
  std::size_t size;
};
Py_ssize_t make_error, set_error, let_go_of_error;
bool is_signalled = false;

// Behaves like a C++ function that calls TVMFFIEnvCheckSignals(). The first call sets
// KeyboardInterrupt. Later calls return their argument.
int looks_for_signals(void *, const any *args, std::int32_t, any *result) {
  if (is_signalled) {
    *result = args[0];
    return 0;
  }
  is_signalled = true;
  const PyGILState_STATE before = PyGILState_Ensure();
  PyErr_SetNone(PyExc_KeyboardInterrupt);
  PyGILState_Release(before);
  const bytes kind = {"EnvErrorAlreadySet", 18}, none = {"", 0};
  void *error = nullptr;
  reinterpret_cast<int (*)(const bytes *, const bytes *, const bytes *, void **)>(make_error)(
      &kind, &none, &none, &error);
  reinterpret_cast<void (*)(void *)>(set_error)(error);
  reinterpret_cast<int (*)(void *)>(let_go_of_error)(error);
  return -1;
}
void keep(void *) {}

// Returns the arguments of ffi.FunctionFromExternC. Takes the addresses of TVMFFIErrorCreate,
// TVMFFIErrorSetRaised and TVMFFIObjectDecRef.
PyObject *signalled(Py_ssize_t make, Py_ssize_t set, Py_ssize_t let_go) noexcept {
  make_error = make;
  set_error = set;
  let_go_of_error = let_go;
  is_signalled = false;
  return Py_BuildValue("nn", reinterpret_cast<Py_ssize_t>(looks_for_signals),
                       reinterpret_cast<Py_ssize_t>(keep));
}

typedcall::method_table methods{
    typedcall::def<interrupted>("interrupted", typedcall::may_raise),
    typedcall::def<truth>("truth", typedcall::pure | typedcall::thread_safe),
    typedcall::def<third>("third", typedcall::pure | typedcall::thread_safe),
    typedcall::def<no_text>("no_text"),
    typedcall::def<no_utf8>("no_utf8"),
    typedcall::def<signalled>("signalled"),
    typedcall::def<call_in_threads>("call_in_threads", typedcall::may_raise),
};

}  // namespace

TYPEDCALL_MODULE(tvm_ffi_caller, "Calls functions of tvm-ffi in other threads.", methods);
