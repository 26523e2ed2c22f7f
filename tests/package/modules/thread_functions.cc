// Functions that wait for calls from other threads.
#include "typedcall/provider.h"

// After Python.h.
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace {

std::mutex lock;
std::condition_variable changed;
long inside = 0, entered = 0, waiting = 0;
bool may_go = false;

/// Waits for a second call. Returns true if two calls overlap.
long meets(long milliseconds) noexcept {
  std::unique_lock<std::mutex> held(lock);
  const long mine = ++entered;
  const bool is_second = ++inside > 1;
  changed.notify_all();
  const bool has_met = changed.wait_for(held, std::chrono::milliseconds(milliseconds),
                                        [&] { return is_second || entered != mine; });
  --inside;
  return has_met;
}

/// Waits for a call to let_go(). Returns true if let_go() was called.
long waits(long milliseconds) noexcept {
  std::unique_lock<std::mutex> held(lock);
  may_go = false;
  ++waiting;
  const bool can_go =
      changed.wait_for(held, std::chrono::milliseconds(milliseconds), [&] { return may_go; });
  --waiting;
  return can_go;
}
double waits_for_unit(double) noexcept { return static_cast<double>(waits(1000)); }
double waits_for_sum(double x, double y) noexcept { return waits_for_unit(x + y); }
double waits_for_array(int, double *x) noexcept { return waits_for_unit(*x); }
long are_waiting() noexcept {
  const std::lock_guard<std::mutex> held(lock);
  return waiting;
}
void let_go() noexcept {
  const std::lock_guard<std::mutex> held(lock);
  may_go = true;
  changed.notify_all();
}

using typedcall::def;
using typedcall::releases_gil;
using typedcall::thread_safe;

typedcall::method_table methods{
    def<meets>("alone"),
    def<meets>("together", thread_safe | releases_gil),
    def<waits>("waits", thread_safe | releases_gil),
    def<waits_for_unit>("waits_for_unit"),
    def<waits_for_sum>("waits_for_sum"),
    def<waits_for_array>("waits_for_array"),
    def<are_waiting>("are_waiting", thread_safe),
    def<let_go>("let_go", thread_safe),
};

}  // namespace

TYPEDCALL_MODULE(thread_functions, "Functions that see other threads.", methods);
