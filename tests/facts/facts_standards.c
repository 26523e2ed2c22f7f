// Uses all declarations of two headers under every C standard. main returns the number of the first
// check that failed.

#include "typedcall/entry_view.h"
#include "typedcall/overload_choice.h"

static PyNativeView view_of(const char *text, uintptr_t flags) {
  PyNativeSignature signature;
  PyNativeSignature_ParseString(text, &signature, NULL);
  return PyNativeView_Of(&signature, flags);
}

static int check_view(void) {
  const uintptr_t raises = PyNativeCallable_MAY_RAISE | PyNativeCallable_NEEDS_THREAD;
  PyNativeView view = view_of("dl->d", PyNativeCallable_THREAD_SAFE);
  if (view.error_protocol != PyNativeErrorProtocol_NONE ||
      view.thread_state != PyNativeThreadState_ANY)
    return 1;
  if (view.nargs != 2 || view.has_place || view.takes_self) return 2;
  if (view.result.code != PyNativeType_DOUBLE || view.result.pointer_flags) return 3;
  view = view_of("d&?->i", PyNativeCallable_FALLS_BACK | PyNativeCallable_ACQUIRES_GIL);
  if (view.error_protocol != PyNativeErrorProtocol_FALLS_BACK ||
      view.thread_state != PyNativeThreadState_DETACHED)
    return 4;
  if (view.nargs != 1 || !view.has_place) return 5;
  if (view.result.code != PyNativeType_BOOL || view.result.pointer_flags) return 6;
  if (view_of("d->d", raises).error_protocol != PyNativeErrorProtocol_MAY_RAISE) return 7;
  if (view_of("d->d", raises).thread_state != PyNativeThreadState_ATTACHED) return 8;
  if (view_of("d->d", raises | PyNativeCallable_DIFFERS).error_protocol !=
      PyNativeErrorProtocol_CHECK_EXCEPTION)
    return 9;
  if (view_of("d->d", 0x200).error_protocol != PyNativeErrorProtocol_UNUSABLE) return 10;
  if (view_of("d->d", 0x200).is_usable || !view.is_usable) return 18;
  if (!view.reports || !view.may_fall_back || view.may_raise) return 19;
  return 0;
}

static int check_choice(void) {
  const PyNativeType narrow = {PyNativeType_FLOAT, 0}, wide = {PyNativeType_DOUBLE, 0};
  const PyNativeType integer = {PyNativeType_SHORT, 0}, place = {PyNativeType_SHORT, 1};
  const uint64_t row = PyNativeChoice_Row(narrow);
  if (PyNativeArgumentKind_COUNT != 16) return 11;
  if (PyNativeChoice_Rank(row, PyNativeArgumentKind_C_FLOAT) != PyNativeRank_OWN) return 12;
  if (PyNativeChoice_Rank(row, PyNativeArgumentKind_FLOAT) != PyNativeRank_NEAR) return 13;
  if (PyNativeChoice_Rank(row, PyNativeArgumentKind_STR) != PyNativeRank_NONE) return 14;
  if (PyNativeChoice_Rank(PyNativeChoice_Row(wide), PyNativeArgumentKind_INT) !=
      PyNativeRank_SAFE) {
    return 15;
  }
  if (!PyNativeChoice_LosesPrecision(wide) || PyNativeChoice_LosesPrecision(integer)) return 16;
  if (PyNativeChoice_LosesPrecision(place)) return 17;
  return 0;
}

static int check_comparison(void) {
  const unsigned char worst[] = {3, 2, 3, 3};
  const unsigned char ranks[] = {3, 3, 9, 2, 1, 9, 3, 1, 9, 1, 3, 9};
  if (PyNativeChoice_IsBetter(ranks, ranks, 2)) return 18;
  if (PyNativeChoice_IsBetter(ranks + 6, ranks + 9, 2)) return 19;
  if (!PyNativeChoice_IsBetter(ranks + 6, ranks, 2)) return 20;
  if (PyNativeChoice_FirstUnbeaten(worst, ranks, 4, 3, 2, 0) != 2) return 21;
  if (PyNativeChoice_FirstUnbeaten(worst, ranks, 4, 3, 2, 1) != 1) return 22;
  if (PyNativeChoice_FirstUnbeaten(worst, ranks, 4, 3, 0, 0) != 0) return 23;
  return 0;
}

int main(void) {
  int failed = check_view();
  if (failed == 0) failed = check_choice();
  return failed != 0 ? failed : check_comparison();
}
