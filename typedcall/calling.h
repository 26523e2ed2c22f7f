// A typed function as a function of another runtime: takes values, chooses the overload that Python
// would choose, calls its C function once and returns a result or an exception; else calls the
// Python callable. Internal: it is compiled into each sink, and none of its types cross modules.
#ifndef TYPEDCALL_CALLING_H_
#define TYPEDCALL_CALLING_H_

#include "typedcall/base/namespace.h"
#include "typedcall/calling/call.h"

// A sink has the values and takes the result of one call:
//
//   given look(std::size_t i)                      argument i
//   void give(const value_type &, const void *at)  a C result; in any thread state
//   void raised()                                  takes the pending exception, or leaves it to the
//                                                  library (NumPy); attached
//   void detached(const char *why)                 Python is not available
//   bool settles(std::size_t count)                true if answered without a call: NULL in SQL
//   void fall_back(std::size_t count)              calls Python; see by_boxing()
//
// A home tells how other threads reach Python:
//
//   bool attached(PyObject *callable, const Body &body)   body() with a thread state, or false
//   const char *why_detached()

#endif  // TYPEDCALL_CALLING_H_
