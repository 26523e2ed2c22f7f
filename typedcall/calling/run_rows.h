// Calls a C function for each row of arrays. Every general loop stands on run_rows().
#ifndef TYPEDCALL_CALLING_RUN_ROWS_H_
#define TYPEDCALL_CALLING_RUN_ROWS_H_

#include "typedcall/boxed_call.h"
// boxed_call.h comes first because it includes Python.h.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "typedcall/base/error_value.h"
#include "typedcall/base/gil.h"
#include "typedcall/base/namespace.h"
#include "typedcall/base/stack.h"
#include "typedcall/calling/elements.h"
#include "typedcall/calling/entry.h"
#include "typedcall/invoker.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace calling {

/// Makes up to `count` calls, in order, and returns how many succeeded. `self` is passed first
/// unless it is null. Uses Python only if the flags of the function require it. `Rows` has these
/// members:
///
///   native_value *load(std::intptr_t row, native_value *arguments, wide_value *wides)
///       stores all arguments, of which a buffer takes up two values, and returns the next value;
///       there is a wide_value for each parameter
///   static constexpr bool is_immutable       true if no member changes an object
///   bool has_misfit()            true if load() found a value that the C function does not take
///   bool holds()                 true if object arguments are held during the call, and if there
///                                are no buffers; GIL: held
///   outcome back(std::intptr_t row, const native_value *arguments, void *place)
///       replaces a call that has no result: `value` if the result is at `place`, `none` if the row
///       is done, `raised` to stop
///   bool give(std::intptr_t row, native_value result, const wide_value &wide)
///       takes a result, which is in `wide` if it does not fit in a value; false to stop
template <class Rows>
TYPEDCALL_OUT_OF_LINE std::intptr_t run_rows(const description &types, const invoker &invoke,
                                             PyObject *self, std::intptr_t count, Rows &rows) {
  const std::size_t inputs = types.parameters.size();
  const bool holds = rows.holds(), has_place = types.view.has_place != 0;
  auto *const values = TYPEDCALL_INTERNAL_ON_STACK(native_value, invoke.arity() + 1);
  auto *const wides = TYPEDCALL_INTERNAL_ON_STACK(wide_value, inputs + 1);
  // An array of object_refs would be slower.
  auto *const held = TYPEDCALL_INTERNAL_ON_STACK(PyObject *, (holds ? inputs : 0) + 1);
  native_value *const arguments = values + (self != nullptr ? 1 : 0);
  values[0] = native_value::of(self);
  // A copy whose address goes nowhere stays in registers.
  std::conditional_t<Rows::is_immutable, const Rows, Rows &> near(rows);
  std::intptr_t row = 0;
  for (; row < count; ++row) {
    native_value *const next = near.load(row, arguments, wides);
    std::size_t kept = 0;
    for (std::size_t i = 0; holds && i < inputs; ++i) {
      // The called code may remove the objects from the arrays.
      if (types.parameters[i].kind != PyNativeKind_OBJECT) continue;
      held[kept] = arguments[i].get<PyObject *>();
      Py_INCREF(held[kept++]);
    }
    wide_value place = {};
    native_value result{0};
    outcome found = outcome::none;
    if (!near.has_misfit()) {
      if (has_place) *next = native_value::at(&place);
      result = invoke(values, &place);
      found = outcome::value;
      if (TYPEDCALL_EXPECT(!invoke.is_result(result), 0)) found = settle(types.view.error_protocol);
      if (has_place) std::memcpy(&result.bits, &place, sizeof(result.bits));
    }
    if (TYPEDCALL_EXPECT(found != outcome::value, 0)) {
      if (found == outcome::none) found = rows.back(row, arguments, &place);
      std::memcpy(&result.bits, &place, sizeof(result.bits));
    }
    const bool is_good =
        found == outcome::value ? near.set_result(row, result, place) : found == outcome::none;
    while (kept > 0) Py_DECREF(held[--kept]);
    if (!is_good) break;
  }
  return row;
}

/// The rows of strided arrays, one for each parameter and then one for the result unless it is `v`.
/// `Callee` is an internal::callable_at_home.
template <class Callee>
struct array_rows {
  const description &types;
  char *const *args;
  const std::intptr_t *steps;
  bool holds_objects;
  /// The callable for a function that falls back, or null.
  const Callee *callee;
  /// The thread state that the loop has detached. If this is null, the thread may be attached or
  /// not.
  PyThreadState *detached;
  const std::size_t inputs = types.parameters.size(), size = types.result.size;
  const bool stores_objects = types.result.kind == PyNativeKind_OBJECT;

  TYPEDCALL_IN_LINE native_value *load(std::intptr_t row, native_value *arguments,
                                       wide_value *wides) const {
    // Copies, because a compiler cannot know that the stores below do not change the members.
    char *const *const from = args;
    const std::intptr_t *const by = steps;
    const value_type *type = types.parameters.data();
    for (std::size_t i = 0, count = inputs; i < count; ++i, ++type) {
      const char *const place = from[i] + row * by[i];
      if (type->is_word) {  // nearly always
        std::memcpy(&arguments[i].bits, place, sizeof(arguments[i].bits));
      } else {
        arguments[i] = internal::load_element(type->type, place, &wides[i]);
      }
    }
    return arguments + inputs;
  }
  static constexpr bool is_immutable = true;
  static constexpr bool has_misfit() { return false; }
  bool holds() const { return holds_objects; }
  outcome back(std::intptr_t, const native_value *arguments, wide_value *place) const {
    const auto call = [&](bool) {
      return internal::call_element(*callee, types, arguments, place);
    };
    bool is_done;
    if (detached == nullptr) {
      is_done = callee->attached(call);
    } else {
      internal::restore_thread(detached);
      is_done = run_python([&] { return call(true); });
      PyEval_SaveThread();
    }
    return is_done ? outcome::value : outcome::raised;
  }
  TYPEDCALL_IN_LINE bool set_result(std::intptr_t row, native_value result,
                                    const wide_value &wide) const {
    if (size == 0) return true;
    char *const to = args[inputs] + row * steps[inputs];
    if (!stores_objects) {
      internal::store_element(size, result, wide, to);
      return true;
    }
    auto *const object = result.get<PyObject *>();
    if (object == nullptr) internal::set_missing_error();
    if (object != nullptr) internal::store_object(object, to);
    return object != nullptr;
  }
};

}  // namespace calling
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CALLING_RUN_ROWS_H_
