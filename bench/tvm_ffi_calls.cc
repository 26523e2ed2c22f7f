// The functions of bench/tvm_ffi_calls.py: a typed function, a tvm-ffi function, and loops that
// call them.
#include "typedcall/provider.h"
// After Python.h.
#include <tvm/ffi/function.h>

#include <string>

#include "typedcall/fallback.h"

namespace {

double step(double x) noexcept { return x * 0.999 + 0.001; }

constexpr auto simple = typedcall::pure | typedcall::thread_safe | typedcall::does_not_block;

/// Makes a chain of calls. Each call waits for the previous one.
template <class Function>
double run(const Function &call, long times) {
  double x = 0.5;
  for (long i = 0; i < times; ++i) x = call(x);
  return x;
}

void register_step() {
  const auto made = tvm::ffi::Function::FromTyped([](double x) { return step(x); });
  tvm::ffi::Function::SetGlobal("bench.step", made, true);
}

double by_tvm(const char *name, long times) {
  const tvm::ffi::Function found = tvm::ffi::Function::GetGlobalRequired(name);
  PyThreadState *const thread = PyEval_SaveThread();
  const double x = run([&](double y) { return found(y).cast<double>(); }, times);
  PyEval_RestoreThread(thread);
  return x;
}

double by_typedcall(PyObject *callable, long times) {
  const auto found = typedcall::resolve<double(double)>(PyTypedcall_Import(), callable,
                                                        typedcall::with_fallback());
  return found ? run(found, times) : -1.0;
}

typedcall::method_table methods{
    typedcall::def<step>("step", simple),
    typedcall::def<register_step>("register_step"),
    typedcall::def<by_tvm>("by_tvm"),
    typedcall::def<by_typedcall>("by_typedcall", typedcall::may_raise),
};

}  // namespace

TYPEDCALL_MODULE(tvm_ffi_calls, "The callees of bench/tvm_ffi_calls.py.", methods);
