// A thread that runs a loop when the interpreter ends: what stands on its stack is not destroyed
// without the GIL.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/loop/arrays.h"

namespace loop_test {
namespace {

std::atomic<bool> is_inside{false}, may_return{false}, is_destroyed{false};

double WaitInside(double x) {
  is_inside = true;
  while (!may_return) usleep(1000);
  return x;
}

struct Destroyed {
  ~Destroyed() { is_destroyed = true; }
};

void RunLoop() {
  const PyGILState_STATE state = PyGILState_Ensure();
  {
    const Destroyed destroyed;
    const loop made =
        *loop::make("d->d", PyNativeCallable_THREAD_SAFE, reinterpret_cast<void *>(&WaitInside),
                    typedcall::object_ref::borrow(Py_None));
    std::vector<double> in(loop::detach_from), out(in);
    char *const args[] = {reinterpret_cast<char *>(in.data()),
                          reinterpret_cast<char *>(out.data())};
    const std::intptr_t count = loop::detach_from, steps[] = {8, 8};
    made.run(args, &count, steps);
  }
  PyGILState_Release(state);
}

/// Called while the interpreter ends. The thread now asks for the GIL, which this one keeps.
void LetReturn(PyObject *) {
  may_return = true;
  usleep(300000);
}

/// Ends the interpreter under a running loop, and the process with a number that says how it was.
[[noreturn]] void EndPython() {
  PyObject *const capsule = PyCapsule_New(&may_return, nullptr, LetReturn);
  PyObject_SetAttrString(PyImport_AddModule("__main__"), "at_the_end", capsule);
  Py_DECREF(capsule);
  std::thread(RunLoop).detach();
  Py_BEGIN_ALLOW_THREADS;
  while (!is_inside) usleep(1000);
  Py_END_ALLOW_THREADS;
  Py_FinalizeEx();
  _exit(!may_return ? 2 : is_destroyed ? 1 : 0);
}

TEST(ExitTest, LoopsOfOtherThreadsStop) {
  EXPECT_EXIT(EndPython(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace loop_test
