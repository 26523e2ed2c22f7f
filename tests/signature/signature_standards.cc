// Uses all declarations of the signature headers under every C++ standard. C++11 cannot make these
// checks at compile time, so main repeats them.

#include "typedcall/signature.h"

namespace {

// A column that a consumer adds to the table.
#define ROW(NAME, LETTERS, TYPE, KIND, ...) sizeof(LETTERS) - 1,
constexpr size_t letter_counts[] = {PyNativeType_LIST(ROW)};
#undef ROW
static_assert(sizeof(letter_counts) / sizeof(letter_counts[0]) == PyNativeType_COUNT,
              "a code has no row");

// Every C type must be complete.
struct EveryType {
#define ROW(NAME, LETTERS, TYPE, KIND, ...) TYPE NAME##_value;
  PyNativeType_VALUE_LIST(ROW)
#undef ROW
};

static_assert(sizeof(PyNativeType) == 2, "PyNativeType is two bytes");
static_assert(PyNativeSignature_MAX_LENGTH == 514, "127 * 4 + 2 + 4");
static_assert(sizeof(EveryType::CDOUBLE_value) == 2 * sizeof(double), "complex is twice its part");

PyNative_INLINE bool codes_agree() {
  for (int code = 0; code < PyNativeType_COUNT; ++code) {
    const char *letters = PyNativeCode_Letters(code);
    const bool is_void = code == PyNativeType_VOID;
    if (letters[letter_counts[code]] != '\0' ||
        PyNativeCode_FromLetters(letters[0], letters[1]) != code ||
        (PyNativeCode_Size(code) == 0) != is_void || PyNativeCode_Alignment(code) == 0 ||
        (PyNativeCode_Kind(code) == PyNativeKind_VOID) != is_void) {
      return false;
    }
  }
  return true;
}

PyNative_INLINE bool parses_and_prints() {
  PyNativeSignature signature = {0, {0, 0}, {{0, 0}}};
  char buffer[8] = {};
  return PyNativeSignature_Parse("&dn->d", 6, &signature, nullptr) == 0 && signature.nargs == 2 &&
         PyNativeType_Size(signature.args[0]) == sizeof(double *) &&
         PyNativeType_Alignment(signature.args[0]) == alignof(double *) &&
         PyNativeType_Kind(signature.args[1]) == PyNativeKind_SIGNED &&
         PyNativeType_Passing(signature.args[1]) == PyNativePassing_SIGNED &&
         PyNativeSignature_Print(&signature, buffer, sizeof buffer) == 6 && buffer[0] == '&' &&
         buffer[5] == 'd' && buffer[6] == '\0';
}

PyNative_INLINE size_t fault_position(const char *text) {
  PyNativeSignature_Fault fault = {0, nullptr};
  return PyNativeSignature_ParseString(text, nullptr, &fault) == 0 ? size_t(-1) : fault.position;
}

PyNative_INLINE bool compares() {
  return PyNativeSignature_Equivalent("n->n", sizeof(long) == sizeof(size_t) ? "l->l" : "q->q") &&
         !PyNativeSignature_Equivalent("d->d", "g->g") && !PyNativeSignature_Equivalent("d", "d") &&
         PyNativeSignature_Satisfies("*kd->d", "*d->d") &&
         !PyNativeSignature_Satisfies("*d->d", "*kd->d");
}

#if defined(__cpp_constexpr) && __cpp_constexpr >= 201304L
static_assert(codes_agree(), "the look-ups follow the list");
static_assert(parses_and_prints(), "&dn->d");
static_assert(PyNativeSignature_ParseString("dd->d", nullptr, nullptr) == 0, "a signature");
static_assert(fault_position("dx->d") == 1, "the fault is the x");
static_assert(compares(), "equivalence");
#elif __cplusplus >= 201402L
#error "C++14 and later must have the constexpr functions"
#endif

}  // namespace

int main() {
  if (!codes_agree()) return 1;
  if (!parses_and_prints()) return 2;
  if (fault_position("dx->d") != 1) return 3;
  if (!compares()) return 4;
  return 0;
}
