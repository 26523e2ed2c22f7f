// Functions for the tests of call sites.
#ifndef TYPEDCALL_TESTS_RESOLVE_CALL_SITES_H_
#define TYPEDCALL_TESTS_RESOLVE_CALL_SITES_H_

#include <memory>
#include <vector>

#include "tests/resolve/callables.h"
#include "typedcall/call_site.h"

namespace resolve_test {

using typedcall::call_site;
using typedcall::event;
using typedcall::stats;

static_assert(stats::enabled, "the tests read the counters");

inline long one(long x) noexcept { return x + 1; }
inline long two(long x) noexcept { return x + 2; }
inline double half(double x) noexcept { return x / 2; }

template <class Function>
void *AddressOf(Function *function) {
  return reinterpret_cast<void *>(function);
}

// The counts since the last call to Count().
struct Counted {
  std::uint64_t hits, misses, bypassed;
  bool operator==(const Counted &other) const {
    return hits == other.hits && misses == other.misses && bypassed == other.bypassed;
  }
};
inline std::ostream &operator<<(std::ostream &out, const Counted &counted) {
  return out << counted.hits << " hits, " << counted.misses << " misses, " << counted.bypassed
             << " bypassed";
}
inline Counted Count() {
  const Counted counted = {stats::count(event::cache_hit), stats::count(event::cache_miss),
                           stats::count(event::cache_bypassed)};
  stats::reset();
  return counted;
}

// The def, metadata and table of a function.
struct Block {
  Block(int bits, const PyNativeCallableEntry &entry)
      : table{1, {entry}}, def{metadata.pypy.ml_name, Boxed, METH_O | bits, nullptr} {
    metadata.table = &table;
  }
  PyNativeCallableTable table;
  PyTypedMethodMetadata metadata = {
      nullptr, nullptr, PyTypedMethod_SIZE, 1, 0, PyTypedMethod_MAGIC, {nullptr, 0, nullptr, "f"}};
  PyMethodDef def;
};
const PyNativeCallableEntry kOne = {"l->l", 0, AddressOf(one)};
const PyNativeCallableEntry kTwo = {"l->l", 0, AddressOf(two)};
const PyNativeCallableEntry kHalf = {"d->d", 0, AddressOf(half)};

inline Ref NewFunction(PyMethodDef *def, PyObject *self = nullptr) {
  return Ref::Steal(PyCFunction_New(def, self));
}
inline void Tag(const PyMethodDef *def, PyObject *owner, const PyNativeCallableTable *table) {
  ASSERT_EQ(PyTypedMethod_TagDef(Interface(), def, owner, table, nullptr), 1) << TakeError();
}

class CallSite : public testing::Test {
 protected:
  CallSite() { stats::reset(); }
  call_site<long(long)> site{Interface()};
};

}  // namespace resolve_test

#endif  // TYPEDCALL_TESTS_RESOLVE_CALL_SITES_H_
