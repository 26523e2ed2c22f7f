// Tagging rows of one's own array in place: what a row then is, what is refused, and that whatever
// is refused leaves every row as it was.
#include "typedcall/tag_array.h"

#include <cstring>
#include <string>

#include "gtest/gtest.h"
#include "tests/support/embedded.h"

namespace typedcall_test {
namespace {

long Inc(long x) { return x + 1; }

PyObject *Boxed(PyObject *, PyObject *argument) {
  Py_INCREF(argument);
  return argument;
}

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

PyMethodDef Row(const char *name, int flags = METH_O) { return {name, Boxed, flags, "doc"}; }

bool Same(const PyMethodDef &a, const PyMethodDef &b) {
  return a.ml_name == b.ml_name && a.ml_meth == b.ml_meth && a.ml_flags == b.ml_flags &&
         a.ml_doc == b.ml_doc;
}

std::string Address() {
  char text[32];
  PyOS_snprintf(text, sizeof text, "%p", reinterpret_cast<void *>(Inc));
  return text;
}

/// Refused with these words, and the row is as it was.
void ExpectRefused(PyMethodDef row, const PyTypedMethodMetadata *metadata,
                   const std::string &words) {
  const PyMethodDef before = row;
  EXPECT_EQ(PyTypedMethod_TagRow(&row, metadata), -1);
  EXPECT_EQ(TakeError(), "ValueError: " + words);
  EXPECT_TRUE(Same(row, before));
}

TEST(TagRow, IsAsIfWrittenWithTheMacro) {
  PyMethodDef row = Row("inc", METH_O | METH_STATIC);
  EXPECT_EQ(PyTypedMethod_TagRow(&row, &inc), 0) << TakeError();
  PyMethodDef written = PyTypedMethod_ROW(inc, Boxed, METH_O | METH_STATIC, row.ml_doc);
  EXPECT_TRUE(Same(row, written));
  EXPECT_EQ(PyTypedMethod_Table(&row), kBits != 0 ? inc.table : nullptr);
}

TEST(TagRow, AgainChangesNothing) {
  PyMethodDef row = Row("inc");
  ASSERT_EQ(PyTypedMethod_TagRow(&row, &inc), 0);
  const PyMethodDef before = row;
  EXPECT_EQ(PyTypedMethod_TagRow(&row, &inc), 0);
  EXPECT_TRUE(Same(row, before));
  EXPECT_EQ(TakeError(), "");
}

TEST(TagRow, BitsThatAreThereStay) {
  PyMethodDef row = {inc.pypy.ml_name, Boxed, METH_O | METH_TYPED | METH_TYPED_EXT, "doc"};
  const PyMethodDef before = row;
  EXPECT_EQ(PyTypedMethod_TagRow(&row, &inc), 0);
  EXPECT_EQ(PyTypedMethod_TagRow(&row, &inc_again), 0) << "equal tables are one tag";
  EXPECT_TRUE(Same(row, before));
  ExpectRefused(row, &other_inc,
                "inc is tagged already: 'l->l' at " + Address() +
                    ", flags 0 (overload 1 of 1), stands, 'q->q' at " + Address() +
                    ", flags 0 (of 1), was offered");
}

TEST(TagRow, Refusals) {
  PyMethodDef nameless = Row(nullptr);
  EXPECT_EQ(PyTypedMethod_TagRow(nullptr, &inc), -1);
  EXPECT_EQ(TakeError(), "ValueError: typedcall: a def without a name cannot be tagged");
  ExpectRefused(nameless, &inc, "typedcall: a def without a name cannot be tagged");
  ExpectRefused(Row("inc2"), &inc, "row 'inc2' cannot have the metadata of 'inc'");
  ExpectRefused(Row("in"), &inc, "row 'in' cannot have the metadata of 'inc'");
  ExpectRefused(Row("inc"), &faulty, "inc: entry 0: signature 'l>l' at position 1: expected '->'");
  ExpectRefused(Row("inc"), &contradiction, "inc: PyPy's type codes contradict the entries");
  ExpectRefused(Row("inc"), nullptr, "typedcall: these metadata are not of version 1");
  // In PyPy's layout; what it says is not looked at.
  ExpectRefused(Row("inc", METH_O | METH_TYPED), &inc,
                "inc is tagged already, in a layout that is not ours");
}

/// The metadata of `inc` in memory that can be changed, fields and name.
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

TEST(TagRow, NamesThatAreTooLong) {
  // In C, a literal of 100 bytes would fill the field and its NUL be lost.
  Changed metadata;
  const std::string longest(99, 'n'), too_long(100, 'n');
  std::memcpy(metadata.name(), too_long.data(), 100);
  ExpectRefused(Row(too_long.c_str()), metadata.get(),
                longest + "...: the name in metadata has more than 99 bytes");
  metadata.name()[99] = '\0';
  ExpectRefused(Row(too_long.c_str()), metadata.get(),
                "row '" + too_long + "' cannot have the metadata of '" + longest + "'");
  PyMethodDef row = Row(longest.c_str());
  EXPECT_EQ(PyTypedMethod_TagRow(&row, metadata.get()), 0) << TakeError();
  EXPECT_EQ(row.ml_name, metadata.name());
}

TEST(TagRow, MetadataOfOtherVersions) {
  const char *words = "typedcall: these metadata are not of version 1";
  ExpectRefused(Row("inc"), Changed().Set(FIELD(magic), ~inc.magic).get(), words);
  ExpectRefused(Row("inc"), Changed().Set(FIELD(abi_major), uint16_t{2}).get(), words);
  ExpectRefused(Row("inc"), Changed().Set(FIELD(size), uint32_t{48}).get(), words);
  Changed newer;
  newer.Set(FIELD(abi_minor), uint16_t{9});
  PyMethodDef row = Row("inc");
  EXPECT_EQ(PyTypedMethod_TagRow(&row, newer.get()), 0) << TakeError();
}

TEST(TagRows, EachGoesToTheRowOfItsName) {
  PyMethodDef rows[] = {Row("dec"), Row("between"), Row("inc"), Row("inc"), Row(nullptr)};
  const PyMethodDef between = rows[1], second = rows[3];
  const PyTypedMethodMetadata *const typed[] = {&inc, &dec, nullptr};
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(PyTypedMethod_TagRows(rows, typed), 0) << TakeError();
    EXPECT_EQ(rows[0].ml_name, dec.pypy.ml_name);
    EXPECT_EQ(rows[2].ml_name, inc.pypy.ml_name);
    EXPECT_EQ(rows[2].ml_flags, METH_O | kBits);
    EXPECT_TRUE(Same(rows[1], between) && Same(rows[3], second));
  }
  const PyTypedMethodMetadata *const none[] = {nullptr};
  EXPECT_EQ(PyTypedMethod_TagRows(rows, none), 0);
}

TEST(TagRows, AllOrNone) {
  PyTypedMethod_DEFINE(stray, "stray", ENTRY("l->l"));
  const struct {
    const PyTypedMethodMetadata *typed[3];
    const char *error;
  } cases[] = {
      {{&dec, &stray, nullptr}, "SystemError: no row of the method table is called 'stray'"},
      {{&dec, &faulty, nullptr},
       "ValueError: inc: entry 0: signature 'l>l' at position 1: expected '->'"},
      {{&inc, &inc_again, nullptr}, "ValueError: row 'inc' is named by two metadata"},
      {{&inc, &inc, nullptr}, "ValueError: row 'inc' is named by two metadata"},
  };
  for (const auto &one : cases) {
    PyMethodDef rows[] = {Row("dec"), Row("inc"), Row(nullptr)};
    const PyMethodDef before[] = {rows[0], rows[1]};
    EXPECT_EQ(PyTypedMethod_TagRows(rows, one.typed), -1);
    EXPECT_EQ(TakeError(), one.error);
    EXPECT_TRUE(Same(rows[0], before[0]) && Same(rows[1], before[1])) << one.error;
  }
}

TEST(AddTags, TakesRowsThatWereTaggedInPlace) {
  static PyMethodDef rows[] = {Row("inc"), Row(nullptr)};
  static const PyTypedMethodMetadata *const typed[] = {&inc, nullptr};
  Scope scope;
  Ref owner = scope.Eval("type('Owner', (), {})()");
  EXPECT_EQ(PyTypedMethod_AddTags(owner.get(), rows, typed), -1) << "not tagged yet";
  EXPECT_EQ(TakeError(), "SystemError: no row of the method table uses the metadata of 'inc'");
  ASSERT_EQ(PyTypedMethod_TagRows(rows, typed), 0);
  ASSERT_EQ(PyTypedMethod_AddTags(owner.get(), rows, typed), 0) << TakeError();
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  ASSERT_NE(interface, nullptr) << TakeError();
  const void *found = interface->find(interface->state, PyTypedcall_BY_DEF, &rows[0]);
  EXPECT_EQ(kBits != 0 ? PyTypedMethod_Table(&rows[0]) : found, inc.table);
}

}  // namespace
}  // namespace typedcall_test
