// Tests that PyTypedMethod_AddTags refuses a def whose type codes for PyPy agree with none of its
// entries.

#include "typedcall/tag.h"

#include <string>

#include "gtest/gtest.h"
#include "tests/support/embedded.h"

namespace typedcall_test {
namespace {

double Half(double x) { return x / 2; }
double Other(double x) { return x * 2; }
const auto half = reinterpret_cast<void *>(Half), other = reinterpret_cast<void *>(Other);

constexpr uintptr_t kThread = PyNativeCallable_NEEDS_THREAD;
constexpr uintptr_t kRaise = kThread | PyNativeCallable_MAY_RAISE;

// Calls AddTags on a def with these codes and entries. Returns the text of the exception, or "".
std::string Check(const int *codes, int ret_type, void *function, PyNativeCallableEntry first,
                  PyNativeCallableEntry second = {"l->l", 0, other}) {
  struct {
    Py_ssize_t count;
    PyNativeCallableEntry entries[2];
  } table = {2, {first, second}};
  const auto overloads = reinterpret_cast<const PyNativeCallableTable *>(&table);
  const PyTypedMethodMetadata metadata = {nullptr,
                                          overloads,
                                          PyTypedMethod_SIZE,
                                          1,
                                          0,
                                          PyTypedMethod_MAGIC,
                                          {const_cast<int *>(codes), ret_type, function, "half"}};
  PyMethodDef defs[] = {{metadata.pypy.ml_name, Boxed, METH_O | 0x3000, nullptr},
                        {nullptr, nullptr, 0, nullptr}};
  const PyTypedMethodMetadata *const typed[] = {&metadata, nullptr};
  Ref owner = Ref::Steal(PyModule_New("owner"));
  const int result = PyTypedMethod_AddTags(owner.get(), defs, typed);
  const std::string error = TakeError();
  EXPECT_EQ(result, error.empty() ? 0 : -1);
  return error;
}

const char kContradiction[] = "ValueError: half: PyPy's type codes contradict the entries";
const int kDouble[] = {T_C_DOUBLE, -1}, kTwo[] = {T_C_DOUBLE, T_C_DOUBLE, -1};
const int kNotForPyPy[] = {PyTypedMethod_NOT_FOR_PYPY, -1}, kUnknown[] = {4, -1};

TEST(PyPyCodes, ThatAgree) {
  EXPECT_EQ(Check(kDouble, T_C_DOUBLE, half, {"d->d", 0, half}), "");
  EXPECT_EQ(Check(kDouble, T_C_DOUBLE, half, {"l->l", 0, other}, {"d->d", 0, half}), "");
  // These flags make no difference for PyPy.
  EXPECT_EQ(Check(kDouble, T_C_DOUBLE, half, {"d->d", PyNativeCallable_PURE, half}), "");
  EXPECT_EQ(Check(kDouble, T_C_DOUBLE, half, {"d->d", kThread, half}), "");
}

TEST(PyPyCodes, ThatSayNothing) {
  EXPECT_EQ(Check(nullptr, 0, nullptr, {"d->d", 0, half}), "");
  EXPECT_EQ(Check(kNotForPyPy, 0x100, nullptr, {"d->d", 0, half}), "");
}

TEST(PyPyCodes, OfAnotherSignature) {
  EXPECT_EQ(Check(kTwo, T_C_DOUBLE, half, {"d->d", 0, half}), kContradiction);
  EXPECT_EQ(Check(kDouble, T_C_LONG, half, {"d->d", 0, half}), kContradiction);
  EXPECT_EQ(Check(kUnknown, T_C_DOUBLE, half, {"d->d", 0, half}), kContradiction);
  EXPECT_EQ(Check(kDouble, 0, half, {"d->d", 0, half}), kContradiction);
}

TEST(PyPyCodes, OfAnotherFunction) {
  EXPECT_EQ(Check(kDouble, T_C_DOUBLE, other, {"d->d", 0, half}), kContradiction);
  EXPECT_EQ(Check(kDouble, T_C_DOUBLE, nullptr, {"d->d", 0, half}), kContradiction);
}

TEST(PyPyCodes, OfAnotherErrorProtocol) {
  constexpr uintptr_t zero = PyNativeCallable_ERROR_IS_NEG_ZERO;
  EXPECT_EQ(Check(kDouble, -T_C_DOUBLE, half, {"d->d", kRaise | zero, half}), "");
  EXPECT_EQ(Check(kDouble, -T_C_DOUBLE, half, {"d->d", kRaise, half}), kContradiction);
  EXPECT_EQ(Check(kDouble, -T_C_DOUBLE, half, {"d->d", kThread, half}), kContradiction);
  EXPECT_EQ(Check(kDouble, T_C_DOUBLE, half, {"d->d", kRaise | zero, half}), kContradiction);
  // A status is an int, for which PyPy has no code.
  EXPECT_EQ(
      Check(kDouble, T_C_DOUBLE, half, {"d->d", kThread | PyNativeCallable_RETURNS_STATUS, half}),
      "ValueError: half: entry 0, 'd->d', returns a status, but its result is not an int");
  EXPECT_EQ(
      Check(kDouble, T_C_LONG, half, {"d->i", kThread | PyNativeCallable_RETURNS_STATUS, half}),
      kContradiction);
  EXPECT_EQ(Check(kDouble, -T_C_LONG, half, {"d->l", kRaise, half}), "");
}

TEST(PyPyCodes, OfAFunctionThatTakesSelf) {
  EXPECT_EQ(Check(kDouble, T_C_DOUBLE, half, {"d->d", PyNativeCallable_TAKES_SELF, half}),
            kContradiction);
}

TEST(PyPyCodes, FaultyEntriesAreNamedFirst) {
  EXPECT_EQ(Check(kTwo, T_C_DOUBLE, half, {"d>d", 0, half})
                .rfind("ValueError: half: entry 0: signature 'd>d' at position 1", 0),
            0u);
}

}  // namespace
}  // namespace typedcall_test
