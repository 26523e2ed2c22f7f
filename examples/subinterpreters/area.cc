// A module for any number of interpreters in one process. Each interpreter's data are in its module
// state, and there are no static variables.
#include "typedcall/provider.h"
#include "typedcall/resolve.h"

#include <atomic>

namespace {

struct area_state : typedcall::module_state {
  static constexpr bool runs_without_gil = true;
  const PyTypedcall_Interface *interface = nullptr;  // leads to this interpreter's tags
  std::atomic<long> calls = 0;                       // an interpreter may have several threads

  int exec(PyObject *) {
    interface = PyTypedcall_Import();
    return interface == nullptr ? -1 : 0;
  }
};

area_state &state_of(PyObject *module) { return typedcall::state_of<area_state>(module); }

double bowl(double x) noexcept { return x * x; }

// A consumer: computes the area under a callable that offers double(double), by the midpoint rule.
double under(PyObject *module, PyObject *callable, double from, double to) {
  const auto height = typedcall::resolve<double(double)>(state_of(module).interface, callable);
  if (!height) return typedcall::error_value<double>();  // TypeError is set if none is offered
  constexpr int strips = 10000;
  const double width = (to - from) / strips;
  double area = 0;
  for (int i = 0; i < strips; ++i) area += width * height(from + (i + 0.5) * width);
  ++state_of(module).calls;
  return area;
}

long calls(PyObject *module) { return state_of(module).calls; }

typedcall::method_table methods{
    typedcall::def<bowl>("bowl", typedcall::pure | typedcall::thread_safe),
    typedcall::def<under>("under", typedcall::takes_self | typedcall::may_raise),
    typedcall::def<calls>("calls", typedcall::takes_self,
                          "The calls of under() in this interpreter."),
};

}  // namespace

TYPEDCALL_MODULE_STATE(area, "Areas under curves.", methods, area_state);
