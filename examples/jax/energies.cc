// A C++ function, wrapped and tagged.
#include "typedcall/provider.h"
// After Python.h.
#include <optional>

// Returns the energy of two atoms at this distance, or no value if the distance is not positive.
std::optional<double> lennard_jones(double distance) noexcept {
  if (!(distance > 0)) return std::nullopt;
  const double square = 1 / (distance * distance), sixth = square * square * square;
  return 4 * sixth * (sixth - 1);
}
static PyObject *no_distance(double) {
  PyErr_SetString(PyExc_ValueError, "no distance");
  return nullptr;
}

static typedcall::method_table methods{
    typedcall::def<lennard_jones>("lennard_jones", typedcall::pure | typedcall::thread_safe,
                                  typedcall::otherwise<no_distance>),
};
TYPEDCALL_MODULE(energies, "A function that JAX calls.", methods);
