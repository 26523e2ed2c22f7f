// The exception and the functions of the modules in one shared object.
#ifndef TYPEDCALL_TESTS_PROVIDER_PROVIDER_SHARED_H_
#define TYPEDCALL_TESTS_PROVIDER_PROVIDER_SHARED_H_

#include <optional>
#include <stdexcept>

#include "typedcall/provider.h"

// Each module translates this exception to a different Python exception.
struct own_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// An exception translator that sets `*type`.
template <PyObject **type>
void to_python() {
  try {
    throw;
  } catch (const own_error &error) {
    PyErr_SetString(*type, error.what());
  }
}

namespace {

template <int number>
long fail(long) {
  throw own_error("of a function");
}
template <int number>
double fail_too(double) {
  throw own_error("of an overload");
}
template <int number>
long fail_with_default(long) {
  throw own_error("with a default");
}
template <int number>
std::optional<long> never(long) noexcept {
  return std::nullopt;
}
template <int number>
long fail_otherwise(long) {
  throw own_error("otherwise");
}
template <int number>
long fail_late(long) {
  throw own_error("behind falls_back");
}
template <int number>
long fail_as_method(PyObject *, long) {
  throw own_error("in a method");
}

template <int number>
auto table_of_functions() {
  using typedcall::def;
  return typedcall::method_table<6>(
      def<fail<number>>("single"), def<fail<number>, fail_too<number>>("overloaded"),
      def<fail_with_default<number>>("named", typedcall::arg("x") = 1),
      def<never<number>>("otherwise", typedcall::otherwise<fail_otherwise<number>>),
      def<fail_late<number>>("falls_back", typedcall::falls_back), def<fail<number>>("again"));
}

}  // namespace

#endif  // TYPEDCALL_TESTS_PROVIDER_PROVIDER_SHARED_H_
