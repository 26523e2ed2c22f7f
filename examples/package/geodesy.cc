// An extension module with a few functions for a globe. The table at the end turns them into Python
// functions, and offers them to native code.
#include "typedcall/provider.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace {

constexpr double degree = 3.14159265358979323846 / 180;
constexpr double earth = 6371008.8;  // mean radius in metres

// The haversine formula. min() is needed because rounding errors can make `h` larger than 1.
double distance(double lat1, double lon1, double lat2, double lon2, double radius) noexcept {
  const double a = std::sin((lat2 - lat1) * degree / 2), b = std::sin((lon2 - lon1) * degree / 2);
  const double h = a * a + std::cos(lat1 * degree) * std::cos(lat2 * degree) * b * b;
  return 2 * radius * std::asin(std::sqrt(std::min(h, 1.0)));
}

double bearing(double lat1, double lon1, double lat2, double lon2) noexcept {
  const double turn = (lon2 - lon1) * degree;
  const double east = std::sin(turn) * std::cos(lat2 * degree);
  const double north = std::cos(lat1 * degree) * std::sin(lat2 * degree) -
                       std::sin(lat1 * degree) * std::cos(lat2 * degree) * std::cos(turn);
  const double angle = std::atan2(east, north) / degree;
  return angle < 0 ? angle + 360 : angle;
}

// Python gets this exception as ValueError.
long utm_zone(double lon) {
  if (!(lon >= -180 && lon <= 180)) throw std::domain_error("a longitude is from -180 to 180");
  return std::min(1 + static_cast<long>((lon + 180) / 6), 60L);
}

constexpr auto simple = typedcall::pure | typedcall::thread_safe;

typedcall::method_table methods{
    typedcall::def<distance>("distance", simple,
                             "Metres between two points, along the surface of a globe.",
                             typedcall::arg("lat1"), typedcall::arg("lon1"), typedcall::arg("lat2"),
                             typedcall::arg("lon2"), typedcall::arg("radius") = earth),
    typedcall::def<bearing>("bearing", simple,
                            "The course at the first point; 0 is north, 90 east.",
                            typedcall::arg("lat1"), typedcall::arg("lon1"), typedcall::arg("lat2"),
                            typedcall::arg("lon2")),
    typedcall::def<utm_zone>("utm_zone", typedcall::thread_safe,
                             "The zone of a longitude, from 1 to 60.", typedcall::arg("lon")),
};

}  // namespace

// All the functions may run in several threads at once, even in a Python without a GIL.
TYPEDCALL_MODULE_WITHOUT_GIL(geodesy, "Distances and directions on the earth.", methods);
