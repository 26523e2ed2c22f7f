// Tags functions of CPython's `math` with addresses of libm's functions. The tags are in the
// interpreter's side table.
#include <math.h>

#include <cmath>
#include <cstdint>

#include "typedcall/tag.h"

namespace {

using unary = double (*)(double);
using binary = double (*)(double, double);

constexpr std::uintptr_t pure =
    PyNativeCallable_PURE | PyNativeCallable_THREAD_SAFE | PyNativeCallable_SHORT;

struct libm_tag {
  const char *name;  // the name in `math`; some versions lack it
  PyNativeCallableTable table;
};

libm_tag entry(const char *name, const char *signature, std::uintptr_t flags, void *address) {
  return {name, {1, {{signature, flags, address}}}};
}

// `math` calls libm's function and never raises.
libm_tag same(const char *name, unary address) {
  return entry(name, "d->d", pure, reinterpret_cast<void *>(address));
}
libm_tag same(const char *name, binary address) {
  return entry(name, "dd->d", pure, reinterpret_cast<void *>(address));
}

// Where libm returns nan or infinity, `math` raises ValueError or OverflowError. These functions
// then fall back to the Python function, which raises the right exception.
template <unary function>
int or_ask_python(double x, double *result) {
  *result = function(x);
  return !std::isfinite(*result);
}
template <binary function>
int or_ask_python(double x, double y, double *result) {
  *result = function(x, y);
  return !std::isfinite(*result) || !std::isfinite(x) || !std::isfinite(y);
}
// A zero result has the sign of x, which glibc's remainder() gets wrong for subnormal y.
double signed_remainder(double x, double y) {
  const double result = remainder(x, y);
  return std::fpclassify(result) == FP_ZERO ? copysign(result, x) : result;
}

template <unary function>
libm_tag raises(const char *name) {
  int (*const address)(double, double *) = or_ask_python<function>;
  return entry(name, "d&d->i", pure | PyNativeCallable_FALLS_BACK,
               reinterpret_cast<void *>(address));
}
template <binary function>
libm_tag raises(const char *name) {
  int (*const address)(double, double, double *) = or_ask_python<function>;
  return entry(name, "dd&d->i", pure | PyNativeCallable_FALLS_BACK,
               reinterpret_cast<void *>(address));
}

// `math` has its own implementation, whose results differ in the last digits. Only callers that
// accept the difference get these entries.
libm_tag differs(const char *name, unary address, std::uintptr_t flags = pure) {
  return entry(name, "d->d", flags | PyNativeCallable_DIFFERS, reinterpret_cast<void *>(address));
}
libm_tag differs(const char *name, binary address) {
  return entry(name, "dd->d", pure | PyNativeCallable_DIFFERS, reinterpret_cast<void *>(address));
}

// These tags live until the process ends, because the side tables of all interpreters point to
// them.
const libm_tag tags[] = {
    raises<acos>("acos"),
    raises<acosh>("acosh"),
    raises<asin>("asin"),
    same("asinh", unary(asinh)),
    same("atan", unary(atan)),
    same("atan2", binary(atan2)),
    raises<atanh>("atanh"),
    same("cbrt", unary(cbrt)),
    same("copysign", binary(copysign)),
    raises<cos>("cos"),
    raises<cosh>("cosh"),
    same("erf", unary(erf)),
    same("erfc", unary(erfc)),
    raises<exp>("exp"),
    raises<exp2>("exp2"),
    raises<expm1>("expm1"),
    same("fabs", unary(fabs)),
    raises<fmod>("fmod"),
    differs("gamma", unary(tgamma)),
    differs("hypot", binary(hypot)),
    // lgamma writes the global `signgam`, so it is neither pure nor thread-safe.
    differs("lgamma", unary(lgamma), PyNativeCallable_SHORT),
    raises<log>("log"),
    raises<log10>("log10"),
    raises<log1p>("log1p"),
    raises<log2>("log2"),
    raises<pow>("pow"),
    raises<signed_remainder>("remainder"),
    raises<sin>("sin"),
    raises<sinh>("sinh"),
    raises<sqrt>("sqrt"),
    raises<tan>("tan"),
    same("tanh", unary(tanh)),
};

int exec(PyObject *module) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (interface == nullptr) return -1;
  PyObject *math = PyImport_ImportModule("math");
  PyObject *names = PyList_New(0);
  int failed = math == nullptr || names == nullptr;
  for (const libm_tag &libm : tags) {
    if (failed) break;
    PyObject *function = PyObject_GetAttrString(math, libm.name);
    if (function == nullptr) {
      PyErr_Clear();
      continue;
    }
    PyObject *name = PyUnicode_FromString(libm.name);
    failed = PyTypedMethod_TagCallable(interface, function, &libm.table, nullptr) < 0 ||
             name == nullptr || PyList_Append(names, name) < 0;
    Py_XDECREF(name);
    Py_DECREF(function);
  }
  if (!failed) failed = PyObject_SetAttrString(module, "tagged", names) < 0;
  Py_XDECREF(names);
  Py_XDECREF(math);
  return failed ? -1 : 0;
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
    "quickstart_libm",
    "Importing it tags the functions of `math`.",
    0,
    nullptr,
    slots,
    nullptr,
    nullptr,
    nullptr,
};

}  // namespace

PyMODINIT_FUNC PyInit_quickstart_libm() { return PyModuleDef_Init(&definition); }
