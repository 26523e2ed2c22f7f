// Calls functions with narrow arguments in every way. Used by tests/invoker/test_clang_callees.py.
#include <Python.h>

#include <cstdint>
#include <cstring>
#include <optional>

#include "tests/support/c_module.h"
#include "typedcall/call_site.h"
#include "typedcall/invoker.h"

namespace {

using typedcall::invoker;
using typedcall::invoker_backend;
using typedcall::native_value;

/// Calls f(x), or f(x, x, x, x, x, x, x). On x86-64, the last argument is then on the stack.
template <class T>
long call_direct(void *address, T x, bool on_stack) {
  if (!on_stack) {
    return typedcall::function_view<long(T)>(reinterpret_cast<long (*)(T)>(address), 0)(x);
  }
  return typedcall::function_view<long(T, T, T, T, T, T, T)>(
      reinterpret_cast<long (*)(T, T, T, T, T, T, T)>(address), 0)(x, x, x, x, x, x, x);
}

/// Calls a function whose argument or result has type T.
template <class T>
PyObject *call(void *address, const char *how, const char *signature, long value) {
  const T x = static_cast<T>(value);
  const bool on_stack = std::strlen(signature) > 4, returns_narrow = signature[0] == 'l';
  if (std::strcmp(how, "direct") == 0) {
    if (!returns_narrow) return PyLong_FromLong(call_direct<T>(address, x, on_stack));
    return PyLong_FromLong(
        typedcall::function_view<T(long)>(reinterpret_cast<T (*)(long)>(address), 0)(value));
  }
  const invoker_backend asked = std::strcmp(how, "trampoline") == 0 ? invoker_backend::trampoline
                                : std::strcmp(how, "image") == 0    ? invoker_backend::image
                                                                    : invoker_backend::ffi;
  const auto made = invoker::make(signature, 0, address, asked);
  if (!made) Py_RETURN_NONE;  // this way does not support the signature
  native_value arguments[7];
  for (native_value &argument : arguments) {
    argument = returns_narrow ? native_value::of(value) : native_value::of(x);
  }
  return PyLong_FromLong((*made)(arguments).get<long>());
}

PyObject *call_narrow(PyObject *, PyObject *args) {
  unsigned long long address;
  const char *how, *signature, *type;
  long value;
  if (!PyArg_ParseTuple(args, "Ksssl", &address, &how, &type, &signature, &value)) return nullptr;
  void *const function = reinterpret_cast<void *>(static_cast<std::uintptr_t>(address));
  switch (*type) {
    case '?':
      return call<bool>(function, how, signature, value);
    case 'b':
      return call<signed char>(function, how, signature, value);
    case 'B':
      return call<unsigned char>(function, how, signature, value);
    case 'h':
      return call<short>(function, how, signature, value);
    case 'H':
      return call<unsigned short>(function, how, signature, value);
    case 'i':
      return call<int>(function, how, signature, value);
    default:
      return call<unsigned>(function, how, signature, value);
  }
}

/// Calls the function through another prototype, which passes a whole register.
PyObject *call_with_register(PyObject *, PyObject *args) {
  unsigned long long address;
  long value;
  if (!PyArg_ParseTuple(args, "Kl", &address, &value)) return nullptr;
  const auto made =
      invoker::make("l->l", 0, reinterpret_cast<void *>(static_cast<std::uintptr_t>(address)));
  const native_value argument = native_value::of(value);
  return PyLong_FromLong((*made)(&argument).get<long>());
}

PyMethodDef methods[] = {
    {"call", call_narrow, METH_VARARGS, PyDoc_STR("call(address, way, type, signature, value)")},
    {"call_with_register", call_with_register, METH_VARARGS,
     PyDoc_STR("call_with_register(address, value)")},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

TEST_MODULE(narrow_caller, methods)
