// The extension module of the simulation. All functions are tagged.
#include "typedcall/provider.h"

namespace {

/// Returns the coordinate difference to the nearest image in a periodic box.
double nearest(double difference, double box) noexcept {
  if (difference > box / 2) return difference - box;
  if (difference < -box / 2) return difference + box;
  return difference;
}

/// Returns the Lennard-Jones force between two particles divided by their distance.
double force(double squared) noexcept {
  const double inverse = 1.0 / squared, sixth = inverse * inverse * inverse;
  return 24.0 * sixth * (2.0 * sixth - 1.0) * inverse;
}

/// Returns the Lennard-Jones energy of two particles.
double energy(double squared) noexcept {
  const double inverse = 1.0 / squared, sixth = inverse * inverse * inverse;
  return 4.0 * sixth * (sixth - 1.0);
}

/// Moves the coordinate back into the box.
double inside(double coordinate, double box) noexcept {
  if (coordinate >= box) return coordinate - box;
  if (coordinate < 0.0) return coordinate + box;
  return coordinate;
}

/// Returns the `n`th number of a pseudo-random sequence in [-0.5, 0.5).
double noise(long n) noexcept {
  auto bits = static_cast<unsigned long>(n) * 0x9e3779b97f4a7c15ul;
  bits ^= bits >> 31;
  bits *= 0xbf58476d1ce4e5b9ul;
  bits ^= bits >> 29;
  return static_cast<double>(bits >> 11) * 0x1p-53 - 0.5;
}

/// Returns the histogram bin for a squared distance. The last bin also counts larger distances.
long bin(double squared, double width, long bins) noexcept {
  const double at = squared / width;
  return at < static_cast<double>(bins - 1) ? static_cast<long>(at) : bins - 1;
}

constexpr auto simple = typedcall::pure | typedcall::thread_safe;

typedcall::method_table methods{
    typedcall::def<nearest>("nearest", simple), typedcall::def<force>("force", simple),
    typedcall::def<energy>("energy", simple),   typedcall::def<inside>("inside", simple),
    typedcall::def<noise>("noise", simple),     typedcall::def<bin>("bin", simple),
};

}  // namespace

TYPEDCALL_MODULE(forces, "Scalar functions of a molecular dynamics simulation.", methods);
