// Maps over Python's buffers: those that the standard library has, and those with formats and
// shapes that are made by hand.
#include "typedcall/buffer_map.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "tests/loop/arrays.h"

namespace loop_test {
namespace {

using typedcall::map_buffers;
using typedcall_test::Scope;

int calls = 0;
double Add(double x, double y) {
  ++calls;
  return x + y;
}
long Increment(long x) {
  ++calls;
  return x + 1;
}
bool IsNegative(int x) { return x < 0; }
float Half(float x) { return x / 2; }
unsigned char Invert(unsigned char x) { return static_cast<unsigned char>(~x); }
double Root(double x) {
  if (x < 0) {
    PyErr_SetString(PyExc_ValueError, "negative");
    return -1;
  }
  return x;
}
PyObject *Same(PyObject *object) {
  Py_INCREF(object);
  return object;
}
long Length(PyObject *object) { return static_cast<long>(PyObject_Length(object)); }
long LengthTwice(PyObject *object) { return 10 * Length(object) + Length(object); }
double sum = 0;
void Sum(double x) { sum += x; }
PyNativeType_ComplexDouble Swap(PyNativeType_ComplexDouble z) {
  PyNativeType_ComplexDouble swapped;
  __real__ swapped = __imag__ z;
  __imag__ swapped = __real__ z;
  return swapped;
}

/// Maps over the values of Python expressions, and tells the error, or the number and, after a
/// colon, the value of the last expression.
class BufferMap : public testing::Test {
 protected:
  BufferMap() {
    scope_.Run(
        "from array import array\n"
        "import ctypes\n"
        "def doubles(*values): return array('d', values)\n");
  }

  std::string Map(const loop &made, std::initializer_list<const char *> expressions) {
    calls = 0;
    std::vector<Ref> arrays;
    std::vector<PyObject *> borrowed;
    for (const char *expression : expressions) {
      arrays.push_back(scope_.Eval(expression));
      borrowed.push_back(arrays.back().get());
    }
    const Py_ssize_t count = map_buffers(made, borrowed.data(), borrowed.size(), &done_);
    if (count < 0) return TakeError();
    EXPECT_EQ(PyErr_Occurred(), nullptr);
    EXPECT_EQ(done_, count);
    scope_.Set("_last", borrowed.back());
    const Ref text = scope_.Eval("str(list(_last))");
    return std::to_string(count) + ": " + PyUnicode_AsUTF8(text.get());
  }

  Scope scope_;
  Py_ssize_t done_ = -7;
};

TEST_F(BufferMap, Arrays) {
  EXPECT_EQ(Map(Make(&Add), {"doubles(1, 2)", "doubles(10, 20)", "doubles(0, 0)"}),
            "2: [11.0, 22.0]");
  EXPECT_EQ(Map(Make(&Half), {"array('f', [1, 3])", "array('f', [0, 0])"}), "2: [0.5, 1.5]");
  EXPECT_EQ(Map(Make(&Invert), {"b'\\x00\\x0f'", "bytearray(2)"}), "2: [255, 240]");
  EXPECT_EQ(Map(Make(&IsNegative), {"array('i', [-1, 1])", "(ctypes.c_bool * 2)()"}),
            "2: [True, False]");
}

TEST_F(BufferMap, IntegersOfOneWidthAreOneType) {
  EXPECT_EQ(Map(Make(&Increment), {"array('l', [1, -2])", "array('q', [0, 0])"}), "2: [2, -1]");
  EXPECT_EQ(Map(Make(&Increment), {"memoryview(bytearray(16)).cast('n')", "array('q', [0, 0])"}),
            "2: [1, 1]");
}

TEST_F(BufferMap, StridesAndScalars) {
  ASSERT_TRUE(scope_.Run("data = doubles(1, 2, 3, 4, 5, 6); view = memoryview(data)"));
  EXPECT_EQ(Map(Make(&Add), {"view[::2]", "view[::-2]", "doubles(0, 0, 0)"}), "3: [7.0, 7.0, 7.0]");
  EXPECT_EQ(Map(Make(&Add), {"view[1:4]", "doubles(100)", "view[:3]"}), "3: [102.0, 103.0, 104.0]");
  // The first result stands where the last element is read.
  EXPECT_EQ(Map(Make(&Add), {"ctypes.c_double(5)", "view[3:]", "view[::-2]"}),
            "3: [9.0, 10.0, 14.0]");
  EXPECT_EQ(Map(Make(&Add), {"doubles(1)", "doubles(2)", "doubles(0, 0, 0)"}),
            "3: [3.0, 3.0, 3.0]");
}

TEST_F(BufferMap, NothingToDo) {
  EXPECT_EQ(Map(Make(&Add), {"doubles()", "doubles()", "doubles()"}), "0: []");
  EXPECT_EQ(Map(Make(&Add), {"doubles()", "doubles(1)", "doubles()"}), "0: []");
  EXPECT_EQ(calls, 0);
}

TEST_F(BufferMap, WithoutResult) {
  sum = 0;
  EXPECT_EQ(Map(Make(&Sum), {"doubles(1, 2, 3)"}), "3: [1.0, 2.0, 3.0]");
  EXPECT_EQ(sum, 6);
  EXPECT_EQ(
      Map(Make("dd->v", 0, reinterpret_cast<void *>(&Sum)), {"doubles(1)", "doubles(0, 0, 0)"}),
      "3: [0.0, 0.0, 0.0]");
  EXPECT_EQ(sum, 9);
}

TEST_F(BufferMap, ErrorsOfTheFunction) {
  const loop made = Make(&Root, PyNativeCallable_MAY_RAISE | PyNativeCallable_NEEDS_THREAD);
  ASSERT_TRUE(scope_.Run("out = doubles(7, 7, 7)"));
  EXPECT_EQ(Map(made, {"doubles(4, -1, 9)", "out"}), "ValueError: negative");
  EXPECT_EQ(done_, 1);
  // And the buffers have been given back: an array that is exported cannot grow.
  EXPECT_TRUE(scope_.Run("assert out.tolist() == [4, 7, 7]; out.append(1)"));
}

TEST_F(BufferMap, OtherElementsAreRefused) {
  const loop made = Make(&Increment);
  const std::string needed = ", where 'l' of 8 bytes is needed";
  EXPECT_EQ(Map(made, {"doubles(1)", "array('l', [0])"}),
            "TypeError: typedcall: array 0 has elements 'd' of 8 bytes" + needed);
  EXPECT_EQ(Map(made, {"array('l', [0])", "array('L', [0])"}),
            "TypeError: typedcall: array 1 has elements 'L' of 8 bytes" + needed);
  EXPECT_EQ(Map(made, {"array('i', [0])", "array('l', [0])"}),
            "TypeError: typedcall: array 0 has elements 'i' of 4 bytes" + needed);
  EXPECT_EQ(Map(made, {"memoryview(bytearray(8)).cast('c')", "array('l', [0])"}),
            "TypeError: typedcall: array 0 has elements 'c' of 1 bytes" + needed);
  EXPECT_EQ(Map(made, {"(ctypes.c_long.__ctype_be__ * 1)()", "array('l', [0])"}).substr(0, 9),
            "TypeError");
  EXPECT_EQ(calls, 0);
}

TEST_F(BufferMap, OtherLengthsAreRefused) {
  const loop made = Make(&Add);
  EXPECT_EQ(Map(made, {"doubles(1, 2)", "doubles(1, 2, 3)", "doubles(0, 0, 0)"}),
            "ValueError: typedcall: array 0 has 2 elements, where 3 or 1 are needed");
  EXPECT_EQ(Map(made, {"doubles(1, 2)", "doubles(1, 2)", "doubles(0)"}),
            "ValueError: typedcall: array 0 has 2 elements, where 1 or 1 are needed");
  EXPECT_EQ(Map(made, {"doubles()", "doubles(1, 2)", "doubles(0, 0)"}),
            "ValueError: typedcall: array 0 has 0 elements, where 2 or 1 are needed");
  EXPECT_EQ(Map(made, {"memoryview(bytearray(32)).cast('d', (2, 2))", "doubles(1)", "doubles(0)"}),
            "ValueError: typedcall: array 0 has 2 dimensions; at most 1 is possible");
  EXPECT_EQ(calls, 0);
}

TEST_F(BufferMap, OtherObjectsAreRefused) {
  const loop made = Make(&Increment);
  EXPECT_EQ(Map(made, {"array('l', [0])"}),
            "TypeError: typedcall: 1 arrays were given, 2 are needed");
  EXPECT_EQ(Map(made, {"5", "array('l', [0])"}),
            "TypeError: a bytes-like object is required, not 'int'");
  EXPECT_EQ(Map(made, {"array('l', [0])", "memoryview(bytes(8)).cast('l')"}).substr(0, 11),
            "BufferError");
  EXPECT_EQ(calls, 0);
}

TEST_F(BufferMap, PointersAreRefused) {
  void *const function = reinterpret_cast<void *>(&Increment);
  for (const char *signature : {"P->l", "s->l", "&d->l"}) {
    const std::string type(signature, std::strchr(signature, '-'));
    EXPECT_EQ(Map(Make(signature, 0, function), {"(ctypes.c_void_p * 1)()", "array('l', [0])"}),
              "TypeError: typedcall: array 0 would hold pointers ('" + type +
                  "'), which cannot be checked");
  }
  EXPECT_EQ(calls, 0);
}

TEST_F(BufferMap, ObjectsAreReadOnly) {
  const loop same = Make(&Same, PyNativeCallable_MAY_RAISE | PyNativeCallable_NEEDS_THREAD);
  EXPECT_EQ(
      Map(same, {"(ctypes.py_object * 2)([], 'x')", "(ctypes.py_object * 2)(1, 2)"}),
      "TypeError: typedcall: objects cannot be stored in a buffer: it does not say whether it "
      "owns the ones that are there (ctypes' arrays do not)");
  const loop length = Make(&Length, PyNativeCallable_MAY_RAISE | PyNativeCallable_NEEDS_THREAD);
  ASSERT_TRUE(
      scope_.Run("source = (ctypes.py_object * 2)([], 'xyz')\ntarget = array('l', [7, 7])\n"));
  const Ref source = scope_.Eval("source"), target = scope_.Eval("target");
  PyObject *const arrays[] = {source.get(), target.get()};
  EXPECT_EQ(map_buffers(length, arrays, 2), 2) << TakeError();
  EXPECT_TRUE(scope_.Run("assert list(target) == [0, 3]"));
}

TEST_F(BufferMap, ObjectsLastAsLongAsTheCall) {
  const loop made = Make(&LengthTwice, PyNativeCallable_MAY_RAISE | PyNativeCallable_NEEDS_THREAD);
  ASSERT_TRUE(
      scope_.Run("class Leaving:\n"
                 "    left = 0\n"
                 "    def __len__(self):\n"
                 "        source[0] = 0\n"
                 "        return 3 + Leaving.left\n"
                 "    def __del__(self): Leaving.left += 1\n"
                 "source = (ctypes.py_object * 2)(Leaving(), Leaving())\n"
                 "target = array('l', [7, 7])\n"));
  const Ref source = scope_.Eval("source"), target = scope_.Eval("target");
  PyObject *const arrays[] = {source.get(), target.get()};
  EXPECT_EQ(map_buffers(made, arrays, 2), 2) << TakeError();
  // The second one is still there.
  EXPECT_TRUE(scope_.Run("assert list(target) == [33, 44] and Leaving.left == 1"));
}

// --- Formats that the standard library does not make
// -----------------------------------------------

/// A memoryview over `data` with any format.
Ref View(void *data, const char *format, Py_ssize_t itemsize, Py_ssize_t count) {
  Py_buffer view = {};
  view.buf = data;
  view.itemsize = itemsize;
  view.len = itemsize * count;
  view.format = const_cast<char *>(format);
  view.ndim = 1;
  view.shape = &count;
  view.strides = &itemsize;
  return Ref::Steal(PyMemoryView_FromBuffer(&view));
}

TEST_F(BufferMap, ComplexNumbers) {
  double in[4] = {1, 2, 3, 4}, out[4] = {};
  for (const char *format : {"Zd", "=Zd", "<Zd", "@Zd", "^Zd"}) {
    const Ref source = View(in, format, 16, 2), target = View(out, "Zd", 16, 2);
    PyObject *const arrays[] = {source.get(), target.get()};
    EXPECT_EQ(map_buffers(Make(&Swap), arrays, 2), 2) << TakeError();
    EXPECT_EQ(std::vector<double>(out, out + 4), (std::vector<double>{2, 1, 4, 3}));
  }
}

TEST_F(BufferMap, FormatsThatMeanSomethingElse) {
  double in[4] = {}, out[4] = {};
  const Ref target = View(out, "l", 8, 2);
  for (const char *format :
       {">l", "!l", "", "@", "2l", "ll", "Zl", "l:x:", "T{l:a:}", "v", "&l", "P", "O", "x", "8s"}) {
    const Ref source = View(in, format, 8, 2);
    PyObject *const arrays[] = {source.get(), target.get()};
    EXPECT_EQ(map_buffers(Make(&Increment), arrays, 2), -1) << format;
    EXPECT_EQ(TakeError().substr(0, 31), "TypeError: typedcall: array 0 h") << format;
  }
  // Not what the letter says, but what is there: `=l` has four bytes.
  const Ref standard = View(in, "=l", 4, 2);
  PyObject *const arrays[] = {standard.get(), target.get()};
  EXPECT_EQ(map_buffers(Make(&Increment), arrays, 2), -1);
  EXPECT_EQ(TakeError().substr(0, 9), "TypeError");
  EXPECT_EQ(map_buffers(Make("i->l", 0, reinterpret_cast<void *>(&Increment)), arrays, 2), 2);
}

}  // namespace
}  // namespace loop_test
