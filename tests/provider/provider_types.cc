// Functions that take and return long doubles, complex numbers, strings and pointers.

#include <cmath>
#include <complex>
#include <limits>

#include "typedcall/provider.h"

namespace {

template <class T>
T echo(T value) noexcept {
  return value;
}

// --- Long double and complex ---

bool is_third(long double x) noexcept { return x * 3 < 1 || x * 3 > 1; }
long double nearly_one() noexcept { return 1 + std::numeric_limits<long double>::epsilon(); }
PyNativeType_ComplexDouble c_conjugate(PyNativeType_ComplexDouble z) noexcept {
  __imag__ z = -__imag__ z;
  return z;
}
std::complex<double> times(std::complex<double> a, std::complex<double> b) noexcept {
  return a * b;
}
std::complex<long double> mixed(bool swap, std::complex<float> a, double b,
                                std::complex<long double> c) noexcept {
  return swap ? std::complex<long double>(c.imag(), c.real())
              : std::complex<long double>(a.real() + b, a.imag() + b);
}
double real_part(std::complex<double> z) {
  if (std::isnan(z.real())) throw std::domain_error("nan has no real part");
  return z.real();
}

// --- Strings ---

std::size_t length(const char *text) noexcept { return std::strlen(text); }
bool same(const char *a, const char *b) noexcept { return std::strcmp(a, b) == 0; }
const char *skip_blanks(const char *text) noexcept {
  while (*text == ' ') ++text;
  return text;
}
const char *name_of(long code) noexcept {
  switch (code) {
    case 0:
      return "zero";
    case 1:
      return "\xc3\xa9";
    case 2:
      return "\xff";
    default:
      return nullptr;
  }
}
const char *name_or_error(long code) noexcept {
  if (code < 0) PyErr_SetString(PyExc_KeyError, "no name");
  return name_of(code < 0 ? 3 : code);
}

// --- Pointers ---

double sum(const double *items, Py_ssize_t count) noexcept {
  double total = 0;
  for (Py_ssize_t i = 0; i < count; ++i) total += items[i];
  return total;
}
void scale(double *items, Py_ssize_t count, double factor) noexcept {
  for (Py_ssize_t i = 0; i < count; ++i) items[i] *= factor;
}
template <class T>
bool is_null(T pointer) noexcept {
  return pointer == nullptr;
}
template <class T>
long address(T pointer) noexcept {
  return reinterpret_cast<long>(pointer);
}
template <class T>
double first(const T *items) noexcept {
  return static_cast<double>(items[0]);
}
double first_imaginary(const std::complex<double> *items) noexcept { return items[0].imag(); }
unsigned char first_byte(const void *memory) noexcept {
  return *static_cast<const unsigned char *>(memory);
}
void clear(void *memory, std::size_t bytes) noexcept { std::memset(memory, 0, bytes); }

double numbers[] = {1.5, 2.5, 3.5};
PyObject *object = Py_None;
double *get_numbers() noexcept { return numbers; }
const double *get_constants() noexcept { return numbers; }
void *get_memory() noexcept { return numbers; }
const void *get_constant_memory() noexcept { return numbers; }
PyObject **get_object() noexcept { return &object; }
const char **get_names() noexcept {
  static const char *names[] = {"a", nullptr};
  return names;
}
void **get_pointers() noexcept {
  static void *pointers[] = {numbers, nullptr};
  return pointers;
}
double *get_null() noexcept { return nullptr; }
bool points_to_none(PyObject **place) noexcept { return *place == Py_None; }
const char *first_name(const char **names) noexcept { return names[0]; }
bool points_to_numbers(void **pointers) noexcept { return pointers[0] == numbers; }

double slow_sum(const double *items, Py_ssize_t count) noexcept { return sum(items, count); }

typedcall::method_table methods{
    typedcall::def<echo<long double>>("longdouble"),
    typedcall::def<echo<PyNativeType_ComplexFloat>>("cfloat"),
    typedcall::def<echo<PyNativeType_ComplexDouble>>("cdouble"),
    typedcall::def<echo<PyNativeType_ComplexLongDouble>>("clongdouble"),
    typedcall::def<echo<std::complex<float>>>("stdcfloat"),
    typedcall::def<echo<std::complex<double>>>("stdcdouble"),
    typedcall::def<echo<std::complex<long double>>>("stdclongdouble"),
    typedcall::def<is_third>("is_third"),
    typedcall::def<nearly_one>("nearly_one"),
    typedcall::def<c_conjugate>("c_conjugate"),
    typedcall::def<times>("times"),
    typedcall::def<mixed>("mixed"),
    typedcall::def<real_part>("real_part"),
    typedcall::def<length>("length"),
    typedcall::def<same>("same"),
    typedcall::def<skip_blanks>("skip_blanks"),
    typedcall::def<name_of>("name_of"),
    typedcall::def<name_or_error>("name_or_error", typedcall::may_raise),
    typedcall::def<sum>("sum"),
    typedcall::def<scale>("scale"),
    typedcall::def<is_null<const double *>>("is_null"),
    typedcall::def<is_null<void *>>("is_null_void"),
    typedcall::def<address<double *>>("address"),
    typedcall::def<address<const double *>>("address_const"),
    typedcall::def<address<bool *>>("address_bool"),
    typedcall::def<address<const bool *>>("address_const_bool"),
    typedcall::def<address<void *>>("address_void"),
    typedcall::def<address<const void *>>("address_const_void"),
    typedcall::def<first<signed char>>("first_b"),
    typedcall::def<first<unsigned char>>("first_B"),
    typedcall::def<first<short>>("first_h"),
    typedcall::def<first<unsigned short>>("first_H"),
    typedcall::def<first<int>>("first_i"),
    typedcall::def<first<unsigned int>>("first_I"),
    typedcall::def<first<long>>("first_l"),
    typedcall::def<first<unsigned long>>("first_L"),
    typedcall::def<first<long long>>("first_q"),
    typedcall::def<first<unsigned long long>>("first_Q"),
    typedcall::def<first<float>>("first_f"),
    typedcall::def<first<double>>("first_d"),
    typedcall::def<first<bool>>("first_bool"),
    typedcall::def<first_imaginary>("first_imaginary"),
    typedcall::def<first_byte>("first_byte"),
    typedcall::def<clear>("clear"),
    typedcall::def<get_numbers>("get_numbers"),
    typedcall::def<get_constants>("get_constants"),
    typedcall::def<get_memory>("get_memory"),
    typedcall::def<get_constant_memory>("get_constant_memory"),
    typedcall::def<get_object>("get_object"),
    typedcall::def<get_names>("get_names"),
    typedcall::def<get_pointers>("get_pointers"),
    typedcall::def<get_null>("get_null"),
    typedcall::def<points_to_none>("points_to_none"),
    typedcall::def<first_name>("first_name"),
    typedcall::def<points_to_numbers>("points_to_numbers"),
    typedcall::def<slow_sum>("slow_sum", typedcall::releases_gil),
};

}  // namespace

TYPEDCALL_MODULE(provider_types, "Complex, strings and pointers.", methods);
