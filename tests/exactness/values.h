// Values of every type code, at run time: drawn from random bits with edges among them, compared
// bit by bit, put into Python objects and taken out again.
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

/// Any C value, padding cleared.
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

/// What a box keeps, and what it does not: a `g` and the parts of a `Zg` are doubles in Python, so
/// digits beyond those are lost, and a signalling NaN of a type other than double becomes a quiet
/// one with the same payload where it is converted.
enum class Range { boxable, any };

/// The value of that type that these bits make: any one, an edge one time in four. A string and an
/// object are never NULL, a pointer may be.
Value Draw(PyNativeType type, std::uint64_t bits, Range range);

/// All bits of a value, as one word: of a string its text, of a pointer the address and what is
/// there, of an object the address, of everything else the bytes, but for padding.
std::uint64_t Hash(PyNativeType type, const Value &value);

/// Are all bits the same, NaNs' payloads included? Of strings, the text.
bool AreSame(PyNativeType type, const Value &a, const Value &b);
std::string Show(PyNativeType type, const Value &value);

/// As an invoker gets it; `value` lasts until the call is over.
typedcall::native_value AsArgument(PyNativeType type, const Value &value);
/// An invoker's result; `wide` is where it put one that does not fit.
Value FromResult(PyNativeType type, typedcall::native_value result, const Value &wide);

/// A new reference: a buffer of items for a pointer where there is one, else a capsule; a number, a
/// str, the object itself. NULL with an exception.
PyObject *Box(PyNativeType type, const Value &value);
/// Back again. Takes the reference; a string and an object live on in `*keep`. False when the
/// object is not of the very type that a function with that result gives.
bool Unbox(PyNativeType type, PyObject *object, Value *value, PyObject **keep);

/// The object among those that are drawn whose references nobody else counts.
PyObject *CountedObject();

}  // namespace exactness

#endif  // TYPEDCALL_TESTS_EXACTNESS_VALUES_H_
