// Tests the entries that def() makes for consumers.

#include <gtest/gtest.h>
#include <pthread.h>

#include <complex>
#include <cstdint>
#include <string>

#include "tests/provider/entries_of.h"
#include "tests/support/embedded.h"
#include "typedcall/provider.h"

namespace {

using provider_test::only;
using provider_test::pointer;
using typedcall_test::TakeError;

constexpr std::uintptr_t kNeedsThread = 0x0001, kMayRaise = 0x0004;
constexpr std::uintptr_t kThreadSafe = 0x010000, kPure = 0x020000, kShort = 0x040000;

long inc(long x) noexcept { return x + 1; }
long plain(long x) { return x; }
double sum(double a, double b) noexcept { return a + b; }
double nothing() noexcept { return 0; }
void set(long) noexcept {}
bool flag(bool x) noexcept { return x; }
float narrow(signed char, unsigned char, short, unsigned short, int, unsigned, unsigned long,
             long long, unsigned long long, float) noexcept {
  return 0;
}
PyObject *give(PyObject *x) noexcept {
  Py_INCREF(x);
  return x;
}
long take(PyObject *) noexcept { return 0; }

template <class T>
T fails() {
  throw std::out_of_range("too far");
}

TEST(Signature, IsDeduced) {
  EXPECT_STREQ(only(typedcall::def<inc>("f")).signature, "l->l");
  EXPECT_STREQ(only(typedcall::def<sum>("f")).signature, "dd->d");
  EXPECT_STREQ(only(typedcall::def<nothing>("f")).signature, "->d");
  EXPECT_STREQ(only(typedcall::def<set>("f")).signature, "l->v");
  EXPECT_STREQ(only(typedcall::def<flag>("f")).signature, "?->?");
  EXPECT_STREQ(only(typedcall::def<narrow>("f")).signature, "bBhHiILqQf->f");
  EXPECT_STREQ(only(typedcall::def<give>("f")).signature, "O->O");
}

TEST(Address, OfNoexceptFunctionIsItsOwn) {
  EXPECT_EQ(only(typedcall::def<inc>("f")).funcptr, reinterpret_cast<void *>(&inc));
  EXPECT_EQ(only(typedcall::def<give>("f")).funcptr, reinterpret_cast<void *>(&give));
  EXPECT_EQ(only(typedcall::def<set>("f")).funcptr, reinterpret_cast<void *>(&set));
  EXPECT_EQ(only(typedcall::def<inc>("f", typedcall::may_raise)).funcptr,
            reinterpret_cast<void *>(&inc));
}

TEST(Address, OfFunctionThatMayThrowIsAnother) {
  EXPECT_NE(only(typedcall::def<plain>("f")).funcptr, reinterpret_cast<void *>(&plain));
  EXPECT_EQ(pointer<long (*)(long)>(only(typedcall::def<plain>("f")))(5), 5);
  EXPECT_EQ(only(typedcall::def<plain>("f", typedcall::nothrow)).funcptr,
            reinterpret_cast<void *>(&plain));
}

TEST(Flags, FollowFromTheType) {
  EXPECT_EQ(only(typedcall::def<inc>("f")).flags, 0u);
  EXPECT_EQ(only(typedcall::def<plain>("f")).flags, kMayRaise | kNeedsThread);
  EXPECT_EQ(only(typedcall::def<plain>("f", typedcall::nothrow)).flags, 0u);
  EXPECT_EQ(only(typedcall::def<give>("f")).flags, kMayRaise | kNeedsThread);
  EXPECT_EQ(only(typedcall::def<take>("f")).flags, kNeedsThread);
}

long double widest(double) noexcept { return 0; }
PyNativeType_ComplexLongDouble widest_complex(double) noexcept { return 0; }
std::complex<long double> widest_of_cxx(double) noexcept { return 0; }
long double widest_that_throws(double) { return 0; }
std::complex<long double> widest_complex_that_throws(double) { return 0; }
int widest_by_status(long double *) noexcept { return 0; }
double of_widest(long double, PyNativeType_ComplexLongDouble, const long double *) noexcept {
  return 0;
}
float single(double) noexcept { return 0; }
const long double *widest_memory() noexcept { return nullptr; }

// In Python a long double is a float.
TEST(Flags, SayThatALongDoubleResultIsRoundedForPython) {
  using namespace typedcall;
  constexpr std::uintptr_t kDiffers = 0x0080, kStatus = 0x0010;
  EXPECT_EQ(only(def<widest>("f")).flags, kDiffers);
  EXPECT_EQ(only(def<widest_complex>("f")).flags, kDiffers);
  EXPECT_EQ(only(def<widest_of_cxx>("f")).flags, kDiffers);
  EXPECT_EQ(only(def<widest_that_throws>("f")).flags, kDiffers | kMayRaise | kNeedsThread);
  EXPECT_EQ(only(def<widest_complex_that_throws>("f")).flags, kDiffers | kStatus | kNeedsThread);
  EXPECT_EQ(only(def<widest_by_status>("f", returns_status)).flags,
            kDiffers | kStatus | kNeedsThread);
  EXPECT_EQ(only(def<of_widest>("f")).flags, 0u);
  EXPECT_EQ(only(def<single>("f")).flags, 0u);
  EXPECT_EQ(only(def<widest_memory>("f")).flags, 0u);
}

TEST(Flags, AreStated) {
  using namespace typedcall;
  EXPECT_EQ(only(def<inc>("f", may_raise)).flags, kMayRaise | kNeedsThread);
  EXPECT_EQ(only(def<inc>("f", needs_gil)).flags, kNeedsThread);
  EXPECT_EQ(only(def<inc>("f", pure | thread_safe | does_not_block)).flags,
            kPure | kThreadSafe | kShort);
  EXPECT_EQ(only(def<plain>("f", nothrow | pure)).flags, kPure);
  EXPECT_EQ(only(def<plain>("f", pure)).flags, kPure | kMayRaise | kNeedsThread);
}

TEST(Overloads, AreEntriesInOrder) {
  const typedcall::method made = typedcall::def<inc, sum, plain>("f");
  ASSERT_EQ(made.shape->count, 3u);
  EXPECT_STREQ(made.entry(0).signature, "l->l");
  EXPECT_STREQ(made.entry(1).signature, "dd->d");
  EXPECT_EQ(made.entry(0).funcptr, reinterpret_cast<void *>(&inc));
  EXPECT_EQ(made.entry(1).flags, 0u);
  EXPECT_EQ(made.entry(2).flags, kMayRaise | kNeedsThread);
}

TEST(Convention, FollowsFromTheNumberOfArguments) {
  EXPECT_EQ(typedcall::def<nothing>("f").shape->flags, METH_NOARGS);
  EXPECT_EQ(typedcall::def<inc>("f").shape->flags, METH_O);
  EXPECT_EQ(typedcall::def<sum>("f").shape->flags, METH_FASTCALL);
  EXPECT_EQ((typedcall::def<inc, take>("f").shape->flags), METH_O);
  EXPECT_EQ((typedcall::def<inc, sum>("f").shape->flags), METH_FASTCALL);
  EXPECT_EQ((typedcall::def<nothing, inc>("f").shape->flags), METH_FASTCALL);
}

// PyPy treats every -1 and -0.0 as an error, and supports only three types.
TEST(PyPyFields, SayWhatPyPyGetsRight) {
  const typedcall::method made = typedcall::def<inc>("f");
  EXPECT_EQ(made.shape->pypy_arg_types[0], 1);
  EXPECT_EQ(made.shape->pypy_arg_types[1], -1);
  EXPECT_EQ(made.shape->pypy_ret_type, 1);
  EXPECT_TRUE(made.shape->speaks_pypy);
  const typedcall::method two = typedcall::def<sum>("f");
  EXPECT_EQ(two.shape->pypy_arg_types[0], 2);
  EXPECT_EQ(two.shape->pypy_arg_types[1], 2);
  EXPECT_EQ(two.shape->pypy_arg_types[2], -1);
  EXPECT_EQ(two.shape->pypy_ret_type, 2);
  EXPECT_EQ(typedcall::def<give>("f").shape->pypy_ret_type, -3);
}

TEST(PyPyFields, RefuseEverythingElse) {
  for (const typedcall::method &made :
       {typedcall::def<plain>("f"), typedcall::def<nothing>("f"), typedcall::def<set>("f"),
        typedcall::def<narrow>("f"), typedcall::def<inc>("f", typedcall::may_raise)}) {
    EXPECT_EQ(made.shape->pypy_arg_types[0], 0x100);
    EXPECT_EQ(made.shape->pypy_arg_types[1], -1);
    EXPECT_FALSE(made.shape->speaks_pypy);
  }
}

template <class T>
T call_that_throws() {
  return pointer<T (*)()>(only(typedcall::def<fails<T>>("f")))();
}

TEST(Trampoline, ReturnsTheErrorValueWithTheExceptionSet) {
  const char *const error = "IndexError: too far";
  EXPECT_EQ(call_that_throws<signed char>(), -1);
  EXPECT_EQ(TakeError(), error);
  EXPECT_EQ(call_that_throws<unsigned short>(), 0xffff);
  EXPECT_EQ(TakeError(), error);
  EXPECT_EQ(call_that_throws<long long>(), -1);
  EXPECT_EQ(TakeError(), error);
  EXPECT_EQ(call_that_throws<std::uint64_t>(), UINT64_MAX);
  EXPECT_EQ(TakeError(), error);
  EXPECT_EQ(call_that_throws<float>(), -1.0f);
  EXPECT_EQ(TakeError(), error);
  EXPECT_EQ(call_that_throws<double>(), -1.0);
  EXPECT_EQ(TakeError(), error);
  EXPECT_EQ(call_that_throws<PyObject *>(), nullptr);
  EXPECT_EQ(TakeError(), error);
}

long sets_and_throws() {
  PyErr_SetString(PyExc_KeyError, "mine");
  throw std::runtime_error("to get out");
}

TEST(Trampoline, KeepsTheExceptionThatTheFunctionSet) {
  EXPECT_EQ(pointer<long (*)()>(only(typedcall::def<sets_and_throws>("f")))(), -1);
  EXPECT_EQ(TakeError(), "KeyError: 'mine'");
}

template <class T>
T sets_and_returns(T value) {
  PyErr_SetString(PyExc_KeyError, "mine");
  return value;
}

// Consumers check for an exception only if the result is the error value.
TEST(Trampoline, GivesTheErrorValueForAnExceptionThatTheFunctionSet) {
  const auto f = only(typedcall::def<sets_and_returns<double>>("f"));
  EXPECT_EQ(pointer<double (*)(double)>(f)(2.5), -1.0);
  EXPECT_EQ(TakeError(), "KeyError: 'mine'");
  const auto g = only(typedcall::def<sets_and_returns<unsigned short>>("f"));
  EXPECT_EQ(pointer<unsigned short (*)(unsigned short)>(g)(2), 0xffff);
  EXPECT_EQ(TakeError(), "KeyError: 'mine'");
}

// CPython may call pthread_exit() in a thread that takes the GIL.
long exits_thread() { pthread_exit(nullptr); }

TEST(Trampoline, LetsAThreadEnd) {
  pthread_t thread;
  const auto run = [](void *) -> void * {
    pointer<long (*)()>(only(typedcall::def<exits_thread>("f")))();
    return const_cast<char *>("came back");
  };
  ASSERT_EQ(pthread_create(&thread, nullptr, run, nullptr), 0);
  void *result = nullptr;
  ASSERT_EQ(pthread_join(thread, &result), 0);
  EXPECT_EQ(result, nullptr);
}

TEST(Trampoline, SetsNothingWithoutAnException) {
  EXPECT_EQ(pointer<long (*)(long)>(only(typedcall::def<plain>("f")))(-1), -1);
  EXPECT_EQ(TakeError(), "");
}

TEST(MethodTable, FillsRowsAndMetadata) {
  static typedcall::method_table methods{typedcall::def<inc>("inc", "Documented."),
                                         typedcall::def<sum>("sum")};
  const PyMethodDef *defs = methods.defs();
  EXPECT_STREQ(defs[0].ml_name, "inc");
  EXPECT_STREQ(defs[0].ml_doc, "inc($module, arg0, /)\n--\n\nDocumented.");
  EXPECT_EQ(defs[0].ml_flags, METH_O | PyTypedMethod_FLAGS);
  EXPECT_STREQ(defs[1].ml_name, "sum");
  EXPECT_STREQ(defs[1].ml_doc, "sum($module, arg0, arg1, /)\n--\n\n");
  EXPECT_EQ(defs[2].ml_name, nullptr);
  const PyTypedMethodMetadata *metadata = reinterpret_cast<const PyTypedMethodMetadata *>(
      defs[0].ml_name - offsetof(PyPyTypedMethodMetadata, ml_name) -
      offsetof(PyTypedMethodMetadata, pypy));
  EXPECT_EQ(metadata->pypy.underlying_func, reinterpret_cast<void *>(&inc));
  // The metadata is before the name even without the bits.
  PyMethodDef announced = defs[1];
  announced.ml_flags |= METH_TYPED | METH_TYPED_EXT;
  const PyNativeCallableTable *table = PyTypedMethod_Table(&announced);
  ASSERT_NE(table, nullptr);
  EXPECT_STREQ(table->entries[0].signature, "dd->d");
  char signature[PyTypedMethod_PYPY_LENGTH];
  PyNativeCallableEntry entry;
  ASSERT_EQ(PyTypedMethod_ReadPyPy(&announced, &entry, signature), 1);
  EXPECT_STREQ(signature, "dd->d");
  EXPECT_EQ(entry.funcptr, reinterpret_cast<void *>(&sum));
}

}  // namespace
