// Tests the refusal of unsupported loops.
#include <gtest/gtest.h>

#include <string>

#include "tests/loop/arrays.h"

namespace loop_test {
namespace {

double Twice(double x) { return 2 * x; }

std::string Refused(const char *signature, std::uintptr_t flags,
                    typedcall::loop_options options = {}) {
  const auto made =
      loop::make(signature, flags, reinterpret_cast<void *>(&Twice), {}, std::move(options));
  return made ? "made" : TakeError();
}

TEST(RefusalsTest, WhatIsNoSignature) {
  EXPECT_EQ(Refused("dx->d", 0), "ValueError: signature 'dx->d' at position 1: unknown type code");
  EXPECT_EQ(Refused("", 0), "ValueError: signature '' at position 0: expected '->'");
  EXPECT_EQ(Refused(nullptr, 0), "ValueError: signature '' at position 0: expected '->'");
  EXPECT_EQ(Refused("d->", 0), "ValueError: signature 'd->' at position 3: unexpected end");
}

TEST(RefusalsTest, NoFunction) {
  EXPECT_FALSE(loop::make("d->d", 0, nullptr));
  EXPECT_EQ(TakeError(), "ValueError: typedcall: no loop over 'd->d': no function");
}

TEST(RefusalsTest, FlagsThatAreNotUnderstood) {
  const std::string message =
      "ValueError: typedcall: no loop over 'd->d': flags that are not understood, or do not go "
      "with "
      "the result";
  for (const std::uintptr_t flags : {std::uintptr_t{0x0200}, std::uintptr_t{0x8000},
                                     std::uintptr_t{0x01000000}, std::uintptr_t{1} << 32,
                                     // An exception needs a thread state.
                                     PyNativeCallable_MAY_RAISE, PyNativeCallable_RETURNS_STATUS}) {
    EXPECT_EQ(Refused("d->d", flags), message) << flags;
  }
  // A function that may raise must have an error value, and a status must be an int.
  for (const char *signature : {"d->?", "d->Zd", "d->v"}) {
    EXPECT_EQ(Refused(signature, PyNativeCallable_MAY_RAISE | PyNativeCallable_NEEDS_THREAD)
                  .substr(0, 10),
              "ValueError")
        << signature;
  }
  EXPECT_EQ(Refused("d&d->d", PyNativeCallable_RETURNS_STATUS | PyNativeCallable_NEEDS_THREAD),
            "ValueError: typedcall: no loop over 'd&d->d': flags that are not understood, or do "
            "not go with the result");
}

TEST(RefusalsTest, WhatALoopCannotGive) {
  for (const char *signature : {"d->O", "O->d", "dO->l"}) {
    EXPECT_EQ(Refused(signature, PyNativeCallable_ACQUIRES_GIL),
              std::string("TypeError: typedcall: no loop over '") + signature +
                  "': the function takes the GIL itself, and objects are not kept without it");
  }
  EXPECT_EQ(Refused("d->d", PyNativeCallable_SETS_ERRNO),
            "TypeError: typedcall: no loop over 'd->d': the function sets errno, which a loop "
            "cannot keep for each element");
}

TEST(RefusalsTest, Buffers) {
  for (const char *signature : {"*kd->d", "d*B->d", "*s->l"}) {
    EXPECT_EQ(Refused(signature, 0),
              std::string("TypeError: typedcall: no loop over '") + signature +
                  "': a buffer ('*') is an array of its own for each call, and a loop passes one "
                  "element of an array");
  }
}

TEST(RefusalsTest, ToFallBackWithoutACallable) {
  EXPECT_EQ(Refused("d&d->i", PyNativeCallable_FALLS_BACK),
            "TypeError: typedcall: no loop over 'd&d->i': the function may fall back, and a loop "
            "does not know to which callable");
}

TEST(RefusalsTest, Self) {
  EXPECT_EQ(Refused("d->d", PyNativeCallable_TAKES_SELF),
            "TypeError: typedcall: no loop over 'd->d': the function takes self, and none was "
            "given");
  typedcall::loop_options options;
  options.self = typedcall::object_ref::borrow(Py_None);
  EXPECT_EQ(Refused("d->d", 0, options),
            "TypeError: typedcall: no loop over 'd->d': a self was given that the function does "
            "not take");
}

TEST(RefusalsTest, AKernelThatThereIsNot) {
  EXPECT_EQ(Refused("g->g", 0, By(loop_kernel::compiled)),
            "TypeError: typedcall: no loop over 'g->g': there is no compiled kernel for it");
  const std::string many = std::string(127, 'd') + "->d";
  EXPECT_EQ(Refused(many.c_str(), 0), "made");
  EXPECT_EQ(Refused((many.substr(1, 0) + "d" + many).c_str(), 0).substr(0, 10), "ValueError");
}

TEST(RefusalsTest, HintsAndDifferencesAreNoObstacle) {
  EXPECT_EQ(Refused("d->d", PyNativeCallable_DIFFERS | PyNativeCallable_PURE |
                                PyNativeCallable_SHORT | 0x080000),
            "made");
}

// Loops must accept every entry that the resolver returns for loop_capabilities.
TEST(RefusalsTest, WhatTheResolverYieldsIsTaken) {
  int made = 0;
  for (std::uintptr_t flags = 0; flags < 0x200; ++flags) {
    const bool is_error_value = (flags & PyNativeCallable_ERROR_IS_NEG_ZERO) != 0;
    const PyNativeCallableEntry entry = {is_error_value ? "d->d" : "d&d->i", flags,
                                         reinterpret_cast<void *>(&Twice)};
    if (!typedcall::internal::can_call(entry, typedcall::loop_capabilities)) continue;
    typedcall::loop_options options;  // a resolution would supply the callable
    if ((flags & PyNativeCallable_FALLS_BACK) != 0) {
      options.callable = typedcall::object_ref::borrow(Py_None);
    }
    EXPECT_EQ(Refused(entry.signature, flags, options), "made") << flags;
    ++made;
  }
  EXPECT_GE(made, 8);
}

}  // namespace
}  // namespace loop_test
