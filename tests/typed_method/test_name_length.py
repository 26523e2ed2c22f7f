# A name that does not fit into the metadata does not compile, and the compiler shows which def has it. The
# longest name that fits compiles.
import os
import sysconfig
import unittest

import processes

HERE = os.path.dirname(os.path.abspath(__file__))
LANGUAGES = [("c", "c99"), ("c", "c11"), ("c++", "c++11"), ("c++", "c++20")]


def compile_name(length, language, standard):
    command = [
        os.environ["CC"], "-fsyntax-only", "-Wall", "-Wextra", "-Wconversion", "-Werror",
        "-x", language, "-std=" + standard, "-I.", "-isystem", sysconfig.get_paths()["include"],
        '-DTEST_NAME="%s"' % ("n" * length), os.path.join(HERE, "name_length.c")]
    return processes.run(command, environment=processes.UNSANITIZED, check=False)


class NameLength(unittest.TestCase):
    def test_longest(self):
        for language, standard in LANGUAGES:
            with self.subTest(standard=standard):
                result = compile_name(99, language, standard)
                self.assertEqual((result.status, result.err), (0, ""))

    def test_too_long(self):
        for language, standard in LANGUAGES:
            for length in (100, 101, 1000):
                with self.subTest(standard=standard, length=length):
                    result = compile_name(length, language, standard)
                    self.assertNotEqual(result.status, 0)
                    self.assertIn("the_name_of_def_under_test_has_at_most_99_bytes", result.err)
