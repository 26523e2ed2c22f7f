// The C++ provider. The table at the end turns C++ functions into tagged Python functions.
#include "typedcall/provider.h"

namespace {

// Uses unsigned arithmetic, which wraps, because a native caller may pass LONG_MAX.
long inc(long x) noexcept { return static_cast<long>(static_cast<unsigned long>(x) + 1); }

double add(double a, double b) noexcept { return a + b; }

long abs_long(long x) noexcept {
  return x < 0 ? static_cast<long>(0 - static_cast<unsigned long>(x)) : x;
}

double abs_double(double x) noexcept { return x < 0 ? -x : x + 0.0; }

double div(double a, double b) noexcept {
  if (b == 0.0) {
    PyErr_SetString(PyExc_ZeroDivisionError, "division by zero");
    return typedcall::error_value<double>();
  }
  return a / b;
}

typedcall::method_table methods{
    typedcall::def<inc>("inc", typedcall::pure | typedcall::thread_safe,
                        "inc($module, x, /)\n--\n\nAdd one; the largest int wraps round."),
    typedcall::def<add>("add", typedcall::pure | typedcall::thread_safe,
                        "add($module, a, b, /)\n--\n\nAdd two floats."),
    typedcall::def<abs_long, abs_double>(
        "abs", typedcall::pure | typedcall::thread_safe,
        "abs($module, x, /)\n--\n\nThe absolute value of an int or a float."),
    typedcall::def<div>("div", typedcall::may_raise,
                        "div($module, a, b, /)\n--\n\nDivide; ZeroDivisionError for b = 0."),
};

}  // namespace

TYPEDCALL_MODULE(quickstart_functions, "Functions with native signatures.", methods);
