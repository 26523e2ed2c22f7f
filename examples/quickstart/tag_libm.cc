// Tagging functions that someone else wrote: CPython's `math`, with libm's addresses. Nothing is
// written to math's method table; the tags are in the interpreter's side table.
#include <math.h>

#include <cstdint>

#include "typedcall/tag.h"

namespace {

using unary = double (*)(double);
using binary = double (*)(double, double);

// On some inputs `math` raises ValueError or OverflowError where libm returns nan or infinity, and
// gamma and lgamma are CPython's own.
constexpr std::uintptr_t differs = PyNativeCallable_PURE | PyNativeCallable_THREAD_SAFE |
                                   PyNativeCallable_SHORT | PyNativeCallable_DIFFERS;
constexpr std::uintptr_t same = differs & ~PyNativeCallable_DIFFERS;

struct libm_tag {
  const char *name;  // in `math`; not every version has all of them
  PyNativeCallableTable table;
};

libm_tag tag(const char *name, unary address, std::uintptr_t flags) {
  return {name, {1, {{"d->d", flags, reinterpret_cast<void *>(address)}}}};
}
libm_tag tag(const char *name, binary address, std::uintptr_t flags) {
  return {name, {1, {{"dd->d", flags, reinterpret_cast<void *>(address)}}}};
}

// For the life of the process: the side tables of all interpreters point into it.
const libm_tag tags[] = {
    tag("acos", unary(acos), differs),
    tag("acosh", unary(acosh), differs),
    tag("asin", unary(asin), differs),
    tag("asinh", unary(asinh), same),
    tag("atan", unary(atan), same),
    tag("atan2", binary(atan2), same),
    tag("atanh", unary(atanh), differs),
    tag("cbrt", unary(cbrt), same),
    tag("copysign", binary(copysign), same),
    tag("cos", unary(cos), differs),
    tag("cosh", unary(cosh), differs),
    tag("erf", unary(erf), same),
    tag("erfc", unary(erfc), same),
    tag("exp", unary(exp), differs),
    tag("exp2", unary(exp2), differs),
    tag("expm1", unary(expm1), differs),
    tag("fabs", unary(fabs), same),
    tag("fmod", binary(fmod), differs),
    tag("gamma", unary(tgamma), differs),
    tag("hypot", binary(hypot), differs),
    // Writes the global `signgam`: neither pure nor safe in several threads at once.
    tag("lgamma", unary(lgamma), PyNativeCallable_SHORT | PyNativeCallable_DIFFERS),
    tag("log", unary(log), differs),
    tag("log10", unary(log10), differs),
    tag("log1p", unary(log1p), differs),
    tag("log2", unary(log2), differs),
    tag("pow", binary(pow), differs),
    tag("remainder", binary(remainder), differs),
    tag("sin", unary(sin), differs),
    tag("sinh", unary(sinh), differs),
    tag("sqrt", unary(sqrt), differs),
    tag("tan", unary(tan), differs),
    tag("tanh", unary(tanh), same),
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
