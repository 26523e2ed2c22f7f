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

/// Argument number `at`; `buffers` are those of the call, `count` of them, if there are any.
template <class T>
object_ref box_argument(T value, copied_buffer *buffers, std::size_t count, std::size_t at) {
  (void)value, (void)buffers, (void)count, (void)at;
  if constexpr (std::is_same_v<T, PyObject *>) {
    return object_ref::borrow(value);
  } else if constexpr (is_buffer<T>) {
    return object_ref::steal(box_buffer(buffers, count, at));
  } else {
    return object_ref::steal(to_python(value));
  }
}

template <class T>
void note_buffer(T value, copied_buffer *own) {
  (void)value, (void)own;
  if constexpr (is_buffer<T>) own->parts = parts_of(value);
}

template <class R, class... A>
bool box_and_call(PyObject *callable, R *result, A... arguments) {
  constexpr std::size_t count = sizeof...(A);
  constexpr bool has_buffers = (is_buffer<A> || ...);
  stats::add(event::boxed);
  copied_buffer buffers[has_buffers ? count : 1];
  if constexpr (has_buffers) {
    std::size_t at = 0;
    (note_buffer<A>(arguments, &buffers[at++]), ...);
  }
  object_ref boxed[count + 1];
  // One place more in front lets a bound method put its self there instead of copying.
  PyObject *stack[count + 1] = {nullptr};
  [[maybe_unused]] std::size_t next = 0;
  // None is made while an exception waits.
  const bool all_are_boxed = ((boxed[next] = box_argument<A>(arguments, buffers, count, next),
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
    for (const copied_buffer &each : buffers) finish_buffer(each);
    for (copied_buffer &each : buffers) each.copy.reset();
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
