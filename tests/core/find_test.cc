// Tests the consumer functions on many kinds of objects.
#include <cstring>
#include <utility>

#include "gtest/gtest.h"
#include "tests/core/extensible.h"

namespace typedcall_test {
namespace {

void ExpectNoSlots(PyObject *object, const std::string &what) {
  ASSERT_NE(object, nullptr) << what;
  EXPECT_EQ(PyCustomSlots_Check(object), 0) << what;
  EXPECT_EQ(PyCustomSlots_Count(object), 0) << what;
  EXPECT_EQ(PyCustomSlots_Table(object), nullptr) << what;
  for (uintptr_t id : {uintptr_t{0}, uintptr_t{1}, Id(1), uintptr_t{0x04000001}}) {
    EXPECT_EQ(PyCustomSlots_Find(object, id, 0), nullptr) << what;
  }
  EXPECT_EQ(PyErr_Occurred(), nullptr) << what;
}

const char *const kOrdinary[] = {
    "5",
    "10 ** 40",
    "1.5",
    "'text'",
    "b'bytes'",
    "None",
    "...",
    "NotImplemented",
    "()",
    "[]",
    "{}",
    "len",
    "[].append",
    "list.append",
    "str.maketrans",
    "type.__call__",
    "type",
    "object",
    "int",
    "sys",
    "Plain()",
    "Plain",
    "Plain.method",
    "Plain().method",
    "Slotted()",
    "WithMeta()",
    "WithMeta",
    "Meta",
    "Abstract()",
    "Abstract",
    "Colour.RED",
    "Colour",
    "Structure()",
    "Structure",
    "ctypes.c_int(3)",
    "ctypes.c_int",
    "Array()",
    "Union_()",
    "function_type(len)",
    "function_type",
    "Exception()",
    "lambda: 0",
    "(x for x in ())",
    "Generic_()",
    "Generic_[int]()",
};

const char kClasses[] = R"(
import abc, ctypes, enum, sys, typing
class Plain:
    def method(self): pass
class Slotted:
    __slots__ = ('a', 'b', 'c')
class Meta(type):
    def __init__(cls, *args):
        cls.attribute = 1
class WithMeta(metaclass=Meta): pass
class Abstract(abc.ABC): pass
class Colour(enum.Enum):
    RED = 1
class Structure(ctypes.Structure):
    _fields_ = [('a', ctypes.c_int), ('b', ctypes.c_double * 4)]
class Union_(ctypes.Union):
    _fields_ = [('a', ctypes.c_int)]
Array = ctypes.c_char * 100
function_type = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
T = typing.TypeVar('T')
class Generic_(typing.Generic[T]): pass
)";

// This test must run first, before the interface is installed.
TEST(Find, OrdinaryObjectsOfferNothingAndNothingIsInstalled) {
  Scope scope;
  ASSERT_TRUE(scope.Run(kClasses));
  for (const char *expression : kOrdinary) {
    ExpectNoSlots(scope.Eval(expression).get(), expression);
  }
  EXPECT_EQ(PyTypedcall_Peek(), nullptr);
  EXPECT_EQ(scope.Eval("'_extensibletype' in sys.modules").get(), Py_False);
}

TEST(Find, OrdinaryObjectsOfferNothingWhenTheInterfaceIsThere) {
  ASSERT_NE(PyTypedcall_Import(), nullptr) << TakeError();
  Scope scope;
  ASSERT_TRUE(scope.Run(kClasses));
  for (const char *expression : kOrdinary) {
    ExpectNoSlots(scope.Eval(expression).get(), expression);
  }
}

// The bytes at the position of the magic are zero, as in an unresolved extensible type.
TEST(Find, ForeignMetaclassThatIsAsLargeAsOurs) {
  PyType_Slot slots[] = {{0, nullptr}};
  PyType_Spec spec = {"test.Large", static_cast<int>(PyType_Type.tp_basicsize + 256), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  Ref bases = Ref::Steal(PyTuple_Pack(1, &PyType_Type));
  Ref large = Ref::Steal(PyType_FromSpecWithBases(&spec, bases.get()));
  ASSERT_TRUE(large) << TakeError();
  Scope scope;
  scope.Set("Large", large.get());
  ASSERT_TRUE(scope.Run("class Thing(metaclass=Large): pass"));
  ExpectNoSlots(scope.Eval("Thing()").get(), "an instance");
  ExpectNoSlots(scope.Eval("Thing").get(), "the class");
}

// The memory after other types may contain anything, even our magic.
TEST(Find, BytesBehindAnOrdinaryTypeDoNotCount) {
  static PyCustomSlot slot = Slot(Id(1), 11);
  static PyHeapExtensibleTypeObject type = {};
  Py_SET_TYPE(reinterpret_cast<PyObject *>(&type), &PyType_Type);
  type.etp_custom_slot_count = 1;
  type.etp_custom_slot_table = &slot;
  type.etp_magic = PyExtensibleType_MAGIC;
  PyObject object = {};
  Py_SET_TYPE(&object, reinterpret_cast<PyTypeObject *>(&type));
  ExpectNoSlots(&object, "an instance");
  // The same bytes are read if the type has our metaclass.
  type.etp_heaptype.ht_type.tp_as_buffer = &type.etp_heaptype.as_buffer;
  Ref metaclass = Metaclass();
  Py_SET_TYPE(reinterpret_cast<PyObject *>(&type), metaclass.type());
  EXPECT_EQ(Value(&object, Id(1)), 11);
}

// A type is an instance of the metaclass, which has no slots.
TEST(Find, ExtensibleTypesThemselvesOfferNothing) {
  Ref type = MakeType({Slot(Id(1), 11)});
  ASSERT_TRUE(type) << TakeError();
  ExpectNoSlots(type.get(), "the type");
  ExpectNoSlots(Metaclass().get(), "the metaclass");
}

// Tests that PyTC_First() finds only the first slot, and that PyTC_EndsAsOurs() is `has_key`.
void ExpectFirst(const Ref &object, long value, bool has_key, const char *what) {
  ASSERT_TRUE(object) << what << ": " << TakeError();
  PyTypeObject *type = Py_TYPE(object.get());
  const PyCustomSlot *table = PyCustomSlots_Table(object.get());
  ASSERT_NE(table, nullptr) << what;
  EXPECT_EQ(PyTC_EndsAsOurs(type), has_key) << what;
  EXPECT_EQ(PyTC_First(type, table[0].id), table) << what;
  EXPECT_EQ(Value(object.get(), table[0].id), value) << what;
  EXPECT_EQ(PyTC_First(type, table[0].id + 2), nullptr) << what;
}

TEST(First, EveryWayToMakeAType) {
  Ref base = MakeType({Slot(Id(1), 11), Slot(Id(2), 22)});
  ASSERT_TRUE(base) << TakeError();
  ExpectFirst(New(base), 11, true, "from a spec");
  Scope scope;
  scope.Set("Base", base.get());
  Ref empty = MakeType({});
  scope.Set("Empty", empty.get());
  ASSERT_TRUE(
      scope.Run("import abc, gc\n"
                "from _extensibletype import combined_metaclass\n"
                "M = type(Base)\n"
                "class Derived(Base): pass\n"
                "class WithSlots(Base): __slots__ = ('a', 'b')\n"
                "class Own(Base): __customslots__ = {0x01000105: 33}\n"
                "class OwnOnly(Empty): __customslots__ = {0x01000105: 33}\n"
                "class Python(M): pass\n"
                "class OfPython(Base, metaclass=Python): pass\n"
                "class Abstract(Base, abc.ABC, metaclass=combined_metaclass(abc.ABCMeta)): pass\n"
                "New = M.__new__(M, 'New', (Base,), {})\n"
                "class Changed(Derived): pass\n"
                "class Other(Derived): pass\n"
                "Changed.__bases__ = (Other,)\n"));
  const std::pair<const char *, long> classes[] = {
      {"Derived", 11},  {"WithSlots", 11}, {"Own", 11}, {"OwnOnly", 33},
      {"OfPython", 11}, {"Abstract", 11},  {"New", 11}, {"Changed", 11}};
  for (const auto &[name, value] : classes) {
    ExpectFirst(scope.Eval(std::string(name) + "()"), value, true, name);
  }
  // The garbage collector visits the members of a class that has __slots__.
  ASSERT_TRUE(
      scope.Run("class Witness: pass\n"
                "import weakref\n"
                "x = WithSlots(); x.a = x; x.b = Witness(); gone = weakref.ref(x.b); del x\n"
                "gc.collect()\n"
                "assert gone() is None\n"));
}

TEST(First, NoSlotsNoKey) {
  Ref empty = New(MakeType({}));
  ASSERT_TRUE(empty) << TakeError();
  for (uintptr_t id : {uintptr_t{PyExtensibleType_MAGIC}, Id(1), uintptr_t{0}, uintptr_t{1}}) {
    EXPECT_EQ(PyCustomSlots_Find(empty.get(), id, 0), nullptr);
  }
}

// The types of a metaclass with more C fields have their members further back.
TEST(First, ALargerMetaclass) {
  Ref ours = Metaclass();
  Ref base = MakeType({Slot(Id(1), 11)});
  PyType_Slot slots[] = {{0, nullptr}};
  PyType_Spec spec = {"test.Larger", static_cast<int>(ours.type()->tp_basicsize + 64), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  Ref bases = Ref::Steal(PyTuple_Pack(1, ours.get()));
  Ref larger = Ref::Steal(PyType_FromSpecWithBases(&spec, bases.get()));
  ASSERT_TRUE(larger) << TakeError();
  Scope scope;
  scope.Set("Larger", larger.get());
  scope.Set("Base", base.get());
  ASSERT_TRUE(scope.Run("class C(Base, metaclass=Larger): pass"));
  ExpectFirst(scope.Eval("C()"), 11, false, "a larger metaclass");
}

// The types of another metaclass of this size have arbitrary words in place of our key.
TEST(First, AForeignMetaclassOfTheSameSize) {
  PyType_Slot slots[] = {{0, nullptr}};
  PyType_Spec spec = {"test.Same", static_cast<int>(Metaclass().type()->tp_basicsize), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  Ref bases = Ref::Steal(PyTuple_Pack(1, &PyType_Type));
  Ref same = Ref::Steal(PyType_FromSpecWithBases(&spec, bases.get()));
  ASSERT_TRUE(same) << TakeError();
  Scope scope;
  scope.Set("Same", same.get());
  ASSERT_TRUE(scope.Run("class Thing(metaclass=Same): pass"));
  Ref thing = scope.Eval("Thing()");
  PyTypeObject *type = Py_TYPE(thing.get());
  auto *data = reinterpret_cast<PyExtensibleHeapTypeData *>(reinterpret_cast<char *>(type) +
                                                            PyExtensibleType_DATA_OFFSET);
  ASSERT_EQ(reinterpret_cast<char *>(type->tp_members), reinterpret_cast<char *>(data + 1));
  data->shared.count = 1;
  data->shared.table = reinterpret_cast<PyCustomSlot *>(8);
  for (std::uint64_t word :
       {std::uint64_t{1}, std::uint64_t{PyExtensibleType_MAGIC}, PyExtensibleType_KEY(1),
        PyExtensibleType_KEY(Id(7)), reinterpret_cast<std::uint64_t>(type)}) {
    data->key = word;
    ExpectNoSlots(thing.get(), "an instance");
    ExpectNoSlots(reinterpret_cast<PyObject *>(type), "the class");
  }
  memset(data, 0, sizeof(*data));
}

// A static type may have its members where our data end.
TEST(First, AStaticTypeWithMembersWhereOursEnd) {
  struct Layout {
    PyTypeObject type;
    alignas(8) char between[PyExtensibleType_DATA_OFFSET + sizeof(PyExtensibleHeapTypeData) -
                            sizeof(PyTypeObject)];
    PyMemberDef members[1];
  };
  static Layout made = {};
  static_assert(offsetof(Layout, members) ==
                PyExtensibleType_DATA_OFFSET + sizeof(PyExtensibleHeapTypeData));
  made.type.tp_name = "test.Static";
  made.type.tp_basicsize = sizeof(PyObject);
  made.type.tp_flags = Py_TPFLAGS_DEFAULT;
  made.type.tp_members = made.members;
  ASSERT_EQ(PyType_Ready(&made.type), 0) << TakeError();
  Ref object = Ref::Steal(PyType_GenericAlloc(&made.type, 0));
  for (const int filling : {0, 0xff, 0x61}) {
    memset(made.between, filling, sizeof(made.between));
    ExpectNoSlots(object.get(), "an instance");
  }
}

TEST(Find, PendingExceptionStays) {
  Ref type = MakeType({Slot(Id(1), 11)});
  Ref object = New(type);
  Scope scope;
  scope.Set("Base", type.get());
  ASSERT_TRUE(scope.Run("M = type(Base)\nunresolved = type.__new__(M, 'U', (Base,), {})()"));
  Ref unresolved = scope.Eval("unresolved");
  PyErr_SetString(PyExc_KeyError, "pending");
  EXPECT_EQ(Value(object.get(), Id(1)), 11);
  EXPECT_EQ(Value(Py_None, Id(1)), -1);
  EXPECT_EQ(Value(unresolved.get(), Id(1)), 11);
  EXPECT_NE(PyTypedcall_Peek(), nullptr);
  EXPECT_EQ(TakeError(), "KeyError: 'pending'");
}

}  // namespace
}  // namespace typedcall_test
