// The module provider_split's translator; its functions are in another file.
#include "tests/provider/provider_shared.h"

namespace {

const bool has_translator = [] {
  typedcall::set_exception_translator(to_python<&PyExc_ArithmeticError>);
  return true;
}();

}  // namespace
