// Runs a typed function over arrays of any number types. For an element that does not fit, the
// engine chooses among all overloads, or calls Python.
#ifndef TYPEDCALL_PYTHON_CALLING_ARRAYS_H_
#define TYPEDCALL_PYTHON_CALLING_ARRAYS_H_

#include "typedcall/calling.h"
#include "typedcall/loop.h"
// After Python.h.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "conversions.h"

namespace typedcall::python {

namespace elements {

/// Returns the element in the form that the engine takes.
inline calling::given look_at(PyNativeType type, const char *place) {
  using calling::given;
  if (internal::is_wide(type)) return given::nothing();
  const native_value value = internal::load_element(type, place, nullptr);
  switch (PyNativeType_Kind(type)) {
    case PyNativeKind_BOOL:
      return given::boolean(value.bits != 0);
    case PyNativeKind_SIGNED:
      return given::integer(static_cast<std::int64_t>(value.bits));
    case PyNativeKind_UNSIGNED:
      return given::unsigned_integer(value.bits);
    case PyNativeKind_FLOATING: {
      if (PyNativeType_Size(type) == sizeof(double)) return given::real(value.get<double>());
      static_assert(internal::are_all_reals<float, double>(),
                    "what is an element of another type?");
      given made = given::real(static_cast<double>(value.get<float>()));
      made.kind = PyNativeArgumentKind_C_FLOAT;
      return made;
    }
    default:
      return given::nothing();
  }
}

}  // namespace elements

/// The element types of arrays, and the conversions between them and the types of a loop's
/// function. Immutable after make(), so threads may share it.
struct array_plan {
  PyNativeSignature types = {};
  std::vector<conversion> inputs;  // empty if the array already has the function's type
  conversion output;
  std::size_t words = 0;   // for each element, of 64 bits: the converted inputs and output
  bool is_chosen = false;  // true if the engine chooses for each element

  /// `chooses` is true if no overload can be tried first. Returns false if a type cannot be
  /// converted. Throws std::bad_alloc.
  bool make(const PyNativeSignature &arrays, const loop &over, bool chooses = false) {
    types = arrays;
    is_chosen = chooses;
    inputs.resize(over.types().parameters.size());
    if (chooses) return static_cast<std::size_t>(types.nargs) == inputs.size();
    const auto &wanted = over.inputs();
    if (static_cast<std::size_t>(types.nargs) != wanted.size()) return false;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (PyNativeType_Equivalent(types.args[i], wanted[i]) != 0) continue;
      inputs[i] = conversion::between(types.args[i], wanted[i]);
      if (!inputs[i]) return false;
      words += words_of(wanted[i]);
    }
    if (PyNativeType_Equivalent(types.result, over.output()) != 0) return true;
    output = conversion::of_result(over.output(), types.result);
    words += words_of(over.output());
    return static_cast<bool>(output);
  }
  /// True if the arrays already have the types of the function.
  bool is_direct() const { return words == 0 && !is_chosen; }
  static std::size_t words_of(PyNativeType type) { return (PyNativeType_Size(type) + 7) / 8; }
};

/// One pass over arrays. `End` handles its outcome and has these members:
///
///   bool is_attached()             true if the pass holds the GIL, false if it need not hold it
///   const Home &where()            see calling.h
///   void raised(), void detached(const char *why)      see calling.h
///   void misfit(PyNativeType)      reports that a result of this type does not fit the array
///   bool has_stopped()             true once one of the calls above has stopped the pass
template <class End>
class array_pass {
 public:
  /// `over` is the loop of the overload to try first.
  array_pass(const array_plan &plan, const loop &over, const calling::overloads &functions,
             PyObject *callable, End *end)
      : plan_(plan), over_(over), functions_(functions), callable_(callable), end_(*end) {}

  /// Takes the same arguments as loop::run(). If an element stops the pass, the results after it
  /// are not written.
  void run(char *const *args, std::intptr_t count, const std::intptr_t *steps) {
    args_ = args;
    // NumPy need not set the steps for a single element, but run_chunk() reads them.
    static constexpr std::intptr_t no_steps[kMost + 1] = {};
    by_ = count > 1 ? steps : no_steps;
    if (plan_.is_direct()) {
      run_loop(args, count, by_);
      return;
    }
    // Python code that the function calls may come back here, so it must find room on the stack.
    const bool is_alone = !over_.may_fall_back() && over_.thread_state() == PyNativeThreadState_ANY;
    const std::size_t room = (is_alone ? 1280 : 256) / std::max(plan_.words, std::size_t{1});
    const std::intptr_t most = must_go_one_by_one(count) || room < 2
                                   ? 1
                                   : std::min(conversion::most, static_cast<std::intptr_t>(room));
    for (std::intptr_t at = 0; at < count && !end_.has_stopped(); at += most) {
      const std::intptr_t end = std::min(at + most, count);
      const std::intptr_t good = plan_.is_chosen ? 0 : run_chunk(at, end - at);
      run_elements(at + good, end);
    }
  }

  // The engine calls these functions for one element.
  calling::given look(std::size_t i) const {
    return elements::look_at(plan_.types.args[i], place(i));
  }
  void give(const calling::value_type &type, const void *at) const {
    const auto *const from = static_cast<const char *>(at);
    if (PyNativeType_Equivalent(type.type, plan_.types.result) != 0) {
      std::memcpy(result(), from, PyNativeType_Size(type.type));
      return;
    }
    const conversion found = conversion::of_result(type.type, plan_.types.result);
    if (!found || found.run(from, 0, 1, result(), 0) == 0) end_.misfit(type.type);
  }
  void raised() const { end_.raised(); }
  void detached(const char *why) const { end_.detached(why); }
  bool settles(std::size_t) const { return false; }
  void fall_back(std::size_t count) { calling::by_boxing(callable_, end_.where(), count, *this); }
  object_ref box(std::size_t i) const {
    wide_value scratch;
    const PyNativeType type = plan_.types.args[i];
    return object_ref::steal(
        internal::box_element(type, internal::load_element(type, place(i), &scratch)));
  }
  bool give_object(PyObject *object) const {
    wide_value made;
    if (!internal::unbox_element(plan_.types.result, object, &made)) return false;
    std::memcpy(result(), &made, PyNativeType_Size(plan_.types.result));
    return true;
  }

 private:
  static constexpr std::size_t kMost = internal::most_arguments;

  const char *place(std::size_t i) const { return args_[i] + at_ * by_[i]; }
  char *result() const { return args_[plan_.inputs.size()] + at_ * by_[plan_.inputs.size()]; }

  // True if inputs of a chunk overlap the results of earlier elements of the same chunk, as in
  // NumPy's accumulate(). Converting the whole chunk first would then read old values.
  bool must_go_one_by_one(std::intptr_t count) const {
    const std::size_t out = plan_.inputs.size();
    const auto range = [&](std::size_t i, PyNativeType type) {
      const auto first = reinterpret_cast<std::uintptr_t>(args_[i]);
      const auto last = reinterpret_cast<std::uintptr_t>(args_[i] + (count - 1) * by_[i]);
      return std::make_pair(std::min(first, last), std::max(first, last) + PyNativeType_Size(type));
    };
    const auto written = range(out, plan_.types.result);
    for (std::size_t i = 0; i < out; ++i) {
      if (!plan_.inputs[i] && !plan_.output) continue;
      const auto read = range(i, plan_.types.args[i]);
      if (written.second <= read.first || read.second <= written.first) continue;
      const auto size = static_cast<std::intptr_t>(
          std::max(PyNativeType_Size(plan_.types.args[i]), PyNativeType_Size(plan_.types.result)));
      const bool is_in_place =
          args_[i] == args_[out] && by_[i] == by_[out] && std::abs(by_[i]) >= size;
      if (!is_in_place) return true;
    }
    return false;
  }

  __attribute__((noinline)) bool run_loop(char *const *args, std::intptr_t count,
                                          const std::intptr_t *steps) {
    const int status = end_.is_attached() ? over_.run(args, &count, steps)
                                          : over_.run_detached(args, &count, steps);
    if (status == 0) return true;
    end_.raised();
    return false;
  }

  // Runs the loop for the elements before the first that does not fit, and returns their number.
  TYPEDCALL_OUT_OF_LINE std::intptr_t run_chunk(std::intptr_t at, std::intptr_t count) {
    const std::size_t out = plan_.inputs.size();
    auto *next =
        TYPEDCALL_INTERNAL_ON_STACK(std::uint64_t, plan_.words * static_cast<std::size_t>(count));
    auto *const given = TYPEDCALL_INTERNAL_ON_STACK(char *, out + 1);
    auto *const steps = TYPEDCALL_INTERNAL_ON_STACK(std::intptr_t, out + 1);
    std::intptr_t good = count;
    at_ = at;
    for (std::size_t i = 0; i <= out; ++i) {
      given[i] = args_[i] + at * by_[i];
      steps[i] = by_[i];
      if (i == out || !plan_.inputs[i]) continue;
      auto *const made = reinterpret_cast<char *>(next);
      steps[i] = static_cast<std::intptr_t>(PyNativeType_Size(over_.types().parameters[i].type));
      good = std::min(good, plan_.inputs[i].run(given[i], by_[i], count, made, steps[i]));
      given[i] = made;
      next += static_cast<std::intptr_t>(array_plan::words_of(over_.types().parameters[i].type)) *
              count;
    }
    char *const wanted = given[out];
    if (plan_.output) {
      given[out] = reinterpret_cast<char *>(next);
      steps[out] = static_cast<std::intptr_t>(PyNativeType_Size(over_.output()));
    }
    if (good > 0) {
      if (!run_loop(given, good, steps)) return good;
      if (plan_.output &&
          plan_.output.run(given[out], steps[out], good, wanted, by_[out]) != good) {
        end_.misfit(over_.output());
      }
    }
    return good;
  }

  __attribute__((noinline)) void run_elements(std::intptr_t first, std::intptr_t end) {
    for (at_ = first; at_ < end && !end_.has_stopped(); ++at_) {
      calling::call(functions_, callable_, end_.where(), plan_.inputs.size(), *this);
    }
  }

  const array_plan &plan_;
  const loop &over_;
  const calling::overloads &functions_;
  PyObject *callable_;
  End &end_;
  char *const *args_ = nullptr;
  const std::intptr_t *by_ = nullptr;
  std::intptr_t at_ = 0;
};

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_CALLING_ARRAYS_H_
