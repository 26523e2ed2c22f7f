// Tests tagging.
#include "typedcall/tag.h"

#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/embedded.h"

namespace typedcall_test {
namespace {

long Inc(long x) { return x + 1; }
long Dec(long x) { return x - 1; }

int destroyed;
void CountDestroyed(const void *) { ++destroyed; }

PyNativeCallableTable Table(const char *signature, std::uintptr_t flags = 0,
                            long (*function)(long) = Inc) {
  return {1, {{signature, flags, reinterpret_cast<void *>(function)}}};
}

constexpr std::uintptr_t kRaises = PyNativeCallable_MAY_RAISE | PyNativeCallable_NEEDS_THREAD;
constexpr std::uintptr_t kBack = PyNativeCallable_FALLS_BACK;
constexpr std::uintptr_t kStatus = PyNativeCallable_RETURNS_STATUS | PyNativeCallable_NEEDS_THREAD;

const PyNativeCallableTable typed_table = Table("l->l");

class Tag : public testing::Test {
 protected:
  Tag() : interface_(PyTypedcall_Import()) { destroyed = 0; }
  void SetUp() override { ASSERT_NE(interface_, nullptr) << TakeError(); }

  const PyNativeCallableTable *Found(const PyMethodDef *def) {
    return static_cast<const PyNativeCallableTable *>(
        interface_->find(interface_->state, PyTypedcall_BY_DEF, def));
  }
  /// Returns a new object that can own a tag.
  Ref Owner() { return scope_.Eval("type('Owner', (), {})()"); }

  const PyTypedcall_Interface *interface_;
  Scope scope_;
};

TEST_F(Tag, DefsWithoutANameAreRefused) {
  PyNativeCallableTable table = Table("l->l");
  PyMethodDef nameless = {nullptr, Boxed, METH_O, nullptr};
  Ref owner = Owner();
  for (const PyMethodDef *def :
       {static_cast<const PyMethodDef *>(nullptr), static_cast<const PyMethodDef *>(&nameless)}) {
    EXPECT_EQ(PyTypedMethod_TagDef(interface_, def, owner.get(), &table, CountDestroyed), -1);
    EXPECT_EQ(TakeError(), "ValueError: typedcall: a def without a name cannot be tagged");
  }
  EXPECT_EQ(Found(&nameless), nullptr);
  EXPECT_EQ(destroyed, 0);
}

TEST_F(Tag, FaultyTablesAreRefusedInPlainWords) {
  const struct {
    PyNativeCallableTable table;
    const char *words;
  } cases[] = {
      {Table("d-"), "signature 'd-' at position 2: expected '->'"},
      {Table("dx->d"), "signature 'dx->d' at position 1: unknown type code"},
      {Table("d d->d"), "at position 1: spaces are not allowed"},
      {Table("l->l "), "at position 4"},
      {Table(""), "at position 0"},
      {Table(nullptr), "entry 0 has no signature"},
      {Table("l->l", 0, nullptr), "entry 0, 'l->l', has no function"},
      {Table("l->l", 0x8000),
       "entry 0, 'l->l', has flags 0x8000, which contain bits without a meaning"},
      {Table("l->l", 0x01000000), "bits without a meaning"},
      {Table("l->l", std::uintptr_t{1} << 40), "bits without a meaning"},
      {Table("l->l", PyNativeCallable_MAY_RAISE), "without NEEDS_THREAD"},
      {Table("l->l", PyNativeCallable_RETURNS_STATUS), "without NEEDS_THREAD"},
      {Table("l&l->i", kBack | kRaises),
       "which contradict each other: a function that falls back sets no"},
      {Table("l&l->i", kBack | PyNativeCallable_MAY_RAISE), "which contradict each other"},
      {Table("l&l->i", kBack | kStatus), "which contradict each other"},
      {Table("d&d->i", kBack | PyNativeCallable_ERROR_IS_NEG_ZERO), "which contradict each other"},
      {Table("l&l->i", kBack | 0x8000), "which contain bits without a meaning"},
      {Table("d->d", PyNativeCallable_ERROR_IS_NEG_ZERO),
       "ERROR_IS_NEG_ZERO needs MAY_RAISE, not RETURNS_STATUS"},
      {Table("l->l", kBack), "entry 0, 'l->l', falls back, but its result is not an int"},
      {Table("l->v", kBack), "falls back, but its result is not an int"},
      {Table("l->v", kRaises), "entry 0, 'l->v', may raise, but its result cannot say so"},
      {Table("l->?", kRaises), "may raise, but its result cannot say so"},
      {Table("l->Zd", kRaises), "may raise, but its result cannot say so"},
      {Table("l->v", kStatus), "entry 0, 'l->v', returns a status, but its result is not an int"},
      {Table("l->I", kStatus), "returns a status, but its result is not an int"},
      {Table("l->l", kStatus | kRaises), "returns a status, but its result is not an int"},
      {Table("l->&i", kStatus), "returns a status, but its result is not an int"},
      {{0, {}}, "a tag needs at least one entry"},
      {{-1, {}}, "a tag needs at least one entry"},
  };
  PyTypedMethodMetadata metadata = {nullptr,
                                    nullptr,
                                    PyTypedMethod_SIZE,
                                    PyTypedMethod_ABI_MAJOR,
                                    PyTypedMethod_ABI_MINOR,
                                    PyTypedMethod_MAGIC,
                                    {nullptr, 0, nullptr, "f"}};
  const PyTypedMethodMetadata *const typed[] = {&metadata, nullptr};
  PyMethodDef defs[] = {{metadata.pypy.ml_name, Boxed, METH_O, nullptr}, {}};
  Ref owner = Owner(), function = Ref::Steal(PyCFunction_New(defs, nullptr));
  const auto expect_refused = [](int result, const std::string &start, const char *words) {
    EXPECT_EQ(result, -1);
    const std::string error = TakeError();
    EXPECT_EQ(error.rfind("ValueError: " + start, 0), 0u) << error;
    EXPECT_NE(error.find(words), std::string::npos) << error << " lacks " << words;
  };
  for (const auto &one : cases) {
    const PyNativeCallableTable *table = metadata.table = &one.table;
    expect_refused(PyTypedMethod_TagDef(interface_, defs, owner.get(), table, CountDestroyed),
                   "f: ", one.words);
    expect_refused(PyTypedMethod_TagCallable(interface_, function.get(), table, CountDestroyed),
                   "f: ", one.words);
    expect_refused(PyNativeCallable_TagObject(interface_, owner.get(), table, CountDestroyed),
                   "Owner: ", one.words);
    expect_refused(PyTypedMethod_AddTags(owner.get(), defs, typed), "f: ", one.words);
    expect_refused(PyNativeCallable_CheckTable(table, "f"), "f: ", one.words);
  }
  expect_refused(PyNativeCallable_CheckTable(nullptr, "f"), "f: a tag needs at least one entry",
                 "");
  EXPECT_EQ(Found(defs), nullptr);
  EXPECT_EQ(interface_->find(interface_->state, PyTypedcall_BY_OBJECT, owner.get()), nullptr);
  EXPECT_EQ(destroyed, 0);
}

TEST_F(Tag, ResultsThatCanSayThatAnExceptionIsSet) {
  for (const char *signature : {"->i", "->Q", "->g", "->P", "->s", "->O", "->&?", "->&Zd"}) {
    const PyNativeCallableTable table = Table(signature, kRaises);
    EXPECT_EQ(PyNativeCallable_CheckTable(&table, "f"), 0) << TakeError();
  }
  for (const char *signature : {"l->i", "l&d->i"}) {
    const auto table = Table(signature, kRaises | PyNativeCallable_RETURNS_STATUS);
    EXPECT_EQ(PyNativeCallable_CheckTable(&table, "f"), 0) << TakeError();
  }
}

TEST_F(Tag, WhatFallsBackNeedsNoThread) {
  const std::uintptr_t method = PyNativeCallable_TAKES_SELF | PyNativeCallable_NEEDS_THREAD;
  for (const std::uintptr_t with : {std::uintptr_t{0}, method, PyNativeCallable_DIFFERS,
                                    PyNativeCallable_THREAD_SAFE | PyNativeCallable_PURE}) {
    // The function has a value for Python only if the last argument is the place for it (`&`).
    for (const char *signature : {"d&d->i", "dd&?->i", "&d->i", "l->i", "dP->i", "->i"}) {
      const PyNativeCallableTable table = Table(signature, kBack | with);
      EXPECT_EQ(PyNativeCallable_CheckTable(&table, "f"), 0) << TakeError();
    }
  }
}

TEST_F(Tag, TheSameTagTwiceIsOneTag) {
  PyMethodDef def = {"f", Boxed, METH_O, nullptr};
  PyNativeCallableTable first = Table("l->l"), equal = Table("l->l");
  Ref owner = Owner(), second_owner = Owner();
  EXPECT_EQ(PyTypedMethod_TagDef(interface_, &def, owner.get(), &first, CountDestroyed), 1);
  EXPECT_EQ(PyTypedMethod_TagDef(interface_, &def, owner.get(), &first, CountDestroyed), 1);
  EXPECT_EQ(PyTypedMethod_TagDef(interface_, &def, second_owner.get(), &equal, CountDestroyed), 0);
  EXPECT_EQ(Found(&def), &first);
  owner.reset();
  EXPECT_EQ(Found(&def), &first) << "the second owner lives";
  EXPECT_EQ(destroyed, 0);
  second_owner.reset();
  EXPECT_EQ(Found(&def), nullptr);
  EXPECT_EQ(destroyed, 1) << "of the one table that was taken";
}

TEST_F(Tag, ADifferentTagIsAConflictThatNamesBoth) {
  PyMethodDef def = {"f", Boxed, METH_O, nullptr};
  PyNativeCallableTable existing = Table("l->l");
  Ref owner = Owner();
  ASSERT_EQ(PyTypedMethod_TagDef(interface_, &def, owner.get(), &existing, nullptr), 1);
  for (const PyNativeCallableTable &other :
       {Table("d->d"), Table("l->l", PyNativeCallable_PURE), Table("l->l", 0, Dec)}) {
    EXPECT_EQ(PyTypedMethod_TagDef(interface_, &def, owner.get(), &other, CountDestroyed), -1);
    const std::string error = TakeError();
    EXPECT_EQ(error.rfind("ValueError: f is tagged already: 'l->l'", 0), 0u) << error;
    EXPECT_NE(error.find(std::string("'") + other.entries[0].signature + "'", 40),
              std::string::npos)
        << error;
    EXPECT_EQ(Found(&def), &existing) << "never last wins";
  }
  const auto pure = Table("l->l", PyNativeCallable_PURE);
  EXPECT_EQ(PyTypedMethod_TagDef(interface_, &def, owner.get(), &pure, CountDestroyed), -1);
  const std::string error = TakeError();
  EXPECT_NE(error.find(", no flags (overload 1 of 1), stands"), std::string::npos) << error;
  EXPECT_NE(error.find(", PURE (of 1), was offered; to replace the tag, call untag() first"),
            std::string::npos)
      << error;
  EXPECT_EQ(destroyed, 0);
}

TEST_F(Tag, AConflictShowsTheFirstDifference) {
  struct Overloaded {
    Py_ssize_t count;
    PyNativeCallableEntry entries[2];
  };
  const auto entry = [](const char *signature) {
    return PyNativeCallableEntry{signature, 0, reinterpret_cast<void *>(Inc)};
  };
  const Overloaded existing = {2, {entry("l->l"), entry("q->q")}};
  const struct {
    Overloaded offered;
    const char *first, *second;
  } cases[] = {
      {{2, {entry("l->l"), entry("d->d")}}, "'q->q'", "(overload 2 of 2), stands, 'd->d'"},
      {{2, {entry("d->d"), entry("q->q")}}, "'l->l'", "(overload 1 of 2), stands, 'd->d'"},
      {{1, {entry("l->l"), {}}}, "'l->l'", "(overload 1 of 2), stands, 'l->l'"},
  };
  const auto table = [](const Overloaded &overloaded) {
    return reinterpret_cast<const PyNativeCallableTable *>(&overloaded);
  };
  PyMethodDef def = {"f", Boxed, METH_O, nullptr}, other = {"g", Boxed, METH_O, nullptr};
  Ref owner = Owner();
  ASSERT_EQ(PyTypedMethod_TagDef(interface_, &def, owner.get(), table(existing), nullptr), 1);
  for (const auto &each : cases) {
    EXPECT_EQ(PyTypedMethod_TagDef(interface_, &def, owner.get(), table(each.offered), nullptr),
              -1);
    const std::string error = TakeError();
    EXPECT_EQ(error.rfind(std::string("ValueError: f is tagged already: ") + each.first, 0), 0u)
        << error;
    EXPECT_NE(error.find(each.second), std::string::npos) << error;
  }
  const PyNativeCallableTable one = Table("l->l");
  ASSERT_EQ(PyTypedMethod_TagDef(interface_, &other, owner.get(), &one, nullptr), 1);
  EXPECT_EQ(PyTypedMethod_TagDef(interface_, &other, owner.get(), table(existing), nullptr), -1);
  const std::string error = TakeError();
  EXPECT_NE(error.find("(overload 1 of 1), stands"), std::string::npos) << error;
  EXPECT_NE(error.find("(of 2), was offered"), std::string::npos) << error;
}

// `list` has a method of the same name, but with a different def.
TEST_F(Tag, AMethodThatIsNotItsClasses) {
  PyMethodDef def = {"append", Boxed, METH_O, nullptr};
  const PyNativeCallableTable table = Table("l->l");
  Ref list = Ref::Steal(PyList_New(0)), method = Ref::Steal(PyCFunction_New(&def, list.get()));
  ASSERT_EQ(PyTypedMethod_TagCallable(interface_, method.get(), &table, nullptr), 1);
  EXPECT_EQ(Found(&def), &table);
  method.reset();
  Collect();
  EXPECT_EQ(Found(&def), nullptr) << "it is its own owner";
}

TEST_F(Tag, WhatStandsBehindTheNameCounts) {
  static const PyTypedMethodMetadata metadata = {nullptr,
                                                 &typed_table,
                                                 PyTypedMethod_SIZE,
                                                 PyTypedMethod_ABI_MAJOR,
                                                 PyTypedMethod_ABI_MINOR,
                                                 PyTypedMethod_MAGIC,
                                                 {nullptr, 0, nullptr, "flagged"}};
  PyMethodDef def = {metadata.pypy.ml_name, Boxed, METH_O | METH_TYPED | METH_TYPED_EXT, nullptr};
  Ref owner = Owner();
  PyNativeCallableTable equal = Table("l->l"), other = Table("l->l", 0, Dec), faulty = Table("l");
  EXPECT_EQ(PyTypedMethod_TagDef(interface_, &def, owner.get(), &equal, nullptr), 0);
  EXPECT_EQ(PyTypedMethod_TagDef(interface_, &def, owner.get(), &faulty, nullptr), -1);
  EXPECT_EQ(TakeError().rfind("ValueError: flagged: entry 0: signature 'l'", 0), 0u);
  EXPECT_EQ(PyTypedMethod_TagDef(interface_, &def, owner.get(), &other, nullptr), -1);
  EXPECT_EQ(TakeError().rfind("ValueError: flagged is tagged already: 'l->l'", 0), 0u);
  EXPECT_EQ(Found(&def), nullptr);
}

TEST_F(Tag, CallablesWithoutADefAreRefused) {
  PyNativeCallableTable table = Table("l->l");
  for (const char *expression : {"lambda: 0", "5", "int", "[].__add__", "[].append.__class__"}) {
    Ref object = scope_.Eval(expression);
    EXPECT_EQ(PyTypedMethod_TagCallable(interface_, object.get(), &table, nullptr), -1);
    EXPECT_NE(TakeError().find("objects have no PyMethodDef to tag"), std::string::npos);
    EXPECT_EQ(PyTypedMethod_DefOf(object.get()), nullptr);
    EXPECT_EQ(TakeError(), "");
  }
}

TEST_F(Tag, WhoOwnsATagFromOutside) {
  PyNativeCallableTable table = Table("O->O", PyNativeCallable_NEEDS_THREAD);
  scope_.Run("import types, math\nmodule = types.ModuleType('m')");
  static PyMethodDef in_module = {"f", Boxed, METH_O, nullptr};
  static PyMethodDef alone = {"g", Boxed, METH_O, nullptr};

  Ref module = scope_.Eval("module");
  Ref function = Ref::Steal(PyCFunction_New(&in_module, module.get()));
  EXPECT_EQ(PyTypedMethod_TagCallable(interface_, function.get(), &table, nullptr), 1);
  function.reset();
  EXPECT_EQ(Found(&in_module), &table) << "the module owns it, not one function object";
  module.reset();
  scope_.Run("del module");
  Collect();
  EXPECT_EQ(Found(&in_module), nullptr);

  function = Ref::Steal(PyCFunction_New(&alone, nullptr));
  EXPECT_EQ(PyTypedMethod_TagCallable(interface_, function.get(), &table, nullptr), 1);
  function.reset();
  EXPECT_EQ(Found(&alone), nullptr) << "a def made for one function goes with it";

  Ref append = scope_.Eval("list.append"), bound = scope_.Eval("[].append");
  EXPECT_EQ(PyTypedMethod_DefOf(append.get()), PyTypedMethod_DefOf(bound.get()));
  EXPECT_EQ(PyTypedMethod_TagCallable(interface_, append.get(), &table, nullptr), 1);
  EXPECT_EQ(Found(PyTypedMethod_DefOf(bound.get())), &table) << "both share one def";
  EXPECT_EQ(
      interface_->retract(interface_->state, PyTypedcall_BY_DEF, PyTypedMethod_DefOf(append.get())),
      1);
}

PyObject *BoxedMethod(PyObject *, PyTypeObject *, PyObject *const *, Py_ssize_t, PyObject *) {
  Py_RETURN_NONE;
}

TEST_F(Tag, MethodsOfEveryKindHaveADefAndTheirClassOwnsIt) {
  static PyMethodDef methods[] = {
      {"plain", Boxed, METH_O, nullptr},
      {"of_class", Boxed, METH_O | METH_CLASS, nullptr},
      {"of_nobody", Boxed, METH_O | METH_STATIC, nullptr},
      {"with_class", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(BoxedMethod)),
       METH_METHOD | METH_FASTCALL | METH_KEYWORDS, nullptr},
      {nullptr, nullptr, 0, nullptr},
  };
  static PyType_Slot slots[] = {{Py_tp_methods, methods}, {0, nullptr}};
  static PyType_Spec spec = {"test.Kinds", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT, slots};
  const PyNativeCallableTable table = Table("l->l");
  const struct {
    const char *expression;
    int def;
  } cases[] = {
      {"Kinds.plain", 0},        {"Kinds().plain", 0},     {"Kinds.__dict__['of_class']", 1},
      {"Kinds.of_class", 1},     {"Kinds().of_nobody", 2}, {"Kinds.with_class", 3},
      {"Kinds().with_class", 3},
  };
  for (const auto &one : cases) {
    Ref type = Ref::Steal(PyType_FromSpec(&spec));
    ASSERT_TRUE(type) << TakeError();
    scope_.Set("Kinds", type.get());
    Ref callable = scope_.Eval(one.expression);
    ASSERT_EQ(PyTypedMethod_DefOf(callable.get()), &methods[one.def]) << one.expression;
    EXPECT_EQ(PyTypedMethod_TagCallable(interface_, callable.get(), &table, nullptr), 1)
        << one.expression << TakeError();
    callable.reset();
    Collect();
    EXPECT_EQ(Found(&methods[one.def]), &table) << one.expression;
    scope_.Run("del Kinds");
    type.reset();
    Collect();
    EXPECT_EQ(Found(&methods[one.def]), nullptr) << one.expression;
  }
}

TEST_F(Tag, NothingIsWrittenToForeignDef) {
  scope_.Run("import math");
  Ref sin = scope_.Eval("math.sin");
  PyMethodDef *def = PyTypedMethod_DefOf(sin.get());
  ASSERT_NE(def, nullptr);
  // Counts the defs of `math` from sin to the end of the array.
  std::size_t defs = 0;
  while (def[defs].ml_name != nullptr) ++defs;
  std::vector<unsigned char> before((defs + 1) * sizeof(PyMethodDef));
  std::memcpy(before.data(), def, before.size());
  const std::string name = def->ml_name;
  PyNativeCallableTable table = Table("d->d", PyNativeCallable_DIFFERS);
  ASSERT_EQ(PyTypedMethod_TagCallable(interface_, sin.get(), &table, nullptr), 1);
  EXPECT_EQ(Found(def), &table);
  EXPECT_EQ(std::memcmp(before.data(), def, before.size()), 0);
  EXPECT_EQ(def->ml_name, name);
  EXPECT_EQ(PyTypedMethod_UntagDef(interface_, def), 1);
  EXPECT_EQ(PyTypedMethod_UntagDef(interface_, def), 0);
  EXPECT_EQ(Found(def), nullptr);
}

TEST_F(Tag, ObjectsWithoutADef) {
  PyNativeCallableTable table = Table("l->l"), other = Table("d->d");
  Ref lambda = scope_.Eval("lambda x: x");
  EXPECT_EQ(PyNativeCallable_TagObject(interface_, lambda.get(), &table, CountDestroyed), 1);
  EXPECT_EQ(interface_->find(interface_->state, PyTypedcall_BY_OBJECT, lambda.get()), &table);
  EXPECT_EQ(PyNativeCallable_TagObject(interface_, lambda.get(), &other, nullptr), -1);
  EXPECT_EQ(TakeError().rfind("ValueError: <lambda> is tagged already: 'l->l' at 0x", 0), 0u);
  lambda.reset();
  Collect();
  EXPECT_EQ(destroyed, 1);
  lambda = scope_.Eval("lambda x: x");
  EXPECT_EQ(PyNativeCallable_TagObject(interface_, lambda.get(), &other, nullptr), 1);
  EXPECT_EQ(PyNativeCallable_UntagObject(interface_, lambda.get()), 1);
  EXPECT_EQ(interface_->find(interface_->state, PyTypedcall_BY_OBJECT, lambda.get()), nullptr);
  EXPECT_EQ(PyNativeCallable_UntagObject(interface_, lambda.get()), 0);
}

TEST_F(Tag, AConflictNamesTheObject) {
  const PyNativeCallableTable table = Table("l->l"), other = Table("d->d");
  const struct {
    const char *expression, *words;
  } cases[] = {
      {"type('T', (), {'__name__': 'f' * 1000})()", "ValueError: ffff"},
      {"type('T', (), {'__name__': 5})()", "ValueError: T is tagged already"},
      {"type('T', (), {'__name__': '\\ud800'})()", "ValueError: T is tagged already"},
      {"type('T', (), {})()", "ValueError: T is tagged already"},
      {"type('T', (), {'__name__': property(lambda self: 1 / 0)})()",
       "ValueError: T is tagged already"},
      {"type('T', (), {'__name__': property(lambda self: exec('raise SystemExit(3)'))})()",
       "SystemExit: 3"},
  };
  for (const auto &each : cases) {
    Ref object = scope_.Eval(each.expression);
    ASSERT_EQ(PyNativeCallable_TagObject(interface_, object.get(), &table, nullptr), 1);
    EXPECT_EQ(PyNativeCallable_TagObject(interface_, object.get(), &other, nullptr), -1);
    const std::string error = TakeError();
    EXPECT_EQ(error.rfind(each.words, 0), 0u) << error;
    EXPECT_LT(error.size(), 400u);
    EXPECT_EQ(PyNativeCallable_UntagObject(interface_, object.get()), 1);
  }
}

PyTypedMethod_DEFINE(typed_inc, "inc", {"l->l", 0, reinterpret_cast<void *>(Inc)});
PyTypedMethod_DEFINE(typed_faulty, "faulty", {"l>l", 0, reinterpret_cast<void *>(Inc)});
PyTypedMethod_DEFINE(typed_stray, "stray", {"l->l", 0, reinterpret_cast<void *>(Inc)});
PyTypedMethod_DEFINE_PYPY(typed_contradiction, "contradiction", PyTypedMethod_CODES(T_C_DOUBLE),
                          T_C_DOUBLE, Inc, {"l->l", 0, reinterpret_cast<void *>(Inc)});
PyTypedMethod_DEFINE_PYPY(typed_raising, "raising", PyTypedMethod_CODES(T_C_LONG), -T_C_LONG, Inc,
                          {"l->l", 0, reinterpret_cast<void *>(Inc)});

PyMethodDef defs[] = {
    PyTypedMethod_METHOD_DEF(typed_inc, Boxed, METH_O, nullptr),
    PyTypedMethod_METHOD_DEF(typed_faulty, Boxed, METH_O, nullptr),
    PyTypedMethod_METHOD_DEF(typed_contradiction, Boxed, METH_O, nullptr),
    PyTypedMethod_METHOD_DEF(typed_raising, Boxed, METH_O, nullptr),
    // The text is the same, but ml_name does not point to the name in the metadata.
    {"stray", Boxed, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

TEST_F(Tag, OwnDefs) {
  const struct {
    const PyTypedMethodMetadata *metadata;
    const char *error;
  } cases[] = {
      {&typed_inc, ""},
      {&typed_faulty, "ValueError: faulty: entry 0: signature 'l>l' at position 1"},
      {&typed_stray, "SystemError: no def of the method table uses the metadata of 'stray'"},
      {&typed_contradiction, "ValueError: contradiction: PyPy's type codes contradict the entries"},
      {&typed_raising, "ValueError: raising: PyPy's type codes contradict the entries"},
  };
  for (const auto &one : cases) {
    Ref owner = Owner();
    const PyTypedMethodMetadata *const typed[] = {one.metadata, nullptr};
    const int result = PyTypedMethod_AddTags(owner.get(), defs, typed);
    const std::string error = TakeError();
    EXPECT_EQ(result, error.empty() ? 0 : -1);
    EXPECT_EQ(error.empty(), *one.error == '\0') << error;
    EXPECT_EQ(error.rfind(one.error, 0), 0u) << error;
  }
  Ref owner = Owner();
  const PyTypedMethodMetadata *const typed[] = {&typed_inc, nullptr};
  ASSERT_EQ(PyTypedMethod_AddTags(owner.get(), defs, typed), 0);
  const bool bits = (PyTypedMethod_FLAGS) != 0;
  EXPECT_EQ(PyTypedMethod_Table(&defs[0]), bits ? typed_inc.table : nullptr);
  EXPECT_EQ(Found(&defs[0]), bits ? nullptr : typed_inc.table);
}

}  // namespace
}  // namespace typedcall_test
