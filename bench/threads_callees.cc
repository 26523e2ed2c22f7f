// A loop in C++ for bench/threads.py. It calls a callable through the thread's own call site.
#include "typedcall/call_site.h"
#include "typedcall/provider.h"
// After Python.h.
#include <cmath>
#include <optional>

namespace {

double absolute(double x) noexcept { return x < 0 ? -x : x; }

std::optional<double> root(double x) noexcept {
  if (x < 0) return std::nullopt;
  return std::sqrt(x);
}

double by_call_site(PyObject *callable, long times) {
  typedcall::call_site<double(double)> site(PyTypedcall_Import());
  double x = 1.5;
  for (long i = 0; i < times; ++i) {
    if (const auto found = site.find(callable)) x = found(x);
  }
  return x;
}

typedcall::method_table methods{
    typedcall::def<absolute>("absolute", typedcall::pure | typedcall::thread_safe),
    typedcall::def<root>("root", typedcall::pure | typedcall::thread_safe),
    typedcall::def<by_call_site>("by_call_site", typedcall::may_raise | typedcall::thread_safe),
};

}  // namespace

TYPEDCALL_MODULE_WITHOUT_GIL(threads_callees, "The functions that bench/threads.py calls.",
                             methods);
