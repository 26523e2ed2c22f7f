// Fuzzes the METH_TYPED readers with arbitrary memory before a name, and compares their results
// with those of a model.
//
// Input: ml_flags (4 bytes), a byte of choices, the number of type codes (1 byte), the codes (1
// signed byte each; 127 stands for 0x100), then the memory before the name. The pointers
// `arg_types` and `table` are overwritten.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "typedcall/typed_method.h"

namespace {

void require(bool holds) {
  if (!holds) __builtin_trap();
}

enum Choice { kNoArguments = 1, kNoTable = 2, kNoName = 4, kNoEnd = 8, kNoFunction = 16 };

struct Input {
  int flags;
  unsigned choices;
  std::vector<int> codes;
  std::vector<unsigned char> front;
};

Input parse(const uint8_t *data, size_t size) {
  Input input = {};
  if (size < 6) return input;
  std::memcpy(&input.flags, data, sizeof input.flags);
  input.choices = data[4];
  const size_t codes = data[5] < size - 6 ? data[5] : size - 6;
  for (size_t i = 0; i < codes; ++i) {
    const int code = static_cast<signed char>(data[6 + i]);
    input.codes.push_back(code == 127 ? PyTypedMethod_NOT_FOR_PYPY : code);
  }
  input.front.assign(data + 6 + codes, data + size);
  return input;
}

template <class T>
T field(const char *name, size_t before) {
  T value;
  std::memcpy(&value, name - before, sizeof value);
  return value;
}

// The def under test. Its blocks of memory have exactly the size that the ABI requires.
class Subject {
 public:
  explicit Subject(const Input &input) : input_(input) {
    // A provider must have all the memory that its bits or its header declare.
    const bool typed = input.flags & 0x1000, both = typed && (input.flags & 0x2000);
    std::vector<unsigned char> front = input.front;
    size_t declared = both ? 40 : typed ? 24 : 0;
    if (typed && !both && front.size() >= 16 && has_one_argument(front)) declared = 16;
    if (front.size() < declared) front.insert(front.begin(), declared - front.size(), 0);
    if (both && declares_a_whole_header(front) && front.size() < 56) {
      front.insert(front.begin(), 56 - front.size(), 0);
    }
    size_ = front.size() + 2;
    block_.reset(new char[size_]);
    if (!front.empty()) std::memcpy(block_.get(), front.data(), front.size());
    name_ = block_.get() + front.size();
    std::memcpy(name_, "f", 2);

    // Without a terminator there are more codes than a function can have arguments.
    std::vector<int> codes = input.codes;
    if (input.choices & kNoEnd) {
      codes.resize(128, T_C_LONG);
      for (int &code : codes) code = code == -1 ? T_C_DOUBLE : code;
    } else {
      codes.push_back(-1);
    }
    codes_.reset(new int[codes.size()]);
    std::memcpy(codes_.get(), codes.data(), codes.size() * sizeof(int));
    const int *arg_types = input.choices & kNoArguments ? nullptr : codes_.get();
    void *const no_function = nullptr;
    if (front.size() >= 24 && (both || !has_one_argument(front))) {
      std::memcpy(name_ - 24, &arg_types, sizeof arg_types);
    }
    if (front.size() >= 48) std::memcpy(name_ - 48, &table_, sizeof table_);
    if (front.size() >= 8 && (input.choices & kNoFunction)) {
      std::memcpy(name_ - 8, &no_function, sizeof no_function);
    }
    def_ = {input.choices & kNoName ? nullptr : name_, nullptr, input.flags, nullptr};
    before_.assign(block_.get(), size_);
  }

  void check() const {
    check_header();
    check_entry(PyTypedMethod_ReadPyPy, expected_pypy());
    check_entry(PyTypedMethod_ReadOneArg, expected_one());
    require(before_ == std::string(block_.get(), size_));
  }

 private:
  struct Expected {
    bool accepted = false;
    std::string signature;
    int ret_type = 0;
    void *function = nullptr;
  };

  static bool declares_a_whole_header(const std::vector<unsigned char> &front) {
    const char *name = reinterpret_cast<const char *>(front.data() + front.size());
    return field<uint64_t>(name, 32) == 0x5059545950454431 && field<uint16_t>(name, 36) == 1 &&
           field<uint32_t>(name, 40) >= 56;
  }

  // Returns true for the post's struct. PyPy's struct has padding in the place of its `ret_type`.
  static bool has_one_argument(const std::vector<unsigned char> &front) {
    return field<int>(reinterpret_cast<const char *>(front.data() + front.size()), 12) != 0;
  }

  bool named_and_aligned(int bits) const {
    return def_.ml_name && (def_.ml_flags & 0x3000) == bits &&
           reinterpret_cast<uintptr_t>(name_) % 8 == 0;
  }

  bool has_header() const {
    if (!named_and_aligned(0x3000)) return false;
    return field<uint64_t>(name_, 32) == 0x5059545950454431 && field<uint16_t>(name_, 36) == 1 &&
           field<uint32_t>(name_, 40) >= 56;
  }

  void check_header() const {
    const PyTypedMethodMetadata *metadata = PyTypedMethod_Metadata(&def_);
    const PyNativeCallableTable *table = PyTypedMethod_Table(&def_);
    require((metadata != nullptr) == has_header());
    require(table == (metadata ? table_ : nullptr));
    if (!metadata) return;
    require(reinterpret_cast<const char *>(metadata) == name_ - 56);
    require(metadata->pypy.ml_name == name_);
  }

  int convention() const { return def_.ml_flags & (0x0001 | 0x0002 | 0x0004 | 0x0008 | 0x0280); }

  static Expected expect(const std::vector<int> &codes, int ret_type, void *function) {
    static const char letters[] = {0, 'l', 'd', 'O'};
    Expected expected;
    for (int code : codes) {
      if (code < 1 || code > 3) return expected;
      expected.signature += letters[code];
    }
    if (ret_type == 0 || ret_type < -3 || ret_type > 3 || !function) return expected;
    expected.signature += std::string("->") + letters[ret_type < 0 ? -ret_type : ret_type];
    expected.ret_type = ret_type;
    expected.function = function;
    expected.accepted = true;
    return expected;
  }

  Expected expected_pypy() const {
    if (!named_and_aligned(0x1000) && !has_header()) return {};
    if (!has_header() && field<int>(name_, 12) != 0) {
      return field<int>(name_, 12) > 0 ? expected_one() : Expected();
    }
    if ((input_.choices & kNoArguments) || (input_.choices & kNoEnd)) return {};
    if (convention() != METH_O && convention() != METH_FASTCALL) return {};
    std::vector<int> codes = input_.codes;
    for (size_t i = 0; i < codes.size(); ++i) {
      if (codes[i] == -1) codes.resize(i);
    }
    if (convention() == METH_O ? codes.size() != 1 : codes.size() > 127) return {};
    return expect(codes, field<int>(name_, 16), field<void *>(name_, 8));
  }

  Expected expected_one() const {
    if (!named_and_aligned(0x1000) || convention() != METH_O) return {};
    if (field<int>(name_, 12) == 0) return {};
    return expect({field<int>(name_, 16)}, field<int>(name_, 12), field<void *>(name_, 8));
  }

  template <class Reader>
  void check_entry(Reader reader, const Expected &expected) const {
    std::unique_ptr<char[]> signature(new char[PyTypedMethod_PYPY_LENGTH]);
    PyNativeCallableEntry entry = {nullptr, 0, nullptr};
    const int accepted = reader(&def_, &entry, signature.get());
    require(accepted == (expected.accepted ? 1 : 0));
    if (!accepted) {
      require(!entry.signature && !entry.flags && !entry.funcptr);
      return;
    }
    require(entry.signature == signature.get());
    require(entry.signature == expected.signature);
    require(PyNativeSignature_ParseString(entry.signature, nullptr, nullptr) == 0);
    require(entry.funcptr && entry.funcptr == expected.function);
    require(PyNativeCallable_FlagsAreUsable(entry.flags) != 0);
    const uintptr_t raises = expected.ret_type < 0 ? PyNativeCallable_MAY_RAISE : 0;
    const uintptr_t zero = expected.ret_type == -2 ? PyNativeCallable_ERROR_IS_NEG_ZERO : 0;
    require(entry.flags == (PyNativeCallable_NEEDS_THREAD | raises | zero));
  }

  const Input &input_;
  size_t size_ = 0;
  std::unique_ptr<char[]> block_;
  char *name_ = nullptr;
  std::unique_ptr<int[]> codes_;
  PyNativeCallableTable overloads_ = {1, {{"l->l", 0, nullptr}}};
  const PyNativeCallableTable *table_ = input_.choices & kNoTable ? nullptr : &overloads_;
  PyMethodDef def_ = {};
  std::string before_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const Input input = parse(data, size);
  Subject(input).check();
  return 0;
}
