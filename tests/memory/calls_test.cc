// Tests calls when memory runs out. consumers_test.cc tests look-ups.

#include "tests/support/embedded.h"
// embedded.h comes first because it includes Python.h.
#include <new>

#include "gtest/gtest.h"
#include "tests/support/memory.h"
#include "typedcall/boxed_call.h"
#include "typedcall/invoker.h"
#include "typedcall/loop.h"

namespace typedcall_test {
namespace {

double twice(double x) noexcept { return 2 * x; }

class Calls : public testing::Test {
 protected:
  Scope scope_;
};

TEST_F(Calls, Invokers) {
  // Plans are cached, so each turn uses a different signature.
  for (const char *signature : {"dd->d", "Zddl->Zd", "bhilqfdg->g"}) {
    Sweep({signature, [&] {
             try {
               return typedcall::invoker::make(signature, 0, reinterpret_cast<void *>(twice))
                   .has_value();
             } catch (const std::bad_alloc &) {
               PyErr_NoMemory();
               return false;
             }
           }});
    Sweep({signature, [&] {
             try {
               return typedcall::ffi_signature::make(signature, false).has_value();
             } catch (const std::bad_alloc &) {
               PyErr_NoMemory();
               return false;
             }
           }});
  }
}

TEST_F(Calls, Loops) {
  for (const char *signature : {"d->d", "ddddddd->d", "O->O", "iZd->Zd"}) {
    Sweep(
        {signature, [&] {
           return typedcall::loop::make(signature, 0, reinterpret_cast<void *>(twice)).has_value();
         }});
  }
}

TEST_F(Calls, BoxedCalls) {
  Ref callable = scope_.Eval("lambda x, y, z: x + y");
  Sweep({"boxed_call", [&] {
           double result = 0;
           return typedcall::boxed_call(callable.get(), &result, 1.5, 1e10, "text") &&
                  result == 1e10 + 1.5;
         }});
}

TEST_F(Calls, BoxedCallsOfBuffers) {
  Ref callable = scope_.Eval("lambda x, y, z, b: len(x) + len(y) + len(z) + len(b)");
  double numbers[] = {1, 2, 3};
  Sweep({"boxed_call of buffers", [&] {
           long result = 0;
           const typedcall::span<double> all = numbers;
           const unsigned char bytes[] = {1};
           return typedcall::boxed_call(callable.get(), &result, all,
                                        typedcall::span<const double>(all),
                                        typedcall::span<const char>("text", 4),
                                        typedcall::span<const unsigned char>(bytes)) &&
                  result == 11;
         }});
  EXPECT_EQ(numbers[2], 3.0);
}

}  // namespace
}  // namespace typedcall_test
