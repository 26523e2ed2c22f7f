// An inner loop over arrays whose numbers are wider than what the function takes and gives: they
// are converted as its wrapper does, and for an int that does not fit the Python callable is
// called.
#ifndef TYPEDCALL_PYTHON_NUMPY_NARROWING_H_
#define TYPEDCALL_PYTHON_NUMPY_NARROWING_H_

#include "typedcall/loop.h"
#include "typedcall/narrowing.h"
// These come first, because of Python.h.
#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace typedcall::python {

namespace internal {

/// Converts `count` elements to an array without gaps. Returns how many before the first that does
/// not fit.
using converter = std::intptr_t (*)(const char *from, std::intptr_t step, std::intptr_t count,
                                    char *to);

template <class From, class To>
std::intptr_t convert(const char *from, std::intptr_t step, std::intptr_t count, char *to) {
  using typedcall::internal::has_room, typedcall::internal::load_as;
  bool all_fit = true;
  for (std::intptr_t i = 0; i < count; ++i) {
    const From value = load_as<From>(from + i * step);
    all_fit &= has_room<To>(value);
    const To made = typedcall::internal::narrowed<To>(value);
    std::memcpy(to + i * std::intptr_t{sizeof(To)}, &made, sizeof(made));
  }
  if (all_fit) return count;
  std::intptr_t good = 0;
  // Another thread may write to the array.
  while (good < count && has_room<To>(load_as<From>(from + good * step))) ++good;
  return good;
}

template <class From>
converter converter_to(PyNativeType to) {
  const bool is_unsigned = PyNativeType_Kind(to) == PyNativeKind_UNSIGNED;
  if (PyNativeType_Kind(to) == PyNativeKind_FLOATING) {
    if (PyNativeType_Size(to) == sizeof(double)) return &convert<From, double>;
    return PyNativeType_Size(to) == sizeof(float) ? &convert<From, float> : nullptr;
  }
  if constexpr (std::is_floating_point_v<From>) {
    return nullptr;
  } else {
    if (!is_unsigned && PyNativeType_Kind(to) != PyNativeKind_SIGNED) return nullptr;
    switch (PyNativeType_Size(to)) {
      case 1:
        return is_unsigned ? &convert<From, std::uint8_t> : &convert<From, std::int8_t>;
      case 2:
        return is_unsigned ? &convert<From, std::uint16_t> : &convert<From, std::int16_t>;
      case 4:
        return is_unsigned ? &convert<From, std::uint32_t> : &convert<From, std::int32_t>;
      case 8:
        return is_unsigned ? &convert<From, std::uint64_t> : &convert<From, std::int64_t>;
      default:
        return nullptr;
    }
  }
}

/// To bool: all fit. A nan is true, as it is in Python.
template <class From>
std::intptr_t to_truth(const char *from, std::intptr_t step, std::intptr_t count, char *to) {
  for (std::intptr_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, from + i * step, sizeof(value));
    to[i] = value != From{};
  }
  return count;
}

/// Null where there is none. From the widest types alone, to which NumPy casts, and from bool,
/// which may be another overload's.
inline converter converter_between(PyNativeType from, PyNativeType to) {
  if (from.is_pointer || to.is_pointer) return nullptr;
  if (PyNativeType_Kind(from) == PyNativeKind_BOOL) return converter_to<bool>(to);
  if (PyNativeType_Kind(to) == PyNativeKind_BOOL) {
    if (from.code == PyNativeType_DOUBLE) return &to_truth<double>;
    return from.code == PyNativeType_CDOUBLE ? &to_truth<std::complex<double>> : nullptr;
  }
  if (PyNativeType_Size(from) != sizeof(std::int64_t)) return nullptr;
  switch (PyNativeType_Kind(from)) {
    case PyNativeKind_SIGNED:
      return converter_to<std::int64_t>(to);
    case PyNativeKind_UNSIGNED:
      return converter_to<std::uint64_t>(to);
    case PyNativeKind_FLOATING:
      return converter_to<double>(to);
    default:
      return nullptr;
  }
}

/// Stores `count` elements of an array without gaps as wider ones.
using widener = void (*)(const char *from, std::intptr_t count, char *to, std::intptr_t step);

template <class From, class To>
void widen(const char *from, std::intptr_t count, char *to, std::intptr_t step) {
  for (std::intptr_t i = 0; i < count; ++i) {
    const auto made =
        static_cast<To>(typedcall::internal::load_as<From>(from + i * std::intptr_t{sizeof(From)}));
    std::memcpy(to + i * step, &made, sizeof(made));
  }
}

/// Null where there is none: to what Python's int and float are in NumPy.
inline widener widener_between(PyNativeType from, PyNativeType to) {
  if (from.is_pointer || to.is_pointer || PyNativeType_Size(to) != 8) return nullptr;
  const auto size = PyNativeType_Size(from);
  if (PyNativeType_Kind(to) == PyNativeKind_FLOATING) {
    const bool is_float = PyNativeType_Kind(from) == PyNativeKind_FLOATING && size == sizeof(float);
    return is_float ? &widen<float, double> : nullptr;
  }
  if (PyNativeType_Kind(to) != PyNativeKind_SIGNED) return nullptr;
  if (PyNativeType_Kind(from) == PyNativeKind_SIGNED) {
    return size == 1   ? &widen<std::int8_t, std::int64_t>
           : size == 2 ? &widen<std::int16_t, std::int64_t>
           : size == 4 ? &widen<std::int32_t, std::int64_t>
                       : nullptr;
  }
  if (PyNativeType_Kind(from) != PyNativeKind_UNSIGNED) return nullptr;
  return size == 1   ? &widen<std::uint8_t, std::int64_t>
         : size == 2 ? &widen<std::uint16_t, std::int64_t>
         : size == 4 ? &widen<std::uint32_t, std::int64_t>
                     : nullptr;
}

}  // namespace internal

/// Immutable, and may run where the loop inside may.
class narrowing_loop {
 public:
  /// `asked` is of the elements of the arrays: "ll->i". The callable is `inner`'s function as
  /// Python calls it. Nothing with ValueError where the types do not lead to each other, or with
  /// MemoryError. Throws std::bad_alloc. GIL: held.
  static std::optional<narrowing_loop> make(const char *asked, loop inner, object_ref callable) {
    PyNativeSignature parsed;
    if (!typedcall::internal::check_signature(asked, &parsed)) return std::nullopt;
    narrowing_loop made(std::move(inner));
    made.callable_ = std::move(callable);
    if (!made.home_.set_current()) return std::nullopt;
    made.plan_.inputs.assign(parsed.args, parsed.args + parsed.nargs);
    made.plan_.output = parsed.result;
    const auto &types = made.inner_.inputs();
    const PyNativeType output = made.inner_.output();
    const bool is_given = PyNativeType_Equivalent(parsed.result, output);
    if (!is_given) made.widener_ = internal::widener_between(output, parsed.result);
    bool fits = types.size() == made.plan_.inputs.size() && (is_given || made.widener_ != nullptr);
    for (std::size_t i = 0; fits && i < types.size(); ++i) {
      const bool is_same = PyNativeType_Equivalent(parsed.args[i], types[i]);
      made.converters_.push_back(is_same ? nullptr
                                         : internal::converter_between(parsed.args[i], types[i]));
      fits = is_same || made.converters_.back() != nullptr;
      made.count_ += is_same ? 0 : 1;
    }
    if (fits && made.count_ != 0 && types.size() <= typedcall::internal::most_arguments) {
      return made;
    }
    PyErr_Format(PyExc_ValueError, "no loop over '%.200s' converts to what the function takes",
                 asked);
    return std::nullopt;
  }

  const loop &inner() const { return inner_; }
  /// Borrowed, for tp_traverse.
  PyObject *callable() const { return callable_.get(); }

  /// As loop::run_attached(). GIL: held, or none where inner() may_detach() or takes it itself.
  void run(char *const *args, const std::intptr_t *dimensions, const std::intptr_t *steps) const {
    const std::size_t arrays = converters_.size() + 1;
    const std::intptr_t count = dimensions[0];
    // What moves must be known for each chunk, also when there is one element.
    std::intptr_t by[kMost + 1] = {};
    if (count > 1) std::memcpy(by, steps, arrays * sizeof(*steps));
    const std::intptr_t most =
        must_go_one_by_one(args, by, count)
            ? 1
            : std::min<std::intptr_t>(kChunk, kWords / static_cast<std::intptr_t>(count_));
    for (std::intptr_t at = 0; at < count;) {
      const std::intptr_t done = run_chunk(args, by, at, std::min(most, count - at));
      if (done < 0) return;
      at += done;
    }
  }

 private:
  static constexpr std::size_t kMost = typedcall::internal::most_arguments;
  static constexpr std::intptr_t kChunk = 256, kWords = 1024;

  explicit narrowing_loop(loop inner) : inner_(std::move(inner)) {}

  // Would a chunk be converted before an earlier element's result is stored in it, as in
  // accumulate()?
  bool must_go_one_by_one(char *const *args, const std::intptr_t *by, std::intptr_t count) const {
    const std::size_t out = converters_.size();
    const auto range = [&](std::size_t i, PyNativeType type) {
      const auto first = reinterpret_cast<std::uintptr_t>(args[i]);
      const auto last = reinterpret_cast<std::uintptr_t>(args[i] + (count - 1) * by[i]);
      return std::make_pair(std::min(first, last), std::max(first, last) + PyNativeType_Size(type));
    };
    const auto written = range(out, plan_.output);
    for (std::size_t i = 0; i < out; ++i) {
      if (converters_[i] == nullptr && widener_ == nullptr) continue;
      const auto read = range(i, plan_.inputs[i]);
      if (written.second <= read.first || read.second <= written.first) continue;
      const auto size = static_cast<std::intptr_t>(
          std::max(PyNativeType_Size(plan_.inputs[i]), PyNativeType_Size(plan_.output)));
      const bool is_in_place = args[i] == args[out] && by[i] == by[out] && std::abs(by[i]) >= size;
      if (!is_in_place) return true;
    }
    return false;
  }

  // Returns how many elements were done, or -1 with an exception.
  std::intptr_t run_chunk(char *const *args, const std::intptr_t *by, std::intptr_t at,
                          std::intptr_t count) const {
    std::uint64_t buffers[kWords], results[kChunk];
    std::uint64_t *next = buffers;
    char *given[kMost + 1];
    std::intptr_t steps[kMost + 1];
    std::intptr_t good = count;
    const std::size_t out = converters_.size();
    for (std::size_t i = 0; i <= out; ++i) {
      given[i] = args[i] + at * by[i];
      steps[i] = by[i];
      if (i == out || converters_[i] == nullptr) continue;
      auto *const converted = reinterpret_cast<char *>(next);
      good = std::min(good, converters_[i](given[i], by[i], count, converted));
      given[i] = converted;
      steps[i] = static_cast<std::intptr_t>(PyNativeType_Size(inner_.inputs()[i]));
      next += count;
    }
    if (widener_ != nullptr) {
      given[out] = reinterpret_cast<char *>(results);
      steps[out] = static_cast<std::intptr_t>(PyNativeType_Size(inner_.output()));
    }
    if (good > 0 && inner_.run_attached(given, &good, steps) < 0) return -1;
    if (widener_ != nullptr) widener_(given[out], good, args[out] + at * by[out], by[out]);
    if (good == count) return count;
    return run_boxed(args, by, at + good) ? good + 1 : -1;
  }

  // One element, by the Python callable.
  __attribute__((noinline, cold)) bool run_boxed(char *const *args, const std::intptr_t *by,
                                                 std::intptr_t at) const {
    native_value values[kMost];
    wide_value scratches[kMost], result = {};
    const std::size_t out = converters_.size();
    for (std::size_t i = 0; i < out; ++i) {
      values[i] =
          typedcall::internal::load_element(plan_.inputs[i], args[i] + at * by[i], &scratches[i]);
    }
    const auto call = [&](bool) {
      return typedcall::internal::call_element(callable_.get(), plan_, values, &result);
    };
    const bool is_done = typedcall::internal::run_attached_to(home_, callable_.get(), call);
    if (is_done) std::memcpy(args[out] + at * by[out], &result, PyNativeType_Size(plan_.output));
    return is_done;
  }

  loop inner_;
  typedcall::internal::element_plan plan_;       // of the arrays
  std::vector<internal::converter> converters_;  // null: the array is what the function takes
  std::size_t count_ = 0;                        // of the others
  internal::widener widener_ = nullptr;          // null: the output is what the function gives
  object_ref callable_;
  typedcall::internal::home_interpreter home_;
};

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_NUMPY_NARROWING_H_
