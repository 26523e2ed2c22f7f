// The provider's part of await_test.cc and await_call_site_test.cc.
#ifndef TYPEDCALL_TESTS_RENDEZVOUS_AWAIT_PROVIDER_H_
#define TYPEDCALL_TESTS_RENDEZVOUS_AWAIT_PROVIDER_H_

#include "core/interface.h"
#include "tests/support/embedded.h"
#include "typedcall/native_callable.h"

namespace typedcall_test {

/// Calls PyTypedcall_Import in code that can install the interface.
const PyTypedcall_Interface *Install();

/// Returns the capsule of an interface that is not published.
Ref NewInterface();

/// Tags a def or an object. Returns 1 or 0, or -1 with an exception set.
int TagWith(const PyTypedcall_Interface *interface, PyObject *callable,
            const PyNativeCallableTable *table);
int Untag(const PyTypedcall_Interface *interface, PyObject *callable);

}  // namespace typedcall_test

#endif  // TYPEDCALL_TESTS_RENDEZVOUS_AWAIT_PROVIDER_H_
