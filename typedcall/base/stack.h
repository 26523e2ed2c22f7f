// Keeps the stack small in calls that lead from C back to Python.
#ifndef TYPEDCALL_BASE_STACK_H_
#define TYPEDCALL_BASE_STACK_H_

#include <Python.h>

#include "typedcall/base/namespace.h"

/// Makes an array of `count` uninitialised elements, which lives until the calling function
/// returns. Use this only in functions that are not inlined, because the array of a function that
/// is inlined into a loop would be made again in each iteration.
#if defined(__GNUC__) || defined(__clang__)
#define TYPEDCALL_INTERNAL_ON_STACK(type, count) \
  static_cast<type *>(__builtin_alloca((count) * sizeof(type)))
#else
#include <malloc.h>
#define TYPEDCALL_INTERNAL_ON_STACK(type, count) \
  static_cast<type *>(_alloca((count) * sizeof(type)))
#endif

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// Functions of at most this many arguments run in small frames.
inline constexpr int few_arguments = 8;

/// Leaves `levels` levels of recursion.
inline void leave_levels(int levels) {
  while (levels-- > 0) Py_LeaveRecursiveCall();
}

/// Returns the result of `call`, which calls Python from C and returns a new reference or NULL.
/// Counts as `levels` levels of Python's recursion limit. At the limit, returns NULL with
/// RecursionError set. GIL: held.
template <class Call>
PyObject *call_counted(const Call &call, int levels = 1) {
#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030E0000 && !defined(PYPY_VERSION)
  // These versions count calls by C apart from those by Python, up to a limit of their own, which
  // the stack has no room for: 10,000 calls in 3.13. Count up to Python's limit instead.
#ifdef Py_C_RECURSION_LIMIT
  constexpr int limit_of_c = Py_C_RECURSION_LIMIT;
#else
  constexpr int limit_of_c = C_RECURSION_LIMIT;
#endif
  const int limit = Py_GetRecursionLimit();
  levels *= 1 + (limit_of_c - 1) / (0 < limit && limit < 1000 ? limit : 1000);
#endif
  // The levels are not left in a destructor, because a thread that CPython unwinds at the end of
  // the interpreter has no thread state.
  for (int entered = 0; entered < levels; ++entered) {
    if (Py_EnterRecursiveCall(" while calling a Python object") == 0) continue;
    leave_levels(entered);
    return nullptr;
  }
  PyObject *const result = call();
  leave_levels(levels);
  return result;
}

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_BASE_STACK_H_
