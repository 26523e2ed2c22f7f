// Measures finding the C function behind a Python callable and calling it, with and without a call
// site.
#include <Python.h>
#include <benchmark/benchmark.h>

#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "bench/callees.h"
#include "bench/embedded_main.h"
#include "bench/opaque.h"
#include "typedcall/boxed_call.h"
#include "typedcall/call_site.h"
#include "typedcall/tag.h"

namespace {

using signature = double(double, double);
using function = double (*)(double, double);

constexpr std::size_t kMost = 1000;
constexpr char kText[] = "dd->d";

PyObject *boxed(PyObject *, PyObject *const *arguments, Py_ssize_t count) {
  double x = 0, y = 0;
  if (count != 2 || !typedcall::from_python(arguments[0], &x) ||
      !typedcall::from_python(arguments[1], &y)) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "two numbers are expected");
    return nullptr;
  }
  return PyFloat_FromDouble(bench::dd_d(x, y));
}

/// A builtin function with its own def, table and metadata.
struct callee {
  explicit callee(int bits)
      : def{metadata.pypy.ml_name,
            reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(boxed)),
            METH_FASTCALL | bits, nullptr},
        object(PyCFunction_New(&def, nullptr)) {}
  callee(const callee &) = delete;
  callee &operator=(const callee &) = delete;

  PyNativeCallableTable table = {1, {{kText, 0, reinterpret_cast<void *>(bench::dd_d)}}};
  PyTypedMethodMetadata metadata = {nullptr,
                                    &table,
                                    PyTypedMethod_SIZE,
                                    PyTypedMethod_ABI_MAJOR,
                                    PyTypedMethod_ABI_MINOR,
                                    PyTypedMethod_MAGIC,
                                    {nullptr, 0, nullptr, "dd_d"}};
  PyMethodDef def;
  PyObject *object;  // never freed, because the interpreter ends with the program
};

// Created once.
const PyTypedcall_Interface *interface = nullptr;
using callees = std::vector<callee *>;
callees tagged;     // with rows in the side table
callees with_bits;  // with static tables behind ml_name, as in a module
callees on_heap;    // with tables on the heap behind ml_name
callees with_nothing;

bool make_callees() {
  interface = PyTypedcall_Import();
  if (interface == nullptr) return false;
  constexpr int bits = METH_TYPED | METH_TYPED_EXT;
  alignas(callee) static unsigned char memory[3][kMost][sizeof(callee)];
  for (std::size_t i = 0; i < kMost; ++i) {
    tagged.push_back(new (memory[0][i]) callee(0));
    with_bits.push_back(new (memory[1][i]) callee(bits));
    with_nothing.push_back(new (memory[2][i]) callee(0));
    on_heap.push_back(new callee(bits));
    callee &made = *tagged.back();
    if (made.object == nullptr || with_bits.back()->object == nullptr ||
        on_heap.back()->object == nullptr || with_nothing.back()->object == nullptr ||
        PyTypedMethod_TagDef(interface, &made.def, made.object, &made.table, nullptr) < 0) {
      return false;
    }
  }
  return true;
}

/// Returns callables in a pseudo-random order. It is the same in every run.
std::vector<PyObject *> in_turn(const callees &all, std::size_t count) {
  std::vector<PyObject *> some;
  for (std::size_t i = 0; i < count; ++i) some.push_back(all[i * 617 % kMost]->object);
  return some;
}

/// Measures find(callable) and a call to the result. This function is not inlined, so that every
/// benchmark has its own loop.
template <class Subject, class Find>
__attribute__((noinline)) void time_finding(benchmark::State &state,
                                            const std::vector<Subject> &subjects,
                                            const Find &find) {
  std::size_t at = 0;
  for (auto _ : state) {
    Subject any = subjects[at];
    at = at + 1 == subjects.size() ? 0 : at + 1;
    double x = 1.5, y = 2.25;
    bench::hide(any);
    bench::hide(x);
    bench::hide(y);
    bench::consume(find(any)(x, y));
  }
}

/// Measures a call site that has already seen all callables.
template <class Result>
void add_site(const std::string &name, const callees *all, std::size_t count, Result result) {
  bench::add(name, [=](benchmark::State &state) {
    typedcall::call_site<signature> site(interface);
    const auto subjects = in_turn(*all, count);
    for (PyObject *any : subjects) site.find(any);
    time_finding(state, subjects, [&](PyObject *any) { return result(site.find(any)); });
  });
}

template <class Find>
void add_search(const std::string &name, const callees *all, std::size_t count, Find find) {
  bench::add(name,
             [=](benchmark::State &state) { time_finding(state, in_turn(*all, count), find); });
}

void add_with(std::size_t count) {
  const std::string group = "resolve_" + std::to_string(count) + "/";
  const auto known = [](typedcall::function_view<signature> found) { return found.get(); };
  const auto or_else = [](typedcall::function_view<signature> found) {
    return found ? found.get() : static_cast<function>(bench::dd_d);
  };
  bench::add(group + "pointer", [=](benchmark::State &state) {
    time_finding(state, std::vector<function>(count, bench::dd_d),
                 [](function any) { return any; });
  });
  add_site(group + "site_row", &tagged, count, known);
  add_site(group + "site_bits", &with_bits, count, known);
  add_site(group + "site_heap", &on_heap, count, known);
  add_site(group + "site_nothing", &with_nothing, count, or_else);
  const auto search = [](PyObject *any) {
    return typedcall::find<signature>(interface, any).get();
  };
  add_search(group + "find_row", &tagged, count, search);
  add_search(group + "find_bits", &with_bits, count, search);
  add_search(group + "find_nothing", &with_nothing, count, [=](PyObject *any) {
    const function found = search(any);
    return found != nullptr ? found : static_cast<function>(bench::dd_d);
  });
}

void add_boxed() {
  bench::add("resolve_1/boxed", [](benchmark::State &state) {
    bool failed = false;
    time_finding(state, in_turn(tagged, 1), [&](PyObject *any) {
      return [any, &failed](double x, double y) {
        double result = 0;
        if (!typedcall::boxed_call(any, &result, x, y)) failed = true;
        return result;
      };
    });
    if (failed) bench::fail(state);
  });
}

/// Returns true if all functions are found in the expected places.
bool check() {
  typedcall::call_site<signature> site(interface);
  for (std::size_t i = 0; i < kMost; ++i) {
    for (int turn = 0; turn < 2; ++turn) {
      const bool right = site.find(tagged[i]->object).get() == bench::dd_d &&
                         site.find(with_bits[i]->object).get() == bench::dd_d &&
                         site.find(on_heap[i]->object).get() == bench::dd_d &&
                         !site.find(with_nothing[i]->object);
      if (right) continue;
      PyErr_SetString(PyExc_SystemError, "the functions are not where they were put");
      return false;
    }
  }
  return true;
}

bool add_all() {
  if (!make_callees() || !check()) return false;
  for (const std::size_t count : {std::size_t{1}, std::size_t{16}, kMost}) add_with(count);
  add_boxed();
  return true;
}

}  // namespace

int main(int argc, char **argv) { return bench::run(argc, argv, add_all); }
