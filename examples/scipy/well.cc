// Integrands in C++, wrapped and tagged.
#include "typedcall/provider.h"
// After Python.h.
#include <cmath>

double bell(double x) noexcept { return std::exp(-x * x); }
// SciPy's signature for several variables: their number and their address.
double bump(int count, const double *x) noexcept {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += x[i] * x[i];
  return std::exp(-sum);
}
// SciPy's signature for image filters.
int spread(const double *window, std::intptr_t size, double *result, void *) noexcept {
  double low = window[0], high = window[0];
  for (std::intptr_t i = 1; i < size; ++i) {
    low = std::fmin(low, window[i]);
    high = std::fmax(high, window[i]);
  }
  *result = high - low;
  return 1;
}

static typedcall::method_table methods{
    typedcall::def<bell>("bell", typedcall::pure),
    typedcall::def<bump>("bump", typedcall::pure),
    typedcall::def<spread>("spread", typedcall::thread_safe),
};
TYPEDCALL_MODULE(well, "An extension module that knows nothing of SciPy.", methods);
