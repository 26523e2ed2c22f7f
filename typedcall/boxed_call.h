// Calling any Python callable with C values: box, vectorcall, unbox. The way that always works, for
// consumers whose callable offers no native function.
#ifndef TYPEDCALL_BOXED_CALL_H_
#define TYPEDCALL_BOXED_CALL_H_

#include <cstddef>

#include "typedcall/convert/boxed_buffer.h"
#include "typedcall/convert/convert.h"
#include "typedcall/namespace.h"
#include "typedcall/stats.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// `copy` is where a buffer keeps what the object shows.
template <class T>
object_ref box_argument(T value, object_ref *copy) {
  (void)copy;
  if constexpr (std::is_same_v<T, PyObject *>) {
    return object_ref::borrow(value);
  } else if constexpr (is_buffer<T>) {
    return object_ref::steal(box_buffer(parts_of(value), copy));
  } else {
    return object_ref::steal(to_python(value));
  }
}

template <class T>
void finish_argument(T value, const object_ref &copy) {
  (void)value, (void)copy;
  if constexpr (is_buffer<T>) finish_buffer(parts_of(value), copy.get());
}

template <class R, class... A>
bool box_and_call(PyObject *callable, R *result, A... arguments) {
  constexpr std::size_t count = sizeof...(A);
  constexpr bool has_buffers = (is_buffer<A> || ...);
  stats::add(event::boxed);
  object_ref copies[has_buffers ? count : 1];
  object_ref boxed[count + 1];
  // One place more in front lets a bound method put its self there instead of copying.
  PyObject *stack[count + 1] = {nullptr};
  [[maybe_unused]] std::size_t next = 0;
  // None is made while an exception waits.
  const bool all_are_boxed =
      ((boxed[next] = box_argument<A>(arguments, has_buffers ? &copies[next] : nullptr),
        stack[next + 1] = boxed[next].get(), stack[++next] != nullptr) &&
       ...);
  if (!all_are_boxed) {
    if (!PyErr_Occurred()) {
      PyErr_SetString(PyExc_SystemError, "typedcall: a NULL object argument");
    }
    return false;
  }
  object_ref returned = object_ref::steal(
      PyObject_Vectorcall(callable, stack + 1, count | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
  if constexpr (has_buffers) {
    std::size_t at = 0;
    ((finish_argument<A>(arguments, copies[at]), copies[at++].reset()), ...);
  }
  for (object_ref &argument : boxed) argument.reset();
  if constexpr (std::is_same_v<R, PyObject *>) {
    *result = returned.release();
    return *result != nullptr;
  } else {
    const bool is_converted = returned && from_python(returned.get(), result);
    returned.reset();
    return is_converted;
  }
}

}  // namespace internal

/// Calls `callable` and converts its result to `*result`. False with the exception that the call or
/// a conversion has set. An object result is a new reference. GIL: held.
template <class R, class... A>
bool boxed_call(PyObject *callable, R *result, A... arguments) {
  return run_python([&] { return internal::box_and_call(callable, result, arguments...); });
}

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_BOXED_CALL_H_
