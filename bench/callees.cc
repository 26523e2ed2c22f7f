// The callees. A translation unit of their own, so that callers can neither inline them nor learn
// which registers they leave alone.
#include "bench/callees.h"

namespace bench {

double dd_d(double x, double y) noexcept { return x + y; }

long l_l(long x) noexcept { return x + 1; }

double dldl_d(double x, long m, double y, long n) noexcept {
  return x + y + static_cast<double>(m + n);
}

}  // namespace bench
