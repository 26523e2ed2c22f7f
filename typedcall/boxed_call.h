// Calls a Python callable with C values and converts the result to C. The callable does not need a
// native function.
#ifndef TYPEDCALL_BOXED_CALL_H_
#define TYPEDCALL_BOXED_CALL_H_

#include <cstddef>
#include <type_traits>

#include "typedcall/base/namespace.h"
#include "typedcall/base/stack.h"
#include "typedcall/base/stats.h"
#include "typedcall/convert/boxed_buffer.h"
#include "typedcall/convert/by_name.h"
#include "typedcall/convert/convert.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// A borrowed reference to a Python callable, and the names of its keyword arguments. GIL: held to
/// make, copy or destroy a non-empty object.
class python_callable {
 public:
  python_callable() = default;
  /// The callable takes all arguments by position.
  python_callable(PyObject *callable) : callable_(callable) {}

  PyObject *get() const { return callable_; }
  /// Returns a tuple with the names of the keyword arguments, or null if there are none.
  PyObject *names() const { return names_.get(); }
  /// Sets a callable that takes `count` arguments. Keyword-only arguments are passed by name. On
  /// failure, returns false with MemoryError set.
  bool set(PyObject *callable, std::size_t count) {
    callable_ = callable;
    return find_names(callable, count, &names_);
  }

 private:
  PyObject *callable_ = nullptr;
  object_ref names_;
};

/// The boxed arguments of one call to a Python callable. GIL: held.
class boxed_arguments {
 public:
  /// `room` has one element more than there are arguments, because
  /// PY_VECTORCALL_ARGUMENTS_OFFSET requires an extra first element.
  explicit boxed_arguments(PyObject **room) : stack_(room) { stack_[0] = nullptr; }
  boxed_arguments(const boxed_arguments &) = delete;
  boxed_arguments &operator=(const boxed_arguments &) = delete;
  ~boxed_arguments() {
    while (count_ > 0) give_back_reference(stack_[count_--]);
  }

  /// Adds an argument and takes ownership of the reference. Returns false with an exception set if
  /// `argument` is NULL.
  bool add(PyObject *argument) {
    if (argument != nullptr) {
      stack_[++count_] = argument;
      return true;
    }
    if (PyErr_Occurred() == nullptr) {
      PyErr_SetString(PyExc_SystemError, "typedcall: a NULL object argument");
    }
    return false;
  }

  /// Returns a borrowed reference to an argument.
  PyObject *operator[](std::size_t i) const { return stack_[i + 1]; }

  /// Calls `callee` with the arguments and releases them. Returns null with an exception set if the
  /// call fails. Counts as `levels` levels of Python's recursion limit.
  object_ref call(const python_callable &callee, int levels = 1) {
    stats::add(event::boxed);
    PyObject *const names = callee.names();
    const auto named = static_cast<std::size_t>(names != nullptr ? PyTuple_GET_SIZE(names) : 0);
    const auto run = [&] {
      return PyObject_Vectorcall(callee.get(), stack_ + 1,
                                 (count_ - named) | PY_VECTORCALL_ARGUMENTS_OFFSET, names);
    };
    PyObject *const result = call_counted(run, levels);
    while (count_ > 0) Py_DECREF(stack_[count_--]);
    return object_ref::steal(result);
  }

 private:
  PyObject **const stack_;
  std::size_t count_ = 0;
};

/// Boxes argument number `at` and returns a new reference. If the call has buffers, `buffers` has
/// one element for each of the `count` arguments.
template <class T>
PyObject *box_argument(T value, copied_buffer *buffers, std::size_t count, std::size_t at) {
  (void)value, (void)buffers, (void)count, (void)at;
  if constexpr (std::is_same_v<T, PyObject *>) {
    return object_ref::borrow(value).release();
  } else if constexpr (is_buffer<T>) {
    return box_buffer(buffers, count, at);
  } else {
    return to_python(value);
  }
}

template <class T>
void note_buffer(T value, copied_buffer *own) {
  (void)value, (void)own;
  if constexpr (is_buffer<T>) own->parts = parts_of(value);
}

/// Like boxed_call(), but discards the result if `result` is a `void *`.
template <class R, class... A>
bool box_and_call(const python_callable &callee, R *result, A... arguments) {
  constexpr std::size_t count = sizeof...(A);
  constexpr bool has_buffers = (is_buffer<A> || ...);
  copied_buffer buffers[has_buffers ? count : 1];
  [[maybe_unused]] std::size_t next = 0;
  if constexpr (has_buffers) {
    (note_buffer<A>(arguments, &buffers[next++]), ...);
    next = 0;
  }
  PyObject *room[count + 1];
  boxed_arguments boxed(room);
  // Arguments must not be boxed while an exception is set.
  if (!(boxed.add(box_argument<A>(arguments, buffers, count, next++)) && ...)) return false;
  object_ref returned = boxed.call(callee);
  if constexpr (has_buffers) {
    for (const copied_buffer &each : buffers) finish_buffer(each);
    for (copied_buffer &each : buffers) each.copy.reset();
  }
  if constexpr (std::is_same_v<R, PyObject *>) {
    *result = returned.release();
    return *result != nullptr;
  } else if constexpr (std::is_void_v<R>) {
    static_cast<void>(result);
    return static_cast<bool>(returned);
  } else {
    const bool is_converted = returned && from_python(returned.get(), result);
    returned.reset();
    return is_converted;
  }
}

}  // namespace internal

/// Calls `callable` and converts its result to `*result`. Returns false with an exception set if
/// the call or a conversion fails. An object result is a new reference. GIL: held.
template <class R, class... A>
bool boxed_call(PyObject *callable, R *result, A... arguments) {
  return run_python([&] {
    return internal::box_and_call(internal::python_callable(callable), result, arguments...);
  });
}

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_BOXED_CALL_H_
