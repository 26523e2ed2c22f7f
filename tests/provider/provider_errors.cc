// Functions that raise exceptions, and functions that take and return objects.

#include <ios>
#include <stdexcept>

#include "typedcall/provider.h"

namespace {

// Raises for 42. Returns any other argument, even the error value.
template <class T>
T not_42(T value) noexcept {
  if (value < T{42} || value > T{42}) return value;
  PyErr_SetString(PyExc_ArithmeticError, "it is 42");
  return typedcall::error_value<T>();
}

struct silent : std::exception {
  const char *what() const noexcept override { return nullptr; }
};

[[noreturn]] void throw_kind(long kind) {
  switch (kind) {
    case 0:
      throw std::bad_alloc();
    case 1:
      throw std::out_of_range("out of range");
    case 2:
      throw std::overflow_error("overflow");
    case 3:
      throw std::invalid_argument("invalid");
    case 4:
      throw std::domain_error("domain");
    case 5:
      throw std::length_error("length");
    case 6:
      throw std::runtime_error("runtime \xc3\xa9");
    case 7:
      throw std::ios_base::failure("stream");
    case 8:
      throw std::range_error("range");
    case 10:
      throw std::out_of_range("\xffno UTF-8\xc3");
    case 11:
      throw silent();
    default:
      throw 42;
  }
}

long throw_long(long kind) {
  if (kind < 0) return kind;
  throw_kind(kind);
}
unsigned throw_unsigned(long kind) { throw_kind(kind); }
double throw_double(long kind, double) { throw_kind(kind); }
PyObject *throw_object(long kind) { throw_kind(kind); }
float throw_nothing() { throw_kind(6); }

// Returns x. For 42, also sets a Python exception.
template <class T>
T set_and_return(long x) {
  if (x == 42) PyErr_SetString(PyExc_ArithmeticError, "it is 42");
  return static_cast<T>(x);
}
PyObject *set_and_return_object(PyObject *object) {
  PyErr_SetObject(PyExc_LookupError, object);
  Py_INCREF(object);
  return object;
}
const char *set_and_return_text() {
  PyErr_SetString(PyExc_ArithmeticError, "it is 42");
  return "text";
}

PyObject *identity(PyObject *object) noexcept {
  Py_INCREF(object);
  return object;
}
PyObject *second(PyObject *, PyObject *object, long) noexcept { return identity(object); }
PyObject *new_list() noexcept { return PyList_New(0); }
bool is_none(PyObject *object) noexcept { return object == Py_None; }
Py_ssize_t length(PyObject *object) noexcept { return PyObject_Size(object); }
PyObject *null_with_exception(PyObject *object) noexcept {
  PyErr_SetObject(PyExc_LookupError, object);
  return nullptr;
}
PyObject *null_alone() noexcept { return nullptr; }

typedcall::method_table methods{
    typedcall::def<not_42<signed char>>("schar", typedcall::may_raise),
    typedcall::def<not_42<unsigned char>>("uchar", typedcall::may_raise),
    typedcall::def<not_42<short>>("short", typedcall::may_raise),
    typedcall::def<not_42<unsigned short>>("ushort", typedcall::may_raise),
    typedcall::def<not_42<int>>("int", typedcall::may_raise),
    typedcall::def<not_42<unsigned>>("uint", typedcall::may_raise),
    typedcall::def<not_42<long>>("long", typedcall::may_raise),
    typedcall::def<not_42<unsigned long>>("ulong", typedcall::may_raise),
    typedcall::def<not_42<float>>("float", typedcall::may_raise),
    typedcall::def<not_42<double>>("double", typedcall::may_raise),
    typedcall::def<throw_long>("throw_long"),
    typedcall::def<throw_unsigned>("throw_unsigned"),
    typedcall::def<throw_double>("throw_double"),
    typedcall::def<throw_object>("throw_object"),
    typedcall::def<throw_nothing>("throw_nothing"),
    typedcall::def<set_and_return<signed char>>("set_schar"),
    typedcall::def<set_and_return<unsigned long>>("set_ulong"),
    typedcall::def<set_and_return<float>>("set_float"),
    typedcall::def<set_and_return<double>>("set_double"),
    typedcall::def<set_and_return<bool>>("set_bool"),
    typedcall::def<set_and_return_object>("set_object"),
    typedcall::def<set_and_return_text>("set_text"),
    typedcall::def<identity>("identity"),
    typedcall::def<second>("second"),
    typedcall::def<new_list>("new_list"),
    typedcall::def<is_none>("is_none"),
    typedcall::def<length>("length", typedcall::may_raise),
    typedcall::def<null_with_exception>("null_with_exception"),
    typedcall::def<null_alone>("null_alone"),
};

}  // namespace

TYPEDCALL_MODULE(provider_errors, "Raises.", methods);
