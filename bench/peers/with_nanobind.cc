// The module with nanobind.
#include <nanobind/nanobind.h>

#include "bench/peers/native.h"

#define ROW(name, function) module.def(name, &function);

NB_MODULE(MODULE_NAME, module) {
  module.def("inc", &inc);
  module.def("add", &add);
  module.def("mix", &mix);
  OTHER_FUNCTIONS(ROW)
}
