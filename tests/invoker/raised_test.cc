// Tests invoker::raised().
#include <cmath>
#include <limits>
#include <string>

#include "gtest/gtest.h"
#include "tests/support/embedded.h"
#include "typedcall/invoker.h"

namespace typedcall_test {
namespace {

using typedcall::invoker;
using typedcall::native_value;

constexpr std::uintptr_t kRaises = PyNativeCallable_MAY_RAISE | PyNativeCallable_NEEDS_THREAD;

/// Returns its argument.
template <class T>
T Same(T value) {
  return value;
}

/// Returns true if `value` is an error when an exception is set.
template <class T>
bool IsError(T value, std::uintptr_t flags = kRaises) {
  const char *signature = typedcall::signature_of<T(T)>::text;
  const auto call = invoker::make(signature, flags, reinterpret_cast<void *>(&Same<T>));
  EXPECT_TRUE(call) << signature;
  if (!call) return false;
  T wide{};
  native_value argument{0};
  if constexpr (sizeof(T) > sizeof(std::uint64_t)) {
    argument = native_value::at(&value);
  } else {
    argument = native_value::of(value);
  }
  const native_value result = (*call)(&argument, &wide);
  EXPECT_FALSE(call->raised(result)) << signature << ": no exception is set";
  PyErr_SetString(PyExc_ValueError, "set");
  const bool raised = call->raised(result);
  EXPECT_NE(PyErr_Occurred(), nullptr) << "it stays set";
  PyErr_Clear();
  return raised;
}

template <class T>
class Integers : public testing::Test {};
using IntegerTypes = testing::Types<signed char, unsigned char, short, unsigned short, int,
                                    unsigned, long, unsigned long, long long, unsigned long long>;
TYPED_TEST_SUITE(Integers, IntegerTypes);

TYPED_TEST(Integers, AllOnesAreTheError) {
  using T = TypeParam;
  EXPECT_TRUE(IsError(static_cast<T>(-1)));
  for (const T fine : {T(0), T(1), static_cast<T>(-2), std::numeric_limits<T>::min(),
                       static_cast<T>(std::numeric_limits<T>::max() - 1)}) {
    EXPECT_FALSE(IsError(fine)) << fine;
  }
  if (std::is_signed_v<T>) {
    EXPECT_FALSE(IsError(std::numeric_limits<T>::max()));
  }
}

template <class T>
class Reals : public testing::Test {};
using RealTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(Reals, RealTypes);

TYPED_TEST(Reals, MinusOneIsTheError) {
  using T = TypeParam;
  EXPECT_TRUE(IsError(T(-1)));
  for (const T fine : {T(0), T(-0.0), T(1), std::numeric_limits<T>::quiet_NaN(),
                       -std::numeric_limits<T>::infinity(), std::nextafter(T(-1), T(0)),
                       std::nextafter(T(-1), T(-2))}) {
    EXPECT_FALSE(IsError(fine)) << fine;
  }
}

TEST(PyPysLayout, MinusZeroIsTheError) {
  const std::uintptr_t flags = kRaises | PyNativeCallable_ERROR_IS_NEG_ZERO;
  EXPECT_TRUE(IsError(-0.0, flags));
  for (const double fine : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                            -std::numeric_limits<double>::denorm_min()}) {
    EXPECT_FALSE(IsError(fine, flags)) << fine;
  }
}

TEST(Pointers, NullIsTheError) {
  double x = 0;
  EXPECT_TRUE(IsError<void *>(nullptr));
  EXPECT_TRUE(IsError<double *>(nullptr));
  EXPECT_TRUE(IsError<const char *>(nullptr));
  EXPECT_TRUE(IsError<PyObject *>(nullptr));
  EXPECT_FALSE(IsError<void *>(&x));
  EXPECT_FALSE(IsError<PyObject *>(Py_None));
}

// Results that do not fit into a native_value are always checked.
TEST(OtherErrors, AreAskedAboutEveryTime) {
  EXPECT_TRUE(IsError(2.5L));
  EXPECT_TRUE(IsError(5L, kRaises | PyNativeCallable_DIFFERS));
}

// An entry that may raise must have an error value.
TEST(ClassesWithoutErrorValue, AreNotAskedAbout) {
  EXPECT_FALSE(IsError(true));
  EXPECT_FALSE(IsError(PyNativeType_ComplexDouble{}));
}

TEST(Status, IsNonzero) {
  const std::uintptr_t flags = PyNativeCallable_RETURNS_STATUS | PyNativeCallable_NEEDS_THREAD;
  EXPECT_FALSE(IsError(0, flags));
  EXPECT_TRUE(IsError(1, flags));
  EXPECT_TRUE(IsError(-1, flags));
}

TEST(WithoutTheFlags, NobodyIsAsked) {
  EXPECT_FALSE(IsError(-1L, 0));
  EXPECT_FALSE(IsError(-1.0, PyNativeCallable_NEEDS_THREAD));
}

}  // namespace
}  // namespace typedcall_test
