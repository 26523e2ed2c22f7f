// Functions whose parameters have names and defaults.

#include <cmath>
#include <complex>
#include <limits>

#include "typedcall/provider.h"

namespace {

using typedcall::arg;
using typedcall::keyword_only;
using typedcall::positional;

// The decimal digits of the result show the arguments. This is a template because a function can
// have only one list of parameter names.
template <int>
long digits(long a, long b, long c) noexcept {
  return 100 * a + 10 * b + c;
}
long twice(long x) noexcept { return 2 * x; }
constexpr auto twice_positional = +[](long x) noexcept { return 2 * x; };
constexpr auto twice_default = +[](long x) noexcept { return 2 * x; };

// Returns true if each parameter has its default. There is a parameter of every type that can have
// one.
bool all_defaults(bool flag, signed char narrow, unsigned long wide, float single, double real,
                  long double extended, std::complex<double> z, PyNativeType_ComplexFloat w,
                  const char *text, PyObject *object, const double *items, void *memory) noexcept {
  return flag && narrow == -128 && wide == ULONG_MAX && single <= 0.5f && single >= 0.5f &&
         std::signbit(real) && std::isinf(extended) && z == std::complex<double>(1, -2) &&
         __real__ w >= 3 && __imag__ w <= 0 && std::strcmp(text, "it's\n\\") == 0 &&
         object == Py_None && items == nullptr && memory == nullptr;
}
double not_a_number(double x) noexcept { return x; }
double large(double x) noexcept { return x; }
long unicode(long x) noexcept { return x; }
PyObject *object_or_none(PyObject *object) noexcept {
  Py_INCREF(object);
  return object;
}
long overload_int(long) noexcept { return 1; }
double overload_float(double, const char *) noexcept { return 2; }
void overload_nothing(PyObject *, const double *, void *, bool, std::complex<double>) noexcept {}
long area_of_ints(long width, long height) noexcept { return width * height; }
double area_of_floats(double width, double height) noexcept { return width * height; }
long first_of_positional(long x) noexcept { return x; }
double second_of_positional(double x) noexcept { return -x; }
double own_text(double x) noexcept { return x; }
double own_words(double x) noexcept { return x; }
double blank_line(double x) noexcept { return x; }
double half(double x) {
  if (std::isnan(x)) throw std::domain_error("nan");
  return x / 2;
}

long one(long x) noexcept { return x; }
template <int>
double offset(double x, double by) noexcept {
  return x + by;
}
double sum(typedcall::span<const double> values, double start) noexcept {
  for (const double each : values) start += each;
  return start;
}
double root(double x, double least) {
  if (x < least) throw std::domain_error("too small");
  return x;
}
float narrow(float x, float by) noexcept { return x * by; }

typedcall::method_table methods{
    typedcall::def<digits<0>>("named", arg("a"), arg("b"), arg("c")),
    typedcall::def<digits<1>>("defaults", "Documented.", arg("a"), arg("b") = 8, arg("c") = 9L),
    typedcall::def<digits<2>>("mixed", positional("a"), arg("bee"), arg("c") = 9, typedcall::pure),
    typedcall::def<digits<3>>("positional", positional("a"), positional("b") = 8,
                              positional("c") = 9),
    typedcall::def<digits<4>>("optional", arg("a") = 7, arg("b") = 8, arg("c") = 9),
    typedcall::def<digits<5>>("unnamed"),
    typedcall::def<twice>("twice", arg("x")),
    typedcall::def<twice_positional>("twice_positional", positional("x")),
    typedcall::def<twice_default>("twice_default", positional("x") = 21),
    // A function can be defined again with the same names and defaults.
    typedcall::def<twice>("twice_again", arg("x")),
    typedcall::def<twice_default>("twice_default_again", positional("x") = 21),
    typedcall::def<all_defaults>("all_defaults", arg("flag") = true, arg("narrow") = -128,
                                 arg("wide") = ULONG_MAX, arg("single") = 0.5, arg("real") = -0.0,
                                 arg("extended") = std::numeric_limits<double>::infinity(),
                                 arg("z") = std::complex<double>(1, -2), arg("w") = 3,
                                 arg("text") = "it's\n\\", arg("object") = nullptr,
                                 arg("items") = nullptr, arg("memory") = nullptr),
    typedcall::def<not_a_number>("not_a_number",
                                 arg("x") = std::numeric_limits<double>::quiet_NaN()),
    typedcall::def<large>("large", arg("x") = 1e300),
    typedcall::def<unicode>("unicode", arg("\xc3\xa9t\xc3\xa9")),
    typedcall::def<object_or_none>("object_or_none", arg("object") = nullptr),
    typedcall::def<overload_int, overload_float, overload_nothing>("overloads", "Three overloads."),
    typedcall::def<area_of_ints, area_of_floats>("area", "The area of a rectangle.", arg("width"),
                                                 arg("height") = 2),
    typedcall::def<first_of_positional, second_of_positional>("one_of", positional("x")),
    typedcall::def<own_text>("own_text", "own_text($module, value, /)\n--\n\nOwn."),
    typedcall::def<own_words>("own_words", "own_words(value) is a function."),
    typedcall::def<blank_line>("blank_line", "blank_line(value\n\nis no signature)\n--\n\n"),
    typedcall::def<half>("half", arg("x")),
    typedcall::def<digits<6>>("last", arg("a"), arg("b"), keyword_only, arg("c") = 9),
    typedcall::def<digits<7>>("all_three", keyword_only, arg("a"), arg("b"), arg("c")),
    typedcall::def<digits<8>>("every_kind", positional("a"), arg("b"), keyword_only, arg("c")),
    typedcall::def<digits<9>>("named_defaults", arg("a") = 7, keyword_only, arg("b") = 8,
                              arg("c") = 9),
    // After keyword_only, parameters without defaults may be anywhere.
    typedcall::def<digits<10>>("behind", arg("a") = 7, keyword_only, arg("b"), arg("c") = 9),
    typedcall::def<digits<11>>("between", arg("a"), keyword_only, arg("b") = 8, arg("c")),
    typedcall::def<digits<12>>("required", arg("a"), keyword_only, arg("b"), arg("c")),
    // Only the order of keyword_only and the parameters matters.
    typedcall::def<one>("one", keyword_only, typedcall::pure, "Documented.", arg("x")),
    typedcall::def<one>("one_again", keyword_only, arg("x"), "Documented."),
    // As a function with a positional parameter, this one can have different names.
    typedcall::def<one>("one_by_position", arg("number") = 3),
    typedcall::def<offset<0>>("offset", arg("x"), keyword_only, arg("by") = 0.5),
    typedcall::def<offset<1>>("unicode_offset", arg("x"), keyword_only, arg("\xc3\xa9") = 0.5),
    typedcall::def<area_of_ints, area_of_floats>("named_area", arg("width"), keyword_only,
                                                 arg("height") = 2),
    typedcall::def<sum>("sum", arg("values"), keyword_only, arg("start") = 0.0),
    typedcall::def<root>("root", arg("x"), keyword_only, arg("least") = 0.0, typedcall::falls_back),
    typedcall::def<narrow>("narrow", arg("x"), keyword_only, arg("by") = 2.0f, typedcall::widened),
    typedcall::def<object_or_none>("named_object", keyword_only, arg("object") = nullptr),
};

}  // namespace

TYPEDCALL_MODULE(provider_keywords, "Names and defaults.", methods);
