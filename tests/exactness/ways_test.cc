// Tests that every way to call a function returns the same bits or raises the same exception.
#include "tests/exactness/generated.h"
// generated.h comes first because it includes Python.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/support/embedded.h"
#include "typedcall/invoker.h"

namespace exactness {
namespace {

// The hash of the arguments of the last call, the number of calls, and the range of results.
std::uint64_t latest_mixed = 0;
std::uint64_t calls = 0;
Range results_drawn_from = Range::any;

}  // namespace

Outcome Compute(const Facts &facts, const Value *arguments) {
  std::uint64_t mixed = facts.n;
  for (int i = 0; i < facts.python.nargs; ++i) {
    mixed = Scramble(mixed ^ Hash(facts.python.args[i], arguments[i]));
  }
  latest_mixed = mixed;
  ++calls;
  Outcome outcome;
  outcome.raised = facts.kind != Kind::none && Scramble(mixed) % 8 == 0;
  if (outcome.raised) {
    PyErr_SetString(PyExc_ValueError, std::to_string(mixed).c_str());
    return outcome;
  }
  outcome.result = Draw(facts.python.result, mixed, results_drawn_from);
  const PyNativeType result = facts.python.result;
  if (PyNativeType_Kind(result) == PyNativeKind_OBJECT) {
    Py_INCREF(outcome.result.As<PyObject *>());
  }
  return outcome;
}

}  // namespace exactness

namespace typedcall_test {
namespace {

using namespace exactness;
using typedcall::invoker;
using typedcall::invoker_backend;
using typedcall::native_value;

// Each test program tests sixty different signatures.
constexpr std::uint64_t kFirst = FIRST_SIGNATURE;
constexpr std::size_t kSignatures = 60;
constexpr std::uint64_t kTurns = 200;
using Indices = std::make_index_sequence<kSignatures>;

template <std::size_t... i>
auto &Methods(std::index_sequence<i...>) {
  static typedcall::method_table methods{typedcall::def<&Generated<kFirst + i>::call>(
      kName<kFirst + i>, Generated<kFirst + i>::effects)...};
  return methods;
}

/// Returns a module with all the functions.
Ref NewModule() { return typedcall_test::ModuleOf(Methods(Indices())); }

/// One function and everything known about it.
struct Subject {
  const char *name;
  const Facts *facts;
  void *address;
  bool (*call_direct)(PyObject *, const Value *, Outcome *);
};
template <std::size_t... i>
std::vector<Subject> Subjects(std::index_sequence<i...>) {
  return {{kName<kFirst + i>, &Generated<kFirst + i>::facts(),
           reinterpret_cast<void *>(&Generated<kFirst + i>::call),
           &Generated<kFirst + i>::call_direct}...};
}

class Checker {
 public:
  Checker(PyObject *module, const Subject &subject)
      : subject_(subject),
        facts_(*subject.facts),
        callable_(Ref::Steal(PyObject_GetAttrString(module, subject.name))) {}

  void Run() {
    ASSERT_TRUE(callable_);
    MakeInvokers();
    const Py_ssize_t references = Py_REFCNT(CountedObject());
    for (std::uint64_t turn = 0; turn < kTurns && !testing::Test::HasFailure(); ++turn) {
      const Range range = turn % 2 == 0 ? Range::boxable : Range::any;
      results_drawn_from = range;
      std::uint64_t bits = facts_.n * kTurns + turn;
      arguments_.clear();
      for (int i = 0; i < facts_.python.nargs; ++i) {
        arguments_.push_back(Draw(facts_.python.args[i], bits = Scramble(bits), range));
      }
      arguments_.emplace_back();
      expected_ = Compute(facts_, arguments_.data());
      expected_mixed_ = latest_mixed;
      expected_error_ = TakeError();
      Release(expected_);
      CheckDirect();
      for (const invoker &invoke : invokers_) CheckInvoker(invoke);
      if (range == Range::boxable) CheckBoxed();
    }
    EXPECT_EQ(Py_REFCNT(CountedObject()), references);
  }

  std::vector<invoker_backend> ways() const {
    std::vector<invoker_backend> all;
    for (const invoker &invoke : invokers_) all.push_back(invoke.backend());
    return all;
  }

 private:
  PyNativeType result() const { return facts_.python.result; }
  bool returns_object() const { return PyNativeType_Kind(result()) == PyNativeKind_OBJECT; }
  bool is_status() const { return facts_.kind == Kind::by_status; }

  void MakeInvokers() {
    std::string text = facts_.text;
    if (facts_.n % 2 == 0) {
      std::replace(text.begin(), text.end(), 'l', 'n');
      std::replace(text.begin(), text.end(), 'L', 'N');
    }
    const std::uintptr_t raises =
        is_status() ? PyNativeCallable_RETURNS_STATUS : PyNativeCallable_MAY_RAISE;
    const std::uintptr_t flags =
        facts_.kind == Kind::none ? 0 : raises | PyNativeCallable_NEEDS_THREAD;
    for (const invoker_backend how :
         {invoker_backend::trampoline, invoker_backend::image, invoker_backend::ffi}) {
      auto made = invoker::make(text.c_str(), flags, subject_.address, how);
      if (made) invokers_.push_back(*made);
    }
  }

  void Release(const Outcome &outcome) {
    if (returns_object() && !outcome.raised) Py_DECREF(outcome.result.As<PyObject *>());
  }

  void Compare(const std::string &label, const Outcome &outcome, std::uint64_t calls_before) {
    EXPECT_EQ(calls, calls_before + 1) << label;
    EXPECT_EQ(latest_mixed, expected_mixed_) << label << ": other arguments";
    EXPECT_EQ(outcome.raised, expected_.raised) << label;
    EXPECT_EQ(TakeError(), expected_error_) << label;
    if (outcome.raised || expected_.raised) return;
    EXPECT_TRUE(AreSame(result(), outcome.result, expected_.result))
        << label << ": " << Show(result(), outcome.result) << ", not "
        << Show(result(), expected_.result);
  }

  void CheckDirect() {
    const std::uint64_t before = calls;
    Outcome outcome;
    EXPECT_TRUE(subject_.call_direct(callable_.get(), arguments_.data(), &outcome)) << TakeError();
    Compare("direct", outcome, before);
    Release(outcome);
  }

  void CheckInvoker(const invoker &invoke) {
    const std::string label = "invoker " + std::to_string(static_cast<int>(invoke.backend()));
    const std::uint64_t before = calls;
    Outcome outcome;
    Value wide;
    std::vector<native_value> values;
    for (int i = 0; i < facts_.python.nargs; ++i) {
      values.push_back(AsArgument(facts_.python.args[i], arguments_[static_cast<std::size_t>(i)]));
    }
    values.push_back(native_value::at(&outcome.result));  // only used by functions with a place
    const native_value got = invoke(values.data(), &wide);
    outcome.raised = invoke.raised(got);
    if (is_status()) {
      EXPECT_EQ(got.get<int>() != 0, outcome.raised);
    } else {
      outcome.result = FromResult(result(), got, wide);
      // Narrow results are extended just like arguments.
      if (!outcome.raised && !expected_.raised &&
          PyNativeType_Kind(result()) != PyNativeKind_STRING) {
        EXPECT_EQ(got.bits, PyNativeType_Size(result()) > sizeof(got.bits)
                                ? 0
                                : AsArgument(result(), expected_.result).bits)
            << label;
      }
    }
    Compare(label, outcome, before);
    Release(outcome);
  }

  void CheckBoxed() {
    const std::uint64_t before = calls;
    std::vector<PyObject *> boxes{nullptr};
    for (int i = 0; i < facts_.python.nargs; ++i) {
      boxes.push_back(Box(facts_.python.args[i], arguments_[static_cast<std::size_t>(i)]));
      ASSERT_NE(boxes.back(), nullptr) << TakeError();
    }
    PyObject *returned =
        PyObject_Vectorcall(callable_.get(), boxes.data() + 1,
                            (boxes.size() - 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
    for (PyObject *box : boxes) Py_XDECREF(box);
    Outcome outcome;
    outcome.raised = returned == nullptr;
    PyObject *keep = nullptr;
    if (returned != nullptr) {
      EXPECT_TRUE(Unbox(result(), returned, &outcome.result, &keep)) << Py_TYPE(returned)->tp_name;
    }
    Compare("boxed", outcome, before);
    Py_XDECREF(keep);
  }

  const Subject &subject_;
  const Facts &facts_;
  Ref callable_;
  std::vector<invoker> invokers_;
  std::vector<Value> arguments_;
  Outcome expected_;
  std::uint64_t expected_mixed_ = 0;
  std::string expected_error_;
};

TEST(GeneratedSignatures, GiveTheSameBitsByEveryWay) {
  Ref module = NewModule();
  ASSERT_TRUE(module);
  int ways[3] = {};
  std::set<std::string> arguments, results;
  std::set<Kind> kinds;
  for (const Subject &subject : Subjects(Indices())) {
    const PyNativeSignature &python = subject.facts->python;
    SCOPED_TRACE(std::string(subject.name) + " " + subject.facts->text);
    Checker checker(module.get(), subject);
    checker.Run();
    for (const invoker_backend how : checker.ways()) ++ways[static_cast<int>(how)];
    const auto letters = [](PyNativeType type) {
      return (type.pointer_flags ? "&" : "") + std::string(PyNativeCode_Letters(type.code));
    };
    for (int i = 0; i < python.nargs; ++i) arguments.insert(letters(python.args[i]));
    results.insert(letters(python.result));
    kinds.insert(subject.facts->kind);
    if (HasFailure()) return;
  }
  EXPECT_EQ(ways[static_cast<int>(invoker_backend::ffi)], int{kSignatures});
  if (TYPEDCALL_REGISTER_IMAGE) {
    EXPECT_GT(ways[static_cast<int>(invoker_backend::trampoline)], 15);
    EXPECT_GT(ways[static_cast<int>(invoker_backend::image)], 30);
  }
  // Every code is drawn, except some pointers and the aliases 'n' and 'N'.
  std::set<std::string> all{"&d", "&h", "&g", "&Zd"};
  for (int code = 1; code < PyNativeType_COUNT; ++code) all.insert(PyNativeCode_Letters(code));
  all.erase("n");
  all.erase("N");
  EXPECT_EQ(arguments, all);
  all.insert("v");
  EXPECT_EQ(results, all);
  EXPECT_EQ(kinds.size(), 3u);
}

}  // namespace
}  // namespace typedcall_test
