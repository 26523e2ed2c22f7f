// One of several modules in one shared object. A static initialiser sets its translator.
#include "tests/provider/provider_shared.h"

namespace {

const bool has_translator = [] {
  typedcall::set_exception_translator(to_python<&PyExc_SyntaxError>);
  return true;
}();

auto methods = table_of_functions<0>();

}  // namespace

TYPEDCALL_MODULE(provider_shared, "By a static initialiser.", methods);
