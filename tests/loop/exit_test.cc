// Tests a thread that is running a loop when the interpreter ends. Objects must not be destroyed
// without the GIL.
#include <gtest/gtest.h>

#include <vector>

#include "tests/loop/arrays.h"
#include "tests/support/interpreter_end.h"

namespace loop_test {
namespace {

void RunLoop() {
  const loop made = *loop::make("d->d", PyNativeCallable_THREAD_SAFE,
                                reinterpret_cast<void *>(&typedcall_test::WaitInside),
                                typedcall::object_ref::borrow(Py_None));
  std::vector<double> in(loop::detach_threshold), out(in);
  char *const args[] = {reinterpret_cast<char *>(in.data()), reinterpret_cast<char *>(out.data())};
  const std::intptr_t count = loop::detach_threshold, steps[] = {8, 8};
  made.run(args, &count, steps);
}

TEST(ExitTest, LoopsOfOtherThreadsStop) {
  EXPECT_EXIT(typedcall_test::EndPythonDuring(RunLoop), testing::ExitedWithCode(0), "");
}

// --- Loops that run Python code, with the GIL ----------------------------------------------------

PyObject *wait_function = nullptr;
double RunPython(double x) {
  PyObject *const none = PyObject_CallObject(wait_function, nullptr);
  return none != nullptr ? x : -1;
}
// No compiled kernel supports this signature.
long RunPythonWithMany(PyObject *object, long a, float, short, double) {
  return RunPython(1) > 0 ? a + (object == Py_True) : -1;
}
constexpr std::uintptr_t kRaises = PyNativeCallable_MAY_RAISE | PyNativeCallable_NEEDS_THREAD;

void RunCompiled() noexcept {
  const loop made = Make(&RunPython, kRaises);
  EXPECT_EQ(made.kernel(), loop_kernel::compiled);
  Array<double> in = {1, 2}, out(2);
  RunLoop(made, 2, nullptr, in, out);
}
void RunByInvoker() noexcept {
  const loop made = Make(&RunPythonWithMany, kRaises);
  Array<PyObject *> objects = {Py_True};
  Array<long> a(1), out(1);
  Array<float> b(1);
  Array<short> c(1);
  Array<double> d(1);
  RunLoop(made, 1, nullptr, objects, a, b, c, d, out);
}
void RunAsUfunc() noexcept {
  loop made = Make(&RunPython, kRaises);
  double in = 1, out = 2;
  char *args[] = {reinterpret_cast<char *>(&in), reinterpret_cast<char *>(&out)};
  const std::intptr_t one = 1, steps[] = {8, 8};
  loop::ufunc_loop(args, &one, steps, &made);
}

TEST(ExitTest, LoopsThatRunPythonStop) {
  wait_function = typedcall_test::WaitFunction();
  for (void (*const run)() noexcept : {RunCompiled, RunByInvoker, RunAsUfunc}) {
    EXPECT_EXIT(typedcall_test::EndPythonDuring(run), testing::ExitedWithCode(0), "");
  }
}

}  // namespace
}  // namespace loop_test
