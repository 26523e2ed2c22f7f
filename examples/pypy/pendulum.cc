// Functions for simulating a pendulum with friction.
#include "typedcall/provider.h"

#include <cmath>
#include <stdexcept>

namespace {

double acceleration(double angle, double speed, double friction) noexcept {
  return -std::sin(angle) - friction * speed;
}

double energy(double angle, double speed) noexcept { return speed * speed / 2 - std::cos(angle); }

// Raising an exception needs Python, so this function is always called boxed.
double period(double length) {
  if (!(length > 0)) throw std::invalid_argument("a pendulum has a length");
  return 2 * 3.141592653589793 * std::sqrt(length / 9.81);
}

constexpr auto simple = typedcall::pure | typedcall::thread_safe;

typedcall::method_table methods{
    typedcall::def<acceleration>("acceleration", simple, "The angle's acceleration.",
                                 typedcall::arg("angle"), typedcall::arg("speed"),
                                 typedcall::arg("friction") = 0.1),
    typedcall::def<energy>("energy", simple),
    typedcall::def<period>("period"),
};

}  // namespace

TYPEDCALL_MODULE(pendulum, "A pendulum.", methods);
