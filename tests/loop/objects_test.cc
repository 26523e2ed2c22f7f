// Tests loops over objects. The arrays own inputs and results.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/loop/arrays.h"

namespace loop_test {
namespace {

constexpr std::uintptr_t kObjects = PyNativeCallable_MAY_RAISE | PyNativeCallable_NEEDS_THREAD;

/// Returns an object without other references.
Ref NewObject() { return Ref::Steal(PyList_New(0)); }

PyObject *Same(PyObject *object) {
  Py_INCREF(object);
  return object;
}

/// Returns `object`, or NULL with an exception set if `which` is None.
PyObject *Choose(PyObject *which, PyObject *object) {
  if (which == Py_None) {
    PyErr_SetString(PyExc_LookupError, "no choice");
    return nullptr;
  }
  return Same(object);
}

PyObject *Nothing(PyObject *) { return nullptr; }
PyObject **taken_from = nullptr;
/// Removes its argument from the array and returns the argument's reference count.
long TakeOut(PyObject *object) {
  Py_CLEAR(*taken_from);
  ++taken_from;
  return static_cast<long>(Py_REFCNT(object));
}
double CountOf(PyObject *object) { return object == Py_None ? -5 : double(Py_SIZE(object)); }
int Wrap(PyObject *object, PyObject **result) {
  if (object == Py_None) {
    PyErr_SetString(PyExc_LookupError, "none");
    return -1;
  }
  *result = Same(object);
  return 0;
}

TEST(ObjectsTest, ResultsReplaceWhatWasThere) {
  const Ref a = NewObject(), b = NewObject(), old = NewObject();
  const Py_ssize_t counts[] = {Py_REFCNT(a.get()), Py_REFCNT(b.get()), Py_REFCNT(old.get())};
  for (const std::intptr_t stride : {8, -8, 11, 64}) {
    Array<PyObject *> input = {a.get(), b.get(), a.get()};
    Array<PyObject *> result(3, stride, 1);
    result.set(0, Same(old.get()));
    result.set(1, nullptr);
    result.set(2, Same(old.get()));
    RunAll(Make(&Same, kObjects), 3, input, result);
    EXPECT_EQ(result.list(3), (std::vector<PyObject *>{a.get(), b.get(), a.get()}));
    EXPECT_TRUE(result.GapsAreUntouched(3));
    EXPECT_EQ(Py_REFCNT(old.get()), counts[2]);
    EXPECT_EQ(Py_REFCNT(a.get()), counts[0] + 2);
    EXPECT_EQ(Py_REFCNT(b.get()), counts[1] + 1);
    // The second run replaces each result with the same object.
    RunAll(Make(&Same, kObjects), 3, input, result);
    EXPECT_EQ(Py_REFCNT(a.get()), counts[0] + 2);
    for (PyObject *object : result.list(3)) Py_DECREF(object);
  }
  EXPECT_EQ(Py_REFCNT(a.get()), counts[0]);
  EXPECT_EQ(Py_REFCNT(b.get()), counts[1]);
}

TEST(ObjectsTest, InPlaceAndStandingStill) {
  const Ref a = NewObject(), b = NewObject();
  const Py_ssize_t count_a = Py_REFCNT(a.get()), count_b = Py_REFCNT(b.get());
  Array<PyObject *> objects = {Same(a.get()), Same(b.get())};
  RunAll(Make(&Same, kObjects), 2, objects, objects);
  EXPECT_EQ(Py_REFCNT(a.get()), count_a + 1);
  EXPECT_EQ(Py_REFCNT(b.get()), count_b + 1);
  Array<PyObject *> last(1, 0);
  last.set(0, nullptr);
  RunAll(Make(&Same, kObjects), 2, objects, last);
  EXPECT_EQ(last.get(0), b.get());
  EXPECT_EQ(Py_REFCNT(a.get()), count_a + 1);
  EXPECT_EQ(Py_REFCNT(b.get()), count_b + 2);
  for (PyObject *object : {objects.get(0), objects.get(1), last.get(0)}) Py_DECREF(object);
}

TEST(ObjectsTest, NullIsNone) {
  const Ref list = Ref::Steal(PyList_New(3));
  Array<PyObject *> input = {nullptr, Py_None, list.get(), nullptr};
  Array<double> counts(4);
  RunAll(Make(&CountOf, PyNativeCallable_NEEDS_THREAD), 4, input, counts);
  EXPECT_EQ(counts.list(4), (std::vector<double>{-5, -5, 3, -5}));
}

TEST(ObjectsTest, AnErrorLeavesTheOldObjects) {
  const Ref old = NewObject(), a = NewObject();
  const Py_ssize_t count_old = Py_REFCNT(old.get()), count_a = Py_REFCNT(a.get());
  Array<PyObject *> which = {a.get(), nullptr, a.get()};
  Array<PyObject *> input = {a.get(), a.get(), a.get()};
  Array<PyObject *> result = {Same(old.get()), Same(old.get()), Same(old.get())};
  std::intptr_t done = -7;
  EXPECT_EQ(RunLoop(Make(&Choose, kObjects), 3, &done, which, input, result), -1);
  EXPECT_EQ(TakeError(), "LookupError: no choice");
  EXPECT_EQ(done, 1);
  EXPECT_EQ(result.list(3), (std::vector<PyObject *>{a.get(), old.get(), old.get()}));
  EXPECT_EQ(Py_REFCNT(old.get()), count_old + 2);
  EXPECT_EQ(Py_REFCNT(a.get()), count_a + 1);
  for (PyObject *object : result.list(3)) Py_DECREF(object);
}

// Like a wrapper in CPython, a function that returns NULL without an exception causes SystemError.
TEST(ObjectsTest, NullIsNoResult) {
  const Ref old = NewObject();
  Array<PyObject *> input = {old.get()}, result = {old.get()};
  for (const std::uintptr_t flags : {kObjects, PyNativeCallable_NEEDS_THREAD}) {
    EXPECT_EQ(RunLoop(Make(&Nothing, flags), 1, nullptr, input, result), -1);
    EXPECT_EQ(TakeError(),
              "SystemError: typedcall: a native function failed without setting an exception");
    EXPECT_EQ(result.get(0), old.get());
  }
}

TEST(ObjectsTest, ThroughAStatus) {
  const Ref a = NewObject(), old = NewObject();
  const Py_ssize_t count_a = Py_REFCNT(a.get()), count_old = Py_REFCNT(old.get());
  const loop made = Make(&Wrap, PyNativeCallable_RETURNS_STATUS | PyNativeCallable_NEEDS_THREAD);
  Array<PyObject *> input = {a.get(), a.get(), nullptr};
  Array<PyObject *> result = {Same(old.get()), nullptr, nullptr};
  std::intptr_t done = -7;
  EXPECT_EQ(RunLoop(made, 3, &done, input, result), -1);
  EXPECT_EQ(TakeError(), "LookupError: none");
  EXPECT_EQ(done, 2);
  EXPECT_EQ(Py_REFCNT(old.get()), count_old);
  EXPECT_EQ(Py_REFCNT(a.get()), count_a + 2);
  EXPECT_EQ(result.get(2), nullptr);
  Py_DECREF(result.get(0));
  Py_DECREF(result.get(1));
}

// The new object is in the array before the old one is destroyed.
PyObject **watched = nullptr;
PyObject *seen_by_destructor = nullptr;
PyObject *Look(PyObject *, PyObject *) {
  seen_by_destructor = *watched;
  Py_RETURN_NONE;
}

TEST(ObjectsTest, DestructorsSeeTheArrayAsItWillBe) {
  static PyMethodDef look = {"look", Look, METH_O, nullptr};
  const Ref a = NewObject(), callback = Ref::Steal(PyCFunction_New(&look, nullptr));
  Ref dying = NewObject();
  {
    typedcall_test::Scope scope;
    scope.Set("look", callback.get());
    ASSERT_TRUE(scope.Run("class Dying:\n  def __del__(self): look(None)\n"));
    dying = scope.Eval("Dying()");
  }
  PyObject *input = a.get(), *result = dying.release();
  watched = &result;
  char *const args[] = {reinterpret_cast<char *>(&input), reinterpret_cast<char *>(&result)};
  const std::intptr_t one = 1, steps[] = {0, 0};
  EXPECT_EQ(Make(&Same, kObjects).run(args, &one, steps), 0);
  EXPECT_EQ(seen_by_destructor, a.get());
  Py_DECREF(result);
}

TEST(ObjectsTest, InputsLastAsLongAsTheCall) {
  PyObject *in[] = {NewObject().release(), NewObject().release()};
  long out[2] = {};
  taken_from = in;
  char *const args[] = {reinterpret_cast<char *>(in), reinterpret_cast<char *>(out)};
  const std::intptr_t count = 2, steps[] = {sizeof(*in), sizeof(*out)};
  EXPECT_EQ(Make(&TakeOut, kObjects).run(args, &count, steps), 0) << TakeError();
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(out[1], 1);
}

// The reference counts must match the contents of the arrays after random loops.
TEST(ObjectsTest, ReferencesAreExact) {
  std::mt19937 engine(20261121);
  constexpr std::intptr_t kObjectsInPlay = 5, kCount = 12;
  std::vector<Ref> objects;
  std::vector<Py_ssize_t> before;
  for (int i = 0; i < kObjectsInPlay; ++i) objects.push_back(NewObject());
  for (const Ref &object : objects) before.push_back(Py_REFCNT(object.get()));
  const auto any = [&] { return engine() % 4 == 0 ? nullptr : objects[engine() % 5].get(); };
  const loop made = Make(&Choose, kObjects);
  PyObject *pool[40] = {};
  const Py_ssize_t none = Py_REFCNT(Py_None);
  std::intptr_t failures = 0;
  for (int round = 0; round < 500; ++round) {
    PyObject *which[kCount];
    for (PyObject *&object : which) object = round % 3 == 0 ? any() : objects[0].get();
    // Inputs and outputs may overlap.
    const std::intptr_t in_step = static_cast<std::intptr_t>(engine() % 5) - 2;
    const std::intptr_t out_step = static_cast<std::intptr_t>(engine() % 5) - 2;
    PyObject **in = pool + (in_step < 0 ? 11 * -in_step : 0) + engine() % 16;
    PyObject **out = pool + (out_step < 0 ? 11 * -out_step : 0) + engine() % 16;
    PyObject *fresh = any();
    Py_XINCREF(fresh);
    Py_XDECREF(pool[round % 40]);
    pool[round % 40] = fresh;
    char *const args[] = {reinterpret_cast<char *>(which), reinterpret_cast<char *>(in),
                          reinterpret_cast<char *>(out)};
    const std::intptr_t steps[] = {8, 8 * in_step, 8 * out_step};
    if (made.run(args, &kCount, steps) < 0) {
      EXPECT_EQ(TakeError(), "LookupError: no choice");
      ++failures;
    }
    Py_ssize_t expected[kObjectsInPlay] = {};
    for (PyObject *object : pool) {
      for (std::size_t i = 0; i < kObjectsInPlay; ++i) expected[i] += object == objects[i].get();
    }
    for (std::size_t i = 0; i < kObjectsInPlay; ++i) {
      ASSERT_EQ(Py_REFCNT(objects[i].get()), before[i] + expected[i]) << "round " << round;
    }
  }
  EXPECT_GT(failures, 50);
  Py_ssize_t nones = 0;
  for (PyObject *object : pool) nones += object == Py_None;
  const bool is_none_counted = PY_VERSION_HEX < 0x030c0000;  // None is immortal from 3.12 on
  EXPECT_EQ(Py_REFCNT(Py_None), is_none_counted ? none + nones : none);
  for (PyObject *object : pool) Py_XDECREF(object);
}

// --- Self ----------------------------------------------------------------------------------------

double Scale(PyObject *self, double x) { return PyFloat_AS_DOUBLE(self) * x; }
double ScaleAndCheck(PyObject *self, double x) {
  if (x < 0) {
    PyErr_SetString(PyExc_ValueError, "negative");
    return -1;
  }
  return Scale(self, x);
}

TEST(SelfTest, IsPassedFirst) {
  typedcall::object_ref self = typedcall::object_ref::steal(PyFloat_FromDouble(2.5));
  const Py_ssize_t count = Py_REFCNT(self.get());
  constexpr std::uintptr_t takes_self = PyNativeCallable_TAKES_SELF | PyNativeCallable_NEEDS_THREAD;
  for (const loop_kernel asked : {loop_kernel::compiled, loop_kernel::invoker}) {
    typedcall::loop_options options = By(asked);
    options.self = self;
    const loop made = Make("d->d", takes_self, reinterpret_cast<void *>(&Scale), options);
    EXPECT_EQ(made.kernel(), asked);
    EXPECT_EQ(made.inputs().size(), 1u);
    for (const std::intptr_t stride : {8, 16}) {
      Array<double> x(3, stride), result(3, stride, 1);
      for (int i = 0; i < 3; ++i) x.set(i, i);
      RunAll(made, 3, x, result);
      EXPECT_EQ(result.list(3), (std::vector<double>{0, 2.5, 5}));
    }
    const loop checked = Make("d->d", takes_self | PyNativeCallable_MAY_RAISE,
                              reinterpret_cast<void *>(&ScaleAndCheck), options);
    Array<double> x = {1, -1, 2}, result(3);
    std::intptr_t done = -7;
    EXPECT_EQ(RunLoop(checked, 3, &done, x, result), -1);
    EXPECT_EQ(TakeError(), "ValueError: negative");
    EXPECT_EQ(done, 1);
    EXPECT_EQ(result.get(0), 2.5);
  }
  EXPECT_EQ(Py_REFCNT(self.get()), count);
}

TEST(SelfTest, TheLoopKeepsItAlive) {
  typedcall::loop_options options;
  options.self = typedcall::object_ref::steal(PyFloat_FromDouble(-3.0));
  PyObject *const object = options.self.get();
  const Py_ssize_t count = Py_REFCNT(object);
  const Ref mine = Ref::Borrow(object);
  {
    const auto made =
        loop::make("d->d", PyNativeCallable_TAKES_SELF | PyNativeCallable_NEEDS_THREAD,
                   reinterpret_cast<void *>(&Scale), {}, std::move(options));
    ASSERT_TRUE(made);
    EXPECT_EQ(Py_REFCNT(object), count + 1);
    const loop copy = *made;
    EXPECT_EQ(Py_REFCNT(object), count + 2);
  }
  EXPECT_EQ(Py_REFCNT(object), 1);
}

TEST(SelfTest, TheLoopKeepsTheFunctionAlive) {
  const Ref owner = NewObject();
  const Py_ssize_t count = Py_REFCNT(owner.get());
  typedcall::resolution found;
  found.signature = "O->d";
  found.flags = PyNativeCallable_NEEDS_THREAD;
  found.funcptr = reinterpret_cast<void *>(&CountOf);
  found.keep_alive = typedcall::object_ref::borrow(owner.get());
  {
    const auto made = loop::make(std::move(found));
    ASSERT_TRUE(made);
    EXPECT_EQ(Py_REFCNT(owner.get()), count + 1);
    Array<PyObject *> input = {nullptr};
    Array<double> result(1);
    RunAll(*made, 1, input, result);
    EXPECT_EQ(result.get(0), -5);
  }
  EXPECT_EQ(Py_REFCNT(owner.get()), count);
}

}  // namespace
}  // namespace loop_test
