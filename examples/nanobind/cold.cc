// A nanobind module whose functions native code can call without nanobind.
#include <stdexcept>

#include "typedcall/nanobind.h"

double kelvin(double celsius) noexcept { return celsius + 273.15; }
double checked_kelvin(double celsius) {
  if (celsius < -273.15) throw std::domain_error("below absolute zero");
  return kelvin(celsius);
}
long days(long weeks, long extra) noexcept { return 7 * weeks + extra; }

NB_MODULE(cold, module) {
  typedcall::def<kelvin>(module, "kelvin", PyNativeCallable_PURE, "Celsius to Kelvin.");
  typedcall::def<kelvin>(module, "to_kelvin");  // the same function with fewer flags
  typedcall::def<days>(module, "days", 0, nanobind::arg("weeks"), nanobind::arg("extra") = 0);
  typedcall::def_falling_back<checked_kelvin>(module, "checked_kelvin");
  module.def("untagged", [](double x) { return x; });
}
