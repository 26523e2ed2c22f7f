// C++ consumers for the matrix: a call site, a fallback_function, a loop over one element and a
// callback. Each requests one signature.
#include "typedcall/provider.h"
// After Python.h.
#include <array>
#include <cstring>
#include <tuple>
#include <utility>

#include "typedcall/call_site.h"
#include "typedcall/callback.h"
#include "typedcall/fallback.h"
#include "typedcall/loop.h"

namespace {

using typedcall::object_ref;
using typedcall::span;

enum class kind { call_site, fallback, loop, callback };
constexpr std::array kinds = {"call site", "fallback", "loop", "C++ callback"};
constexpr std::size_t most = 4;  // arguments

/// Reads one argument. A span is valid only while `view` is.
template <class T>
bool read(PyObject *object, T *value, Py_buffer *) {
  if constexpr (std::is_floating_point_v<T>) {
    *value = static_cast<T>(PyFloat_AsDouble(object));
  } else if constexpr (std::is_signed_v<T>) {
    *value = static_cast<T>(PyLong_AsLong(object));
  } else {
    *value = static_cast<T>(PyLong_AsUnsignedLong(object));
  }
  return PyErr_Occurred() == nullptr;
}
bool read(PyObject *object, std::string_view *value, Py_buffer *) {
  Py_ssize_t size;
  const char *const text = PyUnicode_AsUTF8AndSize(object, &size);
  if (text != nullptr) *value = {text, static_cast<std::size_t>(size)};
  return text != nullptr;
}
bool read(PyObject *object, const char **value, Py_buffer *) {
  *value = PyUnicode_AsUTF8(object);
  return *value != nullptr;
}
template <class T>
bool read(PyObject *object, span<T> *value, Py_buffer *view) {
  const int flags = std::is_const_v<T> ? PyBUF_SIMPLE : PyBUF_WRITABLE;
  if (PyObject_GetBuffer(object, view, flags) < 0) return false;
  *value = {static_cast<T *>(view->buf), static_cast<std::size_t>(view->len) / sizeof(T)};
  return true;
}

template <class T>
PyObject *box(T value) {
  if constexpr (std::is_same_v<T, bool>) return PyBool_FromLong(value);
  if constexpr (std::is_same_v<T, const char *>) return PyUnicode_FromString(value);
  if constexpr (std::is_floating_point_v<T>) return PyFloat_FromDouble(static_cast<double>(value));
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) return PyLong_FromLong(value);
  if constexpr (std::is_integral_v<T>) return PyLong_FromUnsignedLong(value);
}

template <class Found, class... A>
PyObject *called(const Found &found, A... arguments) {
  if (!found) return nullptr;
  const auto result = found(arguments...);
  return found.raised(result) ? nullptr : box(result);
}

/// Returns the C arguments that a library passes for one argument. For an array they are the length
/// and a pointer.
template <class T>
std::tuple<T> passed(T value) {
  return {value};
}
template <class T>
std::tuple<std::size_t, T *> passed(span<T> value) {
  return {value.size(), value.data()};
}

template <class Signature, class R, class Passed>
struct callback_for;
template <class Signature, class R, class... P>
struct callback_for<Signature, R, std::tuple<P...>> {
  using type = typedcall::callback<R(P...), Signature>;
};

template <class Signature>
struct consumer;
template <class R, class... A>
struct consumer<R(A...)> {
  template <class T>
  static constexpr bool is_text =
      std::is_same_v<T, const char *> || std::is_same_v<T, std::string_view>;
  static constexpr bool has_texts = (is_text<A> || ...) || is_text<R>;

  static constexpr bool takes(kind of) {
    if (of == kind::loop) return (std::is_arithmetic_v<A> && ...) && !has_texts;
    if (of == kind::callback) return !has_texts;
    return of == kind::call_site || !is_text<R>;
  }

  static PyObject *by_call_site(PyObject *callable, A... arguments) {
    const auto *interface = PyTypedcall_Import();
    if (interface == nullptr) return nullptr;
    typedcall::call_site<R(A...)> site(interface, typedcall::checks_errors);
    return called(site.resolve(callable), arguments...);
  }

  static PyObject *by_fallback(PyObject *callable, A... arguments) {
    const auto found = typedcall::resolve<R(A...)>(
        PyTypedcall_Import(), callable, typedcall::with_fallback(), typedcall::checks_errors);
    return called(found, arguments...);
  }

  static PyObject *by_loop(PyObject *callable, A... arguments) {
    const auto *interface = PyTypedcall_Import();
    if (interface == nullptr) return nullptr;
    constexpr auto can = typedcall::loop_capabilities;
    auto found = typedcall::find(interface, callable, typedcall::signature_of<R(A...)>::text, can);
    // Try a C function that returns a status or falls back.
    if (!found) {
      const char *const text = typedcall::signature_of<int(A..., R *)>::text;
      found = typedcall::resolve(interface, callable, text, can);
    }
    if (!found) return nullptr;
    const auto made = typedcall::loop::make(std::move(*found));
    if (!made) return nullptr;
    R result{};
    char *const places[] = {reinterpret_cast<char *>(&arguments)...,
                            reinterpret_cast<char *>(&result)};
    const std::intptr_t count = 1, steps[] = {sizeof(A)..., sizeof(R)};
    return made->run(places, &count, steps) < 0 ? nullptr : box(result);
  }

  static PyObject *by_callback(PyObject *callable, A... arguments) {
    if constexpr ((std::is_arithmetic_v<A> && ...)) {
      using library = typedcall::callback<R(A..., void *), R(A...)>;
      return by_library<library>(callable, arguments...);
    } else {
      const auto given = std::tuple_cat(passed(arguments)...);
      using parameters = decltype(std::tuple_cat(given, std::tuple<void *>()));
      using library = typename callback_for<R(A...), R, parameters>::type;
      return std::apply([&](auto... each) { return by_library<library>(callable, each...); },
                        given);
    }
  }

  template <class Library, class... P>
  static PyObject *by_library(PyObject *callable, P... given) {
    Library made(PyTypedcall_Import(), callable, 0, typedcall::checks_errors);
    if (!made) return nullptr;
    const R result = made.function()(given..., made.data());
    return made.check() ? box(result) : nullptr;
  }

  template <kind of>
  static PyObject *by(PyObject *callable, A... arguments) {
    if constexpr (!takes(of)) {
      return nullptr;
    } else if constexpr (of == kind::call_site) {
      return by_call_site(callable, arguments...);
    } else if constexpr (of == kind::fallback) {
      return by_fallback(callable, arguments...);
    } else if constexpr (of == kind::loop) {
      return by_loop(callable, arguments...);
    } else {
      return by_callback(callable, arguments...);
    }
  }

  template <kind of, std::size_t... at>
  static PyObject *with(PyObject *callable, [[maybe_unused]] PyObject *given,
                        std::index_sequence<at...>) {
    std::tuple<A...> values;
    std::array<Py_buffer, most> views = {};
    PyObject *result = nullptr;
    if ((read(PyTuple_GET_ITEM(given, at), &std::get<at>(values), &views[at]) && ...)) {
      result = by<of>(callable, std::get<at>(values)...);
    }
    for (Py_buffer &each : views) PyBuffer_Release(&each);
    return result;
  }

  template <kind of>
  static PyObject *run(PyObject *callable, PyObject *given) {
    return with<of>(callable, given, std::index_sequence_for<A...>());
  }
};

/// A signature and, for each kind of consumer, the function that calls it, or null.
struct row {
  const char *signature;
  std::array<PyObject *(*)(PyObject *, PyObject *), kinds.size()> run;
};
template <class Signature, kind of>
constexpr auto run_of = consumer<Signature>::takes(of) ? &consumer<Signature>::template run<of>
                                                       : nullptr;
template <class Signature>
constexpr row row_of = {typedcall::signature_of<Signature>::text,
                        {run_of<Signature, kind::call_site>, run_of<Signature, kind::fallback>,
                         run_of<Signature, kind::loop>, run_of<Signature, kind::callback>}};
template <class... Signatures>
constexpr std::array<row, sizeof...(Signatures)> rows_of = {row_of<Signatures>...};

template <class... T>
constexpr auto of_one = rows_of<T(T)...>;
template <class... T>
constexpr auto of_two = rows_of<T(T, T)...>;
constexpr auto numbers = of_one<bool, signed char, unsigned char, short, unsigned short, int,
                                unsigned, long, unsigned long, float, double>;
constexpr auto pairs = of_two<signed char, unsigned short, int, long, unsigned long, float, double>;
constexpr auto others = rows_of<
    double(), int(), double(double, double, double, double), int(int, int, int), long(signed char),
    long(int), long(unsigned long), long(float), long(double), long(signed char, signed char),
    long(int, double), long(std::string_view), const char *(const char *),
    double(span<const double>), double(span<const double>, span<const double>),
    double(span<const double>, double), double(span<const double>, int), double(span<double>),
    unsigned long(span<const unsigned char>), long(span<const long>), float(span<const float>)>;

template <class Body>
void for_each_row(const Body &body) {
  for (const row &each : numbers) body(each);
  for (const row &each : pairs) body(each);
  for (const row &each : others) body(each);
}

/// Returns the index of the kind with this name, or -1 with LookupError set.
int number_of(const char *name) {
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (std::strcmp(kinds[i], name) == 0) return static_cast<int>(i);
  }
  PyErr_Format(PyExc_LookupError, "no consumer '%.200s' here", name);
  return -1;
}

/// Returns the signatures that this module can request for a kind of consumer.
PyObject *signatures(const char *name) noexcept {
  const int number = number_of(name);
  object_ref found = object_ref::steal(number < 0 ? nullptr : PyList_New(0));
  for_each_row([&](const row &each) {
    if (!found || each.run[static_cast<std::size_t>(number)] == nullptr) return;
    const object_ref text = object_ref::steal(PyUnicode_FromString(each.signature));
    if (!text || PyList_Append(found.get(), text.get()) < 0) found = object_ref();
  });
  return found.release();
}

PyObject *call(const char *name, const char *signature, PyObject *callable,
               PyObject *arguments) noexcept {
  const int number = number_of(name);
  if (number < 0) return nullptr;
  PyObject *(*run)(PyObject *, PyObject *) = nullptr;
  for_each_row([&](const row &each) {
    const bool is_asked = std::strcmp(each.signature, signature) == 0;
    if (is_asked) run = each.run[static_cast<std::size_t>(number)];
  });
  if (run != nullptr) return run(callable, arguments);
  return PyErr_Format(PyExc_LookupError, "no consumer of '%.200s' here", signature);
}

typedcall::method_table methods{typedcall::def<call>("call"),
                                typedcall::def<signatures>("signatures")};

}  // namespace

TYPEDCALL_MODULE(matrix_probe, "C++ consumers of single values.", methods);
