// C++ consumers for the matrix: a call site, a function that falls back, and a loop over one
// element call a typed function of one number, and give what C++ got, or the exception.
#include "typedcall/provider.h"
// Behind Python.h.
#include <cstring>

#include "typedcall/call_site.h"
#include "typedcall/fallback.h"
#include "typedcall/loop.h"

namespace {

template <class T>
bool read(PyObject *object, T *value) {
  if constexpr (std::is_floating_point_v<T>) {
    *value = static_cast<T>(PyFloat_AsDouble(object));
  } else if constexpr (std::is_signed_v<T>) {
    *value = static_cast<T>(PyLong_AsLong(object));
  } else {
    *value = static_cast<T>(PyLong_AsUnsignedLong(object));
  }
  return PyErr_Occurred() == nullptr;
}

template <class T>
PyObject *box(T value) {
  if constexpr (std::is_same_v<T, bool>) return PyBool_FromLong(value);
  if constexpr (std::is_floating_point_v<T>) return PyFloat_FromDouble(static_cast<double>(value));
  if constexpr (std::is_signed_v<T>) return PyLong_FromLong(static_cast<long>(value));
  return PyLong_FromUnsignedLong(static_cast<unsigned long>(value));
}

template <class T>
PyObject *by_call_site(PyObject *callable, T value) {
  typedcall::call_site<T(T)> site(PyTypedcall_Import(), typedcall::checks_errors);
  const auto found = site.resolve(callable);
  if (!found) return nullptr;
  const T result = found(value);
  return found.raised(result) ? nullptr : box(result);
}

template <class T>
PyObject *by_fallback(PyObject *callable, T value) {
  const auto found =
      typedcall::resolve_fallback<T(T)>(PyTypedcall_Import(), callable, typedcall::checks_errors);
  if (!found) return nullptr;
  const T result = found(value);
  return found.raised(result) ? nullptr : box(result);
}

template <class T>
PyObject *by_loop(PyObject *callable, T value) {
  const auto *interface = PyTypedcall_Import();
  constexpr auto can = typedcall::loop_capabilities;
  auto found = typedcall::find(interface, callable, typedcall::signature_of<T(T)>::text, can);
  // Where its C result is a status, or it falls back.
  if (!found)
    found =
        typedcall::resolve(interface, callable, typedcall::signature_of<int(T, T *)>::text, can);
  if (!found) return nullptr;
  const auto made = typedcall::loop::make(std::move(*found));
  if (!made) return nullptr;
  T result{};
  char *const places[] = {reinterpret_cast<char *>(&value), reinterpret_cast<char *>(&result)};
  const std::intptr_t count = 1, steps[] = {sizeof(T), sizeof(T)};
  return made->run(places, &count, steps) < 0 ? nullptr : box(result);
}

template <class T>
PyObject *by(const char *kind, PyObject *callable, PyObject *object) {
  T value{};
  if (!read(object, &value)) return nullptr;
  if (std::strcmp(kind, "call site") == 0) return by_call_site(callable, value);
  return std::strcmp(kind, "fallback") == 0 ? by_fallback(callable, value)
                                            : by_loop(callable, value);
}

PyObject *call(const char *kind, const char *letter, PyObject *callable,
               PyObject *object) noexcept {
  switch (*letter) {
    case '?':
      return by<bool>(kind, callable, object);
    case 'b':
      return by<signed char>(kind, callable, object);
    case 'B':
      return by<unsigned char>(kind, callable, object);
    case 'h':
      return by<short>(kind, callable, object);
    case 'H':
      return by<unsigned short>(kind, callable, object);
    case 'i':
      return by<int>(kind, callable, object);
    case 'I':
      return by<unsigned>(kind, callable, object);
    case 'l':
      return by<long>(kind, callable, object);
    case 'L':
      return by<unsigned long>(kind, callable, object);
    case 'f':
      return by<float>(kind, callable, object);
    default:
      return by<double>(kind, callable, object);
  }
}

typedcall::method_table methods{typedcall::def<call>("call")};

}  // namespace

TYPEDCALL_MODULE(matrix_probe, "C++ consumers of one number.", methods);
