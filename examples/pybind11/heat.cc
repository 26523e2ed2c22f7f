// A pybind11 module whose functions native code can call without pybind11.
#include <stdexcept>

#include "typedcall/pybind11.h"

double celsius(double fahrenheit) noexcept { return (fahrenheit - 32) / 1.8; }
long steps(long from, long to) noexcept { return to - from; }
double checked_celsius(double fahrenheit) {
  if (fahrenheit < -459.67) throw std::domain_error("below absolute zero");
  return celsius(fahrenheit);
}

// Returns a new function in a temporary module.
pybind11::object make(bool whole) {
  pybind11::module_ other = pybind11::reinterpret_steal<pybind11::module_>(PyModule_New("other"));
  if (whole) {
    typedcall::def<steps>(other, "f");
  } else {
    typedcall::def<celsius>(other, "f");
  }
  return other.attr("f");
}

PYBIND11_MODULE(heat, module) {
  typedcall::def<celsius>(module, "celsius", PyNativeCallable_PURE, "Fahrenheit to Celsius.");
  typedcall::def<steps>(module, "steps", 0, pybind11::arg("start"), pybind11::arg("to"));
  typedcall::def_falling_back<checked_celsius>(module, "checked_celsius");
  module.def("untagged", [](double x) { return x; });
  module.def("make", make);
}
