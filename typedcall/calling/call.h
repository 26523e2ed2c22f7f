// Makes one call to a typed function for another runtime. Calls the overload that Python would
// choose. If no overload suits, calls the Python callable.
#ifndef TYPEDCALL_CALLING_CALL_H_
#define TYPEDCALL_CALLING_CALL_H_

#include "typedcall/boxed_call.h"
// boxed_call.h comes first because it includes Python.h.
#include <cstddef>

#include "typedcall/base/gil.h"
#include "typedcall/base/namespace.h"
#include "typedcall/base/object_ref.h"
#include "typedcall/base/stack.h"
#include "typedcall/calling/argument_value.h"
#include "typedcall/calling/choose.h"
#include "typedcall/calling/entry.h"
#include "typedcall/signature.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace calling {

/// Returns the Python object for a runtime's value, or null with an exception set. Raises
/// MemoryError for a text that could not be allocated earlier. GIL: held.
inline object_ref box(const argument_value &value) {
  const native_value bits{value.bits};
  switch (value.kind) {
    case PyNativeArgumentKind_BOOL:
      return object_ref::steal(PyBool_FromLong(value.bits != 0));
    case PyNativeArgumentKind_INT:
      return object_ref::steal(value.size != 0 ? PyLong_FromUnsignedLongLong(value.bits)
                                               : PyLong_FromLongLong(bits.get<std::int64_t>()));
    case PyNativeArgumentKind_FLOAT:
      return object_ref::steal(PyFloat_FromDouble(bits.get<double>()));
    case PyNativeArgumentKind_STR:
      return object_ref::steal(
          PyUnicode_DecodeUTF8(value.utf8(), static_cast<Py_ssize_t>(value.size), nullptr));
    default:
      if (value.element_size != 1) return object_ref::steal(PyErr_NoMemory());
      return object_ref::steal(
          PyBytes_FromStringAndSize(bits.get<const char *>(), static_cast<Py_ssize_t>(value.size)));
  }
}

/// Calls `callable` with `count` arguments. box(i) returns argument `i` as an object_ref, and is
/// called in order. Counts as `levels` levels of Python's recursion limit. On failure, returns null
/// with an exception set. GIL: held.
template <class Box>
TYPEDCALL_RARE object_ref call_boxed(const internal::python_callable &callable, std::size_t count,
                                     const Box &box, int levels = 1) {
  if (count > PyNativeSignature_MAX_ARGS) {
    PyErr_Format(PyExc_TypeError, "typedcall: %zu arguments, and at most %d can be passed", count,
                 PyNativeSignature_MAX_ARGS);
    return {};
  }
  internal::boxed_arguments boxed(TYPEDCALL_INTERNAL_ON_STACK(PyObject *, count + 1));
  for (std::size_t i = 0; i < count; ++i) {
    if (!boxed.add(box(i).release())) return {};
  }
  return boxed.call(callable, levels);
}

#ifndef PYPY_VERSION  // no sink runs on PyPy, which cannot tell whether a thread has the GIL
/// Releases the GIL if this thread has it. Returns the argument for reattach(), or null if the
/// thread did not have the GIL.
inline PyThreadState *detach() {
  return PyTypedcall_IsAttached() != 0 ? PyEval_SaveThread() : nullptr;
}

/// Takes the GIL again. Stops the thread for good if Python has ended.
inline void reattach(PyThreadState *thread) {
  if (thread != nullptr) internal::restore_thread(thread);
}

/// Runs `body` without the GIL. Before 3.12, the GIL can be released only in the main interpreter.
/// GIL: optional.
template <class Body>
void without_gil(const Body &body) {
  internal::run_without_gil([&](PyThreadState *) { body(); }, PyTypedcall_IsAttached() != 0);
}
#endif

/// Implements a sink's fall_back(): calls `callable` in its home interpreter, `where`. The sink
/// must have `object_ref box(std::size_t i)` and `bool set_result_object(PyObject *)`. On failure,
/// set_result_object() returns false with an exception set.
template <class Access, class Sink>
TYPEDCALL_RARE void by_boxing(PyObject *callable, const Access &where, std::size_t count,
                              Sink &sink) {
  const bool is_run = where.attached(callable, [&] {
    const object_ref result =
        call_boxed(callable, count, [&](std::size_t i) { return sink.box(i); });
    if (!result || !sink.set_result_object(result.get())) sink.raised();
  });
  if (!is_run) sink.detached(where.why_detached());
}

/// Calls one C function with `values`, in the thread state that the function requires. If the
/// function falls back, Python is called in the same attached region, which may hold objects.
template <class Access, class Sink>
TYPEDCALL_OUT_OF_LINE void run_held(const entry &chosen, PyObject *callable, const Access &where,
                                    std::size_t count, native_value *values, Sink &sink) {
  result_cell cell;
  outcome found = outcome::none;
  const auto run = [&] { found = chosen.run(values, &cell); };
  const auto set_result = [&] {
    if (found == outcome::value) return sink.set_result(chosen.result, chosen.at(cell));
    if (found == outcome::raised) return sink.raised();
    if (!sink.settles(count)) sink.fall_back(count);
  };
  switch (chosen.view.thread_state) {
    case PyNativeThreadState_ATTACHED: {
      const bool is_run = where.attached(callable, [&] { run(), set_result(); });
      if (!is_run) sink.detached(where.why_detached());
      return;
    }
    case PyNativeThreadState_ANY:
    case PyNativeThreadState_DETACHED:
      break;
  }
  without_gil(run);
  set_result();
}

/// Calls `chosen`, which is null or not plain. Calls the Python callable if `chosen` is null
/// or falls back.
template <class Access, class Sink>
TYPEDCALL_OUT_OF_LINE void finish(const entry *chosen, PyObject *callable, const Access &where,
                                  std::size_t count, native_value *values, Sink &sink) {
  if (chosen != nullptr) chosen->prepare(values);
  if (chosen != nullptr && chosen->view.thread_state == PyNativeThreadState_ANY) {
    result_cell cell;  // the function cannot raise, because raising needs a thread state
    if (chosen->run(values, &cell) == outcome::value) {
      return sink.set_result(chosen->result, chosen->at(cell));
    }
  } else if (chosen != nullptr) {
    return run_held(*chosen, callable, where, count, values, sink);
  }
  if (!sink.settles(count)) sink.fall_back(count);
}

template <class Access, class Sink>
TYPEDCALL_IN_LINE inline void run(const entry *chosen, PyObject *callable, const Access &where,
                                  std::size_t count, native_value *values, Sink &sink) {
  if (!TYPEDCALL_EXPECT(chosen != nullptr && chosen->is_plain(), 1)) {
    return finish(chosen, callable, where, count, values, sink);
  }
  const native_value result = chosen->invoke(values);
  sink.set_result(chosen->result, &result);
}

/// Implements call() for several overloads, and for many parameters.
template <class Access, class Sink>
TYPEDCALL_OUT_OF_LINE void choose_and_run(const overloads &functions, PyObject *callable,
                                          const Access &where, std::size_t count, Sink &sink) {
  // The runtime's caller may pass any number of arguments.
  if (count > PyNativeSignature_MAX_ARGS) {
    return finish(nullptr, callable, where, count, nullptr, sink);
  }
  auto *const arguments = TYPEDCALL_INTERNAL_ON_STACK(argument_value, count + 1);
  auto *const values = TYPEDCALL_INTERNAL_ON_STACK(native_value, 2 * count + 1);
  for (std::size_t i = 0; i < count; ++i) arguments[i] = sink.argument(i);
  const entry *chosen = count == 1 ? functions.first(arguments[0].kind) : nullptr;
  if (chosen == nullptr || convert(arguments[0], chosen->parameters[0], values) != converted::yes) {
    chosen = functions.choose(arguments, count, values);
  }
  run(chosen, callable, where, count, values, sink);
}

/// Calls the overload that suits the values best, and passes the result to the sink. Falls back if
/// no overload suits. A call to a plain C function uses no allocation, lock, reference count or
/// static variable.
template <class Access, class Sink>
TYPEDCALL_IN_LINE inline void call(const overloads &functions, PyObject *callable,
                                   const Access &where, std::size_t count, Sink &sink) {
  const entry *chosen = functions.alone();
  if (chosen == nullptr) return choose_and_run(functions, callable, where, count, sink);
  native_value values[overloads::few_values + 1];
  const value_type *type = chosen->parameters.data();
  native_value *out = values;
  if (chosen->parameters.size() != count) return finish(nullptr, callable, where, count, out, sink);
  for (std::size_t i = 0; i < count; ++i, ++type) {
    if (convert(sink.argument(i), *type, out) != converted::yes) {
      return finish(nullptr, callable, where, count, values, sink);
    }
    out += type->is_buffer ? 2 : 1;
  }
  run(chosen, callable, where, count, values, sink);
}

}  // namespace calling
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CALLING_CALL_H_
