// One pass over arrays: calls a function for each element of arrays of any number types. Every sink
// of arrays stands on it.
#ifndef TYPEDCALL_CALLING_RUN_MANY_H_
#define TYPEDCALL_CALLING_RUN_MANY_H_

#include "typedcall/boxed_call.h"
// boxed_call.h comes first because it includes Python.h.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "typedcall/base/namespace.h"
#include "typedcall/base/stack.h"
#include "typedcall/calling/call.h"
#include "typedcall/calling/conversions.h"
#include "typedcall/calling/run_rows.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace calling {

/// NumPy's type of an inner loop, and the element types of its arrays, as a function for
/// run_many(). A typedcall::loop has the same members.
struct inner_loop {
  using function = void (*)(char **args, const std::intptr_t *dimensions,
                            const std::intptr_t *steps, void *data);
  description own;
  function call;
  void *data;

  const description &types() const { return own; }
  bool may_fall_back() const { return false; }
  PyNativeThreadState thread_state() const { return own.view.thread_state; }
  /// Returns 0, or -1 with an exception set. GIL: held.
  int run(char *const *args, const std::intptr_t *dimensions, const std::intptr_t *steps) const {
    run_detached(args, dimensions, steps);
    return PyErr_Occurred() != nullptr ? -1 : 0;
  }
  int run_detached(char *const *args, const std::intptr_t *dimensions,
                   const std::intptr_t *steps) const {
    call(const_cast<char **>(args), dimensions, steps, data);  // a loop does not write to `args`
    return 0;
  }
};

/// The element types of arrays, and the conversions between them and the types of a function.
/// Immutable after make(), so threads may share it.
struct array_plan {
  PyNativeSignature types = {};
  std::vector<conversion> inputs;  // empty if the array already has the function's type
  conversion output;
  std::size_t words = 0;   // for each element, of 64 bits: the converted inputs and output
  bool is_chosen = false;  // true if the sink calls another function for each element

  /// `chooses` is true if no function can be tried first. Returns false if a type cannot be
  /// converted. Throws std::bad_alloc.
  bool make(const PyNativeSignature &arrays, const description &wanted, bool chooses = false) {
    types = arrays;
    is_chosen = chooses;
    inputs.resize(wanted.parameters.size());
    if (static_cast<std::size_t>(types.nargs) != inputs.size()) return false;
    if (chooses) return true;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const value_type &to = wanted.parameters[i];
      if (PyNativeType_Equivalent(types.args[i], to.type) != 0) continue;
      inputs[i] = conversion::between(types.args[i], to.type);
      if (!inputs[i]) return false;
      words += words_of(to);
    }
    if (PyNativeType_Equivalent(types.result, wanted.result.type) != 0) return true;
    output = conversion::of_result(wanted.result.type, types.result);
    words += words_of(wanted.result);
    return static_cast<bool>(output);
  }
  /// True if the arrays already have the types of the function.
  bool is_direct() const { return words == 0 && !is_chosen; }
  static std::size_t words_of(const value_type &type) { return (type.size + 7u) / 8u; }
};

/// One pass. `Function` is a typedcall::loop, or has the same members as inner_loop. `Sink` has
/// these members:
///
///   bool is_attached()             true if the pass holds the GIL, false if it need not hold it
///   void start(std::intptr_t)      the function is called for elements from this one on
///   void raised()                  see calling.h
///   void misfit(PyNativeType)      reports that a result of this type does not fit the array
///   bool has_stopped()             true once one of the calls above has stopped the pass
///   void element(std::intptr_t)    makes the call for an element whose arguments do not fit
template <class Function, class Sink>
class array_pass {
 public:
  array_pass(const array_plan &plan, const Function &over, Sink *sink)
      : plan_(plan), over_(over), sink_(*sink) {}

  /// Takes the same arguments as loop::run(). If an element stops the pass, the results after it
  /// are not written.
  void run(char *const *args, std::intptr_t count, const std::intptr_t *steps) {
    args_ = args;
    by_ = steps;
    if (plan_.is_direct()) {
      sink_.start(0);
      run_function(args, count, by_);
      return;
    }
    // Python code that the function calls may come back here, so it must find room on the stack.
    const bool is_alone = !over_.may_fall_back() && over_.thread_state() == PyNativeThreadState_ANY;
    const std::size_t room = (is_alone ? 1280 : 256) / std::max(plan_.words, std::size_t{1});
    const std::intptr_t most = must_go_one_by_one(count) || room < 2
                                   ? 1
                                   : std::min(kMost, static_cast<std::intptr_t>(room));
    std::intptr_t some = most;
    for (std::intptr_t at = 0; at < count && !sink_.has_stopped();) {
      const std::intptr_t end = std::min(at + some, count);
      if (!plan_.is_chosen) at += run_chunk(at, end - at);
      some = std::min(most, 2 * some);
      if (at == end || sink_.has_stopped()) continue;
      sink_.element(at++);
      some = 1;  // the next elements may not fit, either
    }
  }

 private:
  static constexpr std::intptr_t kMost = 256;

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

  __attribute__((noinline)) bool run_function(char *const *args, std::intptr_t count,
                                              const std::intptr_t *steps) {
    const int status = sink_.is_attached() ? over_.run(args, &count, steps)
                                           : over_.run_detached(args, &count, steps);
    if (status == 0) return true;
    sink_.raised();
    return false;
  }

  // Calls the function for the elements before the first that does not fit, and returns their
  // number.
  TYPEDCALL_OUT_OF_LINE std::intptr_t run_chunk(std::intptr_t at, std::intptr_t count) {
    const description &types = over_.types();
    const std::size_t out = plan_.inputs.size();
    auto *next =
        TYPEDCALL_INTERNAL_ON_STACK(std::uint64_t, plan_.words * static_cast<std::size_t>(count));
    auto *const given = TYPEDCALL_INTERNAL_ON_STACK(char *, out + 1);
    auto *const steps = TYPEDCALL_INTERNAL_ON_STACK(std::intptr_t, out + 1);
    std::intptr_t good = count;
    for (std::size_t i = 0; i <= out; ++i) {
      given[i] = args_[i] + at * by_[i];
      steps[i] = by_[i];
      if (i == out || !plan_.inputs[i]) continue;
      auto *const made = reinterpret_cast<char *>(next);
      steps[i] = types.parameters[i].size;
      good = std::min(good, plan_.inputs[i].run(given[i], by_[i], count, made, steps[i]));
      given[i] = made;
      next += array_plan::words_of(types.parameters[i]) * static_cast<std::size_t>(count);
    }
    char *const wanted = given[out];
    if (plan_.output) {
      given[out] = reinterpret_cast<char *>(next);
      steps[out] = types.result.size;
    }
    if (good > 0) {
      sink_.start(at);
      if (!run_function(given, good, steps)) return good;
      if (plan_.output &&
          plan_.output.run(given[out], steps[out], good, wanted, by_[out]) != good) {
        sink_.misfit(types.result.type);
      }
    }
    return good;
  }

  const array_plan &plan_;
  const Function &over_;
  Sink &sink_;
  char *const *args_ = nullptr;
  const std::intptr_t *by_ = nullptr;
};

/// Runs a pass over elements of number types. For an element that does not fit, the engine chooses
/// among all overloads, or calls Python. `End` has array_pass's is_attached(), raised(), misfit()
/// and has_stopped(), and these members:
///
///   const Home &where(), void detached(const char *why)      see calling.h
template <class End>
class number_elements {
 public:
  number_elements(const array_plan &plan, const overloads &functions, PyObject *callable, End *end)
      : plan_(plan), functions_(functions), callable_(callable), end_(*end) {}

  /// `over` is the loop of the overload to try first.
  template <class Function>
  void run(const Function &over, char *const *args, std::intptr_t count,
           const std::intptr_t *steps) {
    args_ = args;
    // NumPy need not set the steps for a single element.
    static constexpr std::intptr_t no_steps[PyNativeSignature_MAX_ARGS + 1] = {};
    by_ = count > 1 ? steps : no_steps;
    array_pass<Function, number_elements>(plan_, over, this).run(args, count, by_);
  }

  // array_pass calls these functions.
  bool is_attached() const { return end_.is_attached(); }
  void start(std::intptr_t) const {}
  void misfit(PyNativeType type) const { end_.misfit(type); }
  bool has_stopped() const { return end_.has_stopped(); }
  __attribute__((noinline)) void element(std::intptr_t at) {
    at_ = at;
    calling::call(functions_, callable_, end_.where(), plan_.inputs.size(), *this);
  }

  // The engine calls these functions for one element.
  argument_value argument(std::size_t i) const {
    const PyNativeType type = plan_.types.args[i];
    if (internal::is_wide(type)) return argument_value::nothing();
    const native_value value = internal::load_element(type, place(i), nullptr);
    switch (PyNativeType_Kind(type)) {
      case PyNativeKind_BOOL:
        return argument_value::boolean(value.bits != 0);
      case PyNativeKind_SIGNED:
        return argument_value::integer(static_cast<std::int64_t>(value.bits));
      case PyNativeKind_UNSIGNED:
        return argument_value::unsigned_integer(value.bits);
      case PyNativeKind_FLOATING: {
        static_assert(internal::are_all_reals<float, double>(),
                      "what is an element of another type?");
        if (PyNativeType_Size(type) == sizeof(double))
          return argument_value::real(value.get<double>());
        argument_value made = argument_value::real(static_cast<double>(value.get<float>()));
        made.kind = PyNativeArgumentKind_C_FLOAT;
        return made;
      }
      default:
        return argument_value::nothing();
    }
  }
  void set_result(const value_type &type, const void *at) const {
    const auto *const from = static_cast<const char *>(at);
    if (PyNativeType_Equivalent(type.type, plan_.types.result) != 0) {
      std::memcpy(result(), from, type.size);
      return;
    }
    const conversion found = conversion::of_result(type.type, plan_.types.result);
    if (!found || found.run(from, 0, 1, result(), 0) == 0) end_.misfit(type.type);
  }
  void raised() const { end_.raised(); }
  void detached(const char *why) const { end_.detached(why); }
  bool settles(std::size_t) const { return false; }
  void fall_back(std::size_t count) { by_boxing(callable_, end_.where(), count, *this); }
  object_ref box(std::size_t i) const {
    wide_value wide;
    const PyNativeType type = plan_.types.args[i];
    return object_ref::steal(
        internal::box_element(type, internal::load_element(type, place(i), &wide)));
  }
  bool set_result_object(PyObject *object) const {
    wide_value made;
    if (!internal::unbox_element(plan_.types.result, object, &made)) return false;
    std::memcpy(result(), &made, PyNativeType_Size(plan_.types.result));
    return true;
  }

 private:
  const char *place(std::size_t i) const { return args_[i] + at_ * by_[i]; }
  char *result() const { return args_[plan_.inputs.size()] + at_ * by_[plan_.inputs.size()]; }

  const array_plan &plan_;
  const overloads &functions_;
  PyObject *callable_;
  End &end_;
  char *const *args_ = nullptr;
  const std::intptr_t *by_ = nullptr;
  std::intptr_t at_ = 0;
};

/// Runs a pass over elements of number types; see number_elements. `over` is the loop of the
/// overload to try first.
template <class Function, class End>
void run_many(const array_plan &plan, const Function &over, const overloads &functions,
              PyObject *callable, End *end, char *const *args, std::intptr_t count,
              const std::intptr_t *steps) {
  number_elements<End>(plan, functions, callable, end).run(over, args, count, steps);
}
/// Runs a pass for a sink that calls other functions itself; see array_pass.
template <class Function, class Sink>
void run_many(const array_plan &plan, const Function &over, Sink *sink, char *const *args,
              std::intptr_t count, const std::intptr_t *steps) {
  array_pass<Function, Sink>(plan, over, sink).run(args, count, steps);
}

}  // namespace calling
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CALLING_RUN_MANY_H_
