// Functions for test_direct.py.

#include "typedcall/provider.h"

#include <complex>

namespace {

int calls = 0;
long inc(long x) noexcept {
  ++calls;
  return static_cast<long>(static_cast<unsigned long>(x) + 1);  // no signed overflow
}
unsigned char narrow(unsigned char x) noexcept { return x; }
double half(double x) noexcept { return x / 2; }
float single(float x) noexcept { return x; }
void store(long) noexcept {}
long released(long x) noexcept { return x; }
long take_calls() noexcept { return std::exchange(calls, 0); }

bool flag(bool x) noexcept { return x; }
long with_api(long x) noexcept { return x; }
long throws(long x) { return x; }
long raises(long x) noexcept { return x; }
long named(long x) noexcept { return x; }
long optional(long x) noexcept { return x; }
long of_object(PyObject *) noexcept { return 1; }
double of_complex(std::complex<double> z) noexcept { return z.real(); }
long of_text(const char *) noexcept { return 1; }
double of_memory(const double *) noexcept { return 1; }
long two(long x, long) noexcept { return x; }
long of_long(long) noexcept { return 1; }
long of_double(double) noexcept { return 2; }
long module_and(PyObject *, long x) noexcept { return x; }

vectorcallfunc vectorcall_of(PyObject *function) {
  return reinterpret_cast<PyCFunctionObject *>(function)->vectorcall;
}
bool same_vectorcall(PyObject *a, PyObject *b) noexcept {
  return vectorcall_of(a) == vectorcall_of(b);
}
/// Returns a function object that CPython creates from the same def.
PyObject *twin(PyObject *function) noexcept {
  auto *builtin = reinterpret_cast<PyCFunctionObject *>(function);
  return PyCFunction_NewEx(builtin->m_ml, builtin->m_self, builtin->m_module);
}
/// Calls PyObject_Vectorcall. `names` is a tuple, or None for NULL.
PyObject *vectorcall(PyObject *function, PyObject *args, PyObject *names) noexcept {
  PyObject *values[8] = {};
  const Py_ssize_t given = PyTuple_GET_SIZE(args);
  for (Py_ssize_t i = 0; i < given; ++i) values[i + 1] = PyTuple_GET_ITEM(args, i);
  PyObject *keywords = names == Py_None ? nullptr : names;
  const Py_ssize_t by_name = keywords != nullptr ? PyTuple_GET_SIZE(keywords) : 0;
  return PyObject_Vectorcall(
      function, values + 1,
      static_cast<std::size_t>(given - by_name) | PY_VECTORCALL_ARGUMENTS_OFFSET, keywords);
}

typedcall::method_table methods{
    typedcall::def<inc>("inc", "The next number.", typedcall::positional("x")),
    typedcall::def<narrow>("narrow"),
    typedcall::def<half>("half"),
    typedcall::def<single>("single"),
    typedcall::def<store>("store"),
    typedcall::def<released>("released", typedcall::releases_gil),
    typedcall::def<take_calls>("take_calls"),
    typedcall::def<flag>("flag"),
    typedcall::def<with_api>("with_api", typedcall::needs_gil),
    typedcall::def<throws>("throws"),
    typedcall::def<raises>("raises", typedcall::may_raise),
    typedcall::def<named>("named", typedcall::arg("x")),
    typedcall::def<optional>("optional", typedcall::positional("x") = 1),
    typedcall::def<of_object>("of_object"),
    typedcall::def<of_complex>("of_complex"),
    typedcall::def<of_text>("of_text"),
    typedcall::def<of_memory>("of_memory"),
    typedcall::def<two>("two"),
    typedcall::def<of_long, of_double>("overloaded"),
    typedcall::def<module_and>("module_and", typedcall::takes_self),
    typedcall::def<same_vectorcall>("same_vectorcall"),
    typedcall::def<twin>("twin"),
    typedcall::def<vectorcall>("vectorcall"),
};

}  // namespace

TYPEDCALL_MODULE(provider_direct, "Functions that are called directly.", methods);
