// Tests loops over elements of every type with every kernel.
#include <gtest/gtest.h>

#include <cfloat>
#include <string>
#include <type_traits>

#include "tests/loop/arrays.h"

namespace loop_test {
namespace {

constexpr std::intptr_t kCount = 9;

template <class T>
T First(T first, T) {
  return first;
}
template <class T>
T Second(T, T second) {
  return second;
}

/// Returns a value of T whose bytes all differ.
template <class T>
T Value(unsigned number) {
  if constexpr (std::is_same_v<T, bool>) {
    return number % 2 != 0;
  } else if constexpr (std::is_integral_v<T>) {
    // The values have both signs and use the upper half of the type.
    return static_cast<T>((0x8796a5b4c3d2e1f0u >> (64 - 8 * sizeof(T))) + number);
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(number) / 3 - 1;
  } else if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<T>(std::uintptr_t{0x8796a5b4c3d2e1f0u} + number);
  } else {
    T value;
    using part = std::remove_reference_t<decltype(__real__ value)>;
    __real__ value = Value<part>(number);
    __imag__ value = Value<part>(number + 50);
    return value;
  }
}

/// Returns true if all significant bytes are equal. An x87 long double has ten.
template <class T>
bool SameBits(T a, T b) {
  if constexpr (std::is_same_v<T, PyNativeType_ComplexLongDouble>) {
    return SameBits<long double>(__real__ a, __real__ b) &&
           SameBits<long double>(__imag__ a, __imag__ b);
  } else {
    const std::size_t size = std::is_same_v<T, long double> && LDBL_MANT_DIG == 64 ? 10 : sizeof(T);
    return std::memcmp(&a, &b, size) == 0;
  }
}

template <class T>
class Types : public testing::Test {};

/// A typed pointer replaces `O`, because objects_test.cc tests objects.
template <class T>
using Tested = std::conditional_t<std::is_same_v<T, PyObject *>, double *, T>;
TYPED_TEST_SUITE(Types, AllTypes<Tested>);

TYPED_TEST(Types, ComesThrough) {
  using T = TypeParam;
  const auto size = static_cast<std::intptr_t>(sizeof(T));
  const std::intptr_t strides[] = {size, size + 1, 3 * size, -size, -size - 3, 64};
  for (T (*function)(T, T) : {&First<T>, &Second<T>}) {
    for (bool by_invoker : {false, true}) {
      const loop made =
          Make(function, 0, by_invoker ? By(loop_kernel::invoker) : typedcall::loop_options());
      for (std::size_t choice = 0; choice < 6 * 6; ++choice) {
        SCOPED_TRACE(std::to_string(choice) + (by_invoker ? " by invoker" : ""));
        Array<T> first(kCount, strides[choice % 6], choice % 3);
        Array<T> second(kCount, strides[choice / 6], choice % 5);
        Array<T> result(kCount, strides[(choice + 2) % 6], choice % 7);
        for (unsigned i = 0; i < kCount; ++i) {
          first.set(i, Value<T>(i));
          second.set(i, Value<T>(i + 100));
          result.set(i, Value<T>(77));
        }
        RunAll(made, kCount, first, second, result);
        for (unsigned i = 0; i < kCount; ++i) {
          const T expected = function(Value<T>(i), Value<T>(i + 100));
          EXPECT_TRUE(SameBits<T>(result.get(i), expected)) << i;
          EXPECT_TRUE(SameBits<T>(first.get(i), Value<T>(i))) << i;
        }
        EXPECT_TRUE(result.GapsAreUntouched(kCount));
      }
    }
  }
}

// An invalid bool counts as true.
bool Not(bool value) { return !value; }
int Number(bool value) {
  unsigned char byte;
  std::memcpy(&byte, &value, 1);
  return byte;
}

TEST(TypesTest, EveryByteIsATruthValue) {
  for (const bool is_number : {false, true}) {
    Array<unsigned char> values = {0, 1, 2, 128, 255};
    Array<unsigned char> negated(5);
    Array<int> numbers(5);
    if (is_number) {
      RunAll(Make(&Number), 5, values, numbers);
      EXPECT_EQ(numbers.list(5), (std::vector<int>{0, 1, 1, 1, 1}));
    } else {
      RunAll(Make(&Not), 5, values, negated);
      EXPECT_EQ(negated.list(5), (std::vector<unsigned char>{1, 0, 0, 0, 0}));
    }
  }
}

// The callee may leave anything in the upper bits of a narrow result.
long Rubbish(long value) { return value; }

TEST(TypesTest, NarrowResultsAreNarrowed) {
  Array<signed char> narrow(3);
  Array<long> wide = {0x1234567812345680, -1, 0x7f};
  const loop made = Make("l->b", 0, reinterpret_cast<void *>(&Rubbish));
  RunAll(made, 3, wide, narrow);
  EXPECT_EQ(narrow.list(3), (std::vector<signed char>{-128, -1, 127}));
}

// --- The choice of a kernel ----------------------------------------------------------------------

loop_kernel KernelOf(const char *signature, std::uintptr_t flags = 0) {
  return Make(signature, flags, reinterpret_cast<void *>(&Rubbish)).kernel();
}

TEST(KernelTest, CommonSignaturesAreCompiled) {
  for (const char *signature :
       {"d->d",  "dd->d",  "ddd->d", "dddd->d", "l->l",   "ll->l",   "lll->l", "llll->l", "f->f",
        "ff->f", "fff->f", "i->i",   "ii->i",   "iii->i", "dldl->d", "di->d",  "dd->?",   "ff->?",
        "ll->?", "i->?",   "->d",    "->l",     "b->b",   "BB->B",   "hh->h",  "H->H",    "fi->f",
        "d->i",  "d->l",   "l->d",   "i->d",    "f->i",   "dld->l"}) {
    EXPECT_EQ(KernelOf(signature), loop_kernel::compiled) << signature;
  }
}

#if TYPEDCALL_REGISTER_IMAGE
TEST(KernelTest, WhatLooksTheSameInRegistersIsCompiled) {
  for (const char *signature : {"LL->L", "qQ->n", "NN->N", "II->I", "P->P", "s->N", "&d&d->d",
                                "Pd->d", "d->v", "->v", "dd->v", "I->d"}) {
    EXPECT_EQ(KernelOf(signature), loop_kernel::compiled) << signature;
  }
}
#endif

TEST(KernelTest, TheRestGoesThroughTheInvoker) {
  for (const char *signature :
       {"ddddd->d", "g->g", "Zd->Zd", "Zf->Zf", "O->O", "O->d", "bd->d", "?->d", "lf->d", "b->d"}) {
    EXPECT_EQ(KernelOf(signature), loop_kernel::invoker) << signature;
  }
}

// Pointers share the kernel of integers, but have a different error value.
TEST(KernelTest, ErrorsThatKernelsDoNotKnowGoThroughTheInvoker) {
  constexpr std::uintptr_t raises = PyNativeCallable_MAY_RAISE | PyNativeCallable_NEEDS_THREAD;
  EXPECT_EQ(KernelOf("d->d", raises), loop_kernel::compiled);
  EXPECT_EQ(KernelOf("d->d", raises | PyNativeCallable_ERROR_IS_NEG_ZERO), loop_kernel::invoker);
  EXPECT_EQ(KernelOf("d->d", raises | PyNativeCallable_DIFFERS), loop_kernel::invoker);
  EXPECT_EQ(KernelOf("P->P", raises), loop_kernel::invoker);
  EXPECT_EQ(KernelOf("s->&d", raises), loop_kernel::invoker);
}

TEST(KernelTest, CanBeAskedFor) {
  for (const loop_kernel asked : {loop_kernel::compiled, loop_kernel::invoker}) {
    const loop made = Make(&First<double>, 0, By(asked));
    EXPECT_EQ(made.kernel(), asked);
    Array<double> first = {1.5, -0.0}, second = {2, 3}, result(2);
    RunAll(made, 2, first, second, result);
    EXPECT_EQ(result.get(0), 1.5);
    EXPECT_TRUE(std::signbit(result.get(1)));
  }
}

TEST(KernelTest, TellsTheTypesOfItsArrays) {
  const loop made = Make("dh&l->?", 0, reinterpret_cast<void *>(&Rubbish));
  ASSERT_EQ(made.inputs().size(), 3u);
  EXPECT_EQ(made.inputs()[0].code, PyNativeType_DOUBLE);
  EXPECT_EQ(made.inputs()[1].code, PyNativeType_SHORT);
  EXPECT_EQ(made.inputs()[2].code, PyNativeType_LONG);
  EXPECT_EQ(made.inputs()[2].pointer_flags, 1);
  EXPECT_EQ(made.output().code, PyNativeType_BOOL);
}

}  // namespace
}  // namespace loop_test
