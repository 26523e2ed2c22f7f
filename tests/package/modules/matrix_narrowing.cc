// C++ callers for the matrix that pass bools, ints and doubles to a fallback_function with other
// parameter types.
#include "typedcall/provider.h"
// After Python.h.
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>
#include <variant>

#include "typedcall/fallback.h"

namespace {

using number = std::variant<bool, long long, unsigned long long, double>;

/// Reads a bool, a 64-bit int or a float.
bool read(PyObject *object, number *value) {
  if (PyBool_Check(object)) {
    *value = object == Py_True;
  } else if (PyFloat_Check(object)) {
    *value = PyFloat_AsDouble(object);
  } else {
    const long long found = PyLong_AsLongLong(object);
    *value = found;
    if (found == -1 && PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      *value = PyLong_AsUnsignedLongLong(object);
    }
  }
  return PyErr_Occurred() == nullptr;
}

template <class T>
PyObject *box(T value) {
  if constexpr (std::is_same_v<T, bool>) return PyBool_FromLong(value);
  if constexpr (std::is_floating_point_v<T>) return PyFloat_FromDouble(static_cast<double>(value));
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) return PyLong_FromLong(value);
  if constexpr (std::is_integral_v<T>) return PyLong_FromUnsignedLong(value);
}

/// True if the call compiles. A float must not become an int, and only a bool may become a bool.
template <class Given, class Own>
constexpr bool is_taken = std::is_same_v<Given, Own> ||
                          (!std::is_same_v<Own, bool> &&
                           (std::is_floating_point_v<Own> || std::is_integral_v<Given>));

template <class Signature>
struct consumer;
template <class R, class... A>
struct consumer<R(A...)> {
  template <class... Given>
  static PyObject *with(PyObject *callable, Given... given) {
    if constexpr ((is_taken<Given, A> && ...)) {
      const auto found = typedcall::resolve<R(A...)>(
          PyTypedcall_Import(), callable, typedcall::with_fallback(), typedcall::checks_errors);
      if (!found) return nullptr;
      const R result = found(given...);
      return found.raised(result) ? nullptr : box(result);
    } else {
      Py_RETURN_NOTIMPLEMENTED;
    }
  }

  template <std::size_t... at>
  static PyObject *by(PyObject *callable, [[maybe_unused]] PyObject *arguments,
                      std::index_sequence<at...>) {
    std::array<number, sizeof...(A)> values;
    if (!(read(PyTuple_GET_ITEM(arguments, at), &values[at]) && ...)) return nullptr;
    return std::visit([&](auto... given) { return with(callable, given...); }, values[at]...);
  }

  static PyObject *run(PyObject *callable, PyObject *arguments) {
    return by(callable, arguments, std::index_sequence_for<A...>());
  }
};

struct row {
  const char *signature;
  PyObject *(*run)(PyObject *, PyObject *);
};
template <class... Signatures>
constexpr std::array<row, sizeof...(Signatures)> rows_of = {
    row{typedcall::signature_of<Signatures>::text, &consumer<Signatures>::run}...};
constexpr auto rows =
    rows_of<double(), int(), bool(bool), signed char(signed char), unsigned char(unsigned char),
            short(short), unsigned short(unsigned short), int(int), unsigned(unsigned), long(long),
            unsigned long(unsigned long), float(float), double(double),
            signed char(signed char, signed char), unsigned short(unsigned short, unsigned short),
            int(int, int), unsigned long(unsigned long, unsigned long), float(float, float),
            double(double, double)>;

/// Returns the C++ result, or NotImplemented if the call would not compile.
PyObject *call(const char *signature, PyObject *callable, PyObject *arguments) noexcept {
  for (const row &each : rows) {
    if (std::strcmp(each.signature, signature) == 0) return each.run(callable, arguments);
  }
  return PyErr_Format(PyExc_LookupError, "no caller of '%.200s' here", signature);
}

typedcall::method_table methods{typedcall::def<call>("call")};

}  // namespace

TYPEDCALL_MODULE(matrix_narrowing, "C++ callers with numbers of their own types.", methods);
