// Functions with parameters of every narrow type. The module's `calls` counts native calls.
#include "typedcall/provider.h"

// After Python.h.
#include <atomic>
#include <cmath>
#include <optional>

namespace {

std::atomic<long> count{0};

template <class T>
T same(T x) noexcept {
  ++count;
  return x;
}
template <class T>
T larger(T a, T b) noexcept {
  ++count;
  return a > b ? a : b;
}
double times(float x, short n, unsigned char m) noexcept { return double{x} * n + m; }
double float_first(float x, double) noexcept { return x; }
void nothing(signed char) noexcept { ++count; }

// The results show which overload was called.
template <int which, class... T>
long which_of(T...) noexcept {
  return which;
}

template <class T>
std::optional<T> positive(T x) noexcept {
  ++count;
  if (x <= 0) return std::nullopt;
  return x;
}
PyObject *below(int x) noexcept { return PyLong_FromLong(x - 1000L); }

template <class T>
T checked(T x) noexcept {
  ++count;
  if (x != 13) return x;
  PyErr_SetString(PyExc_ValueError, "thirteen");
  return typedcall::error_value<T>();
}
int status(int x, int *result) noexcept {
  ++count;
  if (x == 13) {
    PyErr_SetString(PyExc_ValueError, "thirteen");
    return -1;
  }
  if (x == 14) return -1;  // a status without an exception
  *result = -x;
  return 0;
}
int expect(int x) noexcept {
  if (x != 13) return 0;
  PyErr_SetString(PyExc_ValueError, "thirteen");
  return -1;
}
long half(long x) noexcept { return x / 2; }

// The exception that raises() sets. A test checks its identity.
PyObject *kept = nullptr;
PyObject *keep(PyObject *exception) noexcept {
  Py_INCREF(exception);
  Py_XSETREF(kept, exception);
  Py_RETURN_NONE;
}
double raises(double x) noexcept {
  if (x >= 0) return x;
  if (kept != nullptr) PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(kept)), kept);
  return typedcall::error_value<double>();
}
long is_attached() noexcept { return PyGILState_Check(); }

long calls() noexcept { return count; }

using typedcall::def;
using typedcall::falls_back;
using typedcall::may_raise;
using typedcall::otherwise;
using typedcall::thread_safe;

typedcall::method_table methods{
    def<same<bool>>("same_bool", thread_safe),
    def<same<signed char>>("same_b", thread_safe),
    def<same<unsigned char>>("same_B", thread_safe),
    def<same<short>>("same_h", thread_safe),
    def<same<unsigned short>>("same_H", thread_safe),
    def<same<int>>("same_i", thread_safe),
    def<same<unsigned int>>("same_I", thread_safe),
    def<same<long>>("same_l", thread_safe),
    def<same<unsigned long>>("same_L", thread_safe),
    def<same<float>>("same_f", thread_safe),
    def<same<double>>("same_d", thread_safe),
    def<larger<signed char>>("larger_b", thread_safe),
    def<larger<unsigned short>>("larger_H"),
    def<larger<int>>("larger_i", thread_safe),
    def<larger<unsigned long>>("larger_L", thread_safe),
    def<larger<float>>("larger_f", thread_safe),
    def<times>("times", thread_safe),
    def<float_first>("float_first", thread_safe),
    def<nothing>("nothing"),
    def<which_of<0, int>, which_of<1, double>>("int_or_float", thread_safe),
    def<which_of<0, double>, which_of<1, int>>("float_or_int", thread_safe),
    def<which_of<0, signed char>, which_of<1, long>>("char_or_long", thread_safe),
    def<which_of<0, unsigned long>, which_of<1, signed char>, which_of<2, double>>("three",
                                                                                   thread_safe),
    def<which_of<0, float>, which_of<1, double>>("two_floats", thread_safe),
    def<which_of<0, signed char, signed char>, which_of<1, int, double>>("two_arguments",
                                                                         thread_safe),
    def<which_of<0, int, double>, which_of<1, bool, float>>("two_kinds", thread_safe),
    def<which_of<0, double, short>, which_of<1, unsigned char, unsigned char>>("two_widths",
                                                                               thread_safe),
    def<which_of<0, bool>, which_of<1, bool, bool>>("two_counts", thread_safe),
    def<same<signed char>, same<long>>("other_results", thread_safe),
    def<positive<int>>("positive_i", thread_safe, otherwise<below>),
    def<positive<float>>("positive_f", thread_safe),
    def<checked<int>>("checked_i", may_raise),
    def<checked<unsigned char>>("checked_B", may_raise),
    def<checked<float>>("checked_f", may_raise),
    def<checked<double>>("checked_d", may_raise),
    def<status>("status", typedcall::returns_status),
    def<expect>("expect", typedcall::returns_status),
    def<half>("half"),
    def<keep>("keep"),
    def<raises>("raises", may_raise),
    def<is_attached>("is_attached", may_raise),
    def<calls>("calls"),
};

}  // namespace

TYPEDCALL_MODULE(narrow_functions, "Functions of narrow types.", methods);
