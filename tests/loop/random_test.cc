// Compares loops over random functions with a model that handles one element after another. Inputs
// and outputs may overlap. The callee and the model share no code with the loops.
#include <ffi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "tests/loop/arrays.h"
#include "tests/support/seed.h"

namespace loop_test {
namespace {

using bytes = std::vector<unsigned char>;

/// A type of the grammar.
struct Type {
  const char *letters;
  ffi_type *ffi;
  std::size_t size;
  char kind;  // b: bool, i: integer, f: floating, c: complex, p: pointer, o: object, v: nothing
};

const Type kTypes[] = {
    {"d", &ffi_type_double, 8, 'f'},
    {"l", &ffi_type_slong, sizeof(long), 'i'},
    {"f", &ffi_type_float, 4, 'f'},
    {"i", &ffi_type_sint, 4, 'i'},
    {"?", &ffi_type_uint8, 1, 'b'},
    {"b", &ffi_type_sint8, 1, 'i'},
    {"B", &ffi_type_uint8, 1, 'i'},
    {"h", &ffi_type_sint16, 2, 'i'},
    {"H", &ffi_type_uint16, 2, 'i'},
    {"I", &ffi_type_uint, 4, 'i'},
    {"L", &ffi_type_ulong, sizeof(long), 'i'},
    {"q", &ffi_type_sint64, 8, 'i'},
    {"Q", &ffi_type_uint64, 8, 'i'},
    {"n", &ffi_type_slong, sizeof(long), 'i'},
    {"N", &ffi_type_ulong, sizeof(long), 'i'},
    {"g", &ffi_type_longdouble, sizeof(long double), 'f'},
    {"Zf", &ffi_type_complex_float, 8, 'c'},
    {"Zd", &ffi_type_complex_double, 16, 'c'},
    {"Zg", &ffi_type_complex_longdouble, 2 * sizeof(long double), 'c'},
    {"P", &ffi_type_pointer, sizeof(void *), 'p'},
    {"s", &ffi_type_pointer, sizeof(void *), 'p'},
    {"&Zd", &ffi_type_pointer, sizeof(void *), 'p'},
    {"O", &ffi_type_pointer, sizeof(void *), 'o'},
};
const Type kVoid = {"v", &ffi_type_void, 0, 'v'};
constexpr std::size_t kOrdinary = 4;  // the first types have compiled kernels

/// Zeroes the padding bytes of a long double.
void ClearPadding(const Type &type, unsigned char *element) {
  if (LDBL_MANT_DIG != 64 || type.letters[type.kind == 'c' ? 1 : 0] != 'g') return;
  for (std::size_t at = 0; at < type.size; at += sizeof(long double)) {
    std::fill(element + at + 10, element + at + sizeof(long double), 0);
  }
}

/// A random result, which is always the same for the same arguments.
class Outcome {
 public:
  Outcome(const Type &result, bool may_raise, const std::vector<bytes> &arguments) {
    std::uint64_t hash = 14695981039346656037u;
    for (const bytes &argument : arguments) {
      for (unsigned char byte : argument) hash = (hash ^ byte) * 1099511628211u;
      hash = (hash ^ 0x100) * 1099511628211u;
    }
    std::mt19937_64 engine(hash);
    raises = may_raise && engine() % 24 == 0;
    value.resize(result.size);
    for (unsigned char &byte : value) byte = static_cast<unsigned char>(engine());
    // If no exception is set, the error value is an ordinary result.
    if (raises || engine() % 8 == 0) SetErrorValue(result);
    if (result.kind == 'b') value[0] &= 1;
    ClearPadding(result, value.data());
  }
  bool raises = false;
  bytes value;

 private:
  void SetErrorValue(const Type &type) {
    if (type.kind == 'i') std::fill(value.begin(), value.end(), 0xff);
    if (type.kind == 'p') std::fill(value.begin(), value.end(), 0);
    if (type.kind != 'f') return;
    const float narrow = -1;
    const double wide = -1;
    const long double widest = -1;
    const void *from = type.size == 4   ? static_cast<const void *>(&narrow)
                       : type.size == 8 ? static_cast<const void *>(&wide)
                                        : &widest;
    std::memcpy(value.data(), from, type.size);
  }
};

/// A C function that is made at run time.
class Function {
 public:
  Function(std::vector<Type> arguments, Type result, bool may_raise)
      : arguments_(std::move(arguments)), result_(result), may_raise_(may_raise) {
    for (const Type &type : arguments_) {
      signature_ += type.letters;
      types_.push_back(type.ffi);
    }
    signature_ += std::string("->") + result_.letters;
    closure_ = static_cast<ffi_closure *>(ffi_closure_alloc(sizeof(ffi_closure), &address_));
    if (closure_ == nullptr ||
        ffi_prep_cif(&cif_, FFI_DEFAULT_ABI, static_cast<unsigned>(types_.size()), result_.ffi,
                     types_.data()) != FFI_OK ||
        ffi_prep_closure_loc(closure_, &cif_, &Function::Called, this, address_) != FFI_OK) {
      std::abort();
    }
  }
  Function(const Function &) = delete;
  ~Function() { ffi_closure_free(closure_); }

  const std::string &signature() const { return signature_; }
  const std::vector<Type> &arguments() const { return arguments_; }
  const Type &result() const { return result_; }
  void *address() const { return address_; }
  Outcome OutcomeFor(const std::vector<bytes> &arguments) const {
    return {result_, may_raise_, arguments};
  }
  long calls = 0;

 private:
  static void Called(ffi_cif *, void *result, void **arguments, void *data) {
    auto *self = static_cast<Function *>(data);
    ++self->calls;
    std::vector<bytes> seen;
    for (std::size_t i = 0; i < self->arguments_.size(); ++i) {
      const auto *from = static_cast<const unsigned char *>(arguments[i]);
      seen.emplace_back(from, from + self->arguments_[i].size);
      ClearPadding(self->arguments_[i], seen.back().data());
    }
    const Outcome outcome = self->OutcomeFor(seen);
    if (outcome.raises) PyErr_SetString(PyExc_ArithmeticError, "as it happens");
    const Type &type = self->result_;
    if (type.size == 0) return;
    // The upper bits of a narrow result are garbage.
    const ffi_arg rubbish = 0x5a5a5a5a5a5a5a5au;
    if (type.size < sizeof(rubbish) && type.kind == 'i') {
      std::memcpy(result, &rubbish, sizeof(rubbish));
    } else if (type.kind == 'b') {
      std::memset(result, 0, sizeof(ffi_arg));
    }
    std::memcpy(result, outcome.value.data(), type.size);
  }

  std::vector<Type> arguments_;
  Type result_;
  bool may_raise_;
  std::string signature_;
  std::vector<ffi_type *> types_;
  ffi_cif cif_;
  ffi_closure *closure_ = nullptr;
  void *address_ = nullptr;
};

/// The location of an array in the memory.
struct Place {
  std::size_t first;
  std::intptr_t step;
};

/// Does what the loop must do. Returns the number of elements before the first error.
std::intptr_t Model(const Function &function, bytes *memory, const std::vector<Place> &places,
                    std::intptr_t count) {
  const auto address = [&](std::size_t array, std::intptr_t i) {
    return memory->data() + static_cast<std::intptr_t>(places[array].first) +
           i * places[array].step;
  };
  const std::size_t inputs = function.arguments().size();
  for (std::intptr_t i = 0; i < count; ++i) {
    std::vector<bytes> arguments;
    for (std::size_t at = 0; at < inputs; ++at) {
      const Type &type = function.arguments()[at];
      const unsigned char *from = address(at, i);
      arguments.emplace_back(from, from + type.size);
      if (type.kind == 'b') arguments.back()[0] = from[0] != 0 ? 1 : 0;
      ClearPadding(type, arguments.back().data());
      const bool is_null = std::all_of(from, from + type.size, [](auto byte) { return byte == 0; });
      if (type.kind == 'o' && is_null) {
        PyObject *const none = Py_None;
        std::memcpy(arguments.back().data(), &none, sizeof(none));
      }
    }
    const Outcome outcome = function.OutcomeFor(arguments);
    if (outcome.raises) return i;
    if (function.result().size != 0) {
      std::copy(outcome.value.begin(), outcome.value.end(), address(inputs, i));
    }
  }
  return count;
}

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  std::size_t Below(std::size_t bound) { return engine_() % bound; }

  const Type &AnyType(bool ordinary) {
    return kTypes[Below(ordinary ? kOrdinary : std::size(kTypes))];
  }

  /// Returns a random place for `count` elements of `size` bytes.
  Place AnyPlace(std::size_t size, std::intptr_t count, std::size_t memory) {
    const auto width = static_cast<std::intptr_t>(size);
    const std::intptr_t steps[] = {
        width, width, -width, 0, 2 * width, -width - 1, static_cast<std::intptr_t>(Below(40)) - 20};
    const std::intptr_t step = steps[Below(std::size(steps))];
    const std::size_t span = static_cast<std::size_t>(std::abs(step) * (count - 1));
    const std::size_t lowest = Below(memory - span - size);
    return {step < 0 ? lowest + span : lowest, step};
  }

 private:
  std::mt19937_64 engine_;
};

/// Sets each element to an object or NULL. If elements overlap, sets all to NULL.
void SetObjects(Random *random, unsigned char *first, std::intptr_t step, std::intptr_t count) {
  PyObject *const real[] = {nullptr, Py_None, Py_True, reinterpret_cast<PyObject *>(&PyType_Type)};
  const bool are_apart = step == 0 || std::abs(step) >= static_cast<std::intptr_t>(sizeof(real[0]));
  for (std::intptr_t i = 0; i < count; ++i) {
    PyObject *const object = are_apart ? real[random->Below(std::size(real))] : nullptr;
    std::memcpy(first + i * step, &object, sizeof(object));
  }
}

class RandomLoops : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomLoops, testing::Range(1u, 7u));

TEST_P(RandomLoops, DoAsTheModelDoes) {
  constexpr std::size_t kMemory = 4096;
  constexpr int kSignatures = 150;
  constexpr std::uintptr_t raises = PyNativeCallable_MAY_RAISE | PyNativeCallable_NEEDS_THREAD;
  const auto seed = typedcall_test::Seed(0);
  SCOPED_TRACE(typedcall_test::SeedText(seed));
  Random random(seed + GetParam());
  int compiled = 0, failures = 0;
  for (int number = 0; number < kSignatures; ++number) {
    const bool ordinary = random.Below(2) == 0;
    std::vector<Type> arguments;
    const std::size_t arity = random.Below(20) == 0 ? random.Below(30) : random.Below(5);
    for (std::size_t i = 0; i < arity; ++i) arguments.push_back(random.AnyType(ordinary));
    Type result = random.AnyType(ordinary);
    if (result.kind == 'o' || random.Below(20) == 0) result = kVoid;
    // Only functions with an error value may raise.
    const bool may_raise = random.Below(2) == 0 && std::strchr("ifp", result.kind) != nullptr;
    Function function(arguments, result, may_raise);
    SCOPED_TRACE(function.signature() + (may_raise ? " may raise" : ""));
    const loop made =
        Make(function.signature().c_str(), may_raise ? raises : 0, function.address());
    compiled += made.kernel() == loop_kernel::compiled;

    for (int layout = 0; layout < 6; ++layout) {
      const auto count = static_cast<std::intptr_t>(random.Below(layout == 0 ? 2 : 33));
      bytes memory(kMemory);
      for (unsigned char &byte : memory) {
        // Zeros make pointers and objects NULL.
        byte = number % 3 == 0 ? 0 : static_cast<unsigned char>(random.Below(256));
      }
      // Without the GIL, any bytes are passed as objects.
      std::vector<Place> places;
      arguments.push_back(result);
      for (const Type &type : arguments) {
        places.push_back(random.AnyPlace(type.size, std::max<std::intptr_t>(count, 1), kMemory));
        if (type.kind != 'o' || !may_raise) continue;
        places.back().first += memory.size();
        memory.resize(memory.size() + kMemory);
        SetObjects(&random, memory.data() + places.back().first, places.back().step, count);
      }
      arguments.pop_back();
      bytes expected = memory;
      const std::intptr_t expected_done = Model(function, &expected, places, count);

      std::vector<char *> args;
      std::vector<std::intptr_t> steps;
      for (const Place &place : places) {
        args.push_back(reinterpret_cast<char *>(memory.data()) + place.first);
        steps.push_back(place.step);
      }
      function.calls = 0;
      std::intptr_t done = -7;
      const int returned = may_raise ? made.run(args.data(), &count, steps.data(), &done)
                                     : made.run_detached(args.data(), &count, steps.data(), &done);
      const bool failed = expected_done < count;
      ASSERT_EQ(returned, failed ? -1 : 0);
      ASSERT_EQ(done, expected_done);
      ASSERT_EQ(function.calls, expected_done + (failed ? 1 : 0));
      ASSERT_EQ(TakeError(), failed ? "ArithmeticError: as it happens" : "");
      ASSERT_TRUE(memory == expected);
      failures += failed;
    }
  }
  // The signatures must have used both kernels and both outcomes.
  EXPECT_GT(compiled, kSignatures / 6);
  EXPECT_LT(compiled, 3 * kSignatures / 4);
  EXPECT_GT(failures, kSignatures / 4);
}

}  // namespace
}  // namespace loop_test
