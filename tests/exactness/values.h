// Values of every type code, at run time: drawn from random bits including edge cases, compared bit
// by bit, put into Python objects and taken out again.
#ifndef TYPEDCALL_TESTS_EXACTNESS_VALUES_H_
#define TYPEDCALL_TESTS_EXACTNESS_VALUES_H_

#include <Python.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "typedcall/invoker.h"
#include "typedcall/signature.h"

namespace exactness {

/// splitmix64, for constants and for values.
constexpr std::uint64_t Scramble(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// Any C value, with its padding cleared.
struct alignas(16) Value {
  unsigned char bytes[32] = {};

  template <class T>
  T As() const {
    T value;
    std::memcpy(static_cast<void *>(&value), bytes, sizeof(value));
    return value;
  }
  template <class T>
  static Value Of(T value) {
    Value made;
    std::memcpy(made.bytes, &value, sizeof(value));
    return made;
  }
};

/// Boxing keeps most values, but a `g` and the parts of a `Zg` are doubles in Python, so digits
/// beyond those are lost, and a signalling NaN of a type other than double becomes a quiet one with
/// the same payload when it is converted.
enum class Range { boxable, any };

/// The value of that type that these bits make: any one, or an edge case one time in four. A string
/// or an object is never NULL; a pointer may be.
Value Draw(PyNativeType type, std::uint64_t bits, Range range);

/// All bits of a value, as one word: a string's text, a pointer's address and target, an object's
/// address, and for everything else the bytes without padding.
std::uint64_t Hash(PyNativeType type, const Value &value);

/// True if all bits are the same, including NaN payloads. Strings are compared by text.
bool AreSame(PyNativeType type, const Value &a, const Value &b);
std::string Show(PyNativeType type, const Value &value);

/// As an argument of an invoker; `value` must live until the call returns.
typedcall::native_value AsArgument(PyNativeType type, const Value &value);
/// The result of an invoker; `wide` is where it stored one that does not fit.
Value FromResult(PyNativeType type, typedcall::native_value result, const Value &wide);

/// Returns a new reference: for a pointer a buffer of items if there is one, otherwise a capsule; a
/// number, a str, or the object itself. NULL with an exception.
PyObject *Box(PyNativeType type, const Value &value);
/// The reverse. Steals the reference; a string and an object live on in `*keep`. Returns false if
/// the object does not have exactly the type that a function with that result returns.
bool Unbox(PyNativeType type, PyObject *object, Value *value, PyObject **keep);

/// The object among the drawn ones whose references only the test counts.
PyObject *CountedObject();

}  // namespace exactness

#endif  // TYPEDCALL_TESTS_EXACTNESS_VALUES_H_
