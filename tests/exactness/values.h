// Draws values of every type, compares them bit by bit, and converts them to Python objects and
// back.
#ifndef TYPEDCALL_TESTS_EXACTNESS_VALUES_H_
#define TYPEDCALL_TESTS_EXACTNESS_VALUES_H_

#include <Python.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "typedcall/invoker.h"
#include "typedcall/signature.h"

namespace exactness {

/// The function splitmix64.
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

/// Boxing preserves most values. But a long double is a double in Python and loses digits. A
/// signalling NaN of a type other than double becomes quiet.
enum class Range { boxable, any };

/// Returns a value of this type; one in four is an edge case. Strings and objects are never NULL;
/// pointers may be.
Value Draw(PyNativeType type, std::uint64_t bits, Range range);

/// Returns a hash of a value without its padding.
std::uint64_t Hash(PyNativeType type, const Value &value);

/// Returns true if all bits are the same, including NaN payloads. Strings are compared by text.
bool AreSame(PyNativeType type, const Value &a, const Value &b);
std::string Show(PyNativeType type, const Value &value);

/// Converts a value to an argument of an invoker. `value` must live until the call returns.
typedcall::native_value AsArgument(PyNativeType type, const Value &value);
/// Converts the result of an invoker. `wide` contains the result if it does not fit into `result`.
Value FromResult(PyNativeType type, typedcall::native_value result, const Value &wide);

/// Returns a new reference, or NULL with an exception set. A pointer becomes a buffer if possible,
/// otherwise a capsule.
PyObject *Box(PyNativeType type, const Value &value);
/// The reverse of Box(). Steals the reference; `*keep` keeps a string or an object alive. Returns
/// false if the object does not have the exact type that a call returns.
bool Unbox(PyNativeType type, PyObject *object, Value *value, PyObject **keep);

/// Returns an object to which only the test has references.
PyObject *CountedObject();

}  // namespace exactness

#endif  // TYPEDCALL_TESTS_EXACTNESS_VALUES_H_
