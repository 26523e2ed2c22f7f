// Tests static extensible types. Readers must not read beyond the struct of a type.
#include "core/extensible_type.h"

#include <cstdlib>

#include "gtest/gtest.h"
#include "tests/support/embedded.h"

namespace typedcall_test {
namespace {

constexpr std::uintptr_t kFirst = PyCustomSlot_ID(PyCustomSlot_REGISTRAR_PRIVATE, 1, 0);
constexpr std::uintptr_t kSecond = PyCustomSlot_ID(PyCustomSlot_REGISTRAR_PRIVATE, 2, 0);

int first, second;
PyCustomSlot slots[] = {{kFirst, {&first}}, {kSecond, {&second}}};

/// Returns a static type for which PyExtensibleType_Ready was not called. It is on the heap, where
/// ASan detects reads beyond it, and is never freed.
PyHeapExtensibleTypeObject *NewStaticType(const char *name, std::uint64_t magic) {
  auto *made = static_cast<PyHeapExtensibleTypeObject *>(
      std::aligned_alloc(alignof(PyHeapExtensibleTypeObject), sizeof(PyHeapExtensibleTypeObject)));
  *made = PyHeapExtensibleTypeObject();
  PyTypeObject *type = &made->etp_heaptype.ht_type;
  type->tp_name = name;
  type->tp_basicsize = sizeof(PyObject);
  type->tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
  type->tp_new = PyType_GenericNew;
  type->tp_as_buffer = &made->etp_heaptype.as_buffer;
  made->etp_custom_slot_count = 2;
  made->etp_custom_slot_table = slots;
  made->etp_magic = magic;
  Py_SET_REFCNT(reinterpret_cast<PyObject *>(type), 1);
  PyTypeObject *metaclass = PyExtensibleType_Import();
  if (metaclass == nullptr) return nullptr;
  Py_SET_TYPE(reinterpret_cast<PyObject *>(type), metaclass);
  return PyType_Ready(type) == 0 ? made : nullptr;
}

class StaticType : public testing::Test {
 protected:
  PyCustomSlot *Find(const char *expression, std::uintptr_t id) {
    Ref object = scope_.Eval(expression);
    return object ? PyCustomSlots_Find(object.get(), id, 0) : nullptr;
  }
  Scope scope_;
};

TEST_F(StaticType, SlotsAreFoundAndInherited) {
  static PyHeapExtensibleTypeObject *made = NewStaticType("test.Static", PyExtensibleType_MAGIC);
  ASSERT_NE(made, nullptr) << TakeError();
  scope_.Set("Static", reinterpret_cast<PyObject *>(made));
  EXPECT_EQ(Find("Static()", kSecond), &slots[1]);
  ASSERT_TRUE(
      scope_.Run("class Child(Static): pass\n"
                 "class Grandchild(Child): pass\n"
                 "class Plain: pass\n"
                 "class Mixed(Plain, Static): pass\n"));
  for (const char *expression : {"Child()", "Grandchild()", "Mixed()"}) {
    EXPECT_EQ(Find(expression, kFirst), &slots[0]) << "the static table itself is shared";
    EXPECT_EQ(Find(expression, kSecond), &slots[1]) << expression;
  }
  scope_.Run("del Child, Grandchild, Mixed");
  Collect();
  EXPECT_EQ(Find("Static()", kFirst), &slots[0]) << "a static table is never freed";
}

TEST_F(StaticType, WithoutTheMagicItOffersNothingAndIsLeftAlone) {
  static PyHeapExtensibleTypeObject *made = NewStaticType("test.Unready", 0);
  ASSERT_NE(made, nullptr) << TakeError();
  PyTypeObject *type = &made->etp_heaptype.ht_type;
  scope_.Set("Unready", reinterpret_cast<PyObject *>(type));
  EXPECT_EQ(Find("Unready()", kFirst), nullptr);
  EXPECT_EQ(TakeError(), "");
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  EXPECT_EQ(interface->resolve(interface->state, type, nullptr, 0), -1);
  EXPECT_EQ(TakeError(),
            "TypeError: PyExtensibleType_Ready did not make the static type 'test.Unready' ready");
  EXPECT_EQ(made->etp_magic, 0u);
}

}  // namespace
}  // namespace typedcall_test
