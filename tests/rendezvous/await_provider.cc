// The provider's code is in a separate file, because the consumer must not contain it.
#include "tests/rendezvous/await_provider.h"

#include "core/rendezvous.h"
#include "typedcall/tag.h"

namespace typedcall_test {

const PyTypedcall_Interface *Install() { return PyTypedcall_Import(); }

Ref NewInterface() { return Ref::Steal(PyTC_NewCapsule()); }

int TagWith(const PyTypedcall_Interface *interface, PyObject *callable,
            const PyNativeCallableTable *table) {
  return PyTypedMethod_DefOf(callable) != nullptr
             ? PyTypedMethod_TagCallable(interface, callable, table, nullptr)
             : PyNativeCallable_TagObject(interface, callable, table, nullptr);
}

int Untag(const PyTypedcall_Interface *interface, PyObject *callable) {
  return PyTypedMethod_DefOf(callable) != nullptr
             ? PyTypedMethod_UntagDef(interface, PyTypedMethod_DefOf(callable))
             : PyNativeCallable_UntagObject(interface, callable);
}

}  // namespace typedcall_test
