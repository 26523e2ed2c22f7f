// Functions with all signatures that SciPy calls.
#include "typedcall/provider.h"

namespace {

double plain(double x) noexcept { return 3 * x; }
double with_data(double x, void *data) noexcept { return x * *static_cast<double *>(data); }
double of_many(int count, const double *x) noexcept { return count == 2 ? x[0] * x[1] : x[0]; }
double of_many_with_data(int count, const double *x, void *data) noexcept {
  return of_many(count, x) * *static_cast<double *>(data);
}
template <class... Reals>
double weighted(Reals... reals) noexcept {
  double sum = 0, weight = 0;
  ((sum += ++weight * reals), ...);
  return sum;
}
double sum_of_3(double a, double b, double c) noexcept { return weighted(a, b, c); }
double sum_of_8(double a, double b, double c, double d, double e, double f, double g,
                double h) noexcept {
  return weighted(a, b, c, d, e, f, g, h);
}
double sum_of_9(double a, double b, double c, double d, double e, double f, double g, double h,
                double i) noexcept {
  return weighted(a, b, c, d, e, f, g, h, i);
}
double sum_of_20(double a, double b, double c, double d, double e, double f, double g, double h,
                 double i, double j, double k, double l, double m, double n, double o, double p,
                 double q, double r, double s, double t) noexcept {
  return weighted(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t);
}
int window(const double *from, std::intptr_t size, double *to, void *data) noexcept {
  double sum = data != nullptr ? *static_cast<double *>(data) : 0;
  for (std::intptr_t i = 0; i < size; ++i) sum += from[i];
  *to = sum;
  return 1;
}
int line(const double *from, std::intptr_t size, double *to, std::intptr_t out_size,
         void *) noexcept {
  for (std::intptr_t i = 0; i < out_size; ++i) to[i] = from[i + (size - out_size) / 2] * 2;
  return 1;
}
int place(const std::intptr_t *to, double *from, int to_rank, int from_rank, void *) noexcept {
  for (int i = 0; i < from_rank && i < to_rank; ++i) from[i] = static_cast<double>(to[i]) + 1;
  return 1;
}

typedcall::method_table methods{
    typedcall::def<plain>("plain"),        typedcall::def<with_data>("with_data"),
    typedcall::def<of_many>("of_many"),    typedcall::def<of_many_with_data>("of_many_with_data"),
    typedcall::def<window>("window"),      typedcall::def<line>("line"),
    typedcall::def<place>("place"),        typedcall::def<sum_of_3>("sum_of_3"),
    typedcall::def<sum_of_8>("sum_of_8"),  typedcall::def<sum_of_9>("sum_of_9"),
    typedcall::def<sum_of_20>("sum_of_20")};

}  // namespace

TYPEDCALL_MODULE(scipy_callbacks, "Every shape that SciPy calls.", methods);
