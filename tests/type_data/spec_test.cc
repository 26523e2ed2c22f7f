// Tests how the headers read type specs with members of every kind. test_specs.py tests refusals,
// and the sizes that Python code sees.
#include <vector>

#include "core/type_data.h"
#include "gtest/gtest.h"
#include "tests/support/embedded.h"

namespace typedcall_test {
namespace {

#if PY_VERSION_HEX >= 0x030C0000
constexpr int kSize = Py_T_PYSSIZET, kInt = Py_T_INT, kReadOnly = Py_READONLY;
#else
constexpr int kSize = T_PYSSIZET, kInt = T_INT, kReadOnly = READONLY;
#endif
constexpr int kRelative = Py_RELATIVE_OFFSET;
constexpr unsigned long kAtEnd = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_ITEMS_AT_END;

PyMemberDef Member(const char *name, int type, Py_ssize_t offset, int flags) {
  return {name, type, offset, flags, nullptr};
}

// A spec with members, and a base that is a Python expression.
struct Case {
  const char *base;
  int basicsize, itemsize;
  unsigned long flags;
  std::vector<PyMemberDef> members;
};

class Spec : public testing::Test {
 protected:
  Ref Make(Case made) {
    made.members.push_back(Member(nullptr, 0, 0, 0));
    std::vector<PyType_Slot> slots;
    if (made.members.size() > 1 || with_empty_members_) {
      slots.push_back({Py_tp_members, made.members.data()});
    }
    slots.push_back({0, nullptr});
    PyType_Spec spec = {"test.Spec", made.basicsize, made.itemsize,
                        static_cast<unsigned int>(made.flags), slots.data()};
    return Ref::Steal(PyTypeData_FromSpec(nullptr, nullptr, &spec, scope_.Eval(made.base).get()));
  }
  void ExpectFault(const Case &faulty, const std::string &error) {
    EXPECT_FALSE(Make(faulty));
    EXPECT_NE(TakeError().find(error), std::string::npos) << error;
  }
  Scope scope_;
  bool with_empty_members_ = false;
};

TEST_F(Spec, Bases) {
  constexpr unsigned long plain = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
  Ref whole = Make({"object", 64, 0, plain, {Member("x", kInt, 16, 0)}});
  ASSERT_TRUE(whole) << TakeError();
  EXPECT_EQ(whole.type()->tp_basicsize, 64);
  Ref metaclass = Make({"type", -8, 0, plain, {}});
  ASSERT_TRUE(metaclass) << TakeError();
  EXPECT_EQ(PyTypeData_HasItemsAtEnd(metaclass.type()), 1);
  Ref with_items = Make({"tuple", -8, 0, plain | kAtEnd, {}});
  ASSERT_TRUE(with_items) << TakeError();
  EXPECT_EQ(PyTypeData_HasItemsAtEnd(with_items.type()), 1);
  EXPECT_EQ(PyTypeData_Size(with_items.type()), Py_ssize_t{PyExtensibleType_ALIGNMENT});
  with_empty_members_ = true;
  EXPECT_TRUE(Make({"object", -8, 0, plain, {}})) << TakeError();
}

TEST_F(Spec, Faults) {
  constexpr unsigned long plain = Py_TPFLAGS_DEFAULT;
  ExpectFault({"object", 64, 0, plain, {Member("x", kInt, 16, kRelative)}},
              "a relative offset needs a negative basicsize");
  ExpectFault({"tuple", -8, 0, plain, {}}, "Py_TPFLAGS_ITEMS_AT_END");
  ExpectFault({"object", -8, 0, kAtEnd, {}}, "Py_TPFLAGS_ITEMS_AT_END without items");
}

TEST_F(Spec, SpecialMembers) {
  constexpr unsigned long plain = Py_TPFLAGS_DEFAULT;
  constexpr Py_ssize_t at = sizeof(PyObject);
  // With offsets from the beginning of the instance.
  Ref type = Make({"object",
                   at + 16,
                   0,
                   plain,
                   {Member("__dictoffset__", kSize, at, kReadOnly),
                    Member("__weaklistoffset__", kSize, at + 8, kReadOnly)}});
  ASSERT_TRUE(type) << TakeError();
  EXPECT_EQ(type.type()->tp_dictoffset, at);
  EXPECT_EQ(type.type()->tp_weaklistoffset, at + 8);
  // With offsets from the beginning of the appended data.
  type = Make({"object",
               -24,
               0,
               plain,
               {Member("__dictoffset__", kSize, 0, kReadOnly | kRelative),
                Member("__weaklistoffset__", kSize, 8, kReadOnly | kRelative),
                Member("__vectorcalloffset__", kSize, 16, kReadOnly | kRelative)}});
  ASSERT_TRUE(type) << TakeError();
  const Py_ssize_t start = type.type()->tp_basicsize - PyTypeData_Size(type.type());
  EXPECT_EQ(type.type()->tp_dictoffset, start);
  EXPECT_EQ(type.type()->tp_weaklistoffset, start + 8);
  EXPECT_EQ(type.type()->tp_vectorcall_offset, start + 16);
  Ref dict = Ref::Steal(PyObject_GetAttrString(type.get(), "__dict__"));
  EXPECT_FALSE(PyMapping_HasKeyString(dict.get(), "__dictoffset__"));
  EXPECT_FALSE(PyMapping_HasKeyString(dict.get(), "__weaklistoffset__"));
  if (PY_VERSION_HEX >= 0x030C0000) {
    EXPECT_FALSE(PyMapping_HasKeyString(dict.get(), "__vectorcalloffset__"));
  }
}

#if PY_VERSION_HEX < 0x030C0000  // later versions read these specs themselves
TEST_F(Spec, OffsetsOutsideTheInstance) {
  constexpr Py_ssize_t size = sizeof(PyObject) + 8;
  for (const char *name : {"__dictoffset__", "__weaklistoffset__", "__vectorcalloffset__"}) {
    ExpectFault({"object", size, 0, Py_TPFLAGS_DEFAULT, {Member(name, kSize, size, kReadOnly)}},
                "a special member is out of bounds");
  }
}

TEST_F(Spec, ANameWithoutAModule) {
  PyType_Slot slots[] = {{0, nullptr}};
  PyType_Spec spec = {"Undotted", 0, 0, Py_TPFLAGS_DEFAULT, slots};
  Ref type = Ref::Steal(PyTypeData_FromSpec(nullptr, nullptr, &spec, nullptr));
  ASSERT_TRUE(type) << TakeError();
  Ref dict = Ref::Steal(PyObject_GetAttrString(type.get(), "__dict__"));
  EXPECT_FALSE(PyMapping_HasKeyString(dict.get(), "__module__"));
  scope_.Run("import warnings\nwarnings.simplefilter('error')");
  EXPECT_EQ(PyTypeData_FromSpec(nullptr, nullptr, &spec, nullptr), nullptr);
  EXPECT_EQ(TakeError(),
            "DeprecationWarning: type 'Undotted' has no __module__: its name has no dot");
  scope_.Run("warnings.resetwarnings()");
}

TEST_F(Spec, AMemberMayBeTheModule) {
  Ref type = Make({"object",
                   sizeof(PyObject) + 8,
                   0,
                   Py_TPFLAGS_DEFAULT,
                   {Member("__module__", kInt, sizeof(PyObject), 0)}});
  ASSERT_TRUE(type) << TakeError();
  Ref dict = Ref::Steal(PyObject_GetAttrString(type.get(), "__dict__"));
  Ref module = Ref::Steal(PyMapping_GetItemString(dict.get(), "__module__"));
  ASSERT_TRUE(module);
  EXPECT_STREQ(Py_TYPE(module.get())->tp_name, "member_descriptor");
}
#endif

}  // namespace
}  // namespace typedcall_test
