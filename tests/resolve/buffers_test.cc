// Tests buffers in typed functions and in boxed calls.

#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/resolve/callables.h"
#include "typedcall/boxed_call.h"
#include "typedcall/call_site.h"
#include "typedcall/fallback.h"
#include "typedcall/provider.h"

namespace {

using namespace resolve_test;
using typedcall::def;
using typedcall::span;

std::uint64_t fnv(span<const unsigned char> bytes) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const unsigned char byte : bytes) hash = (hash ^ byte) * 0x100000001b3u;
  return hash;
}
double norm(const double *all, Py_ssize_t count) noexcept {
  return std::inner_product(all, all + count, all, 0.0);
}
long length(std::string_view text) noexcept { return static_cast<long>(text.size()); }
void scale(span<double> all, double by) noexcept {
  for (double &each : all) each *= by;
}
double dot(span<const double> a, span<const double> b) {
  if (a.size() != b.size()) throw std::invalid_argument("other lengths");
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}
std::optional<double> mean(span<const double> all) noexcept {
  if (all.empty()) return std::nullopt;
  return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
}
std::optional<long> index_of(span<const int> all, int wanted) noexcept {
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == wanted) return static_cast<long>(i);
  }
  return std::nullopt;
}
long parts(std::string_view text, std::string_view by, long more) noexcept {
  long found = 1 + more;
  for (std::size_t at = 0; (at = text.find(by, at)) != std::string_view::npos; at += by.size()) {
    ++found;
  }
  return found;
}
std::optional<double> above(span<const double> all, double least) noexcept {
  for (const double each : all) {
    if (each > least) return each;
  }
  return std::nullopt;
}
long in_module(PyObject *self, span<const long> all) noexcept {
  return PyModule_Check(self) ? static_cast<long>(all.size()) : -1;
}

typedcall::method_table methods{
    def<fnv>("fnv"),
    def<typedcall::spans<norm>>("norm"),
    def<length>("length"),
    def<scale>("scale"),
    def<dot>("dot"),
    def<mean>("mean"),
    def<index_of>("index_of"),
    def<in_module>("in_module", typedcall::takes_self),
    def<parts>("parts", typedcall::arg("text"), typedcall::arg("by") = ", ",
               typedcall::arg("more") = 0),
    def<above>("above", typedcall::arg("all"), typedcall::arg("least") = 3.5),
};

Ref Function(const char *name) { return FunctionOf(methods, name); }

template <class Signature>
typedcall::function<Signature> Resolved(const char *name, typedcall::capabilities can = 0) {
  auto found = typedcall::resolve<Signature>(Interface(), Function(name).get(), can);
  EXPECT_TRUE(found) << TakeError();
  return found;
}

const unsigned char kBytes[] = {1, 2, 255};
const double kNumbers[] = {3, 4};

TEST(Entries, AreOfPointersAndCounts) {
  const struct {
    typedcall::method method;
    const char *signature;
  } cases[] = {
      {def<fnv>("f"), "*kB->L"},         {def<typedcall::spans<norm>>("f"), "*kd->d"},
      {def<length>("f"), "*s->l"},       {def<scale>("f"), "*dd->v"},
      {def<dot>("f"), "*kd*kd->d"},      {def<mean>("f"), "*kd&d->i"},
      {def<index_of>("f"), "*kii&l->i"}, {def<in_module>("f", typedcall::takes_self), "*kl->l"}};
  for (std::size_t i = 0; i < std::size(cases); ++i) {
    const typedcall::method &method = cases[i].method;
    const PyNativeCallableEntry entry = method.entry(0);
    EXPECT_STREQ(entry.signature, cases[i].signature);
    EXPECT_EQ(PyNativeCallable_CheckEntry(&entry, 0, "f"), 0);
    EXPECT_EQ(method.shape->pypy_arg_types[0], 0x100) << "PyPy's codes cannot say it";
  }
  const auto hash = reinterpret_cast<std::uint64_t (*)(const unsigned char *, Py_ssize_t)>(
      cases[0].method.entry(0).funcptr);
  EXPECT_EQ(hash(kBytes, 3), fnv(kBytes));
  const auto of_self = reinterpret_cast<long (*)(PyObject *, const long *, Py_ssize_t)>(
      cases[7].method.entry(0).funcptr);
  EXPECT_EQ(of_self(Py_None, nullptr, 0), -1);
}

TEST(Direct, AHashOfBytesWithoutAnObject) {
  const auto hash = Resolved<std::uint64_t(span<const unsigned char>)>("fnv");
  static_assert(std::is_same_v<decltype(hash.get()),
                               std::uint64_t (*)(const unsigned char *, std::intptr_t)>);
  EXPECT_EQ(hash(kBytes), fnv(kBytes));
  EXPECT_EQ(hash(span<const unsigned char>()), fnv({}));
  const std::vector<unsigned char> vector(kBytes, kBytes + 3);
  EXPECT_EQ(hash(vector), fnv(kBytes));
  PyThreadState *const state = PyEval_SaveThread();
  EXPECT_EQ(hash.get()(kBytes, 2), fnv({kBytes, 2}));
  PyEval_RestoreThread(state);
}

TEST(Direct, TextsAndNumbers) {
  EXPECT_EQ(Resolved<long(std::string_view)>("length")(std::string_view("a\0b", 3)), 3);
  EXPECT_EQ(Resolved<long(span<const char>)>("length")({"ab", 2}), 2);
  EXPECT_EQ(Resolved<double(span<const double>)>("norm")(kNumbers), 25.0);
  double numbers[] = {1, 2};
  Resolved<void(span<double>, double)>("scale")(numbers, 1.5);
  EXPECT_EQ(numbers[1], 3.0);
}

TEST(Direct, WithoutTheLastArguments) {
  const std::string_view text = "a, b; c";
  EXPECT_EQ(Resolved<long(std::string_view)>("parts")(text), 2);
  EXPECT_EQ((Resolved<long(std::string_view, std::string_view)>("parts")(text, "; ")), 2);
  EXPECT_EQ((Resolved<long(std::string_view, std::string_view, long)>("parts")(text, " ", 5)), 8);
  const auto f = typedcall::resolve<double(span<const double>)>(
      Interface(), Function("above").get(), typedcall::with_fallback());
  ASSERT_TRUE(f) << TakeError();
  EXPECT_EQ(f(kNumbers), 4.0);
  EXPECT_TRUE(f.raised(f({kNumbers, 1})));
  EXPECT_EQ(TakeError(), "ValueError: no result for these arguments");
}

TEST(Direct, ConstAnswersWhatIsNot) {
  double numbers[] = {3, 4};
  const auto writing = Resolved<double(span<double>)>("norm");
  EXPECT_EQ(writing(numbers), 25.0);
  EXPECT_FALSE(
      (typedcall::find<void(span<const double>, double)>(Interface(), Function("scale").get())));
  EXPECT_FALSE(
      (typedcall::resolve<double(const double *, long)>(Interface(), Function("norm").get())));
  EXPECT_EQ(TakeError(), "TypeError: norm does not offer '&kdl->d'; it offers '*kd->d'");
}

TEST(Direct, Exceptions) {
  const auto f =
      Resolved<double(span<const double>, span<const double>)>("dot", typedcall::checks_errors);
  EXPECT_EQ(f(kNumbers, kNumbers), 25.0);
  EXPECT_TRUE(f.raised(f(kNumbers, {})));
  EXPECT_EQ(TakeError(), "ValueError: other lengths");
}

TEST(Direct, Self) {
  const Ref function = Function("in_module");
  const auto f = typedcall::resolve<long(span<const long>)>(
      Interface(), function.get(), typedcall::bound(), typedcall::holds_gil);
  ASSERT_TRUE(f) << TakeError();
  const long numbers[] = {1, 2, 3};
  EXPECT_EQ(f(numbers), 3);
}

TEST(Direct, CallSites) {
  typedcall::call_site<std::uint64_t(span<const unsigned char>)> site(Interface());
  const Ref function = Function("fnv");
  for (int i = 0; i < 3; ++i) {
    const auto f = site.resolve(function.get());
    ASSERT_TRUE(f) << TakeError();
    EXPECT_EQ(f(kBytes), fnv(kBytes));
  }
}

TEST(Fallback, TheNativeValueAndThePythonCallables) {
  const auto f = typedcall::resolve<double(span<const double>)>(Interface(), Function("mean").get(),
                                                                typedcall::with_fallback());
  ASSERT_TRUE(f) << TakeError();
  EXPECT_EQ(f(kNumbers), 3.5);
  EXPECT_TRUE(f.raised(f({})));
  EXPECT_EQ(TakeError(), "ValueError: no result for these arguments");
}

TEST(Narrowing, OtherArgumentsOfABuffersFunction) {
  const auto f = typedcall::resolve<long(span<const int>, int)>(
      Interface(), Function("index_of").get(), typedcall::with_fallback());
  ASSERT_TRUE(f) << TakeError();
  const int numbers[] = {5, 6};
  const span<const int> all = numbers;
  EXPECT_EQ(f(all, 6L), 1);
  EXPECT_TRUE(f.raised(f(all, 1L << 40)));
  EXPECT_EQ(TakeError(), "OverflowError: Python int does not fit a signed integer of 4 bytes");
}

// --- Boxed calls ---

struct Python {
  typedcall_test::Scope scope;
  Ref f;

  explicit Python(const char *code) {
    EXPECT_TRUE(scope.Run("kept = []\nimport gc\n"));
    EXPECT_TRUE(scope.Run(code));
    f = scope.Eval("f");
  }
  template <class R, class... A>
  R Call(A... arguments) {
    R result{};
    EXPECT_TRUE(typedcall::boxed_call(f.get(), &result, arguments...)) << TakeError();
    return result;
  }
};

TEST(Boxed, WhatPythonGets) {
  Python p("def f(x): return isinstance(x, bytes) and sum(x)");
  EXPECT_EQ(p.Call<long>(span<const unsigned char>(kBytes)), 258);
  EXPECT_EQ(p.Call<long>(span<const unsigned char>()), 0);
  Python text("def f(x): return len(x) * (type(x) is str)");
  EXPECT_EQ(text.Call<long>(std::string_view("\xe2\x82\xac\0x", 5)), 3);
  Python numbers(
      "def f(x):\n"
      "  assert type(x) is memoryview and x.ndim == 1 and x.format == 'd' and x.itemsize == 8\n"
      "  return len(x) + 10 * x.readonly");
  double writable[] = {1, 2, 3};
  EXPECT_EQ(numbers.Call<long>(span<const double>(kNumbers)), 12);
  EXPECT_EQ(numbers.Call<long>(span<double>(writable)), 3);
  EXPECT_EQ(numbers.Call<long>(span<double>()), 0);
  EXPECT_EQ(numbers.Call<long>(span<const double>()), 10);
}

TEST(Boxed, ATextThatIsNone) {
  Python p("def f(x): return 1");
  long result = 0;
  EXPECT_FALSE(typedcall::boxed_call(p.f.get(), &result, std::string_view("\xff", 1)));
  EXPECT_NE(TakeError().find("UnicodeDecodeError"), std::string::npos);
}

// The size in bytes overflows size_t.
TEST(Boxed, ALengthThatCannotBe) {
  Python p("def f(x): return 1");
  double number = 1;
  const std::size_t count = (std::numeric_limits<std::size_t>::max)() / sizeof number + 2;
  long result = 0;
  EXPECT_FALSE(typedcall::boxed_call(p.f.get(), &result, span<const double>(&number, count)));
  EXPECT_NE(TakeError().find("MemoryError"), std::string::npos);
  EXPECT_FALSE(typedcall::boxed_call(p.f.get(), &result, span<double>(&number, count)));
  EXPECT_NE(TakeError().find("MemoryError"), std::string::npos);
}

template <class T>
class EveryElement : public testing::Test {};

using Elements = testing::Types<bool, signed char, unsigned char, short, unsigned short, int,
                                unsigned, long, unsigned long, long long, unsigned long long, float,
                                double, long double, PyNativeType_ComplexFloat,
                                PyNativeType_ComplexDouble, PyNativeType_ComplexLongDouble>;
TYPED_TEST_SUITE(EveryElement, Elements);

TYPED_TEST(EveryElement, IsWrittenAndRead) {
  const std::string letters = PyNativeCode_Letters(typedcall::internal::code_of<TypeParam>());
  Python p(("def f(x):\n"
            "  assert x.format == '" +
            letters +
            "', x.format\n"
            "  raw = bytes(x)\n"
            "  if not x.readonly:\n"
            "    ends = x.itemsize\n"
            "    import ctypes\n"
            "    whole = (ctypes.c_char * x.nbytes).from_buffer(x)\n"
            "    whole[:] = raw[ends:] + raw[:ends]\n"
            "    del whole\n"
            "  return len(x) + x.readonly")
               .c_str());
  TypeParam all[] = {TypeParam(0), TypeParam(1)};
  EXPECT_EQ(p.template Call<long>(span<TypeParam>(all)), 2);
  EXPECT_TRUE(std::memcmp(&all[0], &all[1], 1) != 0 || all[0] == TypeParam(1));
  EXPECT_TRUE(all[0] == TypeParam(1) && all[1] == TypeParam(0));
  if (letters == "B") return;  // Python gets const "B" items as bytes
  EXPECT_EQ(p.template Call<long>(span<const TypeParam>(all)), 3);
  EXPECT_TRUE(all[0] == TypeParam(1));
}

// A view that is kept after the call must not refer to freed memory.
TEST(Boxed, KeptBeyondTheCall) {
  Python p("def f(x):\n  kept.append(x)\n  kept.append(memoryview(x))\n  return len(x)");
  {
    std::vector<double> numbers{1, 2, 3};
    EXPECT_EQ(p.Call<long>(span<double>(numbers)), 3);
    EXPECT_EQ(p.Call<long>(span<const double>(numbers)), 3);
    std::vector<PyNativeType_ComplexDouble> complex(1000);
    EXPECT_EQ(p.Call<long>(span<PyNativeType_ComplexDouble>(complex)), 1000);
    EXPECT_EQ(p.Call<long>(span<const PyNativeType_ComplexDouble>(complex)), 1000);
  }
  EXPECT_TRUE(p.scope.Run(
      "assert [len(each.tobytes()) for each in kept] == [24] * 4 + [16000] * 4\n"
      "assert kept[1].tolist() == kept[3].tolist() == [1, 2, 3]\n"
      "assert kept[5].format == 'Zd' and kept[6].readonly and kept[5].shape == (1000,)\n"
      "kept.clear()\n"
      "gc.collect()"));
}

// Two views of the same memory see each other's changes.
TEST(Boxed, TheSameMemoryTwice) {
  double numbers[] = {1, 2};
  const span<double> whole = numbers;
  const span<const double> read_only = numbers;
  Python two("def f(x, y):\n  x[0] = 7\n  y[1] = 8\n  return int(x[1] + y[0])");
  EXPECT_EQ(two.Call<long>(whole, whole), 15);
  EXPECT_EQ(numbers[0] + 10 * numbers[1], 87.0);
  Python behind("def f(x, y):\n  x[0] = 5\n  assert y.readonly\n  return int(y[0])");
  EXPECT_EQ(behind.Call<long>(whole, read_only), 5);
  Python before("def f(x, y):\n  y[0] = 6\n  assert x.readonly\n  return int(x[0])");
  EXPECT_EQ(before.Call<long>(read_only, whole), 6);
  EXPECT_EQ(numbers[0], 6.0);
  const span<double> nothing;
  Python empty("def f(x, y):\n  return len(x) + len(y)");
  EXPECT_EQ(empty.Call<long>(nothing, nothing), 0);
}

TEST(Boxed, WhatIsWrittenBeforeAnException) {
  Python p("def f(x):\n  x[0] = 5\n  raise KeyError('late')");
  double numbers[] = {1, 2};
  long result = 0;
  EXPECT_FALSE(typedcall::boxed_call(p.f.get(), &result, span<double>(numbers)));
  EXPECT_EQ(TakeError(), "KeyError: 'late'");
  EXPECT_EQ(numbers[0], 5.0);
  Python released("def f(x):\n  x.release()\n  return 1");
  EXPECT_EQ(released.Call<long>(span<double>(numbers)), 1);
  EXPECT_EQ(numbers[0], 5.0);
}

}  // namespace
