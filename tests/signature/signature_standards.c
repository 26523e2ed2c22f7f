// Uses all declarations of the signature headers under every C standard. main returns the number of
// the first check that failed.

#include <string.h>

#include "typedcall/signature.h"

// C99 has no _Static_assert.
#define ASSERT_AT_COMPILE_TIME(name, condition) typedef char name[(condition) ? 1 : -1]

ASSERT_AT_COMPILE_TIME(type_is_two_bytes, sizeof(PyNativeType) == 2);
ASSERT_AT_COMPILE_TIME(longest_is_514, PyNativeSignature_MAX_LENGTH == 514);
ASSERT_AT_COMPILE_TIME(void_is_zero, PyNativeType_VOID == 0);
ASSERT_AT_COMPILE_TIME(ssize_is_as_wide_as_size, sizeof(intptr_t) == sizeof(size_t));

// A column that a consumer adds to the table.
#define ROW(NAME, LETTERS, TYPE, KIND, ...) sizeof(LETTERS) - 1,
static const size_t letter_counts[] = {PyNativeType_LIST(ROW)};
#undef ROW
ASSERT_AT_COMPILE_TIME(table_has_every_code,
                       sizeof(letter_counts) / sizeof(letter_counts[0]) == PyNativeType_COUNT);

// Every C type must be complete.
struct every_type {
#define ROW(NAME, LETTERS, TYPE, KIND, ...) TYPE NAME##_value;
  PyNativeType_VALUE_LIST(ROW)
#undef ROW
};
ASSERT_AT_COMPILE_TIME(zf_is_two_f, sizeof(PyNativeType_ComplexFloat) == 2 * sizeof(float));
ASSERT_AT_COMPILE_TIME(zd_is_two_d, sizeof(PyNativeType_ComplexDouble) == 2 * sizeof(double));
ASSERT_AT_COMPILE_TIME(zg_is_two_g,
                       sizeof(PyNativeType_ComplexLongDouble) == 2 * sizeof(long double));

static int check_codes(void) {
  int code;
  for (code = 0; code < PyNativeType_COUNT; ++code) {
    const char *letters = PyNativeCode_Letters(code);
    if (strlen(letters) != letter_counts[code]) return 1;
    if (PyNativeCode_FromLetters(letters[0], letters[1]) != code) return 2;
    if ((PyNativeCode_Size(code) == 0) != (code == PyNativeType_VOID)) return 3;
    if (PyNativeCode_Alignment(code) == 0) return 4;
    if ((PyNativeCode_Kind(code) == PyNativeKind_VOID) != (code == PyNativeType_VOID)) return 5;
  }
  return 0;
}

int main(void) {
  PyNativeSignature signature;
  PyNativeSignature_Fault fault;
  char buffer[PyNativeSignature_MAX_LENGTH + 1];
  const int failed = check_codes();
  if (failed != 0) return failed;
  if (PyNativeSignature_Parse("&dn->d", 6, &signature, &fault) != 0) return 6;
  if (signature.nargs != 2 || !signature.args[0].pointer_flags) return 7;
  if (PyNativeType_Size(signature.args[0]) != sizeof(double *)) return 8;
  if (PyNativeType_Alignment(signature.result) > sizeof(double)) return 9;
  if (PyNativeType_Kind(signature.args[1]) != PyNativeKind_SIGNED) return 10;
  if (PyNativeType_Passing(signature.args[0]) != PyNativePassing_ADDRESS) return 10;
  if (PyNativeSignature_Print(&signature, buffer, sizeof buffer) != 6) return 11;
  if (strcmp(buffer, "&dn->d") != 0) return 12;
  if (PyNativeSignature_ParseString("dx->d", &signature, &fault) != -1) return 13;
  if (fault.position != 1 || strcmp(fault.reason, "unknown type code") != 0) return 14;
  if (!PyNativeSignature_Equivalent("n->n", sizeof(long) == sizeof(size_t) ? "l->l" : "q->q")) {
    return 15;
  }
  if (PyNativeSignature_Parse("*kd&kn->d", 9, &signature, &fault) != 0) return 16;
  if (PyNativeSignature_CArgCount(&signature) != 3) return 17;
  if (!PyNativeType_IsBuffer(signature.args[0]) || PyNativeType_IsBuffer(signature.args[1])) {
    return 18;
  }
  if (!PyNativeType_IsConst(signature.args[1])) return 19;
  if (!PyNativeSignature_Satisfies("*kd->d", "*d->d")) return 20;
  if (PyNativeSignature_Satisfies("*d->d", "*kd->d")) return 21;
  if (PyNativeSignature_Equivalent("d->d", "d->") || PyNativeSignature_Equivalent("d->", "d->d")) {
    return 22;
  }
  if (PyNativeSignature_Equivalent("d->d", "i->d")) return 23;
  return 0;
}
