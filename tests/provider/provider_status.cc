// Functions with a status, and functions that release the GIL.

#include <pthread.h>
#include <time.h>

#include <atomic>
#include <complex>
#include <stdexcept>

#include "typedcall/provider.h"

namespace {

// --- With a status: 42 fails with an exception, 43 without one ---

int check(long x) noexcept {
  if (x == 42) PyErr_SetString(PyExc_ArithmeticError, "it is 42");
  return x == 42 || x == 43 ? 1 : 0;
}
template <class T>
int convert(long x, T *result) noexcept {
  *result = static_cast<T>(x);
  return check(x);
}
int convert_complex(long x, std::complex<double> *result) noexcept {
  *result = {static_cast<double>(x), 1};
  return check(x);
}
int make_object(long x, PyObject **result) noexcept {
  *result = nullptr;
  if (check(x) != 0) return -1;
  *result = PyLong_FromLong(x);
  return 0;
}
int make_text(long x, const char **result) noexcept {
  *result = x == 0 ? nullptr : "text";
  return check(x);
}
int throw_or_convert(long x, double *result) {
  if (x == 41) throw std::out_of_range("it is 41");
  return convert(x, result);
}
int set_and_return_0(long x, double *result) {
  if (x == 42) PyErr_SetString(PyExc_ArithmeticError, "it is 42");
  *result = static_cast<double>(x);
  return 0;
}
int only_place(bool *result) noexcept {
  *result = true;
  return 0;
}
// The last parameter cannot be a place for a value, so Python gets None.
int last_is_memory(long x, void *) noexcept { return check(x); }
int last_is_object(long x, PyObject *) noexcept { return check(x); }

// --- Functions that may throw and have no error value ---

bool is_even(long x) {
  if (x < 0) throw std::domain_error("negative");
  return x % 2 == 0;
}
long stored = 0;
void store(long x) {
  if (x < 0) throw std::domain_error("negative");
  stored = x;
}
long get_stored() noexcept { return stored; }
std::complex<double> root(double x) {
  if (x < 0) throw std::domain_error("negative");
  return {x, -x};
}
// May set a Python exception, but does not throw.
void append(PyObject *list, PyObject *item) { PyList_Append(list, item); }

// --- User-defined exceptions ---

struct parse_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct nameless {};
struct unheard_of {};
long throw_own(long which) {
  if (which == 0) throw parse_error("line 7");
  if (which == 1) throw nameless();
  if (which == 2) throw unheard_of();
  throw std::out_of_range("standard");
}
const bool has_translator = [] {
  typedcall::set_exception_translator([] {
    try {
      throw;
    } catch (const parse_error &error) {
      PyErr_SetString(PyExc_SyntaxError, error.what());
    } catch (const nameless &) {
      // The translator sets no exception.
    }
  });
  return true;
}();

// --- The GIL ---

bool holds_gil() noexcept { return PyGILState_Check() != 0; }
bool holds_gil_with(const double *, const char *) noexcept { return holds_gil(); }
std::atomic<int> waiting{0};
// Returns 1 if another thread calls this function at the same time, or 0 after a timeout.
long meet(long seconds) noexcept {
  const int mine = ++waiting;
  for (long i = 0; i < seconds * 1000 && waiting.load() < mine + 1 && mine % 2 == 1; ++i) {
    const timespec millisecond = {0, 1000000};
    nanosleep(&millisecond, nullptr);
  }
  return waiting.load() > mine || mine % 2 == 0 ? 1 : 0;
}
std::atomic<int> inside{0};
std::atomic<bool> may_leave{false};
// Holds the buffer until leave() is called.
void touch(double *items) noexcept {
  ++inside;
  for (int i = 0; i < 60000 && !may_leave; ++i) {
    const timespec millisecond = {0, 1000000};
    nanosleep(&millisecond, nullptr);
  }
  *items += 1;
}
long touching() noexcept { return inside; }
void leave() noexcept { may_leave = true; }

typedcall::method_table methods{
    typedcall::def<check>("check", typedcall::returns_status),
    typedcall::def<convert<bool>>("to_bool", typedcall::returns_status),
    typedcall::def<convert<signed char>>("to_schar", typedcall::returns_status),
    typedcall::def<convert<unsigned long>>("to_ulong", typedcall::returns_status),
    typedcall::def<convert<double>>("to_double", typedcall::returns_status | typedcall::may_raise),
    typedcall::def<convert<long double>>("to_longdouble", typedcall::returns_status),
    typedcall::def<convert_complex>("to_complex", typedcall::returns_status),
    typedcall::def<make_object>("to_object", typedcall::returns_status),
    typedcall::def<make_text>("to_text", typedcall::returns_status),
    typedcall::def<throw_or_convert>("throw_or_convert", typedcall::returns_status),
    typedcall::def<set_and_return_0>("set_and_return_0", typedcall::returns_status),
    typedcall::def<only_place>("only_place", typedcall::returns_status),
    typedcall::def<last_is_memory>("last_is_memory", typedcall::returns_status),
    typedcall::def<last_is_object>("last_is_object", typedcall::returns_status),
    typedcall::def<convert<double>, convert_complex>("first_of_two", typedcall::returns_status),
    typedcall::def<is_even>("is_even"),
    typedcall::def<store>("store"),
    typedcall::def<get_stored>("get_stored"),
    typedcall::def<root>("root"),
    typedcall::def<append>("append"),
    typedcall::def<throw_own>("throw_own"),
    typedcall::def<holds_gil>("holds_gil"),
    typedcall::def<holds_gil>("holds_gil_released", typedcall::releases_gil),
    typedcall::def<holds_gil_with>("holds_gil_with", typedcall::releases_gil),
    typedcall::def<meet>("meet", typedcall::releases_gil),
    typedcall::def<touch>("touch", typedcall::releases_gil),
    typedcall::def<touching>("touching"),
    typedcall::def<leave>("leave"),
};

}  // namespace

TYPEDCALL_MODULE(provider_status, "Status and GIL.", methods);
