// Calls a typed function for another runtime. The call uses the overload that Python would choose,
// or the Python callable if there is none. Internal: these types must not be passed between
// modules.
#ifndef TYPEDCALL_CALLING_H_
#define TYPEDCALL_CALLING_H_

#include "typedcall/base/namespace.h"
#include "typedcall/calling/call.h"
#include "typedcall/calling/plan.h"
#include "typedcall/calling/run_many.h"

// A sink provides the argument values of one call and receives the result. Its members:
//
//   argument_value argument(std::size_t i)          argument i
//   void set_result(const value_type &, const void *at)
//                                                  a C result; in any thread state
//   void raised()                                  takes the pending exception, or leaves it to the
//                                                  library (NumPy); attached
//   void detached(const char *why)                 Python is not available
//   bool settles(std::size_t count)                true if answered without a call: NULL in SQL
//   void fall_back(std::size_t count)              calls Python; see by_boxing()
//
// A python_access attaches threads to Python. Its members:
//
//   bool attached(PyObject *callable, const Body &body)   body() with a thread state, or false
//   const char *why_detached()

#endif  // TYPEDCALL_CALLING_H_
