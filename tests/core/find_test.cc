// The consumer's functions on objects of every kind: what has no slots offers none, and nothing
// crashes, is imported or installed on the way.
#include <climits>

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

// First in this program, so before anything has installed the interface.
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

// The bytes where the magic would be are zero here, as in a type of ours that is not resolved.
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

// Behind most types lies somebody else's memory, whatever it says: the metaclass's size decides.
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
  // The same bytes count for our metaclass, in a type that was made ready.
  type.etp_heaptype.ht_type.tp_as_buffer = &type.etp_heaptype.as_buffer;
  Ref metaclass = Metaclass();
  Py_SET_TYPE(reinterpret_cast<PyObject *>(&type), metaclass.type());
  EXPECT_EQ(Value(&object, Id(1)), 11);
}

// A type is an object whose type is the metaclass, which has no slots itself.
TEST(Find, ExtensibleTypesThemselvesOfferNothing) {
  Ref type = MakeType({Slot(Id(1), 11)});
  ASSERT_TRUE(type) << TakeError();
  ExpectNoSlots(type.get(), "the type");
  ExpectNoSlots(Metaclass().get(), "the metaclass");
}

TEST(Find, ExpectedPosition) {
  Ref type = MakeType({Slot(Id(1), 11), Slot(Id(2), 22), Slot(Id(3), 33)});
  Ref object = New(type);
  ASSERT_TRUE(object) << TakeError();
  const Py_ssize_t positions[] = {
      0, 1, 2, 3, 1000, -1, -3, -4, INT_MAX, PY_SSIZE_T_MAX, PY_SSIZE_T_MIN};
  for (Py_ssize_t position : positions) {
    EXPECT_EQ(Value(object.get(), Id(1), position), 11) << position;
    EXPECT_EQ(Value(object.get(), Id(2), position), 22) << position;
    EXPECT_EQ(Value(object.get(), Id(3), position), 33) << position;
    EXPECT_EQ(Value(object.get(), Id(4), position), -1) << position;
    EXPECT_EQ(Value(object.get(), 0, position), -1) << position;
    EXPECT_EQ(Value(object.get(), 1, position), -1) << position;
  }
  EXPECT_EQ(PyCustomSlots_Check(object.get()), 1);
  EXPECT_EQ(PyCustomSlots_Count(object.get()), 3);
  EXPECT_EQ(PyCustomSlots_Find(object.get(), Id(2), 1), PyCustomSlots_Table(object.get()) + 1);
}

TEST(Find, SpecialIdsAreNeverFound) {
  Ref type = MakeType({Slot(PyCustomSlot_ID_SKIP, 1), Slot(Id(2), 22)});
  Ref object = New(type);
  ASSERT_TRUE(object) << TakeError();
  for (Py_ssize_t position : {-1, 0, 1, 2}) {
    EXPECT_EQ(PyCustomSlots_Find(object.get(), PyCustomSlot_ID_SKIP, position), nullptr);
    EXPECT_EQ(PyCustomSlots_Find(object.get(), PyCustomSlot_ID_EMPTY, position), nullptr);
  }
}

TEST(Find, EmptyTable) {
  Ref type = MakeType({});
  Ref object = New(type);
  ASSERT_TRUE(object) << TakeError();
  EXPECT_EQ(PyCustomSlots_Check(object.get()), 1);
  EXPECT_EQ(PyCustomSlots_Count(object.get()), 0);
  EXPECT_EQ(PyCustomSlots_Table(object.get()), nullptr);
  for (Py_ssize_t position : {-1, 0, 1}) {
    EXPECT_EQ(PyCustomSlots_Find(object.get(), Id(1), position), nullptr);
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
