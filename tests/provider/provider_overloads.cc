// Overloaded functions. The results show which function was called.

#include "typedcall/provider.h"

#include <complex>

namespace {

constexpr long kBool = 1, kInt = 2, kFloat = 3, kObject = 4, kComplex = 5, kText = 6, kDoubles = 7,
               kFloats = 8, kNarrow = 32, kWide = 64, kUnsigned = 65;

long of_bool(bool) noexcept { return kBool; }
long of_int(long) noexcept { return kInt; }
long of_float(double) noexcept { return kFloat; }
long of_object(PyObject *) noexcept { return kObject; }
float half_of_single(float x) noexcept { return x / 2; }
double half_of_double(double x) noexcept { return x / 2; }
std::complex<float> same_single(std::complex<float> x) noexcept { return x; }
std::complex<double> same_double(std::complex<double> x) noexcept { return x; }
long of_complex(std::complex<double>) noexcept { return kComplex; }
long of_text(const char *) noexcept { return kText; }
long of_doubles(const double *) noexcept { return kDoubles; }
long of_floats(float *) noexcept { return kFloats; }
long of_array(typedcall::span<const double>) noexcept { return kDoubles; }
long of_int32(std::int32_t) noexcept { return kNarrow; }
long of_int64(std::int64_t) noexcept { return kWide; }
long of_uint64(std::uint64_t) noexcept { return kUnsigned; }

int calls = 0;
long raises_overflow(std::int32_t) noexcept {
  ++calls;
  PyErr_SetString(PyExc_OverflowError, "from the function");
  return -1;
}
long never_raises(std::int64_t) noexcept {
  calls += 100;
  return 0;
}
int take_calls() noexcept { return std::exchange(calls, 0); }

double area() noexcept { return 0; }
double area_of_square(double side) noexcept { return side * side; }
double area_of_rectangle(double a, double b) noexcept { return a * b; }

long int_float(long, double) noexcept { return 1; }
long float_float(double, double) noexcept { return 2; }
long float_int(double, long) noexcept { return 3; }

long int_int(long, long) noexcept { return kInt; }
long object_float(PyObject *, double) noexcept { return kObject; }

long narrow_int(std::int8_t, long) noexcept { return kNarrow; }
long narrow_narrow(std::int8_t, std::int8_t) noexcept { return kNarrow; }
long int_float_wide(long, double) noexcept { return kWide; }
long int_complex(long, std::complex<double>) noexcept { return kComplex; }

typedcall::method_table methods{
    typedcall::def<of_int, of_float>("int_then_float"),
    typedcall::def<of_float, of_int>("float_then_int"),
    typedcall::def<of_float, of_int, of_bool>("float_int_bool"),
    typedcall::def<of_object, of_float, of_int>("object_first"),
    typedcall::def<of_float, of_object>("float_then_object"),
    typedcall::def<of_object, of_float>("object_then_float"),
    typedcall::def<of_int32, of_int64>("widths"),
    typedcall::def<of_int32, of_int64, of_uint64>("signs"),
    typedcall::def<of_int32, of_int64, of_float>("widths_and_float"),
    typedcall::def<of_int32, of_float>("narrow_or_float"),
    typedcall::def<raises_overflow, never_raises>("raises", typedcall::may_raise),
    typedcall::def<take_calls>("take_calls"),
    typedcall::def<area, area_of_square, area_of_rectangle>("area"),
    typedcall::def<of_int, of_object>("int_or_object"),
    typedcall::def<of_object, of_int>("object_or_int"),
    typedcall::def<int_int, object_float>("ints_or_mixed"),
    typedcall::def<of_complex, of_int>("complex_or_int"),
    typedcall::def<of_float, of_complex>("float_or_complex"),
    typedcall::def<of_text, of_object>("text_or_object"),
    typedcall::def<of_object, of_text>("object_or_text"),
    typedcall::def<half_of_single, half_of_double>("single_then_double"),
    typedcall::def<same_single, same_double>("complex_single_then_double"),
    typedcall::def<of_doubles, of_floats>("doubles_or_floats"),
    typedcall::def<of_floats, of_doubles>("floats_or_doubles"),
    typedcall::def<int_float, float_float, float_int>("pairs"),
    typedcall::def<float_float, int_float, float_int>("floats_then_mixed"),
    typedcall::def<of_int, of_array>("int_or_array"),
    typedcall::def<narrow_int, int_float_wide>("narrow_then_mixed"),
    typedcall::def<int_float_wide, narrow_int>("mixed_then_narrow"),
    typedcall::def<narrow_narrow, int_float_wide, int_complex, int_int>("narrow_pair"),
    typedcall::def<of_complex, of_object>("complex_or_object"),
    typedcall::def<of_doubles, of_object>("doubles_or_object"),
};

}  // namespace

TYPEDCALL_MODULE(provider_overloads, "Several functions under one name.", methods);
