// Included by what throws or catches, in front of all else: one error that says what is wrong where
// the compiler's options forbid it.
#ifndef TYPEDCALL_WITH_EXCEPTIONS_H_
#define TYPEDCALL_WITH_EXCEPTIONS_H_

#include "typedcall/namespace.h"

#if !defined(__cpp_exceptions) && !defined(__EXCEPTIONS)
#error "typedcall: this header needs C++ exceptions: compile without -fno-exceptions"
#include TYPEDCALL_INTERNAL_STOP
#endif

#endif  // TYPEDCALL_WITH_EXCEPTIONS_H_
