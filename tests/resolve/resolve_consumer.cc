// A consumer for Python tests.

#include "typedcall/call_site.h"
// call_site.h comes first because it includes Python.h.
#include <string>

#include "typedcall/provider.h"
#include "typedcall/tag.h"

namespace {

PyObject *found(const PyTypedcall_Interface *interface, PyObject *callable, PyObject *signature) {
  const char *text = PyUnicode_AsUTF8(signature);
  if (text == nullptr) return nullptr;
  const auto result = typedcall::resolve(interface, callable, text, typedcall::checks_errors);
  if (!result) return nullptr;
  return Py_BuildValue("ss", result->signature.c_str(), typedcall::describe(result->place));
}

PyObject *resolve(PyObject *callable, PyObject *signature) noexcept {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  return interface != nullptr ? found(interface, callable, signature) : nullptr;
}
PyObject *resolve_alone(PyObject *callable, PyObject *signature) noexcept {
  return found(nullptr, callable, signature);
}

/// Calls a function through a call site `turns` times. Returns (last result, hits, misses,
/// bypassed).
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

long plus_one(long x) noexcept { return x + 1; }

/// Calls a function through a call site before, during and after it is tagged. Returns (results for
/// 41, hits).
PyObject *across_a_tag(PyObject *callable) noexcept {
  static const PyNativeCallableTable table = {1, {{"l->l", 0, reinterpret_cast<void *>(plus_one)}}};
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (interface == nullptr) return nullptr;
  typedcall::call_site<long(long)> site(interface);
  typedcall::stats::reset();
  std::string found;
  const auto ask_twice = [&] {
    for (int turn = 0; turn < 2; ++turn) {
      const auto function = site.find(callable);
      found += function ? std::to_string(function(41)) + " " : "nothing ";
    }
  };
  ask_twice();
  if (PyTypedMethod_TagCallable(interface, callable, &table, nullptr) < 0) return nullptr;
  ask_twice();
  PyTypedMethod_UntagDef(interface, PyTypedMethod_DefOf(callable));
  ask_twice();
  const unsigned long long hits = typedcall::stats::count(typedcall::event::cache_hit);
  return Py_BuildValue("sK", found.c_str(), hits);
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
    typedcall::def<across_a_tag>("across_a_tag"),
    typedcall::def<call<long(long)>::with>("call_long", typedcall::may_raise),
    typedcall::def<call<double(double)>::with>("call_double", typedcall::may_raise),
    typedcall::def<call<double(double, double)>::with>("call_pair", typedcall::may_raise),
};

}  // namespace

TYPEDCALL_MODULE(resolve_consumer, nullptr, methods);
