// Tests the additional memory of an extensible class, and that ten thousand classes do not leak.
#include "tests/support/memory.h"
#include "gtest/gtest.h"
#include "tests/core/extensible.h"

namespace typedcall_test {
namespace {

constexpr std::size_t kPerClass = 48;  // additional bytes

class TypesMemory : public testing::Test {
 protected:
  TypesMemory() : base_(MakeType({Slot(Id(1), 11), Slot(Id(2), 22)})) {
    scope_.Set("A", base_.get());
    scope_.Set("Plain", Ref::Steal(PyType_FromSpec(PlainSpec())).get());
    scope_.Set("M", Metaclass().get());
    scope_.Run(
        "classes = []\n"
        "def make(base, times, space={'__slots__': ()}, **more):\n"
        "  for _ in range(times): classes.append(type('C', (base,), dict(space, **more)))\n");
  }

  // Returns the spec of a type like those of MakeType, but without slots.
  static PyType_Spec *PlainSpec() {
    static PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void *>(VisitType)},
                                  {0, nullptr}};
    static PyType_Spec spec = {
        "test.Plain", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
    return &spec;
  }

  // The memory of one class, averaged over 64 classes and rounded down.
  struct Cost {
    std::size_t mem_blocks, mem_bytes, bytes;
  };
  Cost CostOf(const char *base, const char *more = "") {
    const std::string call = std::string("make(") + base + ", 64" + more + ")\n";
    scope_.Run(call + "classes.clear()\n");  // a warm-up
    Collect();
    Cost cost;
    {
      Memory counted;
      scope_.Run(call);
      cost = {counted.Blocks(Memory::kMem) / 64, counted.Bytes(Memory::kMem) / 64,
              counted.PythonBytes() / 64};
    }
    scope_.Run("classes.clear()");
    Collect();
    return cost;
  }

  Ref base_;
  Scope scope_;
};

TEST_F(TypesMemory, ClassThatAddsNothing) {
  const Cost plain = CostOf("Plain"), ours = CostOf("A");
  EXPECT_EQ(ours.mem_blocks, plain.mem_blocks) << "it shares its base's table";
  EXPECT_EQ(ours.mem_bytes, plain.mem_bytes);
  EXPECT_GE(ours.bytes, plain.bytes + sizeof(PyExtensibleTypeData));
  RecordProperty("bytes_above_plain", static_cast<int>(ours.bytes - plain.bytes));
  EXPECT_LE(ours.bytes, plain.bytes + kPerClass);
}

TEST_F(TypesMemory, ClassWithSeveralBasesThatAddsNothing) {
  ASSERT_TRUE(
      scope_.Run("class Mixin: __slots__ = ()\n"
                 "def both(base): return type('Both', (Mixin, base), {'__slots__': ()})\n"
                 "PB, AB = both(Plain), both(A)\n"));
  EXPECT_EQ(CostOf("AB").mem_blocks, CostOf("PB").mem_blocks);
}

TEST_F(TypesMemory, ClassWithItsOwnTable) {
  scope_.Set("B", MakeType({Slot(Id(3), 33)}).get());
  ASSERT_TRUE(
      scope_.Run("def pair(base, times):\n"
                 "  for _ in range(times):\n"
                 "    classes.append(type('C', base, {'__slots__': ()}))\n"
                 "make = pair\n"));
  const Cost one = CostOf("(A,)"), two = CostOf("(A, B)");
  EXPECT_EQ(two.mem_blocks, one.mem_blocks + 1);
  const std::size_t table = 3 * sizeof(PyCustomSlot);
  EXPECT_GE(two.mem_bytes, one.mem_bytes + table);
  EXPECT_LE(two.mem_bytes, one.mem_bytes + 2 * table + kPerClass);
}

TEST_F(TypesMemory, LookUpsTakeNone) {
  ASSERT_TRUE(scope_.Run("c = type('C', (A,), {})()"));
  Ref object = scope_.Eval("c");
  Memory counted;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(Value(object.get(), Id(2), i), 22);
    EXPECT_EQ(Value(object.get(), Id(9), i), -1);
    EXPECT_EQ(Value(Py_None, Id(1), i), -1);
  }
  EXPECT_EQ(counted.PythonBlocks(), 0u);
}

TEST_F(TypesMemory, TenThousandClassesLeaveNothing) {
  ASSERT_TRUE(
      scope_.Run("def churn(make_type, times):\n"
                 "  for i in range(times):\n"
                 "    base, other = make_type(1), make_type(2)\n"
                 "    class C(base): pass\n"
                 "    class D(other, C): x = i\n"
                 "    u = type.__new__(M, 'U', (C,), {})\n"
                 "    found = find(C(), 1), find(D(), 1), find(D(), 2), find(u(), 1)\n"
                 "    assert found == (11, 11, 22, 11), found\n"));
  static PyMethodDef def = {"make_type",
                            [](PyObject *, PyObject *idea) -> PyObject * {
                              const std::uintptr_t id = PyLong_AsUnsignedLong(idea);
                              return MakeType({Slot(Id(id), id * 11)}).release();
                            },
                            METH_O, nullptr};
  scope_.Set("make_type", Ref::Steal(PyCFunction_New(&def, nullptr)).get());
  scope_.Set("find", FindFunction().get());
  Memory counted;
  std::size_t after_first = 0, bytes_after_first = 0;
  for (int thousand = 0; thousand < 10; ++thousand) {
    ASSERT_TRUE(scope_.Run("churn(make_type, 200)"));
    Collect();
    if (thousand == 0) {
      after_first = counted.Blocks(Memory::kMem);
      bytes_after_first = counted.PythonBytes();
    }
  }
  EXPECT_LE(counted.Blocks(Memory::kMem), after_first + 10) << "tables of the last nine thousand";
  EXPECT_LE(counted.PythonBytes(), bytes_after_first + 9000) << "one byte a class";
}

}  // namespace
}  // namespace typedcall_test
