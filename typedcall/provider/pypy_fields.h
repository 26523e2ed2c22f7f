// PyPy's fields of the METH_TYPED metadata, for a C++ function.
// Source: PyPy's branch py3.10-mb-typed-sig-experiments; docs/ABI.md, section 4.
#ifndef TYPEDCALL_PROVIDER_PYPY_FIELDS_H_
#define TYPEDCALL_PROVIDER_PYPY_FIELDS_H_

#include "typedcall/namespace.h"
#include "typedcall/provider/native.h"
#include "typedcall/typed_method.h"

// Behind Python.h.
#include <array>

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// PyPy's code for a native type, or PyTypedMethod_NOT_FOR_PYPY.
constexpr int pypy_code(PyNativeType type) {
  if (type.is_pointer) return PyTypedMethod_NOT_FOR_PYPY;
  switch (type.code) {
    case PyNativeType_LONG:
      return T_C_LONG;
    case PyNativeType_DOUBLE:
      return T_C_DOUBLE;
    case PyNativeType_OBJECT:
      return T_PY_OBJECT;
    default:
      return PyTypedMethod_NOT_FOR_PYPY;
  }
}

/// PyPy's fields for a function. Its reader takes every -1 of a long that may raise for an error,
/// and -0.0 of a double, so of the functions that raise only those that return objects are for it.
/// It passes no self and knows no status.
template <class Native>
struct TYPEDCALL_HIDDEN pypy_fields {
  static constexpr PyNativeSignature signature =
      signature_of<typename Native::shown_type>::parsed();
  static constexpr bool speaks_pypy() {
    if (Native::takes_self || Native::is_status || Native::arity == 0) return false;
    if (pypy_code(signature.result) == PyTypedMethod_NOT_FOR_PYPY) return false;
    if (Native::may_raise && !Native::returns_object) return false;
    for (std::size_t i = 0; i < Native::arity; ++i) {
      if (pypy_code(signature.args[i]) == PyTypedMethod_NOT_FOR_PYPY) return false;
    }
    return true;
  }
  static constexpr std::array<int, Native::arity + 2> arg_codes() {
    std::array<int, Native::arity + 2> codes{};
    for (std::size_t i = 0; i < Native::arity; ++i) codes[i] = pypy_code(signature.args[i]);
    if (!speaks_pypy()) codes[0] = PyTypedMethod_NOT_FOR_PYPY;
    codes[speaks_pypy() ? Native::arity : 1] = -1;
    return codes;
  }
  // Not const because PyPy's field is not.
  static inline std::array<int, Native::arity + 2> arg_types = arg_codes();
  static constexpr int ret_type = !speaks_pypy()
                                      ? PyTypedMethod_NOT_FOR_PYPY
                                      : (Native::may_raise ? -1 : 1) * pypy_code(signature.result);
};

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_PROVIDER_PYPY_FIELDS_H_
