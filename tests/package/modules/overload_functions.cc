// Functions with one or two parameters of the types `d`, `l`, `i` and `?`. Tests make sets of
// overloads from them. The results show which function was called.
#include "typedcall/provider.h"

// After Python.h.
#include <complex>
#include <type_traits>

namespace {

constexpr auto simple = typedcall::pure | typedcall::thread_safe | typedcall::does_not_block;

template <class T>
constexpr long number_of = std::is_same_v<T, double> ? 1
                           : std::is_same_v<T, long> ? 2
                           : std::is_same_v<T, int>  ? 3
                                                     : 4;

/// Returns the sum of the arguments and of a number that encodes their types.
template <class... A>
auto sum(A... values) noexcept {
  using R = std::common_type_t<A...>;
  long mark = 0;
  ((mark = 5 * mark + number_of<A>), ...);
  if constexpr (std::is_same_v<R, double>) {
    return (static_cast<double>(values) + ... + (static_cast<double>(mark) / 64));
  } else if constexpr (std::is_same_v<R, bool>) {
    return (static_cast<int>(values) + ... + 1) % 2 != 0;
  } else {
    return static_cast<R>(
        (static_cast<unsigned long>(values) + ... + static_cast<unsigned long>(100 * mark)));
  }
}

template <class A>
constexpr auto one = &sum<A>;
template <class A, class B>
constexpr auto two = &sum<A, B>;

long float_kind(double) noexcept { return 0; }
long complex_kind(std::complex<double>) noexcept { return 1; }
long object_kind(PyObject *) noexcept { return 2; }

// The first parameters differ, so an int may be out of range for one of them only.
long long_and_text(long, const char *) noexcept { return 0; }
long long_and_object(long, PyObject *) noexcept { return 0; }
long double_and_text(double, const char *) noexcept { return 1; }
long two_objects(PyObject *, PyObject *) noexcept { return 1; }
long buffer_kind(typedcall::span<const double>) noexcept { return 0; }
long filled_kind(typedcall::span<double>) noexcept { return 0; }
long long_kind(long) noexcept { return 1; }

using typedcall::def;

typedcall::method_table methods{
    def<one<double>>("d", simple),
    def<one<long>>("l", simple),
    def<one<int>>("i", simple),
    def<one<bool>>("?", simple),
    def<two<double, double>>("dd", simple),
    def<two<double, long>>("dl", simple),
    def<two<double, int>>("di", simple),
    def<two<double, bool>>("d?", simple),
    def<two<long, double>>("ld", simple),
    def<two<long, long>>("ll", simple),
    def<two<long, int>>("li", simple),
    def<two<long, bool>>("l?", simple),
    def<two<int, double>>("id", simple),
    def<two<int, long>>("il", simple),
    def<two<int, int>>("ii", simple),
    def<two<int, bool>>("i?", simple),
    def<two<bool, double>>("?d", simple),
    def<two<bool, long>>("?l", simple),
    def<two<bool, int>>("?i", simple),
    def<two<bool, bool>>("??", simple),
    def<one<double>, one<long>>("of d l"),
    def<one<int>, one<double>>("of i d"),
    def<one<int>, one<long>, one<double>>("of i l d"),
    def<one<long>, one<bool>>("of l ?"),
    def<one<double>, one<bool>>("of d ?"),
    def<two<int, double>, two<double, int>>("of id di"),
    def<two<int, int>, two<long, double>, two<double, double>>("of ii ld dd"),
    def<two<int, bool>, two<bool, long>, two<int, long>>("of i? ?l il"),
    def<two<double, double>, two<int, double>, two<double, int>, two<long, double>>(
        "of dd id di ld"),
    def<float_kind, complex_kind, object_kind>("kind"),
    def<float_kind, complex_kind>("real_or_complex"),
    def<float_kind, long_kind>("real_or_long"),
    def<long_and_text, two_objects>("text_or_objects"),
    def<long_and_object, double_and_text>("object_or_text"),
    def<buffer_kind, long_kind>("buffer_or_long"),
    def<filled_kind, long_kind>("filled_or_long"),
    def<buffer_kind>("buffer"),
    def<filled_kind>("filled"),
};

}  // namespace

TYPEDCALL_MODULE(overload_functions, "Functions of every type, whose results say which was called.",
                 methods);
