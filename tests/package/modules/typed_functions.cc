// Tagged functions for the tests of the package. plain_functions.c is the counterpart without tags.
#include "typedcall/provider.h"

// After Python.h.
#include <cmath>
#include <complex>

namespace {

// Signed overflow is undefined.
long inc(long x) noexcept { return static_cast<long>(static_cast<unsigned long>(x) + 1); }
double add(double a, double b) noexcept { return a + b; }
double mix(double a, long b, double c, long d) noexcept {
  return a * static_cast<double>(b) + c * static_cast<double>(d);
}
double half(double x) noexcept { return x / 2; }
double square(double x) noexcept { return x * x; }

long abs_long(long x) noexcept {
  return x < 0 ? static_cast<long>(0 - static_cast<unsigned long>(x)) : x;
}
double abs_double(double x) noexcept { return std::fabs(x); }

double div(double a, double b) noexcept {
  if (b < 0 || b > 0 || std::isnan(b)) return a / b;
  PyErr_SetString(PyExc_ZeroDivisionError, "division by zero");
  return typedcall::error_value<double>();
}
long check(long x) noexcept {
  if (x != 13) return x;
  PyErr_SetString(PyExc_ValueError, "thirteen");
  return typedcall::error_value<long>();
}
int invert(double x, double *result) noexcept {
  if (x < 0 || x > 0) {
    *result = 1 / x;
    return 0;
  }
  PyErr_SetString(PyExc_ZeroDivisionError, "division by zero");
  return -1;
}
int expect(long x) noexcept {
  if (x >= 0) return 0;
  PyErr_SetString(PyExc_ValueError, "negative");
  return -1;
}

std::complex<double> turn(std::complex<double> z) noexcept { return {-z.imag(), z.real()}; }
double power(double x, double y) noexcept { return std::pow(x, y); }
double slow(double x) noexcept { return x + 1; }

bool negate(bool x) noexcept { return !x; }
signed char next_char(signed char x) noexcept { return static_cast<signed char>(x + 1); }
unsigned char next_byte(unsigned char x) noexcept { return static_cast<unsigned char>(x + 1); }
unsigned long next_size(unsigned long x) noexcept { return x + 1; }
float half_float(float x) noexcept { return x / 2; }
long double half_long(long double x) noexcept { return x / 2; }
const char *same_text(const char *text) noexcept { return text; }
PyObject *same_object(PyObject *object) noexcept {
  Py_INCREF(object);
  return object;
}
PyObject *first_of(PyObject *list) noexcept { return PySequence_GetItem(list, 0); }
double sum_of(const double *values, Py_ssize_t count) noexcept {
  double sum = 0;
  for (Py_ssize_t i = 0; i < count; ++i) sum += values[i];
  return sum;
}
void *same_pointer(void *pointer) noexcept { return pointer; }
long counter = 0;
void count() noexcept { ++counter; }
long counted() noexcept { return counter; }
double ten(double a, double b, double c, double d, double e, double f, double g, double h, long i,
           float j) noexcept {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9.0 * static_cast<double>(i) +
         10 * static_cast<double>(j);
}

constexpr auto simple = typedcall::pure | typedcall::thread_safe | typedcall::does_not_block;

// Two rows with the same function would share its name and defaults.
double scaled(PyObject *self, double x) noexcept;
double factor(PyObject *self) noexcept;

struct scaler {
  PyObject_HEAD
  double factor;
};

double scaled(PyObject *self, double x) noexcept {
  return reinterpret_cast<scaler *>(self)->factor * x;
}
double factor(PyObject *self) noexcept { return reinterpret_cast<scaler *>(self)->factor; }
double checked(PyObject *self, double x) noexcept {
  if (x >= 0) return scaled(self, x);
  PyErr_SetString(PyExc_ValueError, "negative");
  return typedcall::error_value<double>();
}
double twice(double x) noexcept { return 2 * x; }

typedcall::type_method_table scaler_methods{
    typedcall::def<scaled>("scale", typedcall::takes_self, "Times the factor."),
    typedcall::def<factor>("factor", typedcall::takes_self),
    typedcall::def<checked>("checked", typedcall::takes_self | typedcall::may_raise),
    typedcall::def<twice>("twice", typedcall::static_method),
};

int set_factor(PyObject *self, PyObject *args, PyObject *) {
  return PyArg_ParseTuple(args, "d", &reinterpret_cast<scaler *>(self)->factor) ? 0 : -1;
}
void release(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyType_Slot scaler_slots[] = {
    {Py_tp_methods, scaler_methods.defs()},
    {Py_tp_init, reinterpret_cast<void *>(set_factor)},
    {Py_tp_new, reinterpret_cast<void *>(PyType_GenericNew)},
    {Py_tp_dealloc, reinterpret_cast<void *>(release)},
    {0, nullptr},
};
PyType_Spec scaler_spec = {"typed_functions.Scaler", sizeof(scaler), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, scaler_slots};

typedcall::method_table methods{
    typedcall::def<inc>("inc", simple, "Add one; the largest int wraps round."),
    typedcall::def<add>("add", simple, "Add two floats."),
    typedcall::def<mix>("mix", simple),
    typedcall::def<half>("half", simple),
    typedcall::def<square>("square", simple),
    typedcall::def<abs_long, abs_double>("absolute", simple,
                                         "The absolute value of an int or a float."),
    typedcall::def<div>("div", typedcall::may_raise, "Divide; ZeroDivisionError for b = 0."),
    typedcall::def<check>("check", typedcall::may_raise, "The argument; ValueError for 13."),
    typedcall::def<invert>("invert", typedcall::returns_status),
    typedcall::def<expect>("expect", typedcall::returns_status),
    typedcall::def<turn>("turn", simple, "Times i."),
    typedcall::def<power>("power", simple, typedcall::arg("x"), typedcall::arg("y") = 2.0),
    typedcall::def<slow>("slow", typedcall::releases_gil),
    typedcall::def<negate>("negate", simple),
    typedcall::def<next_char>("next_char", simple),
    typedcall::def<next_byte>("next_byte", simple),
    typedcall::def<next_size>("next_size", simple),
    typedcall::def<half_float>("half_float", simple),
    typedcall::def<half_long>("half_long", simple),
    typedcall::def<same_text>("same_text"),
    typedcall::def<same_object>("same_object"),
    typedcall::def<first_of>("first_of", typedcall::may_raise),
    typedcall::def<sum_of>("sum_of"),
    typedcall::def<same_pointer>("same_pointer"),
    typedcall::def<count>("count"),
    typedcall::def<counted>("counted"),
    typedcall::def<ten>("ten", simple),
};

struct functions_state : typedcall::module_state {
  static constexpr bool runs_without_gil = true;

  int exec(PyObject *module) {
    PyObject *type = PyType_FromModuleAndSpec(module, &scaler_spec, nullptr);
    const int failed = type == nullptr || scaler_methods.tag(type) < 0 ||
                       PyObject_SetAttrString(module, "Scaler", type) < 0;
    Py_XDECREF(type);
    return failed ? -1 : 0;
  }
};

}  // namespace

TYPEDCALL_MODULE_STATE(typed_functions, "Tagged functions of every shape.", methods,
                       functions_state);
