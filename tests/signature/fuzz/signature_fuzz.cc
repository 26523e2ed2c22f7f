// Fuzzes the signature parser. libFuzzer detects reads beyond `size` bytes.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "typedcall/signature.h"

namespace {

void require(bool holds) {
  if (!holds) __builtin_trap();
}

void check_valid(const std::string &text, const PyNativeSignature &signature) {
  require(text.size() <= PyNativeSignature_MAX_LENGTH);
  require(signature.nargs >= 0 && signature.nargs <= PyNativeSignature_MAX_ARGS);
  require(PyNativeSignature_CArgCount(&signature) <= PyNativeSignature_MAX_ARGS);

  char printed[PyNativeSignature_MAX_LENGTH + 1];
  require(PyNativeSignature_Print(&signature, printed, sizeof printed) == text.size());
  require(text == printed);

  char cut[8];
  require(PyNativeSignature_Print(&signature, cut, sizeof cut) == text.size());
  require(text.substr(0, sizeof cut - 1) == cut);

  PyNativeSignature again = {};
  require(PyNativeSignature_ParseString(printed, &again, nullptr) == 0);
  require(again.nargs == signature.nargs);
  require(std::memcmp(&again.result, &signature.result, sizeof again.result) == 0);
  require(std::memcmp(again.args, signature.args,
                      static_cast<size_t>(again.nargs) * sizeof again.args[0]) == 0);
  require(PyNativeSignature_EquivalentParsed(&again, &signature) != 0);
  require(PyNativeSignature_Equivalent(text.c_str(), printed) != 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *bytes = reinterpret_cast<const char *>(data);
  PyNativeSignature signature = {};
  PyNativeSignature_Fault fault = {SIZE_MAX, nullptr};
  const bool valid = PyNativeSignature_Parse(bytes, size, &signature, &fault) == 0;
  const std::string text(bytes, size);
  if (valid) {
    require(fault.reason == nullptr);
    check_valid(text, signature);
  } else {
    require(fault.position <= size && fault.reason != nullptr);
    require(signature.nargs == 0 && signature.result.code == PyNativeType_VOID);
    // The text after the fault does not matter.
    PyNativeSignature_Fault shorter = {SIZE_MAX, nullptr};
    const size_t upto = fault.position < size ? fault.position + 1 : size;
    require(PyNativeSignature_Parse(bytes, upto, nullptr, &shorter) == -1);
    require(shorter.position == fault.position);
  }

  if (text.find('\0') == std::string::npos) {
    PyNativeSignature_Fault same = {SIZE_MAX, nullptr};
    require((PyNativeSignature_ParseString(text.c_str(), nullptr, &same) == 0) == valid);
    require(same.position == fault.position && same.reason == fault.reason);
    require((PyNativeSignature_Equivalent(text.c_str(), text.c_str()) != 0) == valid);
  }

  // Equivalence must be symmetric.
  const size_t split = text.find('\0');
  if (split != std::string::npos) {
    const char *second = text.c_str() + split + 1;
    require(PyNativeSignature_Equivalent(text.c_str(), second) ==
            PyNativeSignature_Equivalent(second, text.c_str()));
    // Two texts are equivalent if, and only if, each answers the other.
    const bool both = PyNativeSignature_Satisfies(text.c_str(), second) != 0 &&
                      PyNativeSignature_Satisfies(second, text.c_str()) != 0;
    require(both == (PyNativeSignature_Equivalent(text.c_str(), second) != 0));
  }
  return 0;
}
