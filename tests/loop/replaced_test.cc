// Tests that arguments stay alive if the function removes them from the array.
#include <gtest/gtest.h>

#include <vector>

#include "tests/loop/arrays.h"

namespace loop_test {
namespace {

constexpr std::uintptr_t kObjects = PyNativeCallable_MAY_RAISE | PyNativeCallable_NEEDS_THREAD;

PyObject *Same(PyObject *object) {
  Py_INCREF(object);
  return object;
}

// The array of the running loop, and whether `__del__` has run.
std::vector<PyObject *> elements;
bool is_gone = false;
PyObject *Go(PyObject *, PyObject *) {
  is_gone = true;
  // The object has already been removed from the array.
  for (PyObject *element : elements) EXPECT_EQ(element, nullptr);
  Py_RETURN_NONE;
}

/// Fills `elements` with the only references to a new object.
void FillWithDying(std::size_t count) {
  static PyMethodDef go = {"go", Go, METH_O, nullptr};
  const Ref callback = Ref::Steal(PyCFunction_New(&go, nullptr));
  typedcall_test::Scope scope;
  scope.Set("go", callback.get());
  ASSERT_TRUE(scope.Run("class Dying:\n  number = 7\n  def __del__(self): go(None)\n"));
  Ref made = scope.Eval("Dying()");
  is_gone = false;
  elements.assign(count, nullptr);
  for (PyObject *&element : elements) element = Same(made.get());
}

/// Removes every reference from the array. The arguments of the function must stay alive.
long TakeAll(PyObject *object) {
  std::vector<PyObject *> taken(elements.size(), nullptr);
  taken.swap(elements);
  for (PyObject *each : taken) Py_XDECREF(each);
  EXPECT_FALSE(is_gone);
  const Ref number = Ref::Steal(PyObject_GetAttrString(object, "number"));
  return number ? PyLong_AsLong(number.get()) : -1;
}
long TakeFirst(PyObject *object, PyObject *second) {
  const long number = TakeAll(object);
  EXPECT_EQ(second, object);
  return number + PyObject_HasAttrString(second, "number");
}
PyObject *TakeAndGive(PyObject *object) {
  TakeAll(object);
  return Same(object);
}
long TakeAndFail(PyObject *object) {
  TakeAll(object);
  PyErr_SetString(PyExc_LookupError, "taken");
  return -1;
}
PyObject *TakeAndGiveNothing(PyObject *object) {
  TakeAll(object);
  return nullptr;
}
int TakeByStatus(PyObject *object, long *result) {
  *result = TakeAll(object);
  return 0;
}
int TakeAndFailByStatus(PyObject *object, long *) { return static_cast<int>(TakeAndFail(object)); }
double TakeAmongNumbers(double a, PyObject *object, long b) {
  return a + static_cast<double>(TakeAll(object) + b);
}

/// Runs the loop over one element. `objects` is the number of inputs; all point to `elements`.
int RunOnElements(const loop &made, std::size_t objects, void *output) {
  std::vector<char *> args;
  for (std::size_t i = 0; i < objects; ++i) {
    args.push_back(reinterpret_cast<char *>(&elements[i]));
  }
  args.push_back(static_cast<char *>(output));
  const std::vector<std::intptr_t> steps(args.size(), 0);
  const std::intptr_t one = 1;
  return made.run(args.data(), &one, steps.data());
}

TEST(ReplacedTest, ObjectsLastAsLongAsTheCall) {
  long result = 0;
  for (const std::uintptr_t flags : {std::uintptr_t{0}, PyNativeCallable_NEEDS_THREAD, kObjects}) {
    FillWithDying(1);
    EXPECT_EQ(RunOnElements(Make(&TakeAll, flags), 1, &result), 0);
    EXPECT_EQ(result, 7);
    EXPECT_TRUE(is_gone);
    FillWithDying(2);
    EXPECT_EQ(RunOnElements(Make(&TakeFirst, flags), 2, &result), 0);
    EXPECT_EQ(result, 8);
    EXPECT_TRUE(is_gone);
  }
  FillWithDying(1);
  EXPECT_EQ(RunOnElements(Make(&TakeByStatus,
                               PyNativeCallable_RETURNS_STATUS | PyNativeCallable_NEEDS_THREAD),
                          1, &result),
            0);
  EXPECT_EQ(result, 7);
  EXPECT_TRUE(is_gone);
}

TEST(ReplacedTest, ObjectsAmongNumbers) {
  FillWithDying(1);
  double a = 1, result = 0;
  long b = 2;
  char *const args[] = {reinterpret_cast<char *>(&a), reinterpret_cast<char *>(&elements[0]),
                        reinterpret_cast<char *>(&b), reinterpret_cast<char *>(&result)};
  const std::intptr_t one = 1, steps[] = {0, 0, 0, 0};
  loop made = Make(&TakeAmongNumbers, PyNativeCallable_NEEDS_THREAD);
  loop::ufunc_loop(const_cast<char **>(args), &one, steps, &made);
  EXPECT_EQ(result, 10);
  EXPECT_TRUE(is_gone);
}

TEST(ReplacedTest, ResultsAndErrors) {
  PyObject *object = nullptr;
  FillWithDying(1);
  EXPECT_EQ(RunOnElements(Make(&TakeAndGive, kObjects), 1, &object), 0);
  EXPECT_FALSE(is_gone);
  EXPECT_EQ(Py_REFCNT(object), 1);
  Py_CLEAR(object);
  EXPECT_TRUE(is_gone);
  long number = 0;
  FillWithDying(1);
  EXPECT_EQ(RunOnElements(Make(&TakeAndFail, kObjects), 1, &number), -1);
  EXPECT_EQ(TakeError(), "LookupError: taken");
  EXPECT_TRUE(is_gone);
  FillWithDying(1);
  EXPECT_EQ(RunOnElements(Make(&TakeAndGiveNothing, kObjects), 1, &object), -1);
  EXPECT_NE(TakeError(), "");
  EXPECT_TRUE(is_gone);
  FillWithDying(1);
  EXPECT_EQ(RunOnElements(Make(&TakeAndFailByStatus,
                               PyNativeCallable_RETURNS_STATUS | PyNativeCallable_NEEDS_THREAD),
                          1, &number),
            -1);
  EXPECT_EQ(TakeError(), "LookupError: taken");
  EXPECT_TRUE(is_gone);
}

}  // namespace
}  // namespace loop_test
