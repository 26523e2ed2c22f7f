// An entry that is prepared for repeated calls.
#ifndef TYPEDCALL_CALLING_ENTRY_H_
#define TYPEDCALL_CALLING_ENTRY_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "typedcall/base/error_value.h"
#include "typedcall/base/namespace.h"
#include "typedcall/calling/value_type.h"
#include "typedcall/convert/bools.h"
#include "typedcall/entry_view.h"
#include "typedcall/invoker.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace calling {

/// The parameters and the result of a C function as Python sees them.
struct description {
  explicit description(const PyNativeSignature &parsed = {}, std::uintptr_t flags = 0)
      : view(PyNativeView_Of(&parsed, flags)),
        parameters(parsed.args, parsed.args + view.nargs),
        result(view.result) {}

  bool takes_buffers() const {
    return has_parameter([](const value_type &type) { return type.is_buffer; });
  }
  template <class Is>
  bool has_parameter(const Is &is) const {
    return std::any_of(parameters.begin(), parameters.end(), is);
  }

  PyNativeView view;
  std::vector<value_type> parameters;
  value_type result;
};

enum class outcome { value, none, raised };

/// Returns the outcome of a call for which invoker::is_result() is false. GIL: held, unless the
/// function falls back.
TYPEDCALL_RARE inline outcome settle(PyNativeErrorProtocol error_protocol) {
  switch (error_protocol) {
    case PyNativeErrorProtocol_FALLS_BACK:
      return outcome::none;
    case PyNativeErrorProtocol_STATUS:
      internal::set_missing_error();
      return outcome::raised;
    case PyNativeErrorProtocol_UNUSABLE:
    case PyNativeErrorProtocol_NONE:
    case PyNativeErrorProtocol_MAY_RAISE:
    case PyNativeErrorProtocol_CHECK_EXCEPTION:
      break;
  }
  return PyErr_Occurred() != nullptr ? outcome::raised : outcome::value;
}

/// The result of entry::run(), either in `returned` or in `place`. `place` is used for results that
/// are too wide for a register, or that the C function stores through its last argument.
struct result_cell {
  native_value returned;
  wide_value place;
};

/// A C function and the way to call it. Immutable, so any number of threads may use it.
struct entry : description {
  /// Returns nullopt with ValueError set if `caller` cannot call the entry. If `calls_all` is true,
  /// the caller can pass self and take results that do not fit in a register. If it is false, an
  /// entry without an address is accepted, and can be ranked but not called. GIL: held.
  static std::optional<entry> make(const char *signature, std::uintptr_t flags, void *address,
                                   const char *caller, bool calls_all = false) {
    PyNativeSignature parsed;
    PyNativeSignature_Fault fault = {0, "no function, or flags or a result that cannot be handled"};
    const auto call = invoker::make(signature, flags, address, std::nullopt, &fault);
    if (call && PyNativeSignature_ParseString(signature, &parsed, nullptr) == 0) {
      entry made(*call, parsed, flags);
      made.is_here_ = address != nullptr;
      const bool suits = calls_all || !(made.view.takes_self || internal::is_wide(parsed.result));
      const bool is_usable = suits && made.view.is_usable;
      if (made.is_here_ ? is_usable : !calls_all) return made;
    }
    PyErr_Format(PyExc_ValueError, "'%.200s' cannot be called from %s: %s", signature, caller,
                 fault.reason);
    return std::nullopt;
  }

  /// Calls the function with `values`, which must have room for one more value. Returns `value` if
  /// the result is in `at(*cell)`, `none` if the function falls back, and `raised` if an exception
  /// is set. The thread must be in the state that view.thread_state requires. If the function may
  /// raise, no exception must be pending.
  outcome run(native_value *values, result_cell *cell) const {
    if (view.has_place) values[invoke.arity() - 1] = native_value::at(&cell->place);
    cell->returned = invoke(values, &cell->place);
    return TYPEDCALL_EXPECT(invoke.is_result(cell->returned), 1) ? outcome::value
                                                                 : settle(view.error_protocol);
  }

  /// Sets all bytes in writable arrays of bools to 0 or 1, because uninitialised memory may contain
  /// other values. Call this before each call, with the values of that call.
  void prepare(const native_value *values) const {
    if (TYPEDCALL_EXPECT(!has_written_bools_, 1)) return;
    if (view.takes_self) ++values;
    for (const value_type &type : parameters) {
      if (is_written_bools(type)) {
        internal::make_bools(values[0].get<void *>(), values[1].get<std::size_t>());
      }
      values += type.is_buffer ? 2 : 1;
    }
  }

  const void *at(const result_cell &cell) const {
    return is_in_place_ ? static_cast<const void *>(&cell.place) : &cell.returned;
  }
  /// True if the sink can call this entry.
  bool is_here() const { return is_here_; }
  /// True if the function can be called directly and its return value is the result.
  bool is_plain() const { return is_plain_; }

  invoker invoke;

 private:
  entry(const invoker &how, const PyNativeSignature &parsed, std::uintptr_t flags)
      : description(parsed, flags), invoke(how) {
    for (const value_type &type : parameters) has_written_bools_ |= is_written_bools(type);
    is_in_place_ = view.has_place != 0 || internal::is_wide(view.result);
    is_plain_ = view.thread_state == PyNativeThreadState_ANY && !view.may_raise &&
                !view.may_fall_back && !has_written_bools_;
  }

  static bool is_written_bools(const value_type &type) {
    return type.is_buffer && type.element == PyNativeKind_BOOL &&
           PyNativeType_IsConst(type.type) == 0;
  }

  bool is_plain_ = false;
  bool is_in_place_ = false;
  bool has_written_bools_ = false;
  bool is_here_ = true;
};

}  // namespace calling
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CALLING_ENTRY_H_
