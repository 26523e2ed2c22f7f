// The functions of bench/pypy_loop.py, for CPython and PyPy.
#include "typedcall/provider.h"

#include <cerrno>
#include <ctime>

namespace {

// Signed overflow is undefined.
long inc(long x) noexcept { return static_cast<long>(static_cast<unsigned long>(x) + 1); }
double add(double a, double b) noexcept { return a + b; }
double mix(double a, long b, double c, long d) noexcept {
  return a + static_cast<double>(b) + c * static_cast<double>(d);
}

double nanoseconds() noexcept {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

long gil = 1;
int saved_errno = 0;
volatile long kept;

// Returns the nanoseconds per call of inc in C. The loop does the same work as PyPy's code around a
// call through cffi: it handles errno and the GIL, and stores the result in memory.
double letting_go(long count) noexcept {
  long (*volatile hidden)(long) = inc;
  long (*const function)(long) = hidden;
  long x = 0;
  const double start = nanoseconds();
  for (long i = 0; i < count; ++i) {
    errno = saved_errno;
    __atomic_store_n(&gil, 0, __ATOMIC_RELEASE);
    kept = function(x);
    saved_errno = errno;
    long free = 0;
    __atomic_compare_exchange_n(&gil, &free, 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    x = kept;
  }
  return x == count ? (nanoseconds() - start) / static_cast<double>(count) : 0;
}

constexpr auto simple = typedcall::pure | typedcall::thread_safe;

typedcall::method_table methods{
    typedcall::def<inc>("inc", simple), typedcall::def<add>("add", simple),
    typedcall::def<mix>("mix", simple), typedcall::def<letting_go>("letting_go")};

}  // namespace

TYPEDCALL_MODULE(pypy_loop_module, "Functions to call in a loop.", methods);
