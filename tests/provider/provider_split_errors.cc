// The translator of the module provider_split.
#include "tests/provider/provider_shared.h"

namespace {

const bool has_translator = [] {
  typedcall::set_exception_translator(to_python<&PyExc_ArithmeticError>);
  return true;
}();

}  // namespace
