// A module of nanobind whose functions native code can call without nanobind.
#include "typed_nanobind.h"

double kelvin(double celsius) noexcept { return celsius + 273.15; }
long days(long weeks, long extra) noexcept { return 7 * weeks + extra; }

NB_MODULE(cold, module) {
  typed::def<kelvin>(module, "kelvin", PyNativeCallable_PURE, "Celsius to Kelvin.");
  typed::def<kelvin>(module, "to_kelvin");  // the same function, of which less is promised
  typed::def<days>(module, "days", 0, nanobind::arg("weeks"), nanobind::arg("extra") = 0);
  module.def("untagged", [](double x) { return x; });
}
