// Tests the owner and lifetime of a tag. Each table must be destroyed exactly once.

// All rows go to the side table, as on CPython 3.11 and later.
#define PyTypedMethod_FLAGS 0
#include "typedcall/tag.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <map>
#include <string>

#include "gtest/gtest.h"
#include "tests/support/embedded.h"

namespace typedcall_test {
namespace {

long Inc(long x) { return x + 1; }
long Dec(long x) { return x - 1; }

std::map<const void *, int> destroyed;
void Destroy(const void *table) { ++destroyed[table]; }

PyNativeCallableTable Table(const char *signature = "l->l", long (*function)(long) = Inc) {
  return {1, {{signature, 0, reinterpret_cast<void *>(function)}}};
}

const void *Found(const PyTypedcall_Interface *interface, const PyMethodDef *def) {
  return interface->find(interface->state, PyTypedcall_BY_DEF, def);
}

class TagOwner : public testing::Test {
 protected:
  TagOwner() : interface_(PyTypedcall_Import()) { destroyed.clear(); }
  void SetUp() override { ASSERT_NE(interface_, nullptr) << TakeError(); }

  int TagCallable(const Ref &callable, const PyNativeCallableTable *table) {
    return PyTypedMethod_TagCallable(interface_, callable.get(), table, Destroy);
  }
  uint64_t RowsAdded() {
    PyTypedcall_Counters counters = {};
    interface_->counters(interface_->state, &counters, sizeof counters);
    return counters.rows_added;
  }

  const PyTypedcall_Interface *interface_;
  Scope scope_;
};

TEST_F(TagOwner, OfADescriptorIsItsClass) {
  static PyMethodDef methods[] = {{"f", Boxed, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_methods, methods}, {0, nullptr}};
  PyType_Spec spec = {"test.WithMethod", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT, slots};
  Ref type = Ref::Steal(PyType_FromSpec(&spec));
  ASSERT_TRUE(type) << TakeError();
  PyNativeCallableTable table = Table();
  Ref descriptor = Ref::Steal(PyObject_GetAttrString(type.get(), "f"));
  ASSERT_EQ(TagCallable(descriptor, &table), 1) << TakeError();
  descriptor.reset();
  ASSERT_EQ(PyObject_DelAttrString(type.get(), "f"), 0);
  Collect();
  EXPECT_EQ(Found(interface_, &methods[0]), &table);
  type.reset();
  Collect();
  EXPECT_EQ(Found(interface_, &methods[0]), nullptr);
  EXPECT_EQ(destroyed[&table], 1);
}

// The class of the bound object owns the def.
TEST_F(TagOwner, OfABoundMethodIsItsClass) {
  static PyMethodDef methods[] = {{"method", Boxed, METH_O, nullptr},
                                  {"class_method", Boxed, METH_O | METH_CLASS, nullptr},
                                  {"static_method", Boxed, METH_O | METH_STATIC, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_methods, methods}, {0, nullptr}};
  for (const char *bound : {"T().method", "D().method", "T.class_method", "D.class_method",
                            "T.static_method", "D.static_method"}) {
    PyType_Spec spec = {"test.WithMethods", sizeof(PyObject), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
    Ref type = Ref::Steal(PyType_FromSpec(&spec));
    ASSERT_TRUE(type) << TakeError();
    scope_.Set("T", type.get());
    scope_.Run("class D(T): pass");
    PyNativeCallableTable table = Table();
    destroyed.clear();
    Ref callable = scope_.Eval(bound);
    const PyMethodDef *def = PyTypedMethod_DefOf(callable.get());
    ASSERT_EQ(TagCallable(callable, &table), 1) << bound << TakeError();
    callable.reset();
    scope_.Run("del D");
    Collect();
    EXPECT_EQ(Found(interface_, def), &table) << bound;
    scope_.Run("del T");
    type.reset();
    Collect();
    EXPECT_EQ(Found(interface_, def), nullptr) << bound;
    EXPECT_EQ(destroyed[&table], 1) << bound;
  }
}

TEST_F(TagOwner, OfBuiltinTypesMethods) {
  static std::deque<PyNativeCallableTable> tables;  // the tables must live as long as the types
  for (const char *bound : {"[].append", "dict.fromkeys", "str.maketrans", "int.mro"}) {
    const PyNativeCallableTable &table = tables.emplace_back(Table());
    Ref callable = scope_.Eval(bound);
    const PyMethodDef *def = PyTypedMethod_DefOf(callable.get());
    ASSERT_EQ(TagCallable(callable, &table), 1) << bound << TakeError();
    callable.reset();
    Collect();
    EXPECT_EQ(Found(interface_, def), &table) << bound << ": builtin types live on";
    EXPECT_EQ(PyTypedMethod_UntagDef(interface_, def), 1);
  }
}

// The class has another attribute with this name, so the owner of the def is unknown.
TEST_F(TagOwner, OfAHiddenMethodIsTheFunction) {
  scope_.Run("class Hides(list):\n  append = None\nf = super(Hides, Hides()).append");
  PyNativeCallableTable table = Table();
  Ref callable = scope_.Eval("f");
  const PyMethodDef *def = PyTypedMethod_DefOf(callable.get());
  ASSERT_EQ(TagCallable(callable, &table), 1) << TakeError();
  callable.reset();
  EXPECT_EQ(Found(interface_, def), &table);
  scope_.Run("del f");
  Collect();
  EXPECT_EQ(Found(interface_, def), nullptr);
}

TEST_F(TagOwner, WithoutWeakReferences) {
  PyNativeCallableTable table = Table();
  PyMethodDef def = {"f", Boxed, METH_O, nullptr};
  Ref tuple = scope_.Eval("tuple([object()])");
  EXPECT_EQ(PyTypedMethod_TagDef(interface_, &def, tuple.get(), &table, Destroy), -1);
  EXPECT_EQ(TakeError().rfind("TypeError: ", 0), 0u);
  EXPECT_EQ(Found(interface_, &def), nullptr);

  // A tag on the object keeps the callable alive.
  const Py_ssize_t references = Py_REFCNT(tuple.get());
  EXPECT_EQ(PyNativeCallable_TagObject(interface_, tuple.get(), &table, Destroy), 1);
  EXPECT_EQ(Py_REFCNT(tuple.get()), references + 1);
  EXPECT_EQ(interface_->retract(interface_->state, PyTypedcall_BY_OBJECT, tuple.get()), 1);
  EXPECT_EQ(Py_REFCNT(tuple.get()), references);
  EXPECT_EQ(destroyed[&table], 0) << "a reader may still be using it";
}

// The name ends at the end of a page.
TEST_F(TagOwner, DefsInReadOnlyMemory) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void *memory =
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  char *start = static_cast<char *>(memory), *name = start + page - 2;
  std::strcpy(name, "f");
  PyMethodDef *def = new (start) PyMethodDef{name, Boxed, METH_O, nullptr};
  PyNativeCallableTable *table = new (start + sizeof *def) PyNativeCallableTable(Table());
  ASSERT_EQ(mprotect(start, page, PROT_READ), 0);
  ASSERT_EQ(mprotect(start + page, page, PROT_NONE), 0);

  Ref module = Ref::Steal(PyModule_New("read_only"));
  Ref function = Ref::Steal(PyCFunction_New(def, module.get()));
  ASSERT_TRUE(function) << TakeError();
  EXPECT_EQ(TagCallable(function, table), 1) << TakeError();
  EXPECT_EQ(Found(interface_, def), table);
  const PyNativeCallableTable faulty = Table("l-l"), other = Table("l->l", Dec);
  EXPECT_EQ(TagCallable(function, &faulty), -1);
  EXPECT_EQ(TakeError().rfind("ValueError: f: entry 0: signature 'l-l' at position 2", 0), 0u);
  EXPECT_EQ(TagCallable(function, &other), -1);
  EXPECT_EQ(TakeError().rfind("ValueError: f is tagged already", 0), 0u);
  EXPECT_EQ(PyTypedMethod_Table(def), nullptr);
  function.reset();
  module.reset();
  Collect();
  EXPECT_EQ(Found(interface_, def), nullptr);
  munmap(memory, 2 * page);
}

// All module objects share this array.
PyTypedMethod_DEFINE(inc_typed, "inc", {"l->l", 0, reinterpret_cast<void *>(Inc)});
PyTypedMethod_DEFINE(dec_typed, "dec", {"l->l", 0, reinterpret_cast<void *>(Dec)});
PyMethodDef defs[] = {PyTypedMethod_METHOD_DEF(inc_typed, Boxed, METH_O, nullptr),
                      PyTypedMethod_METHOD_DEF(dec_typed, Boxed, METH_O, nullptr),
                      {nullptr, nullptr, 0, nullptr}};
const PyTypedMethodMetadata *const typed[] = {&dec_typed, &inc_typed, nullptr};

Ref Execute() {
  Ref module = Ref::Steal(PyModule_New("shared"));
  EXPECT_EQ(PyModule_AddFunctions(module.get(), defs), 0) << TakeError();
  EXPECT_EQ(PyTypedMethod_AddTags(module.get(), defs, typed), 0) << TakeError();
  return module;
}

TEST_F(TagOwner, ModuleExecutedTwice) {
  const uint64_t before = RowsAdded();
  Ref first = Execute(), second = Execute();
  EXPECT_EQ(RowsAdded(), before + 2) << "two rows with two owners each";
  first.reset();
  Collect();
  EXPECT_EQ(Found(interface_, &defs[0]), inc_typed.table);
  EXPECT_EQ(Found(interface_, &defs[1]), dec_typed.table);
  second.reset();
  Collect();
  EXPECT_EQ(Found(interface_, &defs[0]), nullptr);
  EXPECT_EQ(Found(interface_, &defs[1]), nullptr);
  first = Execute();
  EXPECT_EQ(Found(interface_, &defs[0]), inc_typed.table) << "and it can come back";
}

TEST_F(TagOwner, ModuleExecutedTwiceByOneModuleObject) {
  Ref module = Execute();
  EXPECT_EQ(PyTypedMethod_AddTags(module.get(), defs, typed), 0);
  module.reset();
  Collect();
  EXPECT_EQ(Found(interface_, &defs[0]), nullptr);
}

TEST_F(TagOwner, ModuleThatFailsHalfWay) {
  PyTypedMethod_DEFINE(faulty_typed, "faulty", {"l>l", 0, reinterpret_cast<void *>(Inc)});
  PyMethodDef methods[] = {PyTypedMethod_METHOD_DEF(inc_typed, Boxed, METH_O, nullptr),
                           PyTypedMethod_METHOD_DEF(faulty_typed, Boxed, METH_O, nullptr),
                           {nullptr, nullptr, 0, nullptr}};
  const PyTypedMethodMetadata *const some[] = {&inc_typed, &faulty_typed, nullptr};
  Ref module = Ref::Steal(PyModule_New("failing"));
  EXPECT_EQ(PyTypedMethod_AddTags(module.get(), methods, some), -1);
  EXPECT_EQ(TakeError().rfind("ValueError: faulty: ", 0), 0u);
  module.reset();
  Collect();
  EXPECT_EQ(Found(interface_, &methods[0]), nullptr) << "the array is on the stack";
}

TEST_F(TagOwner, ModuleInTwoInterpreters) {
  Ref module = Execute();
  PyThreadState *outer = PyThreadState_Get();
  PyThreadState *inner = Py_NewInterpreter();
  ASSERT_NE(inner, nullptr);
  const PyTypedcall_Interface *second = PyTypedcall_Import();
  ASSERT_NE(second, nullptr) << TakeError();
  EXPECT_NE(second, interface_);
  EXPECT_EQ(Found(second, &defs[0]), nullptr) << "nothing has been executed here";
  {
    Ref here = Execute();
    EXPECT_EQ(Found(second, &defs[0]), inc_typed.table);
    here.reset();
    Collect();
    EXPECT_EQ(Found(second, &defs[0]), nullptr);
    EXPECT_EQ(Found(interface_, &defs[0]), inc_typed.table);
    PyObject_SetAttrString(PyImport_AddModule("sys"), "keep", Execute().get());
  }
  Py_EndInterpreter(inner);
  PyThreadState_Swap(outer);
  EXPECT_EQ(Found(interface_, &defs[0]), inc_typed.table);
  module.reset();
  Collect();
  // Builds that never free classes also never free modules.
  EXPECT_EQ(Found(interface_, &defs[0]),
            typedcall_test::ClassesCanDie() ? nullptr : inc_typed.table);
}

TEST_F(TagOwner, EveryTakenTableIsDestroyedOnce) {
  PyNativeCallableTable dies = Table(), retracted = Table(), stays = Table(), kept = Table();
  PyNativeCallableTable equal = Table(), conflicting = Table("l->l", Dec), faulty = Table("l");
  PyMethodDef defs[3] = {{"dies", Boxed, METH_O, nullptr},
                         {"retracted", Boxed, METH_O, nullptr},
                         {"stays", Boxed, METH_O, nullptr}};
  PyThreadState *outer = PyThreadState_Get();
  PyThreadState *inner = Py_NewInterpreter();
  ASSERT_NE(inner, nullptr);
  const PyTypedcall_Interface *here = PyTypedcall_Import();
  {
    Ref mortal = Ref::Steal(PyModule_New("mortal"));
    PyObject *lasting = PyImport_AddModule("lasting");
    Ref tuple = Ref::Steal(Py_BuildValue("(s)", "kept"));
    const auto tag = [&](int which, PyObject *owner, const PyNativeCallableTable &table) {
      const int result = PyTypedMethod_TagDef(here, &defs[which], owner, &table, Destroy);
      PyErr_Clear();
      return result;
    };
    EXPECT_EQ(tag(0, mortal.get(), dies), 1);
    EXPECT_EQ(tag(1, lasting, retracted), 1);
    EXPECT_EQ(tag(2, lasting, stays), 1);
    EXPECT_EQ(tag(2, mortal.get(), stays), 1) << "the same pointer once more";
    EXPECT_EQ(tag(2, lasting, equal), 0);
    EXPECT_EQ(tag(2, lasting, conflicting), -1);
    EXPECT_EQ(tag(2, lasting, faulty), -1);
    EXPECT_EQ(PyNativeCallable_TagObject(here, tuple.get(), &kept, Destroy), 1);
    EXPECT_EQ(here->retract(here->state, PyTypedcall_BY_DEF, &defs[1]), 1);
    EXPECT_TRUE(destroyed.empty());
  }
  Collect();
  EXPECT_EQ(destroyed, (std::map<const void *, int>{{&dies, 1}})) << "its owner has died";
  Py_EndInterpreter(inner);
  PyThreadState_Swap(outer);
  EXPECT_EQ(destroyed,
            (std::map<const void *, int>{{&dies, 1}, {&retracted, 1}, {&stays, 1}, {&kept, 1}}));
}

}  // namespace
}  // namespace typedcall_test
