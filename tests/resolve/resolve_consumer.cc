// A consumer for Python tests: shows what the resolver finds, and calls it.

#include "typedcall/call_site.h"
#include "typedcall/provider.h"

namespace {

PyObject *found(const PyTypedcall_Interface *interface, PyObject *callable, PyObject *signature) {
  const char *text = PyUnicode_AsUTF8(signature);
  if (text == nullptr) return nullptr;
  const auto result = typedcall::resolve(interface, callable, text, typedcall::checks_errors);
  if (!result) return nullptr;
  return Py_BuildValue("ss", result->signature.c_str(), typedcall::describe(result->where));
}

PyObject *resolve(PyObject *callable, PyObject *signature) noexcept {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  return interface != nullptr ? found(interface, callable, signature) : nullptr;
}
PyObject *resolve_alone(PyObject *callable, PyObject *signature) noexcept {
  return found(nullptr, callable, signature);
}

/// Calls a function by a call site, `turns` times: (the last result, hits, misses, bypassed).
PyObject *by_site(PyObject *callable, long turns) noexcept {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (interface == nullptr) return nullptr;
  typedcall::call_site<long(long)> site(interface, typedcall::checks_errors);
  typedcall::stats::reset();
  long result = 0;
  for (long i = 0; i < turns; ++i) {
    const auto function = site.resolve(callable);
    if (!function) return nullptr;
    result = function(i);
    if (function.raised(result)) return nullptr;
  }
  using typedcall::event;
  const auto count = [](event what) {
    return static_cast<unsigned long long>(typedcall::stats::count(what));
  };
  return Py_BuildValue("lKKK", result, count(event::cache_hit), count(event::cache_miss),
                       count(event::cache_bypassed));
}

template <class Signature>
struct call;
template <class R, class... A>
struct call<R(A...)> {
  static R with(PyObject *callable, A... arguments) noexcept {
    const PyTypedcall_Interface *interface = PyTypedcall_Import();
    if (interface == nullptr) return -1;
    const auto function =
        typedcall::resolve<R(A...)>(interface, callable, typedcall::checks_errors);
    return function ? function(arguments...) : -1;
  }
};

typedcall::method_table methods{
    typedcall::def<resolve>("resolve"),
    typedcall::def<resolve_alone>("resolve_alone"),
    typedcall::def<by_site>("by_site"),
    typedcall::def<call<long(long)>::with>("call_long", typedcall::may_raise),
    typedcall::def<call<double(double)>::with>("call_double", typedcall::may_raise),
    typedcall::def<call<double(double, double)>::with>("call_pair", typedcall::may_raise),
};

}  // namespace

TYPEDCALL_MODULE(resolve_consumer, nullptr, methods);
