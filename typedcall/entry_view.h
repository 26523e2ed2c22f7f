// Describes an entry as Python sees it. The description follows from the signature and the flags.
// C99, C11 and C++11 to C++20 (constexpr from C++14). All functions may be called from any thread
// and interpreter without the GIL. They call no Python function.

#include "core/version.h"

#ifndef TYPEDCALL_ENTRY_VIEW_H_
#define TYPEDCALL_ENTRY_VIEW_H_

#include <stdint.h>

#include "typedcall/native_callable.h"
#include "typedcall/signature.h"

/// The flags that a caller handles by using PyNativeView and PyNativeCheck. The other mandatory
/// flags require more of the caller, such as passing self.
#define PyNativeView_HANDLED_MASK                                                               \
  (PyNativeCallable_NEEDS_THREAD | PyNativeCallable_ACQUIRES_GIL | PyNativeCallable_MAY_RAISE | \
   PyNativeCallable_ERROR_IS_NEG_ZERO | PyNativeCallable_RETURNS_STATUS |                       \
   PyNativeCallable_FALLS_BACK)

// Write a `switch` over these enums without a `default`, so that compilers warn about missing
// cases. Compare only with ANY, which excludes every other state. Callers do not ask for the error
// protocol but for the facts that PyNativeView_Of() derives from it: `is_usable`, `reports`,
// `may_raise` and `may_fall_back`.

/// How the C function reports the outcome of a call. Source: docs/ABI.md, 3.8 to 3.15.
enum PyNativeErrorProtocol {
  /// The entry must be ignored, because a mandatory flag is unknown or the flags contradict the
  /// signature.
  PyNativeErrorProtocol_UNUSABLE,
  PyNativeErrorProtocol_NONE,             ///< the C result is always the result
  PyNativeErrorProtocol_MAY_RAISE,        ///< the C result is an error value if an exception is set
  PyNativeErrorProtocol_CHECK_EXCEPTION,  ///< any C result is an error if an exception is set
  PyNativeErrorProtocol_STATUS,      ///< 0 if the value is in the place, else an exception is set
  PyNativeErrorProtocol_FALLS_BACK,  ///< 0 as with STATUS, else call the Python callable
};

/// The thread state in which the C function is called. Source: docs/ABI.md, section 3 (flags), 6.3.
enum PyNativeThreadState {
  PyNativeThreadState_ANY,       ///< any state, and several threads may call the function at once
  PyNativeThreadState_ATTACHED,  ///< attached (with the GIL, if there is one)
  PyNativeThreadState_DETACHED,  ///< without the GIL; the function takes the GIL itself
};

/// An entry as Python sees it. See PyNativeView_Of().
typedef struct {
  PyNativeType result;  ///< the type of Python's result, with "v" for None
  int nargs;            ///< the number of arguments that Python passes
  int has_place;        ///< nonzero if the result is stored through the next argument
  enum PyNativeErrorProtocol error_protocol;
  enum PyNativeThreadState thread_state;
  int takes_self;      ///< nonzero if the C function takes self before all arguments
  bool is_usable;      ///< false if the entry must be ignored, whatever the facts below are
  bool reports;        ///< true if the C result is no value but a status, which reports the outcome
  bool may_raise;      ///< true if a call may set an exception
  bool may_fall_back;  ///< true if the caller may have to call the Python callable
} PyNativeView;

/// A comparison that recognises most results. If `((bits & mask) == expected) ==
/// is_value_if_equal`, the call has a result; otherwise follow the error protocol. See
/// PyNativeCheck_Of().
typedef struct {
  uint64_t mask;      ///< the bits of the C result to compare; 0 if they are not enough
  uint64_t expected;  ///< a status of 0, or the error value
  bool is_value_if_equal;
} PyNativeCheck;

// Sets the facts that follow from an error protocol. Nothing else derives them.
PyNative_INLINE void PyNativeView_Internal_SetFacts(PyNativeView *view,
                                                    enum PyNativeErrorProtocol error_protocol) {
  switch (error_protocol) {
    case PyNativeErrorProtocol_UNUSABLE:
    case PyNativeErrorProtocol_NONE:
      break;
    case PyNativeErrorProtocol_MAY_RAISE:
    case PyNativeErrorProtocol_CHECK_EXCEPTION:
      view->may_raise = true;
      break;
    case PyNativeErrorProtocol_STATUS:
      view->reports = view->may_raise = true;
      break;
    case PyNativeErrorProtocol_FALLS_BACK:
      view->reports = view->may_fall_back = true;
      break;
  }
}

// True if the thread must be attached.
PyNative_INLINE bool PyNativeView_Internal_IsAttached(enum PyNativeThreadState thread_state) {
  switch (thread_state) {
    case PyNativeThreadState_ATTACHED:
      return true;
    case PyNativeThreadState_ANY:
    case PyNativeThreadState_DETACHED:
      break;
  }
  return false;
}

// True if the thread must not hold the GIL.
PyNative_INLINE bool PyNativeView_Internal_IsDetached(enum PyNativeThreadState thread_state) {
  switch (thread_state) {
    case PyNativeThreadState_DETACHED:
      return true;
    case PyNativeThreadState_ANY:
    case PyNativeThreadState_ATTACHED:
      break;
  }
  return false;
}

// Returns the thread state that these flags require. A function that takes the GIL itself can
// deadlock if the caller holds the GIL. A function that takes self is called with the GIL, because
// self is an object. If a function is not THREAD_SAFE, the GIL keeps a second thread out.
PyNative_INLINE enum PyNativeThreadState PyNativeView_Internal_ThreadState(uintptr_t flags) {
  if ((flags & PyNativeCallable_NEEDS_THREAD) != 0) return PyNativeThreadState_ATTACHED;
  if ((flags & PyNativeCallable_ACQUIRES_GIL) != 0) return PyNativeThreadState_DETACHED;
  if ((flags & PyNativeCallable_TAKES_SELF) != 0) return PyNativeThreadState_ATTACHED;
  return (flags & PyNativeCallable_THREAD_SAFE) != 0 ? PyNativeThreadState_ANY
                                                     : PyNativeThreadState_ATTACHED;
}

// Returns the error protocol for valid flags. RETURNS_STATUS takes precedence over MAY_RAISE. An
// entry with DIFFERS may have a different error value, such as 5 for Cython's `except 5`.
PyNative_INLINE enum PyNativeErrorProtocol PyNativeView_Internal_ErrorProtocol(uintptr_t flags) {
  if ((flags & PyNativeCallable_FALLS_BACK) != 0) return PyNativeErrorProtocol_FALLS_BACK;
  if ((flags & PyNativeCallable_RETURNS_STATUS) != 0) return PyNativeErrorProtocol_STATUS;
  if ((flags & PyNativeCallable_MAY_RAISE) == 0) return PyNativeErrorProtocol_NONE;
  return (flags & PyNativeCallable_DIFFERS) != 0 ? PyNativeErrorProtocol_CHECK_EXCEPTION
                                                 : PyNativeErrorProtocol_MAY_RAISE;
}

/// Describes an entry with this signature and these flags. `signature` must come from a successful
/// parse. The caller must also check for SETS_ERRNO, DIFFERS and self. Source: docs/ABI.md,
/// section 3.
PyNative_INLINE PyNativeView PyNativeView_Of(const PyNativeSignature *signature, uintptr_t flags) {
  const enum PyNativeErrorProtocol stated = PyNativeView_Internal_ErrorProtocol(flags);
  PyNativeView view = {signature->result,
                       signature->nargs,
                       0,
                       PyNativeErrorProtocol_UNUSABLE,
                       PyNativeView_Internal_ThreadState(flags),
                       (flags & PyNativeCallable_TAKES_SELF) != 0,
                       PyNativeCallable_IsWellFormed(flags, signature->result) != 0,
                       false,
                       false,
                       false};
  PyNativeView_Internal_SetFacts(&view, stated);
  if (view.reports) {
    view.result.code = PyNativeType_VOID;
    view.result.pointer_flags = 0;
    if (view.nargs > 0 && PyNativeType_IsPlace(signature->args[view.nargs - 1])) {
      view.has_place = 1;
      view.result.code = signature->args[--view.nargs].code;
    }
  }
  if (view.is_usable) view.error_protocol = stated;
  return view;
}

// Returns the bits of the error value. ERROR_IS_NEG_ZERO is for doubles only.
PyNative_INLINE uint64_t PyNativeCheck_Internal_ErrorValue(PyNativeType type, uintptr_t flags) {
  if (type.pointer_flags) return 0;  // NULL
  if ((flags & PyNativeCallable_ERROR_IS_NEG_ZERO) != 0) return UINT64_C(1) << 63;
  return PyNativeCode_ErrorBits(type.code);
}

/// Returns the comparison for an entry with this error protocol, signature and flags. Source:
/// docs/ABI.md, 3.8 to 3.15.
PyNative_INLINE PyNativeCheck PyNativeCheck_Of(enum PyNativeErrorProtocol error_protocol,
                                               const PyNativeSignature *signature,
                                               uintptr_t flags) {
  const size_t size = PyNativeType_Size(signature->result);
  PyNativeCheck check = {0, 0, true};
  switch (error_protocol) {
    case PyNativeErrorProtocol_UNUSABLE:
    case PyNativeErrorProtocol_NONE:
      break;
    case PyNativeErrorProtocol_STATUS:
    case PyNativeErrorProtocol_FALLS_BACK:
      check.mask = UINT32_MAX;
      break;
    case PyNativeErrorProtocol_CHECK_EXCEPTION:
      check.is_value_if_equal = false;
      break;
    case PyNativeErrorProtocol_MAY_RAISE:
      check.is_value_if_equal = false;
      if (size == 0 || size > sizeof(uint64_t)) break;
      check.mask = UINT64_MAX >> (64 - 8 * size);
      check.expected = PyNativeCheck_Internal_ErrorValue(signature->result, flags);
      break;
  }
  return check;
}

#endif  // TYPEDCALL_ENTRY_VIEW_H_
