// A consumer: adaptive quadrature over any Python callable. It calls the C function of a
// `d->d` entry. If there is no such entry, it calls the Python object.
#include <cmath>

#include "typedcall/boxed_call.h"
#include "typedcall/fallback.h"

namespace {

// The module keeps the interface in its state, because every interpreter has its own interface.
struct module_state {
  const PyTypedcall_Interface *interface;
};

struct boxed_integrand {
  PyObject *callable;
  bool operator()(double x, double *y) const { return typedcall::boxed_call(callable, y, x); }
};

// Calls f(x) in C, or through Python if the C function falls back.
struct native_integrand {
  const typedcall::fallback_function<double(double)> &function;
  boxed_integrand boxed;
  bool operator()(double x, double *y) const {
    *y = function(x);
    if (function.raised(*y)) return false;
    // If a function with DIFFERS returns nan or infinity, the Python function may raise, so call
    // it.
    const bool differs = (function.flags() & PyNativeCallable_DIFFERS) != 0;
    return !differs || std::isfinite(*y) || boxed(x, y);
  }
};

struct point {
  double x, y;
};

template <class Integrand>
class adaptive_simpson {
 public:
  explicit adaptive_simpson(const Integrand &f) : f_(f) {}

  // Returns false if the integrand has set an exception.
  bool integrate(double lower, double upper, double tolerance, double *result) {
    point a{lower, 0}, m{lower + (upper - lower) / 2, 0}, b{upper, 0};
    if (!evaluate(&a) || !evaluate(&m) || !evaluate(&b)) return false;
    return refine(a, m, b, simpson(a, m, b), tolerance, 48, result);
  }

  long evaluations() const { return evaluations_; }

 private:
  static double simpson(point a, point m, point b) {
    return (b.x - a.x) / 6 * (a.y + 4 * m.y + b.y);
  }

  bool evaluate(point *p) {
    if (++evaluations_ > most_evaluations) {
      PyErr_SetString(PyExc_ValueError, "integrate() does not reach the tolerance");
      return false;
    }
    if (evaluations_ % 65536 == 0 && PyErr_CheckSignals() < 0) return false;
    return f_(p->x, &p->y);
  }

  bool refine(point a, point m, point b, double whole, double tolerance, int depth,
              double *result) {
    point l{a.x + (m.x - a.x) / 2, 0}, r{m.x + (b.x - m.x) / 2, 0};
    if (!evaluate(&l) || !evaluate(&r)) return false;
    const double left = simpson(a, l, m), right = simpson(m, r, b);
    const double change = left + right - whole;
    // The comparison is negated, so that a nan also ends the refinement.
    if (depth == 0 || !(std::fabs(change) > 15 * tolerance)) {
      *result = left + right + change / 15;
      return true;
    }
    double left_part, right_part;
    if (!refine(a, l, m, left, tolerance / 2, depth - 1, &left_part) ||
        !refine(m, r, b, right, tolerance / 2, depth - 1, &right_part)) {
      return false;
    }
    *result = left_part + right_part;
    return true;
  }

  static constexpr long most_evaluations = 100000000;

  const Integrand &f_;
  long evaluations_ = 0;
};

template <class Integrand>
PyObject *run(const Integrand &f, double lower, double upper, double tolerance, const char *how) {
  adaptive_simpson<Integrand> quadrature(f);
  double result = 0;
  if (!quadrature.integrate(lower, upper, tolerance, &result)) return nullptr;
  return Py_BuildValue("(dls)", result, quadrature.evaluations(), how);
}

PyObject *integrate(PyObject *module, PyObject *args, PyObject *kwargs) {
  static const char *const names[] = {"f", "lower", "upper", "tolerance", "boxed", nullptr};
  PyObject *callable;
  double lower, upper, tolerance = 1e-10;
  int boxed_only = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Odd|dp", const_cast<char **>(names), &callable,
                                   &lower, &upper, &tolerance, &boxed_only)) {
    return nullptr;
  }
  if (!PyCallable_Check(callable)) {
    return PyErr_Format(PyExc_TypeError, "integrate() needs a callable, not '%.100s'",
                        Py_TYPE(callable)->tp_name);
  }
  // The distance between two finite bounds may still overflow.
  if (!std::isfinite(upper - lower) || !(tolerance > 0)) {
    PyErr_SetString(PyExc_ValueError, "integrate() needs finite bounds and a positive tolerance");
    return nullptr;
  }
  const boxed_integrand boxed{callable};
  if (!boxed_only) {
    const auto *state = static_cast<const module_state *>(PyModule_GetState(module));
    const auto function =
        typedcall::find<double(double)>(state->interface, callable, typedcall::with_fallback(),
                                        typedcall::checks_errors | typedcall::accepts_differences);
    if (function) {
      return run(native_integrand{function, boxed}, lower, upper, tolerance, "unboxed");
    }
  }
  return run(boxed, lower, upper, tolerance, "boxed");
}

PyMethodDef methods[] = {
    {"integrate", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(integrate)),
     METH_VARARGS | METH_KEYWORDS,
     "integrate($module, f, lower, upper, tolerance=1e-10, boxed=False)\n--\n\n"
     "Integrate f by adaptive Simpson quadrature.\n\n"
     "Returns (integral, evaluations, how), how being 'unboxed' or 'boxed'."},
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
    "quickstart_integrate",
    "Quadrature that calls C where it can.",
    sizeof(module_state),
    methods,
    slots,
    nullptr,
    nullptr,
    nullptr,
};

}  // namespace

PyMODINIT_FUNC PyInit_quickstart_integrate() { return PyModuleDef_Init(&definition); }
