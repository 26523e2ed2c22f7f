// Values of every type code at run time: drawn from random bits, including edge cases, compared bit
// by bit, and converted to Python objects and back.
#ifndef TYPEDCALL_TESTS_EXACTNESS_VALUES_H_
#define TYPEDCALL_TESTS_EXACTNESS_VALUES_H_

#include <Python.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "typedcall/invoker.h"
#include "typedcall/signature.h"

namespace exactness {

/// The function splitmix64, used for constants and values.
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

/// Boxing preserves most values. However, a `g` and the parts of a `Zg` are doubles in Python and
/// lose digits, and a signalling NaN of a type other than double becomes a quiet NaN with the same
/// payload.
enum class Range { boxable, any };

/// Makes a value of the type from these bits: one time in four an edge case, otherwise any value. A
/// string or an object is never NULL; a pointer may be.
Value Draw(PyNativeType type, std::uint64_t bits, Range range);

/// Returns a hash of a value: of a string's text, a pointer's address and target, an object's
/// address, or for all other types the bytes without padding.
std::uint64_t Hash(PyNativeType type, const Value &value);

/// True if all bits are the same, including NaN payloads. Strings are compared by text.
bool AreSame(PyNativeType type, const Value &a, const Value &b);
std::string Show(PyNativeType type, const Value &value);

/// Converts a value to an argument of an invoker. `value` must live until the call returns.
typedcall::native_value AsArgument(PyNativeType type, const Value &value);
/// Converts the result of an invoker. `wide` contains a result that does not fit in `result`.
Value FromResult(PyNativeType type, typedcall::native_value result, const Value &wide);

/// Returns a new reference to a number, a str or the object itself. For a pointer, returns a buffer
/// of items if one exists, and otherwise a capsule. Returns NULL with an exception set on failure.
PyObject *Box(PyNativeType type, const Value &value);
/// Does the reverse of Box(). Steals the reference; `*keep` keeps a string or an object alive.
/// Returns false unless the object has exactly the type that functions with this result type
/// return.
bool Unbox(PyNativeType type, PyObject *object, Value *value, PyObject **keep);

/// Returns the one drawable object to which only the test has references.
PyObject *CountedObject();

}  // namespace exactness

#endif  // TYPEDCALL_TESTS_EXACTNESS_VALUES_H_
