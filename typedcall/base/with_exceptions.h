// Gives a clear error if C++ exceptions are disabled. Headers that throw or catch exceptions
// include this one first.
#ifndef TYPEDCALL_BASE_WITH_EXCEPTIONS_H_
#define TYPEDCALL_BASE_WITH_EXCEPTIONS_H_

#include "typedcall/base/namespace.h"

#if !defined(__cpp_exceptions) && !defined(__EXCEPTIONS)
#error "typedcall: this header needs C++ exceptions: compile without -fno-exceptions"
#include TYPEDCALL_INTERNAL_STOP
#endif

#endif  // TYPEDCALL_BASE_WITH_EXCEPTIONS_H_
