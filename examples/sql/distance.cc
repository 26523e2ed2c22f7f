// C++ functions, wrapped and tagged.
#include "typedcall/provider.h"
// After Python.h.
#include <cmath>
#include <optional>
#include <string_view>

// Returns the kilometres between two places on the earth, or no value for an invalid place.
std::optional<double> distance(double latitude, double longitude, double other_latitude,
                               double other_longitude) noexcept {
  if (std::fabs(latitude) > 90 || std::fabs(other_latitude) > 90) return std::nullopt;
  const double degree = std::acos(-1.0) / 180;
  const double across = std::sin((other_latitude - latitude) * degree / 2);
  const double along = std::sin((other_longitude - longitude) * degree / 2);
  const double part = across * across + std::cos(latitude * degree) *
                                            std::cos(other_latitude * degree) * along * along;
  return 12742 * std::asin(std::sqrt(std::fmin(part, 1)));
}
static PyObject *no_place(double, double, double, double) {
  PyErr_SetString(PyExc_ValueError, "no place on the earth");
  return nullptr;
}
long vowels(std::string_view text) noexcept {
  long count = 0;
  for (const char each : text) count += std::string_view("aeiouAEIOU").find(each) < 10;
  return count;
}

constexpr auto simple = typedcall::pure | typedcall::thread_safe;
static typedcall::method_table methods{
    typedcall::def<distance>("distance", simple, typedcall::otherwise<no_place>),
    typedcall::def<vowels>("vowels", simple),
};
TYPEDCALL_MODULE(distance, "Functions that a database calls.", methods);
