// State of a C function that Python code may free while the function runs.
#ifndef TYPEDCALL_PYTHON_CALLING_SHARED_STATE_H_
#define TYPEDCALL_PYTHON_CALLING_SHARED_STATE_H_

#include <atomic>
#include <cstddef>

namespace typedcall::python {

/// The base class of a State that lives until its owner and all calls that hold it have released
/// it. Threads: safe. GIL: optional, except as the destructor of State requires.
template <class State>
class shared_state {
 public:
  /// Only for calls that may run Python code, because threads would wait for each other here.
  void hold() const { users_.fetch_add(1, std::memory_order_relaxed); }
  /// Deletes the state if this was the last user.
  void release() const {
    if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete static_cast<const State *>(this);
    }
  }

 private:
  mutable std::atomic<std::size_t> users_{1};
};

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_CALLING_SHARED_STATE_H_
