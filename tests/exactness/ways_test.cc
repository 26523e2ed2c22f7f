// Every way to call a function, with the same arguments, yields the same bits: by the Python
// callable, by typedcall::function, by thunk, register image and libffi. For generated signatures.
#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "tests/exactness/generated.h"
#include "tests/support/embedded.h"
#include "typedcall/boxed_call.h"
#include "typedcall/invoker.h"
#include "typedcall/provider.h"
#include "typedcall/resolve.h"

namespace typedcall_test {
namespace {

using exactness::FromBits;
using exactness::Generated;
using exactness::ToBits;
using typedcall::invoker;
using typedcall::native_value;
using typedcall::way;

// Which signatures: each test program has sixty of its own.
constexpr std::uint64_t kFirst = FIRST_SIGNATURE;
constexpr std::size_t kSignatures = 60;
constexpr std::uint64_t kTurns = 200;

template <std::size_t... i>
auto &Methods(std::index_sequence<i...>) {
  static typedcall::method_table methods{
      typedcall::def<&Generated<kFirst + i>::call>(Generated<kFirst + i>::name)...};
  return methods;
}
using Indices = std::make_index_sequence<kSignatures>;

/// A module with all of them.
Ref NewModule() {
  static PyModuleDef def = {
      PyModuleDef_HEAD_INIT, "generated", nullptr, 0, nullptr, nullptr, nullptr, nullptr, nullptr};
  def.m_methods = Methods(Indices()).rows();
  Ref module = Ref::Steal(PyModule_Create(&def));
  EXPECT_EQ(Methods(Indices()).tag(module.get()), 0) << TakeError();
  return module;
}

template <std::uint64_t n, class Arguments = typename Generated<n>::arguments>
struct Checked;
template <std::uint64_t n, class... A>
struct Checked<n, std::tuple<A...>> {
  using result = typename Generated<n>::result;

  static void Check(PyObject *module, int *ways) {
    const char *signature = typedcall::signature_of<typename Generated<n>::type>::text;
    SCOPED_TRACE(std::string(Generated<n>::name) + " " + signature);
    Ref callable = Ref::Steal(PyObject_GetAttrString(module, Generated<n>::name));
    ASSERT_TRUE(callable);
    const auto direct =
        typedcall::resolve<typename Generated<n>::type>(PyTypedcall_Import(), callable.get());
    ASSERT_TRUE(direct) << TakeError();
    std::optional<invoker> invokers[3];
    for (const way how : {way::thunk, way::image, way::ffi}) {
      auto &made = invokers[static_cast<int>(how)];
      made = invoker::make(signature, direct.flags(), reinterpret_cast<void *>(direct.get()), how);
      if (made) ++ways[static_cast<int>(how)];
    }
    ASSERT_TRUE(invokers[static_cast<int>(way::ffi)]);
    for (std::uint64_t turn = 0; turn < kTurns; ++turn) {
      exactness::Stream stream{n * kTurns + turn};
      // In braces the values are drawn from left to right.
      const std::tuple<A...> values{FromBits<A>(stream.Next())...};
      const result expected = std::apply(&Generated<n>::call, values);
      EXPECT_EQ(ToBits(std::apply(direct, values)), ToBits(expected)) << "direct";
      result boxed{};
      EXPECT_TRUE(std::apply(
          [&](A... v) { return typedcall::boxed_call(callable.get(), &boxed, v...); }, values))
          << TakeError();
      EXPECT_EQ(ToBits(boxed), ToBits(expected)) << "boxed";
      const std::array<native_value, sizeof...(A) + 1> array = std::apply(
          [](A... v) {
            return std::array<native_value, sizeof...(A) + 1>{native_value::of(v)...,
                                                              native_value{0}};
          },
          values);
      for (const auto &invoke : invokers) {
        if (!invoke) continue;
        const native_value got = (*invoke)(array.data());
        EXPECT_EQ(ToBits(got.get<result>()), ToBits(expected))
            << "invoker " << static_cast<int>(invoke->how());
      }
      if (HasFailure()) return;
    }
  }
  static bool HasFailure() { return testing::Test::HasFailure(); }
};

template <std::size_t... i>
void CheckAll(PyObject *module, int *ways, std::index_sequence<i...>) {
  (Checked<kFirst + i>::Check(module, ways), ...);
}

TEST(GeneratedSignatures, GiveTheSameBitsByEveryWay) {
  Ref module = NewModule();
  ASSERT_TRUE(module);
  int ways[3] = {};
  CheckAll(module.get(), ways, Indices());
  EXPECT_EQ(ways[static_cast<int>(way::ffi)], int{kSignatures});
  if (TYPEDCALL_REGISTER_IMAGE) {
    EXPECT_GT(ways[static_cast<int>(way::thunk)], 20);
    EXPECT_EQ(ways[static_cast<int>(way::image)], int{kSignatures});
  }
}

}  // namespace
}  // namespace typedcall_test
