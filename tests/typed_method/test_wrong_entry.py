# Tests that an entry does not compile if its codes differ from the type of its function.
import os

import compilers

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "wrong_entry.c")
LANGUAGES = [("c", "c99"), ("c++", "c++11")]
WORDS = {"c": "the_function_has_not_the_type_that_its_codes_say", "c++": "static_cast"}
SELF = "PyTypedMethod_ENTRY_WITH_SELF"

RIGHT = [
    ("scale", "DOUBLE, DOUBLE, LONG", None),
    ("&scale", "DOUBLE, DOUBLE, LONG", None),
    ("sum", "DOUBLE, TO_CONST(DOUBLE), SSIZE", None),
    ("size_of", "LONG, OBJECT", None),
    ("size_of", "LONG", SELF),
    ("nothing", "VOID", None),
]
WRONG = [
    ("scale", "DOUBLE, DOUBLE, ULONG", None),
    ("scale", "DOUBLE, DOUBLE, INT", None),
    ("scale", "FLOAT, DOUBLE, LONG", None),
    ("scale", "DOUBLE, LONG, DOUBLE", None),
    ("scale", "DOUBLE, DOUBLE", None),
    ("scale", "DOUBLE, DOUBLE, LONG, LONG", None),
    ("scale", "DOUBLE, DOUBLE, LONG", SELF),
    ("scale", "DOUBLE, TO(DOUBLE), LONG", None),
    ("sum", "DOUBLE, TO(DOUBLE), SSIZE", None),
    ("size_of", "LONG", None),
    ("nothing", "INT", None),
    ("nothing", "VOID, INT", None),
]
# The messages of the compilers, in C and in C++.
NOT_A_FUNCTION = (r"invalid type argument of unary|indirection requires pointer operand",
                  r"invalid .static_cast. from type|cannot cast from type 'int' to pointer type")
NONE = [
    ("scale", "DOUBLE, DOUBEL, LONG", ("PyNativeType_Internal_TEXT_DOUBEL",) * 2),
    ("number", "INT", NOT_A_FUNCTION),
    # One code more than the macro supports.
    ("scale", "DOUBLE" + ", LONG" * 13, ("PyTypedMethod_Internal_EACH_LONG|PyTypedMethod_Internal_LETTERS",) * 2),
]


def compile_entry(function, codes, kind, language, standard):
    kinds = [] if kind is None else ["-DKIND=" + kind]
    return compilers.check(language, standard, *kinds, "-DFUNCTION=" + function, "-DCODES=" + codes, SOURCE)


class Entries(compilers.Compiling):
    def test_right(self):
        for language, standard in LANGUAGES:
            for case in RIGHT:
                with self.subTest(standard=standard, case=case):
                    self.check_compiles(compile_entry(*case, language, standard))

    def test_wrong(self):
        for language, standard in LANGUAGES:
            for case in WRONG:
                with self.subTest(standard=standard, case=case):
                    self.check_refused(compile_entry(*case, language, standard), WORDS[language])

    def test_what_is_no_code_or_no_function(self):
        for at, (language, standard) in enumerate(LANGUAGES):
            for function, codes, words in NONE:
                with self.subTest(standard=standard, codes=codes):
                    result = compile_entry(function, codes, None, language, standard)
                    self.assertNotEqual(result.status, 0)
                    self.assertRegex(result.err, "error: .*(%s)" % words[at])
