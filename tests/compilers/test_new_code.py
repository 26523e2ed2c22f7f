"""Adds a code to the list of type codes, and compiles the headers. A code whose columns contradict its C type, or that has
no ranks, must not compile. The C type stands for a float of 16 bits, which some compilers lack."""
import compilers

HEADER = "typedcall/signature/type_codes.h"
LAST_FLOAT = '  X(LONGDOUBLE, "g",'
HALF = 'HALF, "e", unsigned short, FLOATING'
IN_C = [("c", "c99"), ("c", "c11"), ("c++", "c++11"), ("c++", "c++17")]
WRONG = {
    "no columns": HALF,
    "no digits": HALF + ", FLOATING, 0xBC00",
    "the columns of f": HALF + ", FLOATING, UINT64_C(0xBF800000), FLT_MANT_DIG",
    "the columns of d": HALF + ", FLOATING, UINT64_C(0xBFF0000000000000), DBL_MANT_DIG",
    "the error value of f": HALF + ", FLOATING, UINT64_C(0xBF800000), 11",
    "no error value": HALF + ", FLOATING, 0, 11",
    "the digits of f": HALF + ", FLOATING, 0xBC00, FLT_MANT_DIG",
    "digits of another layout": HALF + ", FLOATING, 0xBC00, 8",
    "a sign too few": 'HALF, "e", short, SIGNED, SIGNED, 0xFFFF, 16',
    "an error value without a kind": 'HALF, "e", short, COMPLEX, COMPLEX, 0xFFFF, 5',
}


class NewCode(compilers.Compiling):
    def compile(self, row, language, standard, header="typedcall/entry_view.h"):
        with open(HEADER, encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(text.count(LAST_FLOAT), 1)
        if row:
            text = text.replace(LAST_FLOAT, "  X(%s) \\\n" % row + LAST_FLOAT)
        self.write(HEADER, text)
        return compilers.check(language, standard, "-I", self.folder, "-iquote", self.folder, "-",
                               text='#include "%s"\nint main(void) { return 0; }\n' % header)

    def test_columns_that_contradict_the_type(self):
        for language, standard in IN_C:
            self.check_compiles(self.compile("", language, standard))
            for name, row in WRONG.items():
                with self.subTest(name, standard=standard):
                    self.check_refused(self.compile(row, language, standard), "HALF")

    def test_right_columns(self):
        for language, standard in IN_C:
            with self.subTest(standard):
                self.check_compiles(self.compile(HALF + ", FLOATING, 0xBC00, 11", language, standard))

    def test_a_float_with_other_digits_needs_ranks(self):
        for language, standard in IN_C:
            with self.subTest(standard):
                ended = self.compile(HALF + ", FLOATING, 0xBC00, 11", language, standard, "typedcall/overload_choice.h")
                self.check_refused(ended, "PyNativeChoice_Internal_column_of_HALF")
