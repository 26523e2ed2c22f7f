// Tests typedcall::function.

#include <cmath>
#include <limits>
#include <utility>

#include "tests/resolve/callables.h"
#include "typedcall/provider.h"

namespace {

using namespace resolve_test;
using typedcall::function;
using typedcall::object_ref;

constexpr std::uintptr_t kRaises = PyNativeCallable_MAY_RAISE | PyNativeCallable_NEEDS_THREAD;

long inc(long x) noexcept { return x + 1; }
double scale(double a, long b, float c) noexcept { return a * static_cast<double>(b) + c; }
void store(long *where, long value) noexcept { *where = value; }
long checked(long x) noexcept {
  if (x != 42) return x;
  PyErr_SetString(PyExc_ValueError, "it is 42");
  return -1;
}

typedcall::method_table methods{typedcall::def<inc>("inc"),
                                typedcall::def<checked>("checked", typedcall::may_raise)};

Ref NewModule() { return typedcall_test::ModuleOf(methods); }

Ref Attribute(const Ref &module, const char *name) {
  return Ref::Steal(PyObject_GetAttrString(module.get(), name));
}

TEST(Function, Calls) {
  EXPECT_EQ(function<long(long)>(inc, 0, object_ref())(41), 42);
  EXPECT_EQ(function<double(double, long, float)>(scale, 0, object_ref())(1.5, 2, 0.25f), 3.25);
  long stored = 0;
  function<void(long *, long)>(store, 0, object_ref())(&stored, 7);
  EXPECT_EQ(stored, 7);
}

TEST(Function, Empty) {
  const function<long(long)> empty;
  EXPECT_FALSE(empty);
  EXPECT_EQ(empty.get(), nullptr);
  EXPECT_EQ(empty.flags(), 0u);
  EXPECT_TRUE(function<long(long)>(inc, 0, object_ref()));
}

TEST(Function, IsResolved) {
  const Ref module = NewModule(), callable = Attribute(module, "checked");
  const auto found =
      typedcall::resolve<long(long)>(Interface(), callable.get(), typedcall::checks_errors);
  ASSERT_TRUE(found) << TakeError();
  EXPECT_EQ(found.get(), &checked);
  EXPECT_EQ(found.flags(), kRaises);
  EXPECT_EQ(found(1), 1);
  // If no exception is set, -1 is an ordinary result.
  EXPECT_EQ(found(-1), -1);
  EXPECT_FALSE(found.raised(-1L));
  const long result = found(42);
  EXPECT_EQ(result, -1);
  EXPECT_TRUE(found.raised(result));
  EXPECT_TRUE(found.raised());
  EXPECT_EQ(TakeError(), "ValueError: it is 42");
  EXPECT_FALSE(found.raised(result));
}

TEST(KeepAlive, OneReferenceAsLongAsItLives) {
  const Ref module = NewModule(), callable = Attribute(module, "inc");
  const Py_ssize_t before = Py_REFCNT(callable.get());
  {
    auto found = typedcall::resolve<long(long)>(Interface(), callable.get());
    EXPECT_EQ(Py_REFCNT(callable.get()), before + 1);
    // The callable, or an object that keeps the callable alive.
    PyObject *const kept = found.keep_alive();
    const Py_ssize_t once = Py_REFCNT(kept);
    const auto copy = found;
    EXPECT_EQ(Py_REFCNT(kept), once + 1);
    const auto moved = std::move(found);
    EXPECT_EQ(Py_REFCNT(kept), once + 1);
    EXPECT_EQ(moved(1) + copy(1), 4);
    found = copy;
    EXPECT_EQ(Py_REFCNT(kept), once + 2);
    found = {};
    EXPECT_EQ(Py_REFCNT(kept), once + 1);
    EXPECT_GT(Py_REFCNT(callable.get()), before);
  }
  EXPECT_EQ(Py_REFCNT(callable.get()), before);
}

TEST(KeepAlive, RefusalsKeepNothing) {
  const Ref module = NewModule(), callable = Attribute(module, "inc");
  const Py_ssize_t before = Py_REFCNT(callable.get());
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(typedcall::find<double(double)>(Interface(), callable.get()));
    EXPECT_FALSE(typedcall::resolve<double(double)>(Interface(), callable.get()));
    TakeError();
  }
  EXPECT_EQ(Py_REFCNT(callable.get()), before);
}

TEST(KeepAlive, OutlivesTheModule) {
  typedcall_test::Scope scope;
  Ref module = NewModule();
  scope.Set("module", module.get());
  scope.Run("import weakref\nwatch = weakref.ref(module)\ndel module");
  auto found = typedcall::resolve<long(long)>(Interface(), Attribute(module, "inc").get());
  ASSERT_TRUE(found);
  module.reset();
  typedcall_test::Collect();
  EXPECT_EQ(found(1), 2);
  EXPECT_EQ(scope.Eval("watch() is None").get(), Py_False);
  found = {};
  typedcall_test::Collect();
  EXPECT_EQ(scope.Eval("watch() is None").get(), Py_True);
}

// Only the error value reports an exception.
template <class T>
void ExpectRaised(T error, std::initializer_list<T> others, std::uintptr_t flags = kRaises) {
  const function<T()> raises(nullptr, flags, object_ref());
  const function<T()> cannot(nullptr, PyNativeCallable_NEEDS_THREAD, object_ref());
  EXPECT_FALSE(raises.raised(error));
  EXPECT_FALSE(raises.raised());
  PyErr_SetString(PyExc_ValueError, "set");
  EXPECT_TRUE(raises.raised(error));
  EXPECT_TRUE(raises.raised());
  for (const T other : others) EXPECT_FALSE(raises.raised(other));
  EXPECT_FALSE(cannot.raised(error));
  EXPECT_FALSE(cannot.raised());
  EXPECT_EQ(TakeError(), "ValueError: set");
}

TEST(Raised, Signed) {
  ExpectRaised<signed char>(-1, {0, 1, -2, 127});
  ExpectRaised<short>(-1, {0, 1, -2});
  ExpectRaised<int>(-1, {0, 1, -2});
  ExpectRaised<long>(-1, {0, 1, -2, 0xffffffffL});
  ExpectRaised<long long>(-1, {0, 1, -2});
}

TEST(Raised, Unsigned) {
  ExpectRaised<unsigned char>(0xff, {0, 1, 0xfe});
  ExpectRaised<unsigned short>(0xffff, {0, 1, 0xff});
  ExpectRaised<unsigned>(0xffffffffu, {0, 1, 0xffff});
  ExpectRaised<unsigned long>(~0ul, {0, 1, 0xffffffffu});
  ExpectRaised<unsigned long long>(~0ull, {0, 1});
}

TEST(Raised, Floating) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  ExpectRaised<float>(-1, {0, 1, -0.0f});
  ExpectRaised<double>(-1, {0, 1, -0.0, nan});
  ExpectRaised<long double>(-1, {0, 1, -0.0L});
}

TEST(Raised, NegativeZeroInPyPysLayout) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  ExpectRaised<double>(-0.0, {0.0, 1.0, -1.0, nan, -nan, -5e-324},
                       kRaises | PyNativeCallable_ERROR_IS_NEG_ZERO);
}

TEST(Raised, Pointers) {
  int number = 0;
  ExpectRaised<void *>(nullptr, {&number});
  ExpectRaised<const char *>(nullptr, {"", "x"});
  ExpectRaised<int *>(nullptr, {&number});
  ExpectRaised<PyObject *>(nullptr, {Py_None});
}

// These types have no error value.
TEST(Raised, BoolAndVoid) {
  const function<bool()> truth(nullptr, kRaises, object_ref());
  const function<void()> nothing(nullptr, kRaises, object_ref());
  EXPECT_FALSE(truth.raised(true));
  EXPECT_FALSE(nothing.raised());
  PyErr_SetString(PyExc_ValueError, "set");
  EXPECT_TRUE(truth.raised(true));
  EXPECT_TRUE(truth.raised(false));
  EXPECT_TRUE(nothing.raised());
  EXPECT_EQ(TakeError(), "ValueError: set");
}

// Any nonzero status reports an exception.
TEST(Raised, Status) {
  const std::uintptr_t flags = PyNativeCallable_RETURNS_STATUS | PyNativeCallable_NEEDS_THREAD;
  const function<int(double, double *)> status(nullptr, flags, object_ref());
  EXPECT_FALSE(status.raised(0));
  EXPECT_FALSE(status.raised(1));
  PyErr_SetString(PyExc_ValueError, "set");
  for (const int nonzero : {-1, 1, -2, 100}) EXPECT_TRUE(status.raised(nonzero));
  EXPECT_FALSE(status.raised(0));
  EXPECT_EQ(TakeError(), "ValueError: set");
}

TEST(ErrorValue, IsThatOfTheAbi) {
  EXPECT_EQ(typedcall::error_value<signed char>(), -1);
  EXPECT_EQ(typedcall::error_value<unsigned char>(), 255);
  EXPECT_EQ(typedcall::error_value<unsigned long>(), ~0ul);
  EXPECT_EQ(typedcall::error_value<double>(), -1.0);
  EXPECT_EQ(typedcall::error_value<PyObject *>(), nullptr);
  static_assert(!typedcall::has_error_value<bool> && !typedcall::has_error_value<void>);
}

}  // namespace
