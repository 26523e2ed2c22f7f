// A shorter way from PyObject_Vectorcall into a module's functions of one number that cannot reach
// Python code. For everything but a plain call with the number itself it is CPython's own way.
#ifndef TYPEDCALL_PROVIDER_DIRECT_VECTORCALL_H_
#define TYPEDCALL_PROVIDER_DIRECT_VECTORCALL_H_

#include <Python.h>

#include <atomic>
#include <cstddef>

#include "typedcall/namespace.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

// PyPy's functions have no such field. Without a GIL other threads could call one while it changes.
#if defined(PYPY_VERSION) || defined(Py_GIL_DISABLED)

inline int make_direct(PyObject *, const PyMethodDef *, PyTypeObject *) { return 0; }

#else

// CPython's own function for METH_O, which is the same for all of them in all interpreters.
TYPEDCALL_HIDDEN inline std::atomic<vectorcallfunc> cpythons_vectorcall{};

/// What CPython's own does, but for the recursion check: an exact int or float is converted, the
/// function called and the result boxed without any Python code, so nothing recurs. Keywords, a
/// wrong number of arguments and all other types are CPython's own function's to deal with.
template <PyTypeObject *Type>
PyObject *direct_vectorcall(PyObject *function, PyObject *const *args, std::size_t nargsf,
                            PyObject *keywords) {
  if (TYPEDCALL_EXPECT(
          keywords == nullptr && PyVectorcall_NARGS(nargsf) == 1 && Py_TYPE(args[0]) == Type, 1)) {
    const auto *builtin = reinterpret_cast<const PyCFunctionObject *>(function);
    return builtin->m_ml->ml_meth(builtin->m_self, args[0]);
  }
  return cpythons_vectorcall.load(std::memory_order_relaxed)(function, args, nargsf, keywords);
}

/// Makes the function that `module` has of the METH_O def `def` a direct one for arguments of
/// `type`, which is int or float. Only the very function object that CPython made of that def for
/// that module is changed: nobody else's. 0, or -1 with an exception. GIL: held.
TYPEDCALL_RARE inline int make_direct(PyObject *module, const PyMethodDef *def,
                                      PyTypeObject *type) {
  PyObject *name = PyUnicode_FromString(def->ml_name);
  if (name == nullptr) return -1;
  PyObject *found = PyDict_GetItemWithError(PyModule_GetDict(module), name);
  Py_DECREF(name);
  if (found == nullptr) return PyErr_Occurred() ? -1 : 0;
  if (!PyCFunction_CheckExact(found)) return 0;
  auto *builtin = reinterpret_cast<PyCFunctionObject *>(found);
  const vectorcallfunc direct =
      type == &PyLong_Type ? direct_vectorcall<&PyLong_Type> : direct_vectorcall<&PyFloat_Type>;
  if (builtin->m_ml != def || builtin->m_self != module || builtin->vectorcall == nullptr ||
      builtin->vectorcall == direct) {
    return 0;
  }
  cpythons_vectorcall.store(builtin->vectorcall, std::memory_order_relaxed);
  builtin->vectorcall = direct;
  return 0;
}

#endif

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_PROVIDER_DIRECT_VECTORCALL_H_
