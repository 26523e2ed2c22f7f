// The memory before the name of a method. The offsets are those of docs/ABI.md, and do not depend
// on our headers.
#ifndef TYPEDCALL_TESTS_TYPED_METHOD_DEF_IN_MEMORY_H_
#define TYPEDCALL_TESTS_TYPED_METHOD_DEF_IN_MEMORY_H_

#include "typedcall/typed_method.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace typed_method_test {

// The number of bytes from the start of each field to the name.
constexpr size_t kFunction = 8, kPadding = 12, kReturn = 16, kArguments = 24;
constexpr size_t kMagic = 32, kMinor = 34, kMajor = 36, kSize = 40, kTable = 48, kDetails = 56;
// PyPy's struct begins after the magic, which has eight bytes.
static_assert(kMagic == kArguments + sizeof(uint64_t), "the ABI's offsets");

constexpr int kTyped = 0x1000, kExtended = 0x2000, kBoth = kTyped | kExtended;
constexpr size_t kOneArgument = 16, kOneReturn = 12;

template <class T>
void put(char *name, size_t before, T value) {
  std::memcpy(name - before, &value, sizeof value);
}

// Puts PyPy's struct before `name`.
inline void put_pypy(char *name, const int *arg_types, int ret_type, void *function) {
  put(name, kArguments, arg_types);
  put(name, kReturn, ret_type);
  put(name, kPadding, 0);
  put(name, kFunction, function);
}

// Puts version 1.0 of our header before PyPy's struct.
inline void put_header(char *name, const PyNativeCallableTable *table) {
  put(name, kDetails, static_cast<const void *>(nullptr));
  put(name, kTable, table);
  put(name, kSize, uint32_t{56});
  put(name, kMajor, uint16_t{1});
  put(name, kMinor, uint16_t{0});
  put(name, kMagic, uint64_t{0x5059545950454431});
}

inline PyMethodDef def_of(const char *name, int flags) {
  return PyMethodDef{name, nullptr, flags, nullptr};
}

// Returns a unique address that is never called.
inline void *function_at(uintptr_t address) { return reinterpret_cast<void *>(address); }

// A name with room before it. The bytes are initially 0xAA.
class DefInMemory {
 public:
  DefInMemory() {
    std::memset(bytes_, 0xAA, sizeof bytes_);
    std::strcpy(name(), "f");
  }
  char *name() { return bytes_ + kRoom; }
  template <class T>
  void set(size_t before, T value) {
    put(name(), before, value);
  }
  PyMethodDef def(int flags) { return def_of(name(), flags); }

 private:
  static constexpr size_t kRoom = 128;
  alignas(16) char bytes_[kRoom + 112];
};

// The result of a reader.
struct Read {
  bool accepted = false;
  std::string signature;
  uintptr_t flags = 0;
  void *function = nullptr;
};

using Reader = int (*)(const PyMethodDef *, PyNativeCallableEntry *, char *);

inline Read read_with(Reader reader, const PyMethodDef *def) {
  Read result;
  char buffer[PyTypedMethod_PYPY_LENGTH];
  static const char *const untouched = "untouched";
  PyNativeCallableEntry entry = {untouched, ~uintptr_t{0}, nullptr};
  result.accepted = reader(def, &entry, buffer) == 1;
  if (result.accepted) {
    result.signature = entry.signature == buffer ? entry.signature : "not in the buffer";
    result.flags = entry.flags;
    result.function = entry.funcptr;
  } else if (entry.signature != untouched || entry.flags != ~uintptr_t{0} || entry.funcptr) {
    result.signature = "refused, but the entry was written";
  }
  return result;
}

inline Read read_pypy(const PyMethodDef &def) { return read_with(PyTypedMethod_ReadPyPy, &def); }

inline Read read_one(const PyMethodDef &def) { return read_with(PyTypedMethod_ReadOneArg, &def); }

}  // namespace typed_method_test

#endif  // TYPEDCALL_TESTS_TYPED_METHOD_DEF_IN_MEMORY_H_
