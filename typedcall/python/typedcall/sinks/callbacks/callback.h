// A callback: the typed function, the origins of its arguments, and its exception.
#ifndef TYPEDCALL_PYTHON_CALLBACKS_CALLBACK_H_
#define TYPEDCALL_PYTHON_CALLBACKS_CALLBACK_H_

#include "../../calling/entry_row.h"
#include "../../calling/shared_state.h"
// After Python.h.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "typedcall/callback/library_call.h"
#include "typedcall/callback/waiting_exception.h"
#include "typedcall/calling.h"
#include "typedcall/fallback.h"
#include "typedcall/invoker.h"

namespace typedcall::python {

/// The origin of one argument of the typed function.
struct source {
  enum kind_of_source { value, array, view, element } kind;
  std::size_t parameter;
  /// Factors of the number of elements. Each is a parameter's index, or -1 - n for the number n.
  std::vector<std::intptr_t> factors;
  std::size_t at = 0;  ///< the number of elements passed as numbers
  /// For a view, functions that return its elements and their number.
  void *(*pointer_of)(void *) = nullptr;
  std::int64_t (*length_of)(void *) = nullptr;
};

/// The object that the library's data pointer points to. Must be created with the GIL held. Must be
/// released with the GIL held, or with an empty `callee`. Python code that a call runs may free the
/// Callback, although the library may still call it. Such a call holds the Callback, or at least
/// this object, while Python code may run.
class callback : public shared_state<callback> {
 public:
  // Compiled shapes read these members.
  void *function = nullptr;
  typedcall::internal::waiting_exception exception;  ///< while this is set, nothing is called
  std::intptr_t counts[3] = {0, 0, 0};               ///< lengths that are declared as numbers
  void *(*pointer_of)(void *) = nullptr;             ///< the functions of the first view
  std::int64_t (*length_of)(void *) = nullptr;

  std::optional<calling::entry> entry;
  std::optional<safe_cast> cast;
  PyNativeSignature parameters = {};  ///< the types of the C function
  calling::description asked;         ///< the types of the typed function
  std::vector<source> sources;
  std::vector<std::size_t> unused;  ///< pointers that must be NULL
  std::optional<source> place;      ///< where to store a result that C does not return
  // Borrowed from the callback_object; null once the garbage collector has cleared it.
  typedcall::internal::callable_at_home callee;
  PyObject *self = nullptr;
  PyObject *owner = nullptr;            ///< the Callback (borrowed); null once it is being freed
  wide_value error = {}, success = {};  ///< the C results after an error and on success
  bool is_checked = true;  ///< false if nobody calls check(), so a fault only gives `error`

  bool has_failed() const { return exception.is_there(); }

  /// The implementation for libffi closures, and for calls that a compiled shape cannot complete.
  /// `args` are the addresses of the arguments. GIL: held or not.
  __attribute__((noinline)) void run(void *const *args, void *result) {
    std::memcpy(result, &error, PyNativeType_Size(parameters.result));
    if (has_failed() || callee.get() == nullptr) return;
    const std::size_t most = entry->invoke.arity() + 1;
    auto *const values = TYPEDCALL_INTERNAL_ON_STACK(native_value, most);
    auto *const scratches = TYPEDCALL_INTERNAL_ON_STACK(wide_value, most);
    auto *const converted = cast ? TYPEDCALL_INTERNAL_ON_STACK(native_value, most) : values;
    auto *const others = cast ? TYPEDCALL_INTERNAL_ON_STACK(wide_value, most) : scratches;
    values[0] = converted[0] = native_value::of(self);
    const std::size_t first = self != nullptr ? 1 : 0;
    if (const char *const fault = read(args, values + first, scratches)) {
      if (!is_checked) return;
      run_attached([&] {
        PyErr_SetString(PyExc_ValueError, fault);
        return false;
      });
      return;
    }
    if (cast) cast->convert_arguments(values + first, converted + first, others);
    one_call call = {*this, args, values + first, result};
    // A function that takes the GIL itself is called without it, so the Callback cannot be held.
    const bool is_counted = PyNativeView_Internal_IsDetached(entry->view.thread_state);
    if (is_counted) hold();
    calling::finish(&*entry, callee.get(), call, asked.parameters.size(), converted, call);
    if (is_counted) release();
  }

 private:
  /// Access to Python that holds the Callback.
  struct held_callee {
    const callback &own;

    PyObject *get() const { return own.callee.get(); }
    template <class Call>
    bool attached(const Call &call) const {
      return own.callee.attached([&](bool is_known) {
        const object_ref held = object_ref::borrow(own.owner);
        return call(is_known);
      });
    }
  };

  /// waiting_exception::run_attached(). Afterwards, this object may be gone.
  template <class Body>
  bool run_attached(const Body &body) {
    return exception.run_attached(held_callee{*this}, body);
  }

  /// The engine's sink and its access to Python; see typedcall/calling.h.
  struct one_call {
    callback &own;
    void *const *args;
    const native_value *values;  ///< the arguments, converted to the requested types
    void *result;

    template <class Body>
    bool attached(PyObject *, const Body &body) const {
      return own.run_attached([&] { return body(), true; });
    }
    const char *why_detached() const { return nullptr; }
    void set_result(const calling::value_type &type, const void *at) const {
      if (!own.cast) return own.deliver(args, at, result);
      wide_value copy, answer;
      const native_value given = load(type.type, at, &copy);
      const native_value made = own.cast->convert_result(given, &copy, &answer);
      const bool is_wide = typedcall::internal::is_wide(own.asked.result.type);
      own.deliver(args, is_wide ? static_cast<const void *>(&answer) : &made, result);
    }
    void raised() const { own.exception.keep(own.callee.get()); }
    void detached(const char *) const {}
    bool settles(std::size_t) const { return false; }
    void fall_back(std::size_t) const {
      if (own.callee.get() == nullptr) return;  // a function that took the GIL freed the Callback
      own.run_attached([&] {
        wide_value answer = {};
        if (!typedcall::internal::call_element(own.callee, own.asked, values, &answer)) {
          return false;
        }
        own.deliver(args, &answer, result);
        return true;
      });
    }
  };

  /// Returns the number of elements, or a negative number if the count is invalid.
  std::intptr_t count_of(const source &from, void *const *args) const {
    std::intptr_t product = 1;
    for (const std::intptr_t factor : from.factors) {
      std::intptr_t one = -1 - factor;
      if (factor >= 0) {
        const auto at = static_cast<std::size_t>(factor);
        wide_value unneeded;
        one = load(parameters.args[at], args[at], &unneeded).get<std::intptr_t>();
      }
      if (one < 0 || __builtin_mul_overflow(product, one, &product)) return -1;
    }
    return product;
  }

  static native_value load(PyNativeType type, const void *from, wide_value *scratch) {
    return typedcall::internal::load_element(type, static_cast<const char *>(from), scratch);
  }

  static void *pointer_at(const void *arg) {
    void *pointer;
    std::memcpy(&pointer, arg, sizeof(pointer));
    return pointer;
  }

  /// Fills `values` with the typed function's arguments. Returns null, or an error message.
  const char *read(void *const *args, native_value *values, wide_value *scratches) const {
    native_value *next = values;
    for (const source &from : sources) {
      const PyNativeType type = parameters.args[from.parameter];
      const void *const arg = args[from.parameter];
      if (from.kind == source::value) {
        *next = load(type, arg, &scratches[next - values]);
        ++next;
        continue;
      }
      void *pointer = pointer_at(arg);
      std::intptr_t count = 0;
      if (from.kind == source::view) {
        if (pointer == nullptr) return "the library passes NULL for an array";
        count = static_cast<std::intptr_t>(from.length_of(pointer));
        pointer = from.pointer_of(pointer);
        if (pointer == nullptr && count > 0) return "the library gave NULL as an array's elements";
      } else {
        count = count_of(from, args);
      }
      if (count < 0) return "the library passes a length that is negative or too large";
      if (from.kind == source::element) {
        if (pointer == nullptr || static_cast<std::size_t>(count) != from.at) {
          return "the library passes more or fewer elements than the function has parameters";
        }
        const std::size_t size = PyNativeCode_Size(type.code);
        for (std::size_t i = 0; i < from.at; ++i, ++next) {
          *next = load({type.code, 0}, static_cast<const char *>(pointer) + i * size,
                       &scratches[next - values]);
        }
        continue;
      }
      if (pointer == nullptr && count > 0) {
        if (PyNativeType_IsConst(type)) return "the library passes NULL for an array";
        count = 0;  // the library does not want this output
      }
      if (type.code == PyNativeType_BOOL) {
        const auto size = static_cast<std::size_t>(count);
        if (!PyNativeType_IsConst(type)) {
          typedcall::internal::make_bools(pointer, size);
        } else if (typedcall::internal::first_not_bool(pointer, size) < size) {
          return "the library passes a bool array with bytes other than 0 and 1";
        }
      }
      *next++ = native_value::of(pointer);
      *next++ = native_value::of(count);
    }
    for (const std::size_t each : unused) {
      if (pointer_at(args[each]) != nullptr) return typedcall::internal::expects_an_array;
    }
    if (place && (pointer_at(args[place->parameter]) == nullptr || count_of(*place, args) != 1)) {
      return typedcall::internal::expects_no_single_value;
    }
    return nullptr;
  }

  void deliver(void *const *args, const void *answer, void *result) const {
    const std::size_t size = PyNativeType_Size(parameters.result);
    if (place) {
      std::memcpy(pointer_at(args[place->parameter]), answer, asked.result.size);
    }
    if (place || asked.result.size == 0) {
      std::memcpy(result, &success, size);
    } else {
      std::memcpy(result, answer, size);
    }
  }
};

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_CALLBACKS_CALLBACK_H_
