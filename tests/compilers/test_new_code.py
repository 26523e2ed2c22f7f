"""Adds a code to the list of type codes, and compiles the headers. A code whose columns contradict its C type, or that has
no ranks, must not compile. The C type stands for a bfloat16, which some compilers lack."""
import compilers

HEADER = "typedcall/signature/type_codes.h"
LAST_FLOAT = '  X(LONGDOUBLE, "g",'
BRIEF = 'BRIEF, "y", unsigned short, FLOATING'
IN_C = [("c", "c99"), ("c", "c11"), ("c++", "c++11"), ("c++", "c++17")]
WRONG = {
    "no columns": BRIEF,
    "no digits": BRIEF + ", FLOATING, 0xBF80",
    "the columns of f": BRIEF + ", FLOATING, UINT64_C(0xBF800000), FLT_MANT_DIG",
    "the columns of d": BRIEF + ", FLOATING, UINT64_C(0xBFF0000000000000), DBL_MANT_DIG",
    "the error value of f": BRIEF + ", FLOATING, UINT64_C(0xBF800000), 8",
    "no error value": BRIEF + ", FLOATING, 0, 8",
    "the digits of f": BRIEF + ", FLOATING, 0xBF80, FLT_MANT_DIG",
    "digits of another layout": BRIEF + ", FLOATING, 0xBF80, 11",
    "a sign too few": 'BRIEF, "y", short, SIGNED, SIGNED, 0xFFFF, 16',
    "an error value without a kind": 'BRIEF, "y", short, COMPLEX, COMPLEX, 0xFFFF, 5',
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
                    self.check_refused(self.compile(row, language, standard), "BRIEF")

    def test_right_columns(self):
        for language, standard in IN_C:
            with self.subTest(standard):
                self.check_compiles(self.compile(BRIEF + ", FLOATING, 0xBF80, 8", language, standard))

    def test_a_float_with_other_digits_needs_ranks(self):
        for language, standard in IN_C:
            with self.subTest(standard):
                ended = self.compile(BRIEF + ", FLOATING, 0xBF80, 8", language, standard, "typedcall/overload_choice.h")
                self.check_refused(ended, "PyNativeChoice_Internal_column_of_BRIEF")
