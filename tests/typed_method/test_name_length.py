# A name that does not fit into the metadata does not compile, and the compiler says which def has
# it. The longest one that fits does compile.
import os
import subprocess
import sysconfig
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
LANGUAGES = [("c", "c99"), ("c", "c11"), ("c++", "c++11"), ("c++", "c++20")]


def compile_name(length, language, standard):
    # The test's own sanitizers are not for the compiler.
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    command = [
        os.environ["CC"], "-fsyntax-only", "-Wall", "-Wextra", "-Wconversion", "-Werror",
        "-x", language, "-std=" + standard, "-I.", "-isystem", sysconfig.get_paths()["include"],
        '-DTEST_NAME="%s"' % ("n" * length), os.path.join(HERE, "name_length.c")]
    return subprocess.run(command, env=env, stderr=subprocess.PIPE, universal_newlines=True)


class NameLength(unittest.TestCase):
    def test_longest(self):
        for language, standard in LANGUAGES:
            with self.subTest(standard=standard):
                result = compile_name(99, language, standard)
                self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_too_long(self):
        for language, standard in LANGUAGES:
            for length in (100, 101, 1000):
                with self.subTest(standard=standard, length=length):
                    result = compile_name(length, language, standard)
                    self.assertNotEqual(result.returncode, 0)
                    self.assertIn("the_name_of_def_under_test_has_at_most_99_bytes", result.stderr)


if __name__ == "__main__":
    unittest.main()
