// A module for free-threaded CPython. Its functions may run in several threads at once.
#include "typedcall/provider.h"
#include "typedcall/resolve.h"

#include <atomic>

namespace {

// Data that threads share must be atomic or protected by a mutex, because there may be no GIL.
std::atomic<long> threads_inside{0}, most_inside{0};

// Counts the threads that have an object of this class.
class visit {
 public:
  visit() {
    const long now = ++threads_inside;
    long before = most_inside;
    while (before < now && !most_inside.compare_exchange_weak(before, now)) {
    }
  }
  ~visit() { --threads_inside; }
};

long take_most_at_once() noexcept { return most_inside.exchange(0); }

bool is_prime(long n) noexcept {
  if (n < 4) return n > 1;
  if (n % 2 == 0) return false;
  for (long divisor = 3; divisor <= n / divisor; divisor += 2) {
    if (n % divisor == 0) return false;
  }
  return true;
}

long count_primes(long first, long last) noexcept {
  const visit here;
  long count = 0;
  for (long n = first; n < last; ++n) count += is_prime(n);
  return count;
}

// A consumer that counts the numbers for which the callable returns true. The C function does not
// use Python, so the loop runs without the GIL. Not noexcept, because CPython may end the thread
// when it attaches again.
long count(PyObject *callable, long first, long last) {
  const auto is_wanted = typedcall::resolve<bool(long)>(PyTypedcall_Import(), callable);
  if (!is_wanted) return -1;  // the TypeError lists the signatures on offer
  if ((is_wanted.flags() & PyNativeCallable_THREAD_SAFE) == 0) {
    PyErr_SetString(PyExc_TypeError, "count() needs a function that says thread_safe");
    return -1;
  }
  long found = 0;
  Py_BEGIN_ALLOW_THREADS;
  const visit here;
  for (long n = first; n < last; ++n) found += is_wanted(n);
  Py_END_ALLOW_THREADS;
  return found;
}

constexpr auto simple = typedcall::pure | typedcall::thread_safe;

typedcall::method_table methods{
    typedcall::def<is_prime>("is_prime", simple),
    typedcall::def<count_primes>("count_primes", typedcall::thread_safe),
    typedcall::def<count>("count", typedcall::may_raise | typedcall::nothrow),
    typedcall::def<take_most_at_once>("take_most_at_once", typedcall::thread_safe,
                                      "The most threads that were counting at once since then."),
};

}  // namespace

TYPEDCALL_MODULE_WITHOUT_GIL(primes, "Prime numbers in many threads.", methods);
