// Functions that return their argument, for every number type.

#include <cmath>

#include "typedcall/provider.h"

namespace {

template <class T>
T echo(T value) noexcept {
  return value;
}

long nothing() noexcept { return 7; }
double weighted(signed char a, unsigned short b, bool c, float d, double e) noexcept {
  return a + 10 * b + 100 * c + 1000 * static_cast<double>(d) + 10000 * e;
}
long nine(long a, long b, long c, long d, long e, long f, long g, long h, long i) noexcept {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i;
}
bool is_negative_zero(double x) noexcept {
  return std::signbit(x) && std::fpclassify(x) == FP_ZERO;
}
int calls = 0;
void count_call(long) noexcept { ++calls; }
int call_count() noexcept { return calls; }

typedcall::method_table methods{
    typedcall::def<echo<signed char>>("schar"),
    typedcall::def<echo<unsigned char>>("uchar"),
    typedcall::def<echo<short>>("short"),
    typedcall::def<echo<unsigned short>>("ushort"),
    typedcall::def<echo<int>>("int"),
    typedcall::def<echo<unsigned int>>("uint"),
    typedcall::def<echo<long>>("long"),
    typedcall::def<echo<unsigned long>>("ulong"),
    typedcall::def<echo<long long>>("longlong"),
    typedcall::def<echo<unsigned long long>>("ulonglong"),
    typedcall::def<echo<Py_ssize_t>>("ssize"),
    typedcall::def<echo<std::size_t>>("size"),
    typedcall::def<echo<bool>>("bool"),
    typedcall::def<echo<float>>("float"),
    typedcall::def<echo<double>>("double"),
    typedcall::def<nothing>("nothing"),
    typedcall::def<weighted>("weighted"),
    typedcall::def<nine>("nine"),
    typedcall::def<is_negative_zero>("is_negative_zero"),
    typedcall::def<count_call>("count_call"),
    typedcall::def<call_count>("call_count"),
};

}  // namespace

TYPEDCALL_MODULE(provider_numbers, "Numbers there and back.", methods);
