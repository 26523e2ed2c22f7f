# Tests that a name that is too long does not compile.
import os

import compilers

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "name_length.c")
LANGUAGES = [("c", "c99"), ("c", "c11"), ("c++", "c++11"), ("c++", "c++20")]


def compile_name(length, language, standard):
    return compilers.check(language, standard, '-DTEST_NAME="%s"' % ("n" * length), SOURCE)


class NameLength(compilers.Compiling):
    def test_longest(self):
        for language, standard in LANGUAGES:
            with self.subTest(standard=standard):
                self.check_compiles(compile_name(99, language, standard))

    def test_too_long(self):
        for language, standard in LANGUAGES:
            for length in (100, 101, 1000):
                with self.subTest(standard=standard, length=length):
                    self.check_refused(compile_name(length, language, standard),
                                       "the_name_of_def_under_test_has_at_most_99_bytes")
