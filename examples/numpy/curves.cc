// Scalar functions in C++, wrapped and tagged.
#include "typedcall/provider.h"

double blend(double a, double b) noexcept { return (a + b) / 2; }
float clamp_float(float x) noexcept { return x < 0 ? 0 : x; }
double clamp_double(double x) noexcept { return x < 0 ? 0 : x; }

static typedcall::method_table methods{
    typedcall::def<blend>("blend", typedcall::pure | typedcall::thread_safe, "The mean of two."),
    typedcall::def<clamp_float, clamp_double>("clamp", typedcall::pure | typedcall::thread_safe),
};
TYPEDCALL_MODULE(curves, "An extension module that knows nothing of NumPy.", methods);
