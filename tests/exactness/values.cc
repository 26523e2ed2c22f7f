#include "tests/exactness/values.h"

#include <cfloat>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

namespace exactness {
namespace {

using typedcall::native_value;

constexpr std::size_t kPointees = 4;
alignas(16) unsigned char pointees[kPointees][32];

const char *const kTexts[] = {"", "a", "\xc3\xa9t\xc3\xa9 \xf0\x9f\x90\x8d", "no edge",
                              "longer than any register, and than two of them"};

constexpr std::size_t kObjects = 6;
PyObject *Object(std::size_t i) {
  // These objects are never freed.
  static PyObject *const list = PyList_New(0);
  static PyObject *const big = PyLong_FromString("1000000000000000000000000000000", nullptr, 10);
  static PyObject *const text = PyUnicode_FromString("text");
  PyObject *const objects[kObjects] = {Py_None, Py_True, list, big, text, Py_Ellipsis};
  return objects[i];
}

/// The number of significant bytes of a long double. In the x87 format it is ten.
constexpr std::size_t kLongDouble = LDBL_MANT_DIG == 64 ? 10 : sizeof(long double);

template <class T>
T Edge(std::uint64_t choice) {
  using limits = std::numeric_limits<T>;
  if constexpr (limits::is_integer) {
    const T edges[] = {static_cast<T>(-1),
                       T(0),
                       T(1),
                       limits::min(),
                       limits::max(),
                       static_cast<T>(-2),
                       static_cast<T>(limits::max() - 1)};
    return edges[choice];
  } else {
    const T edges[] = {T(-1),
                       T(-0.0),
                       T(0),
                       limits::quiet_NaN(),
                       -limits::infinity(),
                       limits::denorm_min(),
                       limits::lowest()};
    return edges[choice];
  }
}
constexpr std::uint64_t kEdges = 7;

template <class T>
T Integer(std::uint64_t bits, std::uint64_t choice) {
  return static_cast<T>(bits >> (choice % 3 == 0 ? 40 : 0));
}

/// Returns the value with these additional bits in its first word.
template <class T, class Word>
T WithBits(T value, Word bits) {
  Word word;
  std::memcpy(&word, &value, sizeof(word));
  word |= bits;
  std::memcpy(&value, &word, sizeof(word));
  return value;
}

/// Draws one real number.
template <class T>
T Real(std::uint64_t bits, Range range) {
  const std::uint64_t choice = Scramble(bits) % (4 * kEdges);
  if constexpr (sizeof(T) > sizeof(double)) {
    if (range == Range::boxable) {
      double drawn = Real<double>(bits, range);
      if (std::isnan(drawn)) drawn = WithBits<double, std::uint64_t>(drawn, 0x0008000000000000);
      return static_cast<T>(drawn);
    }
    if (choice < kEdges) return Edge<T>(choice);
    // One value in twelve is a NaN with a payload.
    if (choice % 12 == 0) {
      return WithBits<T, std::uint64_t>(std::numeric_limits<T>::quiet_NaN(), bits & 0xffffffff);
    }
    const T whole = static_cast<T>(bits) + static_cast<T>(bits >> 32) / 3;
    return std::ldexp(bits % 2 != 0 ? -whole : whole, static_cast<int>(choice) * 97 - 1300);
  } else {
    if (choice < kEdges) return Edge<T>(choice);
    T value;
    if (choice % 12 == 0) bits |= sizeof(T) == 8 ? 0x7ff0000000000001 : 0x7f800001;  // a NaN
    std::memcpy(&value, &bits, sizeof(value));
    if (sizeof(T) < sizeof(double) && range == Range::boxable && std::isnan(value)) {
      value = WithBits<T, std::uint32_t>(value, 0x00400000);
    }
    return value;
  }
}

/// The significant bytes of a value. Each part of a complex number has its own padding.
struct Parts {
  std::size_t count, size, apart;
};
Parts PartsOf(PyNativeType type) {
  const std::size_t size = PyNativeType_Size(type);
  if (type.pointer_flags) return {1, size, size};
  switch (type.code) {
    case PyNativeType_LONGDOUBLE:
      return {1, kLongDouble, size};
    case PyNativeType_CLONGDOUBLE:
      return {2, kLongDouble, size / 2};
    default:
      return {1, size, size};
  }
}

void Put(Value *value, std::size_t offset, const void *part, std::size_t size) {
  std::memcpy(value->bytes + offset, part, size);
}

template <class T>
Value RealValue(int count, std::uint64_t bits, Range range) {
  Value value;
  for (int i = 0; i < count; ++i, bits = Scramble(bits)) {
    const T part = Real<T>(bits, range);
    Put(&value, static_cast<std::size_t>(i) * sizeof(T), &part,
        sizeof(T) > sizeof(double) ? kLongDouble : sizeof(T));
  }
  return value;
}

template <class T>
Value Drawn(std::uint64_t bits, std::uint64_t choice, Range range) {
  if constexpr (std::is_same_v<T, bool>) {
    return Value::Of(bits % 2 != 0);
  } else if constexpr (std::is_integral_v<T>) {
    return Value::Of(choice < kEdges ? Edge<T>(choice) : Integer<T>(bits, choice));
  } else if constexpr (std::is_floating_point_v<T>) {
    return RealValue<T>(1, bits, range);
  } else if constexpr (std::is_same_v<T, const char *>) {
    return Value::Of(kTexts[choice % (sizeof(kTexts) / sizeof(*kTexts))]);
  } else if constexpr (std::is_pointer_v<T>) {
    return Value::Of(Object(choice % kObjects));
  } else {
    return RealValue<std::remove_reference_t<decltype(__real__ T())>>(2, bits, range);
  }
}

template <class T>
double Part(const Value &value, std::size_t at) {
  T part;
  std::memcpy(&part, value.bytes + at * sizeof(T), sizeof(part));
  return static_cast<double>(part);
}

template <class T>
void SetParts(Value *value, Py_complex from, std::size_t count) {
  const T parts[] = {static_cast<T>(from.real), static_cast<T>(from.imag)};
  for (std::size_t i = 0; i < count; ++i) {
    Put(value, i * sizeof(T), &parts[i], sizeof(T) > sizeof(double) ? kLongDouble : sizeof(T));
  }
}

std::string CapsuleName(PyNativeType type) {
  return (type.pointer_flags ? "&" : "") + std::string(PyNativeCode_Letters(type.code));
}

PyObject *BoxPointer(PyNativeType type, void *pointer) {
  if (pointer == nullptr) Py_RETURN_NONE;
  const char *letters = PyNativeCode_Letters(type.code);
  const bool has_buffer = type.pointer_flags && letters[1] == '\0' && *letters != 'g';
  if (has_buffer || (!type.pointer_flags && reinterpret_cast<std::uintptr_t>(pointer) % 64 == 0)) {
    PyObject *bytes =
        PyMemoryView_FromMemory(static_cast<char *>(pointer), sizeof(pointees[0]), PyBUF_WRITE);
    if (bytes == nullptr || !has_buffer) return bytes;
    PyObject *items = PyObject_CallMethod(bytes, "cast", "s", letters);
    Py_DECREF(bytes);
    return items;
  }
  // A capsule only stores the address of its name.
  static std::string names[2][PyNativeType_COUNT];
  std::string &name = names[type.pointer_flags][type.code];
  name = CapsuleName(type);
  return PyCapsule_New(pointer, name.c_str(), nullptr);
}

}  // namespace

PyObject *CountedObject() { return Object(2); }

Value Draw(PyNativeType type, std::uint64_t bits, Range range) {
  const std::uint64_t choice = Scramble(bits) % (4 * kEdges);
  if (type.pointer_flags || type.code == PyNativeType_POINTER) {
    for (std::size_t i = 0; i < kPointees; ++i) pointees[i][i] = static_cast<unsigned char>(i);
    return Value::Of<void *>(choice < kEdges ? nullptr : pointees[choice % kPointees]);
  }
  switch (type.code) {
#define TYPEDCALL_ROW(NAME, LETTERS, TYPE, KIND, ...) \
  case PyNativeType_##NAME:                           \
    return Drawn<TYPE>(bits, choice, range);
    PyNativeType_VALUE_LIST(TYPEDCALL_ROW)
#undef TYPEDCALL_ROW
  }
  return {};
}

std::uint64_t Hash(PyNativeType type, const Value &value) {
  std::uint64_t hash = type.code;
  if (!type.pointer_flags && type.code == PyNativeType_STRING) {
    for (const char *text = value.As<const char *>(); *text != '\0'; ++text) {
      hash = Scramble(hash ^ static_cast<unsigned char>(*text));
    }
    return hash;
  }
  const Parts parts = PartsOf(type);
  for (std::size_t i = 0; i < parts.count * parts.size; ++i) {
    const std::size_t at = i / parts.size * parts.apart + i % parts.size;
    hash = Scramble(hash ^ value.bytes[at]);
  }
  const auto *pointee = value.As<const unsigned char *>();
  if ((type.pointer_flags || type.code == PyNativeType_POINTER) && pointee != nullptr) {
    for (std::size_t i = 0; i < sizeof(pointees[0]); ++i) hash = Scramble(hash ^ pointee[i]);
  }
  return hash;
}

bool AreSame(PyNativeType type, const Value &a, const Value &b) {
  if (!type.pointer_flags && type.code == PyNativeType_STRING) {
    return std::strcmp(a.As<const char *>(), b.As<const char *>()) == 0;
  }
  const Parts parts = PartsOf(type);
  for (std::size_t i = 0; i < parts.count; ++i) {
    const std::size_t at = i * parts.apart;
    if (std::memcmp(a.bytes + at, b.bytes + at, parts.size) != 0) return false;
  }
  return true;
}

std::string Show(PyNativeType type, const Value &value) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text = CapsuleName(type) + " ";
  for (std::size_t i = PyNativeType_Size(type); i-- > 0;) {
    text += kDigits[value.bytes[i] / 16];
    text += kDigits[value.bytes[i] % 16];
  }
  return text;
}

native_value AsArgument(PyNativeType type, const Value &value) {
  if (typedcall::internal::is_wide(type)) return native_value::at(&value);
  if (type.pointer_flags) return native_value::of(value.As<void *>());
  switch (type.code) {
#define TYPEDCALL_ROW(NAME, LETTERS, TYPE, KIND, ...)           \
  case PyNativeType_##NAME:                                     \
    if constexpr (sizeof(TYPE) <= sizeof(native_value::bits)) { \
      return native_value::of(value.As<TYPE>());                \
    }                                                           \
    break;
    PyNativeType_VALUE_LIST(TYPEDCALL_ROW)
#undef TYPEDCALL_ROW
  }
  return {};
}

Value FromResult(PyNativeType type, native_value result, const Value &wide) {
  if (typedcall::internal::is_wide(type)) return wide;
  return Value::Of(result.bits);
}

PyObject *Box(PyNativeType type, const Value &value) {
  if (type.pointer_flags) return BoxPointer(type, value.As<void *>());
  const native_value narrow = AsArgument(type, value);
  switch (PyNativeCode_Kind(type.code)) {
    case PyNativeKind_BOOL:
      return PyBool_FromLong(value.bytes[0]);
    case PyNativeKind_SIGNED:
      return PyLong_FromLongLong(static_cast<long long>(narrow.bits));
    case PyNativeKind_UNSIGNED:
      return PyLong_FromUnsignedLongLong(narrow.bits);
    case PyNativeKind_FLOATING:
      return PyFloat_FromDouble(type.code == PyNativeType_FLOAT    ? Part<float>(value, 0)
                                : type.code == PyNativeType_DOUBLE ? Part<double>(value, 0)
                                                                   : Part<long double>(value, 0));
    case PyNativeKind_COMPLEX:
      if (type.code == PyNativeType_CFLOAT) {
        return PyComplex_FromDoubles(Part<float>(value, 0), Part<float>(value, 1));
      }
      if (type.code == PyNativeType_CDOUBLE) {
        return PyComplex_FromDoubles(Part<double>(value, 0), Part<double>(value, 1));
      }
      return PyComplex_FromDoubles(Part<long double>(value, 0), Part<long double>(value, 1));
    case PyNativeKind_POINTER:
      return BoxPointer(type, value.As<void *>());
    case PyNativeKind_STRING:
      return PyUnicode_FromString(value.As<const char *>());
    default: {
      auto *object = value.As<PyObject *>();
      Py_INCREF(object);
      return object;
    }
  }
}

namespace {

bool UnboxNumber(PyNativeType type, PyObject *object, Value *value) {
  switch (PyNativeCode_Kind(type.code)) {
    case PyNativeKind_VOID:
      return object == Py_None;
    case PyNativeKind_BOOL:
      *value = Value::Of(object == Py_True);
      return PyBool_Check(object);
    case PyNativeKind_SIGNED:
      if (!PyLong_CheckExact(object)) return false;
      *value = Value::Of(PyLong_AsLongLong(object));
      return !PyErr_Occurred() && AsArgument(type, *value).bits == value->As<std::uint64_t>();
    case PyNativeKind_UNSIGNED:
      if (!PyLong_CheckExact(object)) return false;
      *value = Value::Of(PyLong_AsUnsignedLongLong(object));
      return !PyErr_Occurred() && AsArgument(type, *value).bits == value->As<std::uint64_t>();
    default:
      break;
  }
  Py_complex parts = {0, 0};
  const std::size_t count = PyNativeCode_Kind(type.code) == PyNativeKind_COMPLEX ? 2 : 1;
  if (count == 2 ? !PyComplex_CheckExact(object) : !PyFloat_CheckExact(object)) return false;
  if (count == 2) {
    parts = reinterpret_cast<PyComplexObject *>(object)->cval;
  } else {
    parts.real = PyFloat_AS_DOUBLE(object);
  }
  const std::size_t size = PyNativeType_Size(type) / count;
  if (size == sizeof(float)) SetParts<float>(value, parts, count);
  if (size == sizeof(double)) SetParts<double>(value, parts, count);
  if (size == sizeof(long double)) SetParts<long double>(value, parts, count);
  return true;
}

}  // namespace

bool Unbox(PyNativeType type, PyObject *object, Value *value, PyObject **keep) {
  *keep = object;
  *value = {};
  if (!type.pointer_flags && type.code == PyNativeType_STRING) {
    if (!PyUnicode_CheckExact(object)) return false;
    *value = Value::Of(PyUnicode_AsUTF8(object));
    return true;
  }
  if (!type.pointer_flags && type.code == PyNativeType_OBJECT) {
    *value = Value::Of(object);
    return true;
  }
  if (!type.pointer_flags && type.code != PyNativeType_POINTER)
    return UnboxNumber(type, object, value);
  if (object == Py_None) return true;
  const char *name = PyCapsule_CheckExact(object) ? PyCapsule_GetName(object) : nullptr;
  if (name == nullptr) return false;
  const std::string plain = std::strncmp(name, "const ", 6) == 0 ? name + 6 : name;
  *value = Value::Of(PyCapsule_GetPointer(object, name));
  return plain == CapsuleName(type);
}

}  // namespace exactness
