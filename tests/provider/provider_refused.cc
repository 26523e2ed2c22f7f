// Rows that compile and cannot be made right: importing the module says so. One module for each
// value of REFUSED; 0 is the one that imports.

#include "typedcall/provider.h"

namespace {

long inc(signed char x) noexcept { return x + 1; }

typedcall::method_table methods {
#if REFUSED == 0
  typedcall::def<inc>("inc", typedcall::arg("x") = 127),
      typedcall::def<inc>("again", typedcall::arg("x") = 127),
#elif REFUSED == 1
  typedcall::def<inc>("inc", typedcall::arg("x")),
      typedcall::def<inc>("again", typedcall::arg("y")),
#elif REFUSED == 2
  typedcall::def<inc>("inc", typedcall::arg("x") = 1),
      typedcall::def<inc>("again", typedcall::arg("x") = 2),
#elif REFUSED == 3
  typedcall::def<inc>("inc", typedcall::arg("x") = 128),
#elif REFUSED == 4
  typedcall::def<inc>("inc", typedcall::class_method),
#elif REFUSED == 5
  typedcall::def<inc>("inc", typedcall::static_method),
#endif
};

}  // namespace

#define MODULE_(name) TYPEDCALL_MODULE(name, nullptr, methods)
#define MODULE(name) MODULE_(name)
MODULE(NAME);
