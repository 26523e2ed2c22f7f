// A module of pybind11 whose functions native code can call without pybind11.
#include "typed_pybind11.h"

double celsius(double fahrenheit) noexcept { return (fahrenheit - 32) / 1.8; }
long steps(long from, long to) noexcept { return to - from; }

// A function that lives only as long as the module `other` that is made here.
pybind11::object make(bool whole) {
  pybind11::module_ other = pybind11::reinterpret_steal<pybind11::module_>(PyModule_New("other"));
  if (whole) {
    typed::def(other, "f", steps);
  } else {
    typed::def(other, "f", celsius);
  }
  return other.attr("f");
}

PYBIND11_MODULE(heat, module) {
  typed::def(module, "celsius", celsius, PyNativeCallable_PURE, "Fahrenheit to Celsius.");
  typed::def(module, "steps", steps, 0, pybind11::arg("start"), pybind11::arg("to"));
  module.def("untagged", [](double x) { return x; });
  module.def("make", make);
}
