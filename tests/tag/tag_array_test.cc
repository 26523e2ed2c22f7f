// Tests tagging the defs of an array in place.
#include "typedcall/tag.h"

#include <cstring>
#include <string>

#include "gtest/gtest.h"
#include "tests/support/embedded.h"

namespace typedcall_test {
namespace {

long Inc(long x) { return x + 1; }

#define ENTRY(signature) \
  { signature, 0, reinterpret_cast<void *>(Inc) }

PyTypedMethod_DEFINE(inc, "inc", ENTRY("l->l"));
PyTypedMethod_DEFINE(inc_again, "inc", ENTRY("l->l"));
PyTypedMethod_DEFINE(other_inc, "inc", ENTRY("q->q"));
PyTypedMethod_DEFINE(dec, "dec", ENTRY("l->l"));
PyTypedMethod_DEFINE(faulty, "inc", ENTRY("l>l"));
PyTypedMethod_DEFINE_PYPY(contradiction, "inc", PyTypedMethod_CODES(T_C_DOUBLE), T_C_DOUBLE, Inc,
                          ENTRY("l->l"));

constexpr int kBits = PyTypedMethod_FLAGS;

PyMethodDef Def(const char *name, int flags = METH_O) { return {name, Boxed, flags, "doc"}; }

bool Same(const PyMethodDef &a, const PyMethodDef &b) {
  return a.ml_name == b.ml_name && a.ml_meth == b.ml_meth && a.ml_flags == b.ml_flags &&
         a.ml_doc == b.ml_doc;
}

std::string Address() {
  char text[32];
  PyOS_snprintf(text, sizeof text, "%p", reinterpret_cast<void *>(Inc));
  return text;
}

/// Checks that the def is refused with these words and stays unchanged.
void ExpectRefused(PyMethodDef def, const PyTypedMethodMetadata *metadata,
                   const std::string &words) {
  const PyMethodDef before = def;
  EXPECT_EQ(PyTypedMethod_TagInPlace(&def, metadata), -1);
  EXPECT_EQ(TakeError(), "ValueError: " + words);
  EXPECT_TRUE(Same(def, before));
}

TEST(TagInPlace, IsAsIfWrittenWithTheMacro) {
  PyMethodDef def = Def("inc", METH_O | METH_STATIC);
  EXPECT_EQ(PyTypedMethod_TagInPlace(&def, &inc), 0) << TakeError();
  PyMethodDef written = PyTypedMethod_METHOD_DEF(inc, Boxed, METH_O | METH_STATIC, def.ml_doc);
  EXPECT_TRUE(Same(def, written));
  EXPECT_EQ(PyTypedMethod_Table(&def), kBits != 0 ? inc.table : nullptr);
}

TEST(TagInPlace, AgainChangesNothing) {
  PyMethodDef def = Def("inc");
  ASSERT_EQ(PyTypedMethod_TagInPlace(&def, &inc), 0);
  const PyMethodDef before = def;
  EXPECT_EQ(PyTypedMethod_TagInPlace(&def, &inc), 0);
  EXPECT_TRUE(Same(def, before));
  EXPECT_EQ(TakeError(), "");
}

TEST(TagInPlace, BitsThatAreThereStay) {
  PyMethodDef def = {inc.pypy.ml_name, Boxed, METH_O | METH_TYPED | METH_TYPED_EXT, "doc"};
  const PyMethodDef before = def;
  EXPECT_EQ(PyTypedMethod_TagInPlace(&def, &inc), 0);
  EXPECT_EQ(PyTypedMethod_TagInPlace(&def, &inc_again), 0) << "equal tables are one tag";
  EXPECT_TRUE(Same(def, before));
  ExpectRefused(def, &other_inc,
                "inc is tagged already: 'l->l' at " + Address() +
                    ", no flags (overload 1 of 1), stands, 'q->q' at " + Address() +
                    ", no flags (of 1), was offered");
}

TEST(TagInPlace, Refusals) {
  PyMethodDef nameless = Def(nullptr);
  EXPECT_EQ(PyTypedMethod_TagInPlace(nullptr, &inc), -1);
  EXPECT_EQ(TakeError(), "ValueError: typedcall: a def without a name cannot be tagged");
  ExpectRefused(nameless, &inc, "typedcall: a def without a name cannot be tagged");
  ExpectRefused(Def("inc2"), &inc, "def 'inc2' cannot have the metadata of 'inc'");
  ExpectRefused(Def("in"), &inc, "def 'in' cannot have the metadata of 'inc'");
  ExpectRefused(Def("inc"), &faulty, "inc: entry 0: signature 'l>l' at position 1: expected '->'");
  ExpectRefused(Def("inc"), &contradiction, "inc: PyPy's type codes contradict the entries");
  ExpectRefused(Def("inc"), nullptr, "typedcall: these metadata are not of version 1");
  // METH_TYPED without METH_TYPED_EXT means PyPy's layout.
  ExpectRefused(Def("inc", METH_O | METH_TYPED), &inc,
                "inc is tagged already, in a layout that is not ours");
}

/// The metadata of `inc` in writable memory.
class Changed {
 public:
  Changed() { std::memcpy(bytes_, &inc, sizeof inc); }
  template <class T>
  Changed &Set(std::size_t offset, T value) {
    std::memcpy(bytes_ + offset, &value, sizeof value);
    return *this;
  }
  char *name() { return bytes_ + PyTypedMethod_SIZE; }
  const PyTypedMethodMetadata *get() const {
    return reinterpret_cast<const PyTypedMethodMetadata *>(bytes_);
  }

 private:
  alignas(PyTypedMethodMetadata) char bytes_[sizeof(PyTypedMethodMetadata)];
};

#define FIELD(name) offsetof(PyTypedMethodMetadata, name)

TEST(TagInPlace, NamesThatAreTooLong) {
  // In C, a literal of 100 bytes fits into the field without its NUL.
  Changed metadata;
  const std::string longest(99, 'n'), too_long(100, 'n');
  std::memcpy(metadata.name(), too_long.data(), 100);
  ExpectRefused(Def(too_long.c_str()), metadata.get(),
                longest + "...: the name in metadata has more than 99 bytes");
  metadata.name()[99] = '\0';
  ExpectRefused(Def(too_long.c_str()), metadata.get(),
                "def '" + too_long + "' cannot have the metadata of '" + longest + "'");
  PyMethodDef def = Def(longest.c_str());
  EXPECT_EQ(PyTypedMethod_TagInPlace(&def, metadata.get()), 0) << TakeError();
  EXPECT_EQ(def.ml_name, metadata.name());
}

TEST(TagInPlace, MetadataOfOtherVersions) {
  const char *words = "typedcall: these metadata are not of version 1";
  ExpectRefused(Def("inc"), Changed().Set(FIELD(magic), ~inc.magic).get(), words);
  ExpectRefused(Def("inc"), Changed().Set(FIELD(abi_major), uint16_t{2}).get(), words);
  ExpectRefused(Def("inc"), Changed().Set(FIELD(size), uint32_t{48}).get(), words);
  Changed newer;
  newer.Set(FIELD(abi_minor), uint16_t{9});
  PyMethodDef def = Def("inc");
  EXPECT_EQ(PyTypedMethod_TagInPlace(&def, newer.get()), 0) << TakeError();
}

TEST(TagArray, EachGoesToTheDefOfItsName) {
  PyMethodDef defs[] = {Def("dec"), Def("between"), Def("inc"), Def("inc"), Def(nullptr)};
  const PyMethodDef between = defs[1], second = defs[3];
  const PyTypedMethodMetadata *const typed[] = {&inc, &dec, nullptr};
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(PyTypedMethod_TagArray(defs, typed), 0) << TakeError();
    EXPECT_EQ(defs[0].ml_name, dec.pypy.ml_name);
    EXPECT_EQ(defs[2].ml_name, inc.pypy.ml_name);
    EXPECT_EQ(defs[2].ml_flags, METH_O | kBits);
    EXPECT_TRUE(Same(defs[1], between) && Same(defs[3], second));
  }
  const PyTypedMethodMetadata *const none[] = {nullptr};
  EXPECT_EQ(PyTypedMethod_TagArray(defs, none), 0);
}

TEST(TagArray, AllOrNone) {
  PyTypedMethod_DEFINE(stray, "stray", ENTRY("l->l"));
  const struct {
    const PyTypedMethodMetadata *typed[3];
    const char *error;
  } cases[] = {
      {{&dec, &stray, nullptr}, "SystemError: no def of the method table is called 'stray'"},
      {{&dec, &faulty, nullptr},
       "ValueError: inc: entry 0: signature 'l>l' at position 1: expected '->'"},
      {{&inc, &inc_again, nullptr}, "ValueError: def 'inc' is named by two metadata"},
      {{&inc, &inc, nullptr}, "ValueError: def 'inc' is named by two metadata"},
  };
  PyMethodDef foreign[] = {Def("dec"), Def("inc", METH_O | METH_TYPED), Def(nullptr)};
  const PyTypedMethodMetadata *const both[] = {&dec, &inc, nullptr};
  EXPECT_EQ(PyTypedMethod_TagArray(foreign, both), -1);
  EXPECT_EQ(TakeError(), "ValueError: inc is tagged already, in a layout that is not ours");
  EXPECT_NE(foreign[0].ml_name, dec.pypy.ml_name) << "nothing has changed";
  for (const auto &one : cases) {
    PyMethodDef defs[] = {Def("dec"), Def("inc"), Def(nullptr)};
    const PyMethodDef before[] = {defs[0], defs[1]};
    EXPECT_EQ(PyTypedMethod_TagArray(defs, one.typed), -1);
    EXPECT_EQ(TakeError(), one.error);
    EXPECT_TRUE(Same(defs[0], before[0]) && Same(defs[1], before[1])) << one.error;
  }
}

TEST(AddTags, TakesDefsThatWereTaggedInPlace) {
  static PyMethodDef defs[] = {Def("inc"), Def(nullptr)};
  static const PyTypedMethodMetadata *const typed[] = {&inc, nullptr};
  Scope scope;
  Ref owner = scope.Eval("type('Owner', (), {})()");
  EXPECT_EQ(PyTypedMethod_AddTags(owner.get(), defs, typed), -1) << "not tagged yet";
  EXPECT_EQ(TakeError(), "SystemError: no def of the method table uses the metadata of 'inc'");
  ASSERT_EQ(PyTypedMethod_TagArray(defs, typed), 0);
  ASSERT_EQ(PyTypedMethod_AddTags(owner.get(), defs, typed), 0) << TakeError();
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  ASSERT_NE(interface, nullptr) << TakeError();
  const void *found = interface->find(interface->state, PyTypedcall_BY_DEF, &defs[0]);
  EXPECT_EQ(kBits != 0 ? PyTypedMethod_Table(&defs[0]) : found, inc.table);
}

}  // namespace
}  // namespace typedcall_test
