// Functions that take buffers. Compiled as C++17 and C++20, because C++20 has std::span.

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "typedcall/provider.h"
#if __cplusplus >= 202002L
#include <span>
#endif

namespace {

using typedcall::arg;
using typedcall::def;
using typedcall::span;
using typedcall::spans;

// --- Every element ---

template <class T>
T last(span<const T> all) noexcept {
  return all.empty() ? T{} : all[all.size() - 1];
}
template <class T>
Py_ssize_t reverse(span<T> all) noexcept {
  std::reverse(all.begin(), all.end());
  return static_cast<Py_ssize_t>(all.size());
}
std::complex<double> last_std(span<const std::complex<double>> all) noexcept {
  return all.empty() ? 0.0 : all[all.size() - 1];
}
void negate_std(span<std::complex<float>> all) noexcept {
  for (std::complex<float> &each : all) each = -each;
}

// --- Bytes and texts ---

std::uint64_t fnv(span<const unsigned char> bytes) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const unsigned char byte : bytes) hash = (hash ^ byte) * 0x100000001b3u;
  return hash;
}
Py_ssize_t length(std::string_view text) noexcept { return static_cast<Py_ssize_t>(text.size()); }
long find(std::string_view text, std::string_view part) noexcept {
  const auto at = text.find(part);
  return at == std::string_view::npos ? -1 : static_cast<long>(at);
}
long count(span<const char> text, std::string_view of) noexcept {
  long found = 0;
  for (const char each : text) found += of.find(each) != std::string_view::npos ? 1 : 0;
  return found;
}

// --- As a pointer and a length, as in C ---

double norm(const double *all, Py_ssize_t count) noexcept {
  double sum = 0;
  for (Py_ssize_t i = 0; i < count; ++i) sum += all[i] * all[i];
  return sum;
}
long bytes_in(const char *text, Py_ssize_t count) noexcept {
  return text != nullptr ? static_cast<long>(count) : -1;
}
void add_to(double *to, Py_ssize_t count, double what, const double *from, Py_ssize_t others) {
  if (count != others) throw std::invalid_argument("other lengths");
  for (Py_ssize_t i = 0; i < count; ++i) to[i] += what * from[i];
}
int last_by_status(const long *all, Py_ssize_t count, long *result) noexcept {
  if (count == 0) {
    PyErr_SetString(PyExc_IndexError, "nothing is there");
    return -1;
  }
  *result = all[count - 1];
  return 0;
}

// --- More words than there are registers, and exceptions ---

double mixed(double x, span<const double> a, long n, span<double> b, std::string_view text,
             span<const unsigned char> bytes, float y) noexcept {
  double sum = x + static_cast<double>(n) + y + static_cast<double>(text.size());
  for (const double each : a) sum += each;
  for (double &each : b) sum += each++;
  for (const unsigned char each : bytes) sum += each;
  return sum;
}
double dot(span<const double> a, span<const double> b) {
  if (a.size() != b.size()) throw std::invalid_argument("other lengths");
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}
bool is_sorted(span<const long> all) {
  if (all.empty()) throw std::length_error("nothing to sort");
  return std::is_sorted(all.begin(), all.end());
}
double sets_error(span<const double> all) {
  if (all.size() == 1) PyErr_SetString(PyExc_ArithmeticError, "alone");
  return -1.0;
}
std::optional<double> mean(span<const double> all) noexcept {
  double sum = 0;
  if (all.empty()) return std::nullopt;
  for (const double each : all) sum += each;
  return sum / static_cast<double>(all.size());
}
double no_mean(span<const double> all) {
  if (all.empty()) throw std::domain_error("the mean of nothing");
  return 0;
}
long index_of(span<const long> all, long wanted) {
  const long *at = std::find(all.begin(), all.end(), wanted);
  if (at == all.end()) throw std::out_of_range("it is not there");
  return at - all.begin();
}
double without_gil(span<const double> all) noexcept {
  return PyGILState_Check() != 0 ? -1 : norm(all.data(), static_cast<Py_ssize_t>(all.size()));
}

// --- Names, defaults, self, overloads ---

void scale(span<double> all, double by) noexcept {
  for (double &each : all) each *= by;
}
long split(std::string_view text, std::string_view by) noexcept {
  long parts = 1;
  for (std::size_t at = 0; (at = text.find(by, at)) != std::string_view::npos; at += by.size()) {
    ++parts;
  }
  return parts;
}
bool of_module(PyObject *self, span<const double> all) noexcept {
  return PyModule_Check(self) && !all.empty();
}
long of_doubles(span<const double>) noexcept { return 1; }
long of_floats(span<const float>) noexcept { return 2; }
long of_bytes(span<const unsigned char>) noexcept { return 3; }
long of_text(std::string_view) noexcept { return 4; }
long of_double(double) noexcept { return 5; }
long of_object(PyObject *) noexcept { return 6; }

#if __cplusplus >= 202002L
double total(std::span<const double> all) noexcept {
  double sum = 0;
  for (const double each : all) sum += each;
  return sum;
}
void fill(std::span<float> all, float with) noexcept { std::fill(all.begin(), all.end(), with); }
#define OF_CXX20 def<total>("total"), def<fill>("fill"),
#else
#define OF_CXX20
#endif

typedcall::method_table methods{
#define ELEMENT(TYPE, LETTERS) \
  def<last<TYPE>>("last_" LETTERS), def<reverse<TYPE>>("reverse_" LETTERS)
    ELEMENT(bool, "bool"),
    ELEMENT(signed char, "b"),
    ELEMENT(unsigned char, "B"),
    ELEMENT(short, "h"),
    ELEMENT(unsigned short, "H"),
    ELEMENT(int, "i"),
    ELEMENT(unsigned int, "I"),
    ELEMENT(long, "l"),
    ELEMENT(unsigned long, "L"),
    ELEMENT(long long, "q"),
    ELEMENT(unsigned long long, "Q"),
    ELEMENT(float, "f"),
    ELEMENT(double, "d"),
    ELEMENT(long double, "g"),
    ELEMENT(PyNativeType_ComplexFloat, "Zf"),
    ELEMENT(PyNativeType_ComplexDouble, "Zd"),
    ELEMENT(PyNativeType_ComplexLongDouble, "Zg"),
    def<last_std>("last_std"),
    def<negate_std>("negate_std"),
    def<fnv>("fnv", "The hash of Fowler, Noll and Vo."),
    def<length>("length"),
    def<find>("find"),
    def<count>("count"),
    def<spans<norm>>("norm"),
    def<spans<bytes_in>>("bytes_in"),
    def<spans<add_to>>("add_to"),
    def<spans<last_by_status>>("last_by_status", typedcall::returns_status),
    def<mixed>("mixed"),
    def<dot>("dot"),
    def<is_sorted>("is_sorted"),
    def<sets_error>("sets_error"),
    def<mean>("mean"),
    def<mean>("mean_otherwise", typedcall::otherwise<no_mean>),
    def<index_of>("index_of", typedcall::falls_back),
    def<without_gil>("without_gil", typedcall::releases_gil),
    def<scale>("scale", arg("values"), arg("by") = 2.0),
    def<split>("split", arg("text"), arg("by") = ", "),
    def<of_module>("of_module", typedcall::takes_self),
    def<of_doubles, of_floats, of_bytes, of_text, of_double, of_object>("overloaded"),
    def<of_doubles, of_floats>("two_overloads"),
    OF_CXX20};

}  // namespace

TYPEDCALL_MODULE(NAME, "Functions of buffers.", methods);
