# Tests that wrong code does not compile, and that the compiler's message states the reason. Next to
# each mistake is its correction.
import compilers

CONVERSIONS = "typedcall: Python callers can pass and get bool"
NO_ERROR_VALUE = "typedcall: a bool, void or complex result cannot report that an exception is set"
NO_CODE = "typedcall: this type has no signature code"
VOID_POINTER = "typedcall: a function without a result that may throw returns a status"
NAME = "typedcall: the name of a typed method has at most 99 bytes"
FUNCTION = "typedcall: a method is made from a function pointer"
NO_GIL = "typedcall: with releases_gil the function runs without the GIL"
SELF = "typedcall: with takes_self the first parameter is self"
STATUS = "typedcall: with returns_status the result is an int"
PLACE = "typedcall: with returns_status a last parameter that points to a value"
PARAMETERS = "typedcall: give each parameter (except self and a status function's last)"
ORDER = "typedcall: positional() must come before arg(), and parameters without a default"
KEYWORD_ONLY_TWICE = "typedcall: keyword_only may appear only once in a def"
KEYWORD_ONLY_LAST = "typedcall: keyword_only must precede a parameter"
KEYWORD_ONLY_POSITIONAL = "typedcall: parameters after keyword_only are passed by name"
TRAVERSE = "typedcall: CPython's garbage collector calls a module state's traverse()"
NUMBER = "typedcall: the default of a number parameter must be a bool for a bool"

NO_RESULT = "typedcall: a buffer can only be an argument: a result has no count in C"
NO_DEFAULT = "typedcall: a buffer cannot have a default"
NO_PAIR = "typedcall: spans<f> takes a function that has a pointer to numbers"

THROWING_OPTIONAL = "typedcall: a function that returns std::optional is called without the GIL"
BY_WHAT = "typedcall: with falls_back a function throws, or returns std::optional"
NO_ERRORS = "typedcall: a function that falls back reports no errors of its own"
OTHERWISE = "typedcall: otherwise<> is for a function that falls back"
SLOW = "typedcall: otherwise<> must have the parameters of the def's function"
LAST = "typedcall: the last parameter of a function that falls back and has no result"

PREAMBLE ="""
#include <complex>
#include <optional>
#include <string>
#include "typedcall/provider.h"
#include "typedcall/resolve.h"
#include "typedcall/boxed_call.h"
"""


def module_with(member):
    """Returns the source of a module whose state has this member."""
    return"""
        struct state : typedcall::module_state { %s };
        long count() noexcept;
        static typedcall::method_table methods{typedcall::def<count>("count")};
        TYPEDCALL_MODULE_STATE(counter, "", methods, state);""" % member


def def_of(function, arguments='"f"'):
    return "%s static auto def = typedcall::def<f>(%s); const void *use() { return &def; }" % (
        function, arguments)


# For each name: the mistake, words from the message, the correction.
CASES = {
    "char argument": (def_of("long f(char) noexcept;"), CONVERSIONS,
                      def_of("long f(signed char) noexcept;")),
    # The message shows which parameter is wrong.
    "second argument": (def_of("long f(long, wchar_t, double) noexcept;"),
                        "parameter_number<2, wchar_t>",
                        def_of("long f(long, int, double) noexcept;")),
    "optional that may throw": (
        def_of("std::optional<double> f(double);"), THROWING_OPTIONAL,
        def_of("std::optional<double> f(double);", '"f", typedcall::falls_back')),
    "optional of no C type": (def_of("std::optional<std::string> f() noexcept;"), CONVERSIONS,
                              def_of("std::optional<const char *> f() noexcept;")),
    "falls back by nothing": (
        def_of("double f(double) noexcept;", '"f", typedcall::falls_back'), BY_WHAT,
        def_of("int f(double, double *) noexcept;", '"f", typedcall::falls_back')),
    "falls back and raises": (
        def_of("double f(double);", '"f", typedcall::falls_back | typedcall::may_raise'), NO_ERRORS,
        def_of("double f(double);", '"f", typedcall::falls_back')),
    "falls back without a result": (
        def_of("int f(long, const double *) noexcept;", '"f", typedcall::falls_back'), LAST,
        def_of("int f(const double *, long) noexcept;", '"f", typedcall::falls_back')),
    "otherwise without falling back": (
        def_of("double g(double); double f(double);", '"f", typedcall::otherwise<g>'), OTHERWISE,
        def_of("double g(double); double f(double);",
               '"f", typedcall::falls_back, typedcall::otherwise<g>')),
    "otherwise with other parameters": (
        def_of("double g(); std::optional<double> f(double) noexcept;",
               '"f", typedcall::otherwise<g>'), SLOW,
        def_of("PyObject *g(double); std::optional<double> f(double) noexcept;",
               '"f", typedcall::otherwise<g>')),
    "third argument behind self": (
        def_of("long f(PyObject *, long, long, char) noexcept;", '"f", typedcall::takes_self'),
        "parameter_number<3, char>",
        def_of("long f(PyObject *, long, long, bool) noexcept;", '"f", typedcall::takes_self')),
    "no name": (def_of("long f(long) noexcept;", '"f", typedcall::arg(nullptr)'), "deleted",
                def_of("long f(long) noexcept;", '"f", typedcall::arg("x")')),
    "char result": (def_of("char f() noexcept;"), CONVERSIONS,
                    def_of("unsigned char f() noexcept;")),
    "std::string argument": (def_of("long f(std::string) noexcept;"), CONVERSIONS,
                             def_of("long f(PyObject *) noexcept;")),
    "reference": (def_of("long f(const long &) noexcept;"), CONVERSIONS,
                  def_of("long f(const long) noexcept;")),
    "string that can be written to": (def_of("long f(char *) noexcept;"), CONVERSIONS,
                                      def_of("long f(const char *) noexcept;")),
    "pointer to a struct": (def_of("struct s; long f(s *) noexcept;"), CONVERSIONS,
                            def_of("struct s; long f(void *) noexcept;")),
    "pointer to a pointer": (def_of("long f(double **) noexcept;"), CONVERSIONS,
                             def_of("long f(void **) noexcept;")),
    "volatile memory": (def_of("long f(volatile double *) noexcept;"), CONVERSIONS,
                        def_of("long f(const double *) noexcept;")),
    "type object argument": (def_of("long f(PyTypeObject *) noexcept;"), CONVERSIONS,
                             def_of("long f(PyObject *) noexcept;")),
    "buffer of objects": (def_of("long f(typedcall::span<PyObject *>) noexcept;"), CONVERSIONS,
                          def_of("long f(typedcall::span<long>) noexcept;")),
    "text to write to": (def_of("long f(typedcall::span<char>) noexcept;"), CONVERSIONS,
                         def_of("long f(typedcall::span<const char>) noexcept;")),
    "buffer as result": (def_of("typedcall::span<double> f() noexcept;"), CONVERSIONS,
                         def_of("double *f() noexcept;")),
    "request for a buffer as result": (
        "auto find(PyObject *f) {"
        " return typedcall::resolve<typedcall::span<double>(long)>(nullptr, f); }", NO_RESULT,
        "auto find(PyObject *f) {"
        " return typedcall::resolve<double(typedcall::span<long>)>(nullptr, f); }"),
    "default of a buffer": (
        def_of("long f(typedcall::span<double>) noexcept;", '"f", typedcall::arg("x") = 1.0'),
        NO_DEFAULT, def_of("long f(typedcall::span<double>) noexcept;", '"f", typedcall::arg("x")')),
    "count in front of its pointer": (
        "long f(Py_ssize_t, double *) noexcept; inline constexpr auto g = typedcall::spans<f>;", NO_PAIR,
        "long f(double *, Py_ssize_t) noexcept; inline constexpr auto g = typedcall::spans<f>;"),
    "enum": (def_of("enum class e { a }; long f(e) noexcept;"), CONVERSIONS,
             def_of("long f(int) noexcept;")),
    "wchar_t": (def_of("long f(wchar_t) noexcept;"), CONVERSIONS, def_of("long f(int) noexcept;")),
    "128 bits": (def_of("__extension__ typedef __int128 i; long f(i) noexcept;"), CONVERSIONS,
                 def_of("long f(long long) noexcept;")),
    "complex of integers": (def_of("long f(std::complex<int>) noexcept;"), CONVERSIONS,
                            def_of("long f(std::complex<float>) noexcept;")),
    "complex of someone else's": (
        def_of("namespace own { namespace std { template <class T> struct complex {"
               " T a, b; T real() const; T imag() const; }; } }"
               " long f(own::std::complex<float>) noexcept;"), CONVERSIONS,
        def_of("long f(std::complex<float>) noexcept;")),
    "std::string result": (def_of("std::string f() noexcept;"), CONVERSIONS,
                           def_of("const char *f() noexcept;")),
    "function pointer": (def_of("long f(long (*)(long)) noexcept;"), CONVERSIONS,
                         def_of("long f(void *) noexcept;")),
    # C and C++ pass complex numbers differently.
    "std::complex in a signature": (
        "const char *use() { return typedcall::signature_of<std::complex<double>()>::text; }",
        NO_CODE,
        "const char *use() { return typedcall::signature_of<PyNativeType_ComplexDouble()>::text; }"),
    "std::string in a signature": (
        "const char *use() { return typedcall::signature_of<long(std::string)>::text; }", NO_CODE,
        "const char *use() { return typedcall::signature_of<long(const char *)>::text; }"),
    "char in a signature": (
        "const char *use() { return typedcall::signature_of<char()>::text; }", NO_CODE,
        "const char *use() { return typedcall::signature_of<signed char()>::text; }"),
    "name of 100 bytes": (def_of("long f() noexcept;", '"%s"' % ("n" * 100)), NAME,
                          def_of("long f() noexcept;", '"%s"' % ("n" * 99))),
    "void that may throw, and a pointer": (
        def_of("void f(double *);"), VOID_POINTER, def_of("void f(double *) noexcept;")),
    "void that may raise": (def_of("void f(long) noexcept;", '"f", typedcall::may_raise'),
                            NO_ERROR_VALUE, def_of("void f(long);")),
    "complex that may raise": (
        def_of("std::complex<double> f(long) noexcept;", '"f", typedcall::may_raise'),
        NO_ERROR_VALUE,
        def_of("int f(long, std::complex<double> *) noexcept;", '"f", typedcall::returns_status')),
    "bool that may raise": (def_of("bool f(long) noexcept;", '"f", typedcall::may_raise'),
                            NO_ERROR_VALUE,
                            def_of("int f(long) noexcept;", '"f", typedcall::may_raise')),
    "object without the GIL": (def_of("long f(PyObject *) noexcept;", '"f", typedcall::releases_gil'),
                               NO_GIL,
                               def_of("long f(double *) noexcept;", '"f", typedcall::releases_gil')),
    "self without the GIL": (
        def_of("long f(PyObject *) noexcept;", '"f", typedcall::releases_gil|typedcall::takes_self'),
        NO_GIL, def_of("long f() noexcept;", '"f", typedcall::releases_gil')),
    "object result without the GIL": (
        def_of("PyObject *f() noexcept;", '"f", typedcall::releases_gil'), NO_GIL,
        def_of("const char *f() noexcept;", '"f", typedcall::releases_gil')),
    "throws without the GIL": (def_of("long f(long);", '"f", typedcall::releases_gil'), NO_GIL,
                               def_of("long f(long);",
                                      '"f", typedcall::releases_gil, typedcall::nothrow')),
    "raises without the GIL": (
        def_of("long f() noexcept;", '"f", typedcall::releases_gil | typedcall::may_raise'), NO_GIL,
        def_of("long f() noexcept;", '"f", typedcall::may_raise')),
    "status without the GIL": (
        def_of("int f() noexcept;", '"f", typedcall::releases_gil | typedcall::returns_status'),
        NO_GIL, def_of("int f() noexcept;", '"f", typedcall::returns_status')),
    "takes_self without self": (def_of("long f() noexcept;", '"f", typedcall::takes_self'), SELF,
                                def_of("long f(PyObject *) noexcept;", '"f", typedcall::takes_self')),
    "takes_self with a number": (
        def_of("long f(long) noexcept;", '"f", typedcall::takes_self'), SELF,
        def_of("struct s; long f(s *, long) noexcept;", '"f", typedcall::takes_self')
        .replace("struct s;", "struct s { PyObject_HEAD };")),
    "static method with self": (
        def_of("long f(PyObject *) noexcept;", '"f", typedcall::takes_self|typedcall::static_method'),
        "typedcall: a static method has no self",
        def_of("long f(PyObject *) noexcept;", '"f", typedcall::takes_self|typedcall::class_method')),
    "status that is not an int": (def_of("bool f(long) noexcept;", '"f", typedcall::returns_status'),
                              STATUS,
                              def_of("int f(long) noexcept;", '"f", typedcall::returns_status')),
    "status and a constant place": (
        def_of("int f(const double *) noexcept;", '"f", typedcall::returns_status'), PLACE,
        def_of("int f(const double *, long) noexcept;", '"f", typedcall::returns_status')),
    "too few names": (def_of("long f(long, long) noexcept;", '"f", typedcall::arg("x")'), PARAMETERS,
                      def_of("long f(long) noexcept;", '"f", typedcall::arg("x")')),
    "too many names": (
        def_of("long f() noexcept;", '"f", typedcall::arg("x")'), PARAMETERS,
        def_of("int f(long, long *) noexcept;",
               '"f", typedcall::arg("x"), typedcall::returns_status')),
    "name of self": (
        def_of("long f(PyObject *) noexcept;", '"f", typedcall::takes_self, typedcall::arg("self")'),
        PARAMETERS,
        def_of("long f(PyObject *, long) noexcept;",
               '"f", typedcall::takes_self, typedcall::arg("x")')),
    "no default behind one": (
        def_of("long f(long, long) noexcept;", '"f", typedcall::arg("x") = 1, typedcall::arg("y")'),
        ORDER,
        def_of("long f(long, long) noexcept;", '"f", typedcall::arg("x"), typedcall::arg("y") = 1')),
    "positional behind a name": (
        def_of("long f(long, long) noexcept;",
               '"f", typedcall::arg("x"), typedcall::positional("y")'), ORDER,
        def_of("long f(long, long) noexcept;",
               '"f", typedcall::positional("x"), typedcall::arg("y")')),
    "keyword_only twice": (
        def_of("long f(long, long) noexcept;", '"f", typedcall::keyword_only, typedcall::arg("x"),'
               ' typedcall::keyword_only, typedcall::arg("y")'), KEYWORD_ONLY_TWICE,
        def_of("long f(long, long) noexcept;",
               '"f", typedcall::keyword_only, typedcall::arg("x"), typedcall::arg("y")')),
    "keyword_only behind the last": (
        def_of("long f(long) noexcept;", '"f", typedcall::arg("x"), typedcall::keyword_only'),
        KEYWORD_ONLY_LAST,
        def_of("long f(long) noexcept;", '"f", typedcall::keyword_only, typedcall::arg("x")')),
    "keyword_only without names": (
        def_of("long f(long) noexcept;", '"f", typedcall::keyword_only, typedcall::pure, "Text."'),
        KEYWORD_ONLY_LAST, def_of("long f(long) noexcept;", '"f", typedcall::pure, "Text."')),
    "keyword_only with too few names": (
        def_of("long f(long, long) noexcept;",
               '"f", typedcall::keyword_only, typedcall::arg("y")'), PARAMETERS,
        def_of("long f(long, long) noexcept;",
               '"f", typedcall::positional("x"), typedcall::keyword_only, typedcall::arg("y")')),
    "positional behind keyword_only": (
        def_of("long f(long) noexcept;",
               '"f", typedcall::keyword_only, typedcall::positional("x")'), KEYWORD_ONLY_POSITIONAL,
        def_of("long f(long) noexcept;", '"f", typedcall::positional("x")')),
    "no default behind one, in front of keyword_only": (
        def_of("long f(long, long, long) noexcept;", '"f", typedcall::arg("x") = 1,'
               ' typedcall::arg("y"), typedcall::keyword_only, typedcall::arg("z")'), ORDER,
        def_of("long f(long, long, long) noexcept;", '"f", typedcall::arg("x") = 1,'
               ' typedcall::keyword_only, typedcall::arg("y") = 1, typedcall::arg("z")')),
    "names of overloads": (
        "long f(long) noexcept; double g(double, double) noexcept;"
        'static auto def = typedcall::def<f, g>("f", typedcall::arg("x"));'
        "const void *use() { return &def; }", "typedcall: overloads can share parameter names only if",
        "long f(long) noexcept; double g(double) noexcept;"
        'static auto def = typedcall::def<f, g>("f", typedcall::arg("x"));'
        "const void *use() { return &def; }"),
    "default of overloads": (
        "long f(long) noexcept; double g(double) noexcept;"
        'static auto def = typedcall::def<f, g>("f", typedcall::arg("x") = 1.5);'
        "const void *use() { return &def; }", NUMBER,
        "long f(long) noexcept; double g(double) noexcept;"
        'static auto def = typedcall::def<f, g>("f", typedcall::arg("x") = 1);'
        "const void *use() { return &def; }"),
    "floating default of an integer": (
        def_of("long f(long) noexcept;", '"f", typedcall::arg("x") = 1.5'), NUMBER,
        def_of("long f(double) noexcept;", '"f", typedcall::arg("x") = 1')),
    "integer default of a bool": (
        def_of("long f(bool) noexcept;", '"f", typedcall::arg("x") = 1'), NUMBER,
        def_of("long f(bool) noexcept;", '"f", typedcall::arg("x") = true')),
    "address as default": (
        def_of("long f(PyObject *) noexcept;", '"f", typedcall::arg("x") = Py_True'),
        "typedcall: the default of an object parameter must be nullptr",
        def_of("long f(PyObject *) noexcept;", '"f", typedcall::arg("x") = nullptr')),
    "zero as default of a pointer": (
        def_of("long f(double *) noexcept;", '"f", typedcall::arg("x") = 0'),
        "typedcall: the default of a pointer parameter must be nullptr",
        def_of("long f(double *) noexcept;", '"f", typedcall::arg("x") = nullptr')),
    "null as default of a string": (
        def_of("long f(const char *) noexcept;", '"f", typedcall::arg("x") = nullptr'),
        "typedcall: the default of a const char * or std::string_view parameter",
        def_of("long f(const char *) noexcept;", '"f", typedcall::arg("x") = "x"')),
    "name as a string": (
        def_of("long f(long) noexcept;", '"f", "Documentation.", "x"'),
        "typedcall: a def has only one documentation string",
        def_of("long f(long) noexcept;", '"f", "Documentation.", typedcall::arg("x")')),
    "number behind the name": (def_of("long f(long) noexcept;", '"f", 1'),
                               "typedcall: only effects, documentation, arg(), positional()",
                               def_of("long f(long) noexcept;", '"f", typedcall::pure')),
    "lambda as an argument": (
        'auto def = typedcall::def("f", [](long x) noexcept { return x; });', FUNCTION,
        "constexpr auto f = +[](long x) noexcept { return x; };" + def_of("")),
    "no function": ('auto def = typedcall::def<>("f");', "typedcall: name the function",
                    def_of("long f() noexcept;")),
    "number instead of a function": (
        'auto def = typedcall::def<1>("f");', FUNCTION, def_of("long f() noexcept;")),
    "boxed call with text": (
        "bool use(PyObject *f, long *r) { return typedcall::boxed_call(f, r, std::string()); }",
        "typedcall: boxed calls support bool",
        "bool use(PyObject *f, long *r) { return typedcall::boxed_call(f, r, \"x\"); }"),
    # Nothing would own the text.
    "boxed call for text": (
        "bool use(PyObject *f, const char **r) { return typedcall::boxed_call(f, r); }",
        "typedcall: boxed calls support bool",
        "bool use(PyObject *f, PyObject **r) { return typedcall::boxed_call(f, r); }"),
    "raised() of something else": (
        "bool use(const typedcall::function<long()> &f) { return f.raised(f() + 0.5); }",
        "typedcall: pass the result of the call",
        "bool use(const typedcall::function<long()> &f) { return f.raised(f()); }"),
    "traverse() that may throw": (
        module_with("int traverse(visitproc, void *) const { return 0; }"), TRAVERSE,
        module_with("int traverse(visitproc, void *) const noexcept { return 0; }")),
}

# Only C++20 allows class types as template arguments.
CASES_SINCE_20 = {
    "lambda in angle brackets": (
        "constexpr auto f = [](long x) noexcept { return x; };" + def_of(""), FUNCTION,
        "constexpr auto f = +[](long x) noexcept { return x; };" + def_of("")),
}


class DoesNotCompile(compilers.Compiling):
    maxDiff = None

    def check(self, cases, standard):
        header = self.write("preamble.h", PREAMBLE)
        # The headers take most of the compile time.
        self.check_compiles(compilers.run(
            compilers.of_this_build(), *compilers.WARNINGS, "-x", "c++-header", "-std=" + standard, "-I.",
            *compilers.PYTHON_HEADERS, header, "-o", header + ".gch"))

        def compile_text(text):
            return compilers.check("c++", standard, "-Winvalid-pch", "-include", header, "-", text=text)

        together = "".join("namespace correction_%d { %s }\n" % (number, correction)
                           for number, (_, _, correction) in enumerate(cases.values()))
        self.check_compiles(compile_text(together))
        for name, (mistake, words, _) in cases.items():
            with self.subTest(name, standard=standard):
                self.check_refused(compile_text(mistake), words)

    def test_17(self):
        self.check(CASES, "c++17")

    def test_20(self):
        self.check(CASES_SINCE_20, "c++20")
