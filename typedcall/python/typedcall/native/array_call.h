// Wraps a native function that takes doubles in a C function that takes an array. SciPy needs this
// for functions with several arguments.
#ifndef TYPEDCALL_PYTHON_NATIVE_ARRAY_CALL_H_
#define TYPEDCALL_PYTHON_NATIVE_ARRAY_CALL_H_

#include "typedcall/invoker.h"
// After Python.h.
#include <algorithm>
#include <cstdint>
#include <limits>

namespace typedcall::python {

/// The function that call_with_array() calls. The capsule does not keep the address valid: an
/// object beside the capsule, where the garbage collector sees it, must do so.
struct array_callee {
  invoker call;

  static constexpr char kName[] = "typedcall array_callee";

  /// Returns a capsule with a pointer to an array_callee. Returns NULL with ValueError set unless
  /// all arguments and the result in `signature` are doubles. Throws std::bad_alloc. GIL: held.
  static PyObject *make(const char *signature, std::uintptr_t address) {
    PyNativeSignature parsed;
    PyNativeSignature_Fault fault = {0, ""};
    static constexpr PyNativeType real = {PyNativeType_DOUBLE, 0};
    const auto is_real = [](PyNativeType type) { return PyNativeType_Equivalent(type, real); };
    if (PyNativeSignature_ParseString(signature, &parsed, &fault) == 0 &&
        !(is_real(parsed.result) &&
          std::all_of(parsed.args, parsed.args + parsed.nargs, is_real))) {
      fault.reason = "only doubles can come in an array";
    } else if (auto call = invoker::make(signature, 0, reinterpret_cast<void *>(address),
                                         std::nullopt, &fault)) {
      auto *callee = new array_callee{*std::move(call)};
      PyObject *capsule = PyCapsule_New(callee, kName, destroy);
      if (capsule == nullptr) delete callee;
      return capsule;
    }
    PyErr_Format(PyExc_ValueError, "signature '%.200s': %s", signature, fault.reason);
    return nullptr;
  }

 private:
  static void destroy(PyObject *capsule) {
    delete static_cast<array_callee *>(PyCapsule_GetPointer(capsule, kName));
  }
};

/// Calls the array_callee at `data`. Returns nan if `data` is null or the number of arguments is
/// wrong. GIL: none. Not noexcept: the function may acquire the GIL after the interpreter has
/// ended, and CPython before 3.14 then unwinds the thread.
inline double call_with_array(int count, double *arguments, void *data) {
  if (data == nullptr) return std::numeric_limits<double>::quiet_NaN();
  const invoker &call = static_cast<const array_callee *>(data)->call;
  if (count < 0 || static_cast<std::size_t>(count) != call.arity()) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  auto *const values = TYPEDCALL_INTERNAL_ON_STACK(native_value, call.arity() + 1);
  std::transform(arguments, arguments + count, values, native_value::of<double>);
  return call(values).get<double>();
}

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_NATIVE_ARRAY_CALL_H_
