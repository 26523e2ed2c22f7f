// The places of entries, and their names in C++ and Python (`Entry.place`). They do not need
// Python.h.
#ifndef TYPEDCALL_RESOLVE_PLACE_NAMES_H_
#define TYPEDCALL_RESOLVE_PLACE_NAMES_H_

#include "typedcall/base/namespace.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {

/// Where an entry was found, in search order.
enum class place : unsigned char {
  instance_slot,    ///< the native-callable slot of an extensible type (SEP 201)
  method_metadata,  ///< typedcall's header in front of `ml_name` (METH_TYPED | METH_TYPED_EXT)
  pypy_metadata,    ///< PyPy's or Bernstein's struct in front of `ml_name` (METH_TYPED)
  def_row,          ///< the interpreter's side table, keyed by PyMethodDef
  object_row,       ///< the interpreter's side table, keyed by object
  sibling_symbol,   ///< a symbol `_PyPyTyped_<name>` in the shared object that contains the def
};

namespace internal {
inline constexpr const char *place_names[] = {"instance slot", "method metadata", "PyPy metadata",
                                              "def row",       "object row",      "sibling symbol"};
static_assert(sizeof(place_names) / sizeof(place_names[0]) ==
              static_cast<unsigned>(place::sibling_symbol) + 1);
}  // namespace internal

/// Returns the name of a place. The string is static.
inline const char *describe(place where) {
  return internal::place_names[static_cast<unsigned>(where)];
}

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_RESOLVE_PLACE_NAMES_H_
