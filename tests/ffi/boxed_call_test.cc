// Tests typedcall::boxed_call.

#include "typedcall/boxed_call.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "tests/support/embedded.h"

namespace {

using typedcall::boxed_call;
using typedcall_test::Ref;
using typedcall_test::Scope;
using typedcall_test::TakeError;

class BoxedCall : public testing::Test {
 protected:
  BoxedCall() {
    scope.Run(
        "def identity(x): return x\n"
        "def arguments(*args): return args\n"
        "class C:\n"
        "    def method(self, x, y): return x - y\n"
        "    def __call__(self, x): return x * 2\n");
    identity = scope.Eval("identity");
  }
  template <class T>
  void ExpectIdentity(T value) {
    T result{};
    ASSERT_TRUE(boxed_call(identity.get(), &result, value)) << TakeError();
    EXPECT_EQ(result, value);
  }
  template <class T>
  void ExpectLimits() {
    for (const T value : {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T(0),
                          static_cast<T>(-1), static_cast<T>(std::numeric_limits<T>::max() - 1)}) {
      ExpectIdentity<T>(value);
    }
  }
  // Returns the text of the exception if the result of `expression` cannot be converted to T.
  template <class T>
  std::string Failure(const char *expression) {
    T result{};
    const Ref callable = scope.Eval(expression);
    EXPECT_FALSE(boxed_call(callable.get(), &result)) << expression;
    return TakeError();
  }

  Scope scope;
  Ref identity;
};

TEST_F(BoxedCall, Integers) {
  ExpectLimits<signed char>();
  ExpectLimits<unsigned char>();
  ExpectLimits<short>();
  ExpectLimits<unsigned short>();
  ExpectLimits<int>();
  ExpectLimits<unsigned>();
  ExpectLimits<long>();
  ExpectLimits<unsigned long>();
  ExpectLimits<long long>();
  ExpectLimits<unsigned long long>();
}

TEST_F(BoxedCall, BoolsAndFloats) {
  ExpectIdentity(true);
  ExpectIdentity(false);
  for (const double value : {0.0, -1.0, 1.5, 1e308, 5e-324}) ExpectIdentity(value);
  for (const float value : {0.0f, -1.0f, 0.1f, 3e38f}) ExpectIdentity(value);
  double result = 0;
  ASSERT_TRUE(boxed_call(identity.get(), &result, std::nan("")));
  EXPECT_TRUE(std::isnan(result));
  ASSERT_TRUE(boxed_call(identity.get(), &result, -0.0));
  EXPECT_TRUE(std::signbit(result));
}

TEST_F(BoxedCall, ArgumentsHaveTheirPythonTypes) {
  PyObject *result = nullptr;
  const Ref arguments = scope.Eval("arguments");
  ASSERT_TRUE(boxed_call(arguments.get(), &result, true, 1, 2.5, 3.5f, std::uint8_t{255},
                         ~std::uint64_t{0}, Py_None));
  scope.Set("result", result);
  Py_DECREF(result);
  const Ref same = scope.Eval(
      "[(type(x), x) for x in result] == [(bool, True), (int, 1), (float, 2.5), (float, 3.5), "
      "(int, 255), (int, 2**64 - 1), (type(None), None)]");
  EXPECT_EQ(same.get(), Py_True);
}

TEST_F(BoxedCall, NoArguments) {
  long result = 0;
  ASSERT_TRUE(boxed_call(scope.Eval("lambda: 42").get(), &result));
  EXPECT_EQ(result, 42);
}

TEST_F(BoxedCall, KindsOfCallables) {
  double result = 0;
  EXPECT_TRUE(boxed_call(scope.Eval("C().method").get(), &result, 5.0, 2L));
  EXPECT_EQ(result, 3.0);
  EXPECT_TRUE(boxed_call(scope.Eval("C()").get(), &result, 2.5));
  EXPECT_EQ(result, 5.0);
  EXPECT_TRUE(boxed_call(scope.Eval("float").get(), &result, 7));
  EXPECT_EQ(result, 7.0);
  EXPECT_TRUE(boxed_call(scope.Eval("__import__('math').hypot").get(), &result, 3.0, 4.0));
  EXPECT_EQ(result, 5.0);
  EXPECT_TRUE(boxed_call(scope.Eval("__import__('functools').partial(pow, 2)").get(), &result, 10));
  EXPECT_EQ(result, 1024.0);
  EXPECT_TRUE(boxed_call(scope.Eval("C.method").get(), &result, Py_None, 5, 3.5));
  EXPECT_EQ(result, 1.5);
}

TEST_F(BoxedCall, ErrorsOfTheCall) {
  EXPECT_EQ(Failure<long>("lambda: 1 / 0"), "ZeroDivisionError: division by zero");
  EXPECT_EQ(Failure<double>("lambda: {}['x']"), "KeyError: 'x'");
  EXPECT_EQ(Failure<PyObject *>("lambda: 1 / 0"), "ZeroDivisionError: division by zero");
  EXPECT_EQ(Failure<bool>("lambda x: 0").substr(0, 9), "TypeError");
  long result = 0;
  EXPECT_FALSE(boxed_call(Py_None, &result, 1));
  EXPECT_EQ(TakeError(), "TypeError: 'NoneType' object is not callable");
}

TEST_F(BoxedCall, ErrorsOfTheResult) {
  EXPECT_EQ(Failure<long>("lambda: 2**63").substr(0, 13), "OverflowError");
  EXPECT_EQ(Failure<signed char>("lambda: 128").substr(0, 13), "OverflowError");
  EXPECT_EQ(Failure<unsigned char>("lambda: -1").substr(0, 13), "OverflowError");
  EXPECT_EQ(Failure<unsigned>("lambda: 2**32").substr(0, 13), "OverflowError");
  EXPECT_EQ(Failure<double>("lambda: 2**1024").substr(0, 13), "OverflowError");
  EXPECT_EQ(Failure<long>("lambda: 1.0").substr(0, 9), "TypeError");
  EXPECT_EQ(Failure<long>("lambda: None").substr(0, 9), "TypeError");
  EXPECT_EQ(Failure<double>("lambda: 'x'").substr(0, 9), "TypeError");
  EXPECT_EQ(Failure<double>("lambda: None").substr(0, 9), "TypeError");
}

TEST_F(BoxedCall, ResultsOfOtherTypes) {
  double number = 0;
  EXPECT_TRUE(boxed_call(scope.Eval("lambda: True").get(), &number));
  EXPECT_EQ(number, 1.0);
  EXPECT_TRUE(boxed_call(scope.Eval("lambda: -1").get(), &number));
  EXPECT_EQ(number, -1.0);
  bool truth = true;
  EXPECT_TRUE(boxed_call(scope.Eval("lambda: []").get(), &truth));
  EXPECT_FALSE(truth);
  EXPECT_TRUE(boxed_call(scope.Eval("lambda: 'x'").get(), &truth));
  EXPECT_TRUE(truth);
}

TEST_F(BoxedCall, ObjectResultIsANewReference) {
  const Ref object = scope.Eval("object()");
  const Py_ssize_t before = Py_REFCNT(object.get());
  PyObject *result = nullptr;
  ASSERT_TRUE(boxed_call(identity.get(), &result, object.get()));
  EXPECT_EQ(result, object.get());
  EXPECT_EQ(Py_REFCNT(object.get()), before + 1);
  Py_DECREF(result);
}

TEST_F(BoxedCall, KeepsNoReferences) {
  const Ref object = scope.Eval("object()"), first = scope.Eval("lambda x, *rest: 1");
  const Ref raises = scope.Eval("lambda *args: 1 / 0");
  const Py_ssize_t before = Py_REFCNT(object.get());
  const Py_ssize_t callable_before = Py_REFCNT(first.get());
  for (int i = 0; i < 10; ++i) {
    long result = 0;
    EXPECT_TRUE(boxed_call(first.get(), &result, object.get(), 2.5, object.get()));
    EXPECT_FALSE(boxed_call(raises.get(), &result, object.get(), 1 << 20));
    TakeError();
    EXPECT_FALSE(boxed_call(identity.get(), &result, object.get()));
    TakeError();
  }
  EXPECT_EQ(Py_REFCNT(object.get()), before);
  EXPECT_EQ(Py_REFCNT(first.get()), callable_before);
}

// Returns which of the last `count` arguments are passed by name, or the text of the exception.
std::string Names(Scope *scope, const char *expression, std::size_t count) {
  const Ref callable = scope->Eval(expression);
  typedcall::object_ref names;
  if (!typedcall::internal::find_names(callable.get(), count, &names)) return TakeError();
  if (!names) return "none";
  const Ref text = Ref::Steal(PyObject_Repr(names.get()));
  return PyUnicode_AsUTF8(text.get());
}

TEST(FindNames, OfPythonFunctions) {
  Scope scope;
  EXPECT_EQ(Names(&scope, "lambda a, b=1, *, c, d=2: 0", 4), "('c', 'd')");
  EXPECT_EQ(Names(&scope, "lambda a, b=1, *, c, d=2: 0", 3), "('c',)");
  for (const std::size_t count : {0u, 2u, 5u}) {
    EXPECT_EQ(Names(&scope, "lambda a, b=1, *, c, d=2: 0", count), "none") << count;
  }
  EXPECT_EQ(Names(&scope, "lambda *, a: 0", 1), "('a',)");
  EXPECT_EQ(Names(&scope, "lambda a, b: 0", 2), "none");
  EXPECT_EQ(Names(&scope, "lambda *args, a: 0", 1), "none");
  EXPECT_EQ(Names(&scope, "lambda *, a, **rest: 0", 1), "none");
}

TEST(FindNames, OfTextSignatures) {
  Scope scope;
  scope.Run(
      "class Other:\n"
      "    def __init__(self, text): self.__text_signature__ = text\n"
      "class Raising:\n"
      "    def __init__(self, error): self.error = error\n"
      "    def __getattr__(self, name): raise self.error\n");
  EXPECT_EQ(Names(&scope, "sorted", 3), "('key', 'reverse')");
  EXPECT_EQ(Names(&scope, "[].sort", 2), "('key', 'reverse')");
  EXPECT_EQ(Names(&scope, "pow", 3), "none");
  EXPECT_EQ(
      Names(&scope,
            R"py(Other(r"""($x, a=',*', /, b=(1, [2]), *, c = 'it\')', d: int = {")": 1})"""))py",
            4),
      "('c', 'd')");
  for (const char *const each : {"", "(", "()", "(*", "(a, *", "(a, *)", "(a, *b, c)", "(*, **a)",
                                 "(a, b=')", "a, *, b", "(,,,)"}) {
    scope.Set("text", Ref::Steal(PyUnicode_FromString(each)).get());
    EXPECT_EQ(Names(&scope, "Other(text)", 2), "none") << each;
  }
  EXPECT_EQ(Names(&scope, "Other('(a, *, b')", 2), "('b',)");
  EXPECT_EQ(Names(&scope, "Other(5)", 2), "none");
  EXPECT_EQ(Names(&scope, "Raising(ValueError('no'))", 2), "none");
  EXPECT_EQ(Names(&scope, "Raising(KeyboardInterrupt('now'))", 2), "KeyboardInterrupt: now");
  EXPECT_EQ(Names(&scope, "Raising(MemoryError('none'))", 2), "MemoryError: none");
}

TEST(FindNames, KeepsAPendingException) {
  Scope scope;
  PyErr_SetString(PyExc_KeyError, "before");
  typedcall::object_ref names;
  EXPECT_TRUE(typedcall::internal::find_names(Py_None, 2, &names));
  EXPECT_EQ(TakeError(), "KeyError: 'before'");
}

}  // namespace
