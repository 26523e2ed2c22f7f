// Tests the entries that def() makes for functions that take self, return a status, or use C++
// types that have a different form in C.

#include <gtest/gtest.h>

#include <complex>
#include <limits>
#include <string>

#include "tests/provider/entries_of.h"
#include "tests/support/embedded.h"
#include "typedcall/provider.h"

namespace {

using provider_test::only;
using provider_test::pointer;
using typedcall_test::TakeError;

constexpr std::uintptr_t kNeedsThread = 0x0001, kMayRaise = 0x0004, kReturnsStatus = 0x0010,
                         kTakesSelf = 0x0020, kDiffers = 0x0080, kThreadSafe = 0x010000,
                         kPure = 0x020000;

long double wide(long double, const char *, void *, const void *) noexcept { return 2; }
PyNativeType_ComplexDouble c_complex(PyNativeType_ComplexFloat,
                                     PyNativeType_ComplexLongDouble) noexcept {
  return 0;
}
const char *pointers(double *, const double *, PyObject **, const char **, void **,
                     PyNativeType_ComplexDouble *, bool *) noexcept {
  return nullptr;
}
std::complex<double> times(std::complex<double> a, std::complex<double> b) noexcept {
  return a * b;
}
std::complex<float> swap_f(std::complex<float> z) noexcept { return {z.imag(), z.real()}; }
std::complex<long double> swap_g(std::complex<long double> z) noexcept {
  return {z.imag(), z.real()};
}
std::complex<double> sum(const std::complex<double> *items, long count) noexcept {
  std::complex<double> total;
  for (long i = 0; i < count; ++i) total += items[i];
  return total;
}
double throws_complex(std::complex<double> z) {
  if (z.real() < 0) throw std::out_of_range("negative");
  return z.imag();
}

TEST(Types, HaveCodes) {
  EXPECT_STREQ(only(typedcall::def<wide>("f")).signature, "gsPP->g");
  EXPECT_STREQ(only(typedcall::def<c_complex>("f")).signature, "ZfZg->Zd");
  EXPECT_STREQ(only(typedcall::def<pointers>("f")).signature, "&d&kd&O&s&P&Zd&?->s");
  EXPECT_EQ(only(typedcall::def<pointers>("f")).flags, kNeedsThread);
  EXPECT_STREQ(only(typedcall::def<times>("f")).signature, "ZdZd->Zd");
  EXPECT_STREQ(only(typedcall::def<sum>("f")).signature, "&kZdl->Zd");
  EXPECT_STREQ(only(typedcall::def<throws_complex>("f")).signature, "Zd->d");
}

TEST(Types, ThatAreTheirOwnCFormNeedNoAdapter) {
  EXPECT_EQ(only(typedcall::def<c_complex>("f")).funcptr, reinterpret_cast<void *>(&c_complex));
  EXPECT_EQ(only(typedcall::def<wide>("f")).funcptr, reinterpret_cast<void *>(&wide));
}

template <class C, class Part>
void check_swap(const PyNativeCallableEntry &entry, Part real, Part imag) {
  C z;
  __real__ z = real;
  __imag__ z = imag;
  const C swapped = pointer<C (*)(C)>(entry)(z);
  EXPECT_EQ(__real__ swapped, imag);
  EXPECT_EQ(__imag__ swapped, real);
}

TEST(Complex, IsCalledAsC) {
  EXPECT_EQ(only(typedcall::def<times>("f")).flags, 0u);
  check_swap<PyNativeType_ComplexFloat>(only(typedcall::def<swap_f>("f")), 1.5f, -2.0f);
  check_swap<PyNativeType_ComplexLongDouble>(only(typedcall::def<swap_g>("f")),
                                             std::numeric_limits<long double>::max(), -0.25L);
  using C = PyNativeType_ComplexDouble;
  C items[2];
  __real__ items[0] = 1, __imag__ items[0] = 2, __real__ items[1] = 3, __imag__ items[1] = 4;
  const C product = pointer<C (*)(C, C)>(only(typedcall::def<times>("f")))(items[0], items[1]);
  EXPECT_EQ(__real__ product, -5);
  EXPECT_EQ(__imag__ product, 10);
  const C total = pointer<C (*)(const C *, long)>(only(typedcall::def<sum>("f")))(items, 2);
  EXPECT_EQ(__real__ total, 4);
  EXPECT_EQ(__imag__ total, 6);
}

TEST(Complex, MayThrow) {
  const PyNativeCallableEntry entry = only(typedcall::def<throws_complex>("f"));
  EXPECT_EQ(entry.flags, kMayRaise | kNeedsThread);
  using C = PyNativeType_ComplexDouble;
  C z;
  __real__ z = -1, __imag__ z = 7;
  EXPECT_EQ(pointer<double (*)(C)>(entry)(z), -1.0);
  EXPECT_EQ(TakeError(), "IndexError: negative");
  __real__ z = 1;
  EXPECT_EQ(pointer<double (*)(C)>(entry)(z), 7.0);
}

// --- Status ---

int halve(double x, double *result) noexcept {
  *result = x / 2;
  return x < 0 ? (PyErr_SetString(PyExc_KeyError, "mine"), 3) : 0;
}
int halve_or_throw(double x, double *result) {
  if (x < 0) throw std::out_of_range("negative");
  *result = x / 2;
  return 0;
}
int no_value(long, void *) noexcept { return 0; }
int complex_value(std::complex<long double> *result) noexcept {
  *result = {1, 2};
  return 0;
}
int object_value(PyObject **) noexcept { return 0; }
bool is_even(long x) {
  if (x < 0) throw std::out_of_range("negative");
  return x % 2 == 0;
}
void nothing(long x) {
  if (x < 0) throw std::out_of_range("negative");
}
std::complex<double> root(double x) {
  if (x < 0) throw std::out_of_range("negative");
  return {x, 1};
}
bool sets(PyObject *) {
  PyErr_SetString(PyExc_KeyError, "mine");
  return true;
}

TEST(Status, IsInSignatureAndFlags) {
  using typedcall::def, typedcall::returns_status;
  for (const auto &[made, signature] :
       std::initializer_list<std::pair<typedcall::method, const char *>>{
           {def<halve>("f", returns_status), "d&d->i"},
           {def<halve_or_throw>("f", returns_status), "d&d->i"},
           {def<halve>("f", returns_status | typedcall::may_raise), "d&d->i"},
           {def<no_value>("f", returns_status), "lP->i"},
           {def<complex_value>("f", returns_status), "&Zg->i"},
           {def<object_value>("f", returns_status), "&O->i"},
           {def<is_even>("f"), "l&?->i"},
           {def<nothing>("f"), "l->i"},
           {def<root>("f"), "d&Zd->i"},
           {def<sets>("f"), "O&?->i"},
       }) {
    EXPECT_STREQ(only(made).signature, signature);
    const bool differs = std::string(signature) == "&Zg->i";
    EXPECT_EQ(only(made).flags, kReturnsStatus | kNeedsThread | (differs ? kDiffers : 0))
        << signature;
    EXPECT_TRUE(PyNativeCallable_FlagsAreUsable(only(made).flags));
    // PyPy would return the status instead of the value.
    EXPECT_EQ(made.shape->pypy_arg_types[0], 0x100);
    EXPECT_FALSE(made.shape->speaks_pypy);
  }
}

TEST(Status, IsReturned) {
  using typedcall::def, typedcall::returns_status;
  EXPECT_EQ(only(def<halve>("f", returns_status)).funcptr, reinterpret_cast<void *>(&halve));
  double result = 0;
  const auto throwing =
      pointer<int (*)(double, double *)>(only(def<halve_or_throw>("f", returns_status)));
  EXPECT_EQ(throwing(3, &result), 0);
  EXPECT_EQ(result, 1.5);
  EXPECT_NE(throwing(-1, &result), 0);
  EXPECT_EQ(TakeError(), "IndexError: negative");
}

TEST(Status, IsMadeOfExceptions) {
  bool even = false;
  const auto is_even_entry = pointer<int (*)(long, bool *)>(only(typedcall::def<is_even>("f")));
  EXPECT_EQ(is_even_entry(4, &even), 0);
  EXPECT_TRUE(even);
  EXPECT_EQ(is_even_entry(5, &even), 0);
  EXPECT_FALSE(even);
  EXPECT_NE(is_even_entry(-1, &even), 0);
  EXPECT_EQ(TakeError(), "IndexError: negative");

  const auto nothing_entry = pointer<int (*)(long)>(only(typedcall::def<nothing>("f")));
  EXPECT_EQ(nothing_entry(1), 0);
  EXPECT_NE(nothing_entry(-1), 0);
  EXPECT_EQ(TakeError(), "IndexError: negative");

  using C = PyNativeType_ComplexDouble;
  C z;
  const auto root_entry = pointer<int (*)(double, C *)>(only(typedcall::def<root>("f")));
  EXPECT_EQ(root_entry(2, &z), 0);
  EXPECT_EQ(__real__ z, 2);
  EXPECT_NE(root_entry(-2, &z), 0);
  EXPECT_EQ(TakeError(), "IndexError: negative");

  EXPECT_NE((pointer<int (*)(PyObject *, bool *)>(only(typedcall::def<sets>("f")))(Py_None, &even)),
            0);
  EXPECT_EQ(TakeError(), "KeyError: 'mine'");
}

// --- Self ---

struct own_object {
  PyObject_HEAD
  double x;
};
double with_self(PyObject *, double x) noexcept { return x; }
double with_own_self(own_object *self, double x) noexcept { return self->x + x; }
double self_throws(own_object *self) {
  if (self->x < 0) throw std::out_of_range("negative");
  return self->x;
}
void self_alone(PyObject *) noexcept {}

TEST(Self, IsNotInTheSignature) {
  using typedcall::def, typedcall::takes_self;
  const typedcall::method made = def<with_self>("f", takes_self | typedcall::pure);
  EXPECT_STREQ(only(made).signature, "d->d");
  EXPECT_EQ(only(made).flags, kTakesSelf | kNeedsThread | kPure);
  EXPECT_EQ(only(made).funcptr, reinterpret_cast<void *>(&with_self));
  EXPECT_EQ(made.shape->flags, METH_O);
  EXPECT_EQ(made.shape->pypy_arg_types[0], 0x100);
  EXPECT_FALSE(made.shape->speaks_pypy);
  EXPECT_STREQ(only(def<self_alone>("f", takes_self)).signature, "->v");
  EXPECT_EQ(def<self_alone>("f", takes_self).shape->flags, METH_NOARGS);
  EXPECT_STREQ(only(def<self_throws>("f", takes_self)).signature, "->d");
  EXPECT_EQ(only(def<self_throws>("f", takes_self)).flags, kTakesSelf | kNeedsThread | kMayRaise);
}

TEST(Self, IsPassedFirst) {
  using typedcall::def, typedcall::takes_self;
  own_object object{};
  object.x = 40;
  auto *self = reinterpret_cast<PyObject *>(&object);
  EXPECT_EQ(
      (pointer<double (*)(PyObject *, double)>(only(def<with_own_self>("f", takes_self)))(self, 2)),
      42);
  const auto throwing = pointer<double (*)(PyObject *)>(only(def<self_throws>("f", takes_self)));
  EXPECT_EQ(throwing(self), 40);
  object.x = -2;
  EXPECT_EQ(throwing(self), -1);
  EXPECT_EQ(TakeError(), "IndexError: negative");
}

// --- Conventions and the GIL ---

long inc(long x) noexcept { return x + 1; }
constexpr auto inc_named = +[](long x) noexcept { return x + 1; };
constexpr auto inc_default = +[](long x) noexcept { return x + 1; };
double add(double a, double b) noexcept { return a + b; }

TEST(Convention, HasKeywordsOnlyWhenNamesAreGiven) {
  using typedcall::arg, typedcall::def, typedcall::positional;
  EXPECT_EQ(def<inc>("f").shape->flags, METH_O);
  EXPECT_EQ(def<inc>("f", positional("x")).shape->flags, METH_O);
  EXPECT_EQ(def<inc_named>("f", arg("x")).shape->flags, METH_FASTCALL | METH_KEYWORDS);
  EXPECT_EQ(def<inc_default>("f", positional("x") = 1).shape->flags, METH_FASTCALL);
  EXPECT_EQ(def<add>("f", positional("x"), positional("y")).shape->flags, METH_FASTCALL);
  EXPECT_EQ(def<add>("f", positional("x"), arg("y")).shape->flags, METH_FASTCALL | METH_KEYWORDS);
}

TEST(Convention, OfTypes) {
  using typedcall::class_method, typedcall::def, typedcall::static_method;
  EXPECT_EQ(def<inc>("f", class_method).shape->flags, METH_O | METH_CLASS);
  EXPECT_EQ(def<add>("f", static_method).shape->flags, METH_FASTCALL | METH_STATIC);
  EXPECT_EQ(only(def<inc>("f", class_method)).flags, 0u);
  EXPECT_EQ(only(def<inc>("f", static_method)).flags, 0u);
}

TEST(Gil, ReleasedMeansThreadSafe) {
  const typedcall::method made = typedcall::def<inc>("f", typedcall::releases_gil);
  EXPECT_EQ(only(made).flags, kThreadSafe);
  EXPECT_EQ(only(made).funcptr, reinterpret_cast<void *>(&inc));
  EXPECT_EQ(made.shape->pypy_arg_types[0], 1);
}

TEST(Def, TakesItsExtrasInAnyOrder) {
  const typedcall::method made =
      typedcall::def<add>("f", typedcall::positional("x"), "Documented.", typedcall::pure,
                          typedcall::positional("y"), typedcall::thread_safe);
  EXPECT_STREQ(made.doc, "Documented.");
  EXPECT_EQ(only(made).flags, kPure | kThreadSafe);
  typedcall::internal::parameter_text spelt;
  made.shape->spell(&spelt);
  EXPECT_STREQ(spelt.positional.c_str(), "x, y");
  EXPECT_EQ(typedcall::def<add>("f", nullptr).doc, nullptr);
}

}  // namespace
