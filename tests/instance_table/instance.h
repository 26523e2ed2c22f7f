// Instances with the native-callable slot for the C++ tests.
#ifndef TYPEDCALL_TESTS_INSTANCE_TABLE_INSTANCE_H_
#define TYPEDCALL_TESTS_INSTANCE_TABLE_INSTANCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/extensible_type.h"
#include "gtest/gtest.h"
#include "tests/support/embedded.h"
#include "typedcall/native_callable_slot.h"
#include "typedcall/resolve.h"

namespace typedcall_test {

struct Instance {
  PyObject ob_base;
  PyNativeCallableTables native;
};

inline PyNativeCallableTables *TablesOf(const Ref &instance) {
  return &reinterpret_cast<Instance *>(instance.get())->native;
}

inline PyObject *CallBoxed(PyObject *, PyObject *, PyObject *) { Py_RETURN_NONE; }

inline void Dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyNativeCallableTables_Release(&reinterpret_cast<Instance *>(self)->native);
  type->tp_free(self);
  Py_DECREF(reinterpret_cast<PyObject *>(type));
}

inline Ref MakeCallableType() {
  PyType_Slot type_slots[] = {{Py_tp_call, reinterpret_cast<void *>(CallBoxed)},
                              {Py_tp_dealloc, reinterpret_cast<void *>(Dealloc)},
                              {0, nullptr}};
  PyType_Spec spec = {"test.Callable", sizeof(Instance), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, type_slots};
  const PyCustomSlot slots[] = {PyNativeCallableTables_SLOT(Instance, native)};
  return Ref::Steal(PyExtensibleType_FromSpec(nullptr, &spec, nullptr, slots, 1));
}

/// Returns an address that is never called.
inline void *Address(std::uintptr_t number) { return reinterpret_cast<void *>(number); }

using Entries = std::vector<PyNativeCallableEntry>;

inline int Set(PyNativeCallableTables *tables, const Entries &entries) {
  return PyNativeCallableTables_Set(tables, entries.data(),
                                    static_cast<Py_ssize_t>(entries.size()));
}

/// Returns signatures and addresses as text, such as "d->d 1, f->f 2".
inline std::string Offered(const PyNativeCallableTable *table) {
  if (table == nullptr) return "nothing";
  std::string text;
  for (Py_ssize_t i = 0; i < table->count; ++i) {
    const PyNativeCallableEntry &entry = table->entries[i];
    if (i != 0) text += ", ";
    text += std::string(entry.signature) + " " +
            std::to_string(reinterpret_cast<std::uintptr_t>(entry.funcptr));
  }
  return text;
}

/// Returns the result of the resolver in the same form.
inline std::string Found(const Ref &object, const char *signature,
                         typedcall::capabilities can = 0) {
  const auto found = typedcall::find(nullptr, object.get(), signature, can);
  EXPECT_EQ(TakeError(), "");
  if (!found) return "nothing";
  EXPECT_EQ(found->place, typedcall::place::instance_slot);
  return std::string(found->signature.c_str()) + " " +
         std::to_string(reinterpret_cast<std::uintptr_t>(found->funcptr));
}

/// Each test has one instance. The scope contains its type as `Callable`.
class InstanceTable : public testing::Test {
 protected:
  InstanceTable() : type(MakeCallableType()) {
    EXPECT_TRUE(type) << TakeError();
    scope.Set("Callable", type.get());
    object = scope.Eval("Callable()");
    tables = TablesOf(object);
  }
  ~InstanceTable() override { EXPECT_EQ(TakeError(), ""); }

  const PyNativeCallableTable *Read() const { return PyNativeCallable_InstanceTable(object.get()); }
  std::string Offers() const { return Offered(Read()); }

  Ref type;
  Scope scope;
  Ref object;
  PyNativeCallableTables *tables = nullptr;
};

}  // namespace typedcall_test

#endif  // TYPEDCALL_TESTS_INSTANCE_TABLE_INSTANCE_H_
