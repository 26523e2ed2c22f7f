// Invalid defs that are reported when the module is imported. Each value of REFUSED makes one
// module. Only the module for 0 is valid.

#include "typedcall/provider.h"

namespace {

#if REFUSED == 10
double same(double x) noexcept { return x; }
#elif REFUSED < 6
long inc(signed char x) noexcept { return x + 1; }
#else
long add(long a, long b) noexcept { return a + b; }
#endif

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
#elif REFUSED == 6
  typedcall::def<add>("add", typedcall::positional("x"), typedcall::arg("x")),
#elif REFUSED == 7
  typedcall::def<add>("add", typedcall::arg("match"), typedcall::arg("class") = 1),
#elif REFUSED == 8
  typedcall::def<add>("add", typedcall::arg("x"), typedcall::arg("\xc3\xa9 y")),
#elif REFUSED == 9
  typedcall::def<add>("add", typedcall::positional(""), typedcall::arg("x\xff")),
#elif REFUSED == 10
  typedcall::def<same>("same", typedcall::arg("x") = 0.0),
      typedcall::def<same>("again", typedcall::arg("x") = -0.0),
#elif REFUSED == 11
  typedcall::def<add>("add", typedcall::arg("x"), typedcall::keyword_only, typedcall::arg("x")),
#elif REFUSED == 12
  typedcall::def<add>("add", typedcall::keyword_only, typedcall::arg("x"), typedcall::arg("")),
#elif REFUSED == 13
  typedcall::def<add>("add", typedcall::keyword_only, typedcall::arg("x"), typedcall::arg("y")),
      typedcall::def<add>("again", typedcall::keyword_only, typedcall::arg("y"),
                          typedcall::arg("x")),
#endif
};

}  // namespace

#define MODULE_(name) TYPEDCALL_MODULE(name, nullptr, methods)
#define MODULE(name) MODULE_(name)
MODULE(NAME);
