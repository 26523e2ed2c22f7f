// Tests a call site that looks up a function while another thread tags the function.
#include "typedcall/call_site.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "gtest/gtest.h"
#include "tests/support/embedded.h"
#include "typedcall/tag.h"

namespace typedcall_test {
namespace {

double Half(double x) noexcept { return x / 2; }

TEST(CallSites, NeverRememberThatNothingWasThere) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  ASSERT_NE(interface, nullptr) << TakeError();
  PyNativeCallableTable table = {1, {{"d->d", 0, reinterpret_cast<void *>(Half)}}};
  Scope scope;
  // Each round waits twice for the other thread, which takes long on a busy machine.
  constexpr int kFewest = 100, kMost = 20000;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  std::atomic<PyObject *> shown{nullptr};
  std::atomic<int> tagged{0};
  std::atomic<bool> is_over{false};
  long missed = 0;
  std::thread reader([&] {
    const PyGILState_STATE state = PyGILState_Ensure();
    typedcall::call_site<double(double)> site(interface);
    for (int round = 1;; ++round) {
      PyObject *function = nullptr;
      Py_BEGIN_ALLOW_THREADS;
      while ((function = shown.exchange(nullptr)) == nullptr && !is_over) {
        std::this_thread::yield();
      }
      Py_END_ALLOW_THREADS;
      if (function == nullptr) break;
      while (tagged.load(std::memory_order_acquire) < round) {
        static_cast<void>(site.find(function));
        Py_BEGIN_ALLOW_THREADS;
        Py_END_ALLOW_THREADS;
      }
      if (!site.find(function)) ++missed;
      Py_DECREF(function);
    }
    PyGILState_Release(state);
  });
  static PyMethodDef def = {"f", [](PyObject *, PyObject *) -> PyObject * { return nullptr; },
                            METH_O, nullptr};
  for (int round = 1; round <= kMost; ++round) {
    if (round > kFewest && std::chrono::steady_clock::now() > end) break;
    // The reader gets one of the two references to the function.
    PyObject *function = PyCFunction_New(&def, nullptr);
    ASSERT_NE(function, nullptr);
    Py_INCREF(function);
    shown = function;
    EXPECT_EQ(PyNativeCallable_TagObject(interface, function, &table, nullptr), 1) << TakeError();
    tagged.store(round, std::memory_order_release);
    Py_BEGIN_ALLOW_THREADS;
    while (shown.load() != nullptr) std::this_thread::yield();
    Py_END_ALLOW_THREADS;
    Py_DECREF(function);
  }
  is_over = true;
  Py_BEGIN_ALLOW_THREADS;
  reader.join();
  Py_END_ALLOW_THREADS;
  EXPECT_EQ(missed, 0);
}

}  // namespace
}  // namespace typedcall_test
