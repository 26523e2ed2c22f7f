# What no Python caller could use, or consumers could not call safely, does not compile, and the
# compiler says why in plain words. Each mistake stands next to its correction, which compiles.
import os
import subprocess
import sysconfig
import unittest

CONVERSIONS = "typedcall: Python callers can pass and get bool"
NO_ERROR_VALUE = "typedcall: a function whose result is bool, void or complex cannot say by it"
NO_CODE = "typedcall: this type has no signature code"
NAME = "typedcall: the name of a typed method has at most 99 bytes"
FUNCTION = "typedcall: a method is made from a pointer to a function"

PREAMBLE = """
#include <complex>
#include <string>
#include "typedcall/provider.h"
#include "typedcall/resolve.h"
#include "typedcall/boxed_call.h"
"""


def def_of(function, arguments='"f"'):
    return "%s static auto row = typedcall::def<f>(%s); const void *use() { return &row; }" % (
        function, arguments)


# Mistake, the words of the message, correction.
CASES = {
    "char argument": (def_of("long f(char) noexcept;"), CONVERSIONS,
                      def_of("long f(signed char) noexcept;")),
    "char result": (def_of("char f() noexcept;"), CONVERSIONS,
                    def_of("unsigned char f() noexcept;")),
    "std::string argument": (def_of("long f(std::string) noexcept;"), CONVERSIONS,
                             def_of("long f(PyObject *) noexcept;")),
    "reference": (def_of("long f(const long &) noexcept;"), CONVERSIONS,
                  def_of("long f(const long) noexcept;")),
    "string pointer": (def_of("long f(const char *) noexcept;"), CONVERSIONS,
                       def_of("long f(PyObject *) noexcept;")),
    "complex": (def_of("long f(std::complex<double>) noexcept;"), CONVERSIONS,
                def_of("long f(double, double) noexcept;")),
    "std::string in a signature": (
        "const char *use() { return typedcall::signature_of<long(std::string)>::text; }", NO_CODE,
        "const char *use() { return typedcall::signature_of<long(const char *)>::text; }"),
    "char in a signature": (
        "const char *use() { return typedcall::signature_of<char()>::text; }", NO_CODE,
        "const char *use() { return typedcall::signature_of<signed char()>::text; }"),
    "name of 100 bytes": (def_of("long f() noexcept;", '"%s"' % ("n" * 100)), NAME,
                          def_of("long f() noexcept;", '"%s"' % ("n" * 99))),
    "bool that may throw": (def_of("bool f(long);"), NO_ERROR_VALUE,
                            def_of("bool f(long) noexcept;")),
    "void that may throw": (def_of("void f(long);"), NO_ERROR_VALUE,
                            def_of("void f(long);", '"f", typedcall::nothrow')),
    "bool that may raise": (def_of("bool f(long) noexcept;", '"f", typedcall::may_raise'),
                            NO_ERROR_VALUE,
                            def_of("int f(long) noexcept;", '"f", typedcall::may_raise')),
    "lambda as an argument": (
        'auto row = typedcall::def("f", [](long x) noexcept { return x; });', FUNCTION,
        "constexpr auto f = +[](long x) noexcept { return x; };" + def_of("")),
    "no function": ('auto row = typedcall::def<>("f");', "typedcall: name the function",
                    def_of("long f() noexcept;")),
    "number instead of a function": (
        'auto row = typedcall::def<1>("f");', FUNCTION, def_of("long f() noexcept;")),
    "boxed call with text": (
        "bool use(PyObject *f, long *r) { return typedcall::boxed_call(f, r, \"x\"); }",
        "typedcall: boxed calls know bool",
        "bool use(PyObject *f, long *r) { return typedcall::boxed_call(f, r, f); }"),
    "raised() of something else": (
        "bool use(const typedcall::function<long()> &f) { return f.raised(f() + 0.5); }",
        "typedcall: pass what the call returned",
        "bool use(const typedcall::function<long()> &f) { return f.raised(f()); }"),
}

# Class types in angle brackets came with C++20; before, the compiler has its own words.
CASES_SINCE_20 = {
    "lambda in angle brackets": (
        "constexpr auto f = [](long x) noexcept { return x; };" + def_of(""), FUNCTION,
        "constexpr auto f = +[](long x) noexcept { return x; };" + def_of("")),
}


def compile_text(text, standard):
    # The test's own sanitizers are not for the compiler.
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    command = [
        os.environ["CC"], "-fsyntax-only", "-Wall", "-Wextra", "-Wconversion", "-Werror",
        "-x", "c++", "-std=" + standard, "-I.", "-isystem", sysconfig.get_paths()["include"], "-"]
    return subprocess.run(command, env=env, input=PREAMBLE + text, stderr=subprocess.PIPE,
                          universal_newlines=True)


class DoesNotCompile(unittest.TestCase):
    def check(self, cases, standard):
        for name, (mistake, words, correction) in cases.items():
            with self.subTest(name, standard=standard):
                result = compile_text(mistake, standard)
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(words, result.stderr)
                result = compile_text(correction, standard)
                self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_17(self):
        self.check(CASES, "c++17")

    def test_20(self):
        self.check(CASES_SINCE_20, "c++20")


if __name__ == "__main__":
    unittest.main()
