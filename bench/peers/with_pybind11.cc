// The module with pybind11.
#include <pybind11/pybind11.h>

#include "bench/peers/native.h"

#define ROW(name, function) module.def(name, &function);

PYBIND11_MODULE(MODULE_NAME, module) {
  module.def("inc", &inc);
  module.def("add", &add);
  module.def("mix", &mix);
  OTHER_FUNCTIONS(ROW)
}
