// Measurements for the demo: what a callable offers, how long calls take, and whether boxed and
// unboxed results agree.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <tuple>
#include <vector>

#include "examples/quickstart/arguments.h"
#include "typedcall/boxed_call.h"
#include "typedcall/fallback.h"
#include "typedcall/invoker.h"
#include "typedcall/resolve.h"

namespace quickstart {
namespace {

constexpr typedcall::capabilities everything =
    typedcall::checks_errors | typedcall::accepts_differences;

// Hides a value from the compiler, or makes the compiler keep it.
template <class T>
void opaque(T *&pointer) {
  asm volatile("" : "+r"(pointer) : : "memory");
}
template <class T>
void use(const T &value) {
  asm volatile("" : : "m"(value));
}

struct timing {
  double median, spread;  // ns per call; the spread is half the distance between the quartiles
};

timing summarise(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const std::size_t n = samples.size();
  return {samples[n / 2], (samples[3 * n / 4] - samples[n / 4]) / 2};
}

// Returns the mean time of `call(i)` in ns.
template <class Call>
double time_calls(std::size_t calls, Call &&call) {
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < calls; ++i) call(i);
  const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
  return taken.count() / static_cast<double>(calls);
}

std::string spell(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.17g", value);
  return text;
}
std::string spell(long value) { return std::to_string(value); }

// Clears the pending exception and returns its name. Returns an empty string if there is none.
std::string take_error() {
  PyObject *type = PyErr_Occurred();
  if (type == nullptr) return "";
  std::string name = reinterpret_cast<PyTypeObject *>(type)->tp_name;
  PyErr_Clear();
  return name;
}

template <class Signature>
struct instruments;

template <class R, class... A>
struct instruments<R(A...)> {
  using function = typedcall::fallback_function<R(A...)>;
  using arguments = std::tuple<A...>;

  static constexpr std::size_t calls_per_round = 4096, rounds = 41, prepared = 256;

  // Finds arguments for which the Python callable does not raise. Returns false if it finds too
  // few.
  static bool tame_arguments(PyObject *callable, std::vector<arguments> *tame) {
    generator random(1);
    for (std::size_t tries = 0; tries < 100 * prepared && tame->size() < prepared; ++tries) {
      const arguments candidate{tame_value<A>(random)...};
      R result;
      if (boxed(callable, candidate, &result)) tame->push_back(candidate);
      PyErr_Clear();
    }
    return tame->size() == prepared;
  }

  static bool boxed(PyObject *callable, const arguments &values, R *result) {
    return std::apply([&](A... args) { return typedcall::boxed_call(callable, result, args...); },
                      values);
  }

  static PyObject *measure(PyObject *callable, const function &direct,
                           const typedcall::ffi_signature &ffi) {
    std::vector<arguments> tame;
    if (!tame_arguments(callable, &tame)) {
      PyErr_SetString(PyExc_ValueError, "no arguments found that the callable accepts");
      return nullptr;
    }
    std::vector<double> direct_ns, ffi_ns, boxed_ns;
    for (std::size_t round = 0; round < rounds; ++round) {
      direct_ns.push_back(time_calls(calls_per_round, [&](std::size_t i) {
        const function *called = &direct;
        opaque(called);
        use(std::apply([called](A... args) { return (*called)(args...); }, tame[i % prepared]));
      }));
      ffi_ns.push_back(time_calls(calls_per_round, [&](std::size_t i) {
        R result;
        R *place = &result;
        const bool has_place = direct.may_fall_back();
        std::apply(
            [&](A &...args) {
              void *addresses[] = {&args..., &place};
              ffi_arg status;
              ffi.call(direct.address(), has_place ? static_cast<void *>(&status) : &result,
                       addresses);
            },
            tame[i % prepared]);
        use(result);
      }));
      boxed_ns.push_back(time_calls(calls_per_round, [&](std::size_t i) {
        R result = 0;
        boxed(callable, tame[i % prepared], &result);
        use(result);
      }));
    }
    const timing d = summarise(direct_ns), f = summarise(ffi_ns), b = summarise(boxed_ns);
    return Py_BuildValue("{s:(dd),s:(dd),s:(dd)}", "boxed", b.median, b.spread, "ffi", f.median,
                         f.spread, "direct", d.median, d.spread);
  }

  static PyObject *compare(PyObject *callable, const function &direct, long count,
                           unsigned long seed) {
    generator random(seed);
    long boxed_only = 0, native_only = 0, both = 0, different = 0;
    std::uint64_t largest = 0;
    std::string worst, first_raise;
    for (long i = 0; i < count; ++i) {
      const arguments values{random_value<A>(random)...};
      R from_python = 0;
      const bool python_raised = !boxed(callable, values, &from_python);
      const std::string python_error = python_raised ? take_error() : "";
      const R from_native = std::apply(direct, values);
      const bool native_raised = direct.raised(from_native);
      const std::string native_error = native_raised ? take_error() : "";
      const std::uint64_t apart =
          python_raised || native_raised ? 0 : distance(from_python, from_native);
      if (python_raised && native_raised) {
        ++(python_error == native_error ? both : different);
      } else if (python_raised) {
        if (boxed_only++ == 0) {
          first_raise = call_text(values) + ": " + python_error + ", native " + spell(from_native);
        }
      } else if (native_raised) {
        ++native_only;
      } else if (apart > 0) {
        ++different;
      }
      if (apart > largest) {
        largest = apart;
        worst = call_text(values) + ": " + spell(from_python) + ", native " + spell(from_native);
      }
    }
    return Py_BuildValue("{s:l,s:l,s:l,s:l,s:l,s:K,s:s,s:s}", "compared", count, "both_raise", both,
                         "only_python_raises", boxed_only, "only_native_raises", native_only,
                         "different", different, "largest_ulps",
                         static_cast<unsigned long long>(largest), "worst", worst.c_str(),
                         "first_raise", first_raise.c_str());
  }

 private:
  static std::string call_text(const arguments &values) {
    std::string text;
    std::apply([&](A... args) { ((text += (text.empty() ? "(" : ", ") + spell(args)), ...); },
               values);
    return text + ")";
  }
};

struct module_state {
  const PyTypedcall_Interface *interface;
};

const PyTypedcall_Interface *interface_of(PyObject *module) {
  return static_cast<const module_state *>(PyModule_GetState(module))->interface;
}

// Resolves `callable` and passes the function to `action`.
template <class Signature, class Action>
PyObject *with_function(const PyTypedcall_Interface *interface, PyObject *callable,
                        Action &&action) {
  const auto direct =
      typedcall::resolve<Signature>(interface, callable, typedcall::with_fallback(), everything);
  if (!direct) return nullptr;
  return action(instruments<Signature>(), direct);
}

// Knows only the signatures of the demo's functions.
template <class Action>
PyObject *by_signature(const PyTypedcall_Interface *interface, PyObject *callable,
                       const std::string &signature, Action &&action) {
  if (signature == "d->d" || signature == "d&d->i") {
    return with_function<double(double)>(interface, callable, action);
  }
  if (signature == "dd->d" || signature == "dd&d->i") {
    return with_function<double(double, double)>(interface, callable, action);
  }
  if (signature == "l->l") return with_function<long(long)>(interface, callable, action);
  if (signature == "ll->l") return with_function<long(long, long)>(interface, callable, action);
  return PyErr_Format(PyExc_ValueError, "the demo measures d->d, dd->d, l->l and ll->l, not '%s'",
                      signature.c_str());
}

PyObject *entries(PyObject *module, PyObject *callable) {
  auto list = typedcall::object_ref::steal(PyList_New(0));
  bool failed = !list;
  typedcall::for_each_entry(
      interface_of(module), callable,
      [&](const PyNativeCallableEntry &entry, typedcall::place where) {
        if (failed) return;
        const auto item = typedcall::object_ref::steal(
            Py_BuildValue("(sKs)", entry.signature, static_cast<unsigned long long>(entry.flags),
                          typedcall::describe(where)));
        failed = !item || PyList_Append(list.get(), item.get()) < 0;
      });
  return failed ? nullptr : list.release();
}

PyObject *measure(PyObject *module, PyObject *args) {
  PyObject *callable;
  const char *signature;
  if (!PyArg_ParseTuple(args, "Os", &callable, &signature)) return nullptr;
  return by_signature(interface_of(module), callable, signature,
                      [&](auto instruments, const auto &direct) -> PyObject * {
                        const auto ffi = typedcall::ffi_signature::make(signature, false);
                        if (!ffi) {
                          return PyErr_Format(PyExc_ValueError, "libffi refuses '%s'", signature);
                        }
                        return instruments.measure(callable, direct, *ffi);
                      });
}

PyObject *compare(PyObject *module, PyObject *args) {
  PyObject *callable;
  const char *signature;
  long count;
  unsigned long seed;
  if (!PyArg_ParseTuple(args, "Oslk", &callable, &signature, &count, &seed)) return nullptr;
  return by_signature(interface_of(module), callable, signature,
                      [&](auto instruments, const auto &direct) {
                        return instruments.compare(callable, direct, count, seed);
                      });
}

PyMethodDef methods[] = {
    {"entries", entries, METH_O,
     "entries($module, f, /)\n--\n\n[(signature, flags, where it was found)] of a callable."},
    {"measure", measure, METH_VARARGS,
     "measure($module, f, signature, /)\n--\n\n"
     "{way: (median, spread)} in ns per call; the ways take turns."},
    {"compare", compare, METH_VARARGS,
     "compare($module, f, signature, count, seed, /)\n--\n\n"
     "Call f boxed and unboxed with `count` random arguments and count the differences."},
    {nullptr, nullptr, 0, nullptr},
};

int exec(PyObject *module) {
  auto *state = static_cast<module_state *>(PyModule_GetState(module));
  state->interface = PyTypedcall_Import();
  return state->interface == nullptr ? -1 : 0;
}

PyModuleDef_Slot slots[] = {
    {Py_mod_exec, reinterpret_cast<void *>(exec)},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
    {0, nullptr},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "quickstart_measure",
    "The demo's instruments.",
    sizeof(module_state),
    methods,
    slots,
    nullptr,
    nullptr,
    nullptr,
};

}  // namespace
}  // namespace quickstart

PyMODINIT_FUNC PyInit_quickstart_measure() { return PyModuleDef_Init(&quickstart::definition); }
