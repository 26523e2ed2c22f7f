// Functions that take C bools. The result shows whether a byte is neither 0 nor 1.
#include <stdexcept>

#include "typedcall/provider.h"

namespace {

using typedcall::def;
using typedcall::span;
using typedcall::thread_safe;

long number(bool x) noexcept { return x; }
long count(span<const bool> x) noexcept {
  long sum = 0;
  for (const bool each : x) sum += each;
  return sum;
}
long count_in_place(span<bool> x) noexcept { return count({x.data(), x.size()}); }
void invert(span<const bool> x, span<bool> y) noexcept {
  for (std::size_t i = 0; i < x.size() && i < y.size(); ++i) y[i] = !x[i];
}
void left_to_python(span<bool>) { throw std::domain_error("Python knows"); }

typedcall::method_table methods{
    def<number>("number", thread_safe | typedcall::pure),
    def<count>("count", thread_safe),
    def<count_in_place>("count_in_place", thread_safe),
    def<invert>("invert", thread_safe),
    def<left_to_python>("left_to_python", thread_safe | typedcall::falls_back),
};

}  // namespace

TYPEDCALL_MODULE(bool_functions, "Functions of C bools.", methods);
