// A consumer for the Python tests, which is compiled separately.
#include "typedcall/provider.h"
#include "typedcall/resolve.h"

namespace {

constexpr typedcall::capabilities kCapabilities =
    typedcall::checks_errors | PyNativeCallable_TAKES_SELF;

std::optional<typedcall::resolution> resolved(PyObject *callable, const char *signature) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (interface == nullptr) return std::nullopt;
  return typedcall::resolve(interface, callable, signature, kCapabilities);
}

/// Returns (signature, place, flags).
PyObject *resolve(PyObject *callable, PyObject *signature) noexcept {
  const char *text = PyUnicode_AsUTF8(signature);
  if (text == nullptr) return nullptr;
  const auto found = resolved(callable, text);
  if (!found) return nullptr;
  return Py_BuildValue("ssk", found->signature.c_str(), typedcall::describe(found->place),
                       static_cast<unsigned long>(found->flags));
}

/// Returns the signatures in the table of the instance, without the resolver.
PyObject *signatures(PyObject *callable) noexcept {
  const PyNativeCallableTable *table = PyNativeCallable_InstanceTable(callable);
  PyObject *list = PyList_New(0);
  for (Py_ssize_t i = 0; list != nullptr && table != nullptr && i < table->count; ++i) {
    PyObject *text = PyUnicode_FromString(table->entries[i].signature);
    const bool failed = text == nullptr || PyList_Append(list, text) < 0;
    Py_XDECREF(text);
    if (failed) Py_CLEAR(list);
  }
  return list;
}

/// Calls the native function "d->d" or "f->f" of `callable` with x and returns the result.
template <class T>
T value(PyObject *callable, T x) noexcept {
  const auto found = resolved(callable, typedcall::signature_of<T(T)>::text);
  if (!found) return -1;
  if ((found->flags & PyNativeCallable_TAKES_SELF) != 0) {
    return reinterpret_cast<T (*)(PyObject *, T)>(found->funcptr)(callable, x);
  }
  return reinterpret_cast<T (*)(T)>(found->funcptr)(x);
}

/// Integrates from 0 to 1 by the midpoint rule. Releases the GIL if possible.
double integral(PyObject *callable, long steps) noexcept {
  const auto found = resolved(callable, "d->d");
  if (!found || PyErr_Occurred()) return -1;
  const bool takes_self = (found->flags & PyNativeCallable_TAKES_SELF) != 0;
  PyThreadState *saved =
      (found->flags & PyNativeCallable_NEEDS_THREAD) == 0 ? PyEval_SaveThread() : nullptr;
  double sum = 0;
  for (long i = 0; i < steps; ++i) {
    const double x = (static_cast<double>(i) + 0.5) / static_cast<double>(steps);
    sum += takes_self
               ? reinterpret_cast<double (*)(PyObject *, double)>(found->funcptr)(callable, x)
               : reinterpret_cast<double (*)(double)>(found->funcptr)(x);
  }
  if (saved != nullptr) PyEval_RestoreThread(saved);
  return sum / static_cast<double>(steps);
}

typedcall::method_table methods{
    typedcall::def<resolve>("resolve"),
    typedcall::def<signatures>("signatures"),
    typedcall::def<value<double>>("value", typedcall::may_raise),
    typedcall::def<value<float>>("value_float", typedcall::may_raise),
    typedcall::def<integral>("integral", typedcall::may_raise),
};

}  // namespace

TYPEDCALL_MODULE(slot_consumer, nullptr, methods);
