// Uses all declarations of two headers under every C++ standard. C++11 cannot make these checks at
// compile time, so main repeats them.

#include "typedcall/entry_view.h"
#include "typedcall/overload_choice.h"

namespace {

PyNative_INLINE PyNativeView view_of(const char *text, uintptr_t flags) {
  PyNativeSignature signature = {0, {0, 0}, {{0, 0}}};
  PyNativeSignature_ParseString(text, &signature, nullptr);
  return PyNativeView_Of(&signature, flags);
}

PyNative_INLINE bool views_are_right() {
  const PyNativeView plain = view_of("dl->d", PyNativeCallable_THREAD_SAFE);
  const PyNativeView placed = view_of("d&?->i", PyNativeCallable_FALLS_BACK);
  return plain.error_protocol == PyNativeErrorProtocol_NONE &&
         plain.thread_state == PyNativeThreadState_ANY && plain.nargs == 2 && !plain.has_place &&
         !plain.takes_self && placed.error_protocol == PyNativeErrorProtocol_FALLS_BACK &&
         placed.thread_state == PyNativeThreadState_ATTACHED && placed.nargs == 1 &&
         placed.has_place && placed.result.code == PyNativeType_BOOL && placed.is_usable &&
         placed.reports && placed.may_fall_back && !placed.may_raise && !plain.reports &&
         view_of("d->d", 0x200).error_protocol == PyNativeErrorProtocol_UNUSABLE;
}

PyNative_INLINE bool checks_are_right() {
  PyNativeSignature signature = {0, {0, 0}, {{0, 0}}};
  PyNativeSignature_ParseString("->d", &signature, nullptr);
  const PyNativeCheck check = PyNativeCheck_Of(PyNativeErrorProtocol_MAY_RAISE, &signature, 0);
  return check.mask == UINT64_MAX && check.expected == UINT64_C(0xBFF0000000000000) &&
         !check.is_value_if_equal &&
         PyNativeCheck_Of(PyNativeErrorProtocol_STATUS, &signature, 0).mask == UINT32_MAX;
}

PyNative_INLINE enum PyNativeRank rank_of(int code, enum PyNativeArgumentKind kind) {
  return PyNativeChoice_Rank(PyNativeChoice_Row({static_cast<unsigned char>(code), 0}), kind);
}

PyNative_INLINE bool ranks_are_right() {
  return rank_of(PyNativeType_FLOAT, PyNativeArgumentKind_C_FLOAT) == PyNativeRank_OWN &&
         rank_of(PyNativeType_DOUBLE, PyNativeArgumentKind_INT) == PyNativeRank_SAFE &&
         rank_of(PyNativeType_POINTER, PyNativeArgumentKind_OTHER) == PyNativeRank_NONE &&
         rank_of(PyNativeType_POINTER, PyNativeArgumentKind_DEFAULT) == PyNativeRank_EXACT &&
         PyNativeChoice_LosesPrecision({PyNativeType_CFLOAT, 0}) &&
         !PyNativeChoice_LosesPrecision({PyNativeType_CFLOAT, PyNativePointer_TO});
}

#if defined(__cpp_constexpr) && __cpp_constexpr >= 201304L
static_assert(views_are_right(), "entries as Python sees them");
static_assert(checks_are_right(), "comparisons behind the call");
static_assert(ranks_are_right(), "how well values suit");
#elif __cplusplus >= 201402L
#error "C++14 and later must have the constexpr functions"
#endif

}  // namespace

int main() {
  if (!views_are_right()) return 1;
  if (!ranks_are_right()) return 2;
  if (!checks_are_right()) return 3;
  return 0;
}
