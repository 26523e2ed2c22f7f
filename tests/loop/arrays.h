// Arrays with any stride, and functions that make and run loops.
#ifndef TYPEDCALL_TESTS_LOOP_ARRAYS_H_
#define TYPEDCALL_TESTS_LOOP_ARRAYS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/embedded.h"
#include "typedcall/loop.h"

namespace loop_test {

using typedcall::loop;
using typedcall::loop_kernel;
using typedcall_test::Ref;
using typedcall_test::TakeError;

/// The types Tested<T> for every type T.
template <template <class> class Tested>
using AllTypes = testing::Types<
#define TYPEDCALL_ROW(NAME, LETTERS, TYPE, KIND, ...) Tested<TYPE>,
    PyNativeType_VALUE_LIST(TYPEDCALL_ROW)
#undef TYPEDCALL_ROW
        Tested<unsigned char *>>;

/// An array of `count` elements, `stride` bytes apart. The lowest element is `offset` bytes after
/// an aligned address. The bytes between elements contain a pattern.
template <class T>
class Array {
 public:
  explicit Array(std::intptr_t count, std::intptr_t stride = sizeof(T), std::size_t offset = 0)
      : stride_(stride), offset_(offset) {
    const std::size_t span = count > 0 ? static_cast<std::size_t>((count - 1) * Step()) : 0;
    bytes_.assign(offset + span + sizeof(T) + 1, kFiller);
    first_ = bytes_.data() + offset + (stride < 0 ? span : 0);
  }
  Array(std::initializer_list<T> values) : Array(static_cast<std::intptr_t>(values.size())) {
    std::intptr_t i = 0;
    for (T value : values) set(i++, value);
  }
  Array(Array &&) = default;

  char *data() { return reinterpret_cast<char *>(first_); }
  std::intptr_t stride() const { return stride_; }
  T get(std::intptr_t i) const {
    T value;
    std::memcpy(&value, first_ + i * stride_, sizeof(value));
    return value;
  }
  void set(std::intptr_t i, T value) { std::memcpy(first_ + i * stride_, &value, sizeof(value)); }
  std::vector<T> list(std::intptr_t count) const {
    std::vector<T> values;
    for (std::intptr_t i = 0; i < count; ++i) values.push_back(get(i));
    return values;
  }
  /// Returns true if all bytes outside the elements are unchanged.
  bool GapsAreUntouched(std::intptr_t count) const {
    std::vector<bool> is_element(bytes_.size());
    for (std::intptr_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(first_ + i * stride_ - bytes_.data());
      for (std::size_t byte = 0; byte < sizeof(T); ++byte) is_element[at + byte] = true;
    }
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      if (!is_element[i] && bytes_[i] != kFiller) return false;
    }
    return true;
  }

 private:
  static constexpr unsigned char kFiller = 0xa5;
  std::intptr_t Step() const { return stride_ < 0 ? -stride_ : stride_; }

  std::intptr_t stride_;
  std::size_t offset_;
  std::vector<unsigned char> bytes_;
  unsigned char *first_;
};

/// Makes a loop. The test fails if the loop is refused.
inline loop Make(const char *signature, std::uintptr_t flags, void *funcptr,
                 typedcall::loop_options options = {}) {
  auto made = loop::make(signature, flags, funcptr, {}, std::move(options));
  EXPECT_TRUE(made) << signature << ": " << TakeError();
  EXPECT_EQ(PyErr_Occurred(), nullptr);
  // After a failure, the test continues with this function.
  static long (*const constant)() = [] { return 0L; };
  return made ? *made : *loop::make("->l", 0, reinterpret_cast<void *>(constant));
}

template <class R, class... A>
loop Make(R (*function)(A...), std::uintptr_t flags = 0, typedcall::loop_options options = {}) {
  return Make(typedcall::signature_of<R(A...)>::text, flags, reinterpret_cast<void *>(function),
              std::move(options));
}

inline typedcall::loop_options By(loop_kernel asked) {
  typedcall::loop_options options;
  options.kernel = asked;
  return options;
}

/// Runs the loop over these arrays and returns the result of run(). The output, if any, is last.
template <class... Arrays>
int RunLoop(const loop &made, std::intptr_t count, std::intptr_t *done, Arrays &...arrays) {
  char *const args[] = {arrays.data()..., nullptr};
  const std::intptr_t steps[] = {arrays.stride()..., 0};
  return made.run(args, &count, steps, done);
}

/// Runs the loop over all elements. The test fails if the run fails.
template <class... Arrays>
void RunAll(const loop &made, std::intptr_t count, Arrays &...arrays) {
  std::intptr_t done = -7;
  EXPECT_EQ(RunLoop(made, count, &done, arrays...), 0) << TakeError();
  EXPECT_EQ(done, count);
  EXPECT_EQ(PyErr_Occurred(), nullptr);
}

}  // namespace loop_test

#endif  // TYPEDCALL_TESTS_LOOP_ARRAYS_H_
