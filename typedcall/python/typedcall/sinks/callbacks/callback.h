// One callback: what a library's C function gets from its arguments, which typed function that is
// for, and the exception that waits until the library returns.
#ifndef TYPEDCALL_PYTHON_CALLBACKS_CALLBACK_H_
#define TYPEDCALL_PYTHON_CALLBACKS_CALLBACK_H_

#include "../../calling/entry_row.h"
// It comes first, because of Python.h.
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "typedcall/callback/waiting_exception.h"
#include "typedcall/casting.h"
#include "typedcall/invoker.h"
#include "typedcall/loop.h"

namespace typedcall::python {

/// Where one argument of the typed function comes from.
struct source {
  enum kind_of_source { value, array, view, element } kind;
  std::size_t parameter;  ///< of the C function
  /// What the number of elements is the product of: a parameter, or below 0 a number less 1.
  std::vector<std::intptr_t> factors;
  std::size_t at = 0;  ///< element: its index
  /// view: what gives the pointer to the elements, and how many there are.
  void *(*pointer_of)(void *) = nullptr;
  std::int64_t (*length_of)(void *) = nullptr;
};

/// The data pointer that the library gets points to one. Made and destroyed with the GIL.
class callback {
 public:
  // What compiled shapes read.
  void *function = nullptr;
  typedcall::internal::waiting_exception exception;  ///< until check() the function is not called
  std::intptr_t counts[2] = {0, 0};                  ///< numbers in the declaration, in their order
  void *(*pointer_of)(void *) = nullptr;             ///< of the first view
  std::int64_t (*length_of)(void *) = nullptr;

  std::optional<invoker> call;
  std::optional<safe_cast> cast;
  PyNativeSignature parameters = {};        ///< of the C function
  typedcall::internal::element_plan asked;  ///< what the typed function gets and gives
  PyNativeType given = {};                  ///< its own result
  std::vector<source> sources;
  std::vector<std::size_t> unused;  ///< pointers that have to be NULL
  std::optional<source> place;      ///< where the result goes that C does not return
  // Borrowed from the object around this one; null once the collector has cleared that.
  typedcall::internal::python_callable callee;
  PyObject *self = nullptr;
  wide_value error = {}, success = {};  ///< as C returns them
  PyNativeView view = {};               ///< of the C function; UNUSABLE until it is read

  bool has_failed() const { return exception.is_there(); }

  /// What the library calls: by libffi, and where a compiled shape has no answer. `args` are the
  /// addresses of its arguments. GIL: none, or held.
  __attribute__((noinline)) void run(void *const *args, void *result) {
    std::memcpy(result, &error, PyNativeType_Size(parameters.result));
    if (has_failed() || callee.get() == nullptr) return;
    native_value values[kMost];
    wide_value scratches[kMost], answer = {};
    if (const char *const fault = read(args, values, scratches)) {
      attached([&] {
        PyErr_SetString(PyExc_ValueError, fault);
        return false;
      });
      return;
    }
    outcome ended = outcome::none;
    const auto finish = [&] {
      if (ended == outcome::none) {
        const bool is_done = typedcall::internal::call_element(callee, asked, values, &answer);
        ended = is_done ? outcome::value : outcome::raised;
      }
      return ended == outcome::value;
    };
    if (view.hold == PyNativeHold_THREAD) {
      attached([&] {
        ended = call_native(values, &answer);
        return finish();
      });
    } else {
      const auto native = [&] { ended = call_native(values, &answer); };
      if (view.hold == PyNativeHold_NO_GIL) {
        calling::without_gil(native);
      } else {
        native();
      }
      if (ended == outcome::none) attached(finish);
    }
    if (ended == outcome::value) deliver(args, answer, result);
  }

 private:
  static constexpr std::size_t kMost = typedcall::internal::most_arguments;
  using outcome = calling::outcome;

  template <class Body>
  bool attached(const Body &body) {
    return exception.run_attached(callee, body);
  }

  /// The number of elements; below 0 where there is no such number.
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

  /// `values` become the typed function's arguments; else says why there are none.
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
        if (pointer == nullptr && count > 0) return "the library has no elements for an array";
      } else {
        count = count_of(from, args);
      }
      if (count < 0) return "the library passes a length below 0, or too large a one";
      if (from.kind == source::element) {
        if (pointer == nullptr || static_cast<std::size_t>(count) != from.at) {
          return "the library passes another number of elements than the function has parameters";
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
        count = 0;  // a result that it does not want
      }
      if (type.code == PyNativeType_BOOL) {
        const auto size = static_cast<std::size_t>(count);
        if (!PyNativeType_IsConst(type)) {
          typedcall::internal::make_bools(pointer, size);
        } else if (typedcall::internal::first_not_bool(pointer, size) < size) {
          return "the library passes bytes that are no bools in an array of them";
        }
      }
      *next++ = native_value::of(pointer);
      *next++ = native_value::of(count);
    }
    for (const std::size_t each : unused) {
      if (pointer_at(args[each]) != nullptr) {
        return "the library wants values in an array (a gradient?) that the function does not take";
      }
    }
    if (place && (pointer_at(args[place->parameter]) == nullptr || count_of(*place, args) != 1)) {
      return "the library wants other than one value, and the function returns one";
    }
    return nullptr;
  }

  /// Calls the C function. `raised` with an exception.
  outcome call_native(const native_value *values, wide_value *answer) const {
    native_value arguments[kMost + 2];
    wide_value scratches[kMost], wide = {};
    const std::size_t first = self != nullptr ? 1 : 0;
    const std::size_t count = call->arity() - static_cast<std::size_t>(view.has_place);
    arguments[0] = native_value::of(self);
    if (cast) {
      cast->arguments(values, arguments + first, scratches);
    } else {
      std::memcpy(arguments + first, values, (count - first) * sizeof(native_value));
    }
    if (view.has_place) arguments[count] = native_value::at(&wide);
    native_value result = (*call)(arguments, &wide);
    if (!call->is_result(result)) {
      const outcome found = calling::settle(view.verdict);
      if (found != outcome::value) return found;
    }
    if (asked.output.code == PyNativeType_VOID && asked.output.is_pointer == 0) {
      return outcome::value;
    }
    if (view.has_place) {
      wide_value copy;
      result = load(given, &wide, &copy);
    }
    if (cast) result = cast->result(result, &wide, answer);
    if (!typedcall::internal::is_wide(asked.output)) {
      std::memcpy(answer, &result, sizeof(result));
    } else if (!cast) {
      *answer = wide;
    }
    return outcome::value;
  }

  void deliver(void *const *args, const wide_value &answer, void *result) const {
    const std::size_t size = PyNativeType_Size(parameters.result);
    if (place) {
      std::memcpy(pointer_at(args[place->parameter]), &answer, PyNativeType_Size(asked.output));
    }
    if (place || PyNativeType_Size(asked.output) == 0) {
      std::memcpy(result, &success, size);
    } else {
      std::memcpy(result, &answer, size);
    }
  }
};

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_CALLBACKS_CALLBACK_H_
