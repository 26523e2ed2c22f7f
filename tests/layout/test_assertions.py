"""Checks that every test in the tree can fail, and tests this check with samples."""
import os
import pathlib
import textwrap
import unittest

import cc_assertions
import folders
import python_assertions

# Bazel's links lead to the repository.
TESTS = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))

SUPPORT ="""
    import unittest

    def look(): pass
    def need(value):
        if not value:
            raise AssertionError(value)
    class Made:
        def __init__(self, value): assert value
        def need(self): need(self)
    class Case(unittest.TestCase):
        def check(self): self.assertEqual(*self.ask())
        def ask(self): return 1, 1
        def test_of_all(self): print(self)
"""
# Bodies of test methods in a class `Case(support.Case)`.
GOOD = {
    "its own": "self.assertEqual(f(), 1)",
    "the statement": "assert f()",
    "a context": "with self.assertRaises(TypeError): f()",
    "fail": "try: f()\nexcept TypeError: self.fail('it raises')",
    "raised": "if f(): raise AssertionError('f')",
    "a library's": "numpy.testing.assert_array_equal(f(), 1)",
    "a child's status": "subprocess.run(['f'], check=True)",
    "a function": "helper()",
    "a function of another file": "support.need(f())",
    "by its own name": "need(f())",
    "an object of another file": "support.Made(f())",
    "a method of an object": "f().need()",
    "a method of the class": "self.own()",
    "an inherited method": "self.check()",
    "super": "super().check()",
    "another name": "self.again()",
    "in the method": "def inner(): self.assertTrue(f())\ninner()",
    "given to a function": "def inner(): self.assertTrue(f())\neach(inner)",
    "one of several": "for run in (helper, support.need): run(1)",
    "a part that returns": "def inner(): return\nassert inner() is None",
}
NOTHING = {
    "nothing": "f()",
    "constants": "self.assertTrue(True)",
    "a true statement": "assert True",
    "no check of the status": "subprocess.run(['f'], check=False)",
    "a function without": "support.look()",
    "a method without": "self.ask()",
    "a skip": "self.skipTest('no')",
    "not called": "def inner(): self.assertTrue(f())",
    "in a thread": "def inner(): self.assertTrue(f())\nthreading.Thread(target=inner).start()",
    "in a pool": "def inner(): self.assertTrue(f())\npool.submit(inner)",
    "itself": "self.test_it()",
    "another error": "raise ValueError",
}
RETURNS = {
    "without a library": "try: import f\nexcept ImportError: return\nself.assertTrue(f)",
    "without a file": "if not path.exists(): return\nself.assertTrue(f())",
}
FILE ="""
import subprocess
import threading
import unittest

import support
from support import need


def helper(): need(f())


class Case(support.Case):
    again = helper
    def own(self): helper()
    def test_it(self):
%s
"""


class Python(folders.InAFolder):
    def found(self, body):
        self.write("package/support.py", SUPPORT)
        self.write("package/test_it.py", FILE % textwrap.indent(body, " " * 8))
        self.write("other/support.py", "def need(value): pass\n")  # in another folder
        return [line for line in python_assertions.faults(self.folder) if "test_it.py" in line]

    def test_good(self):
        for name, body in GOOD.items():
            with self.subTest(name):
                self.assertEqual(self.found(body), [])

    def test_nothing(self):
        for name, body in NOTHING.items():
            with self.subTest(name):
                self.assertEqual(self.found(body),
                                 ["package/test_it.py:16: Case.test_it asserts nothing"])

    def test_returns(self):
        for name, body in RETURNS.items():
            with self.subTest(name):
                line, = self.found(body)
                self.assertRegex(line, r"py:1[78]: Case\.test_it returns in the middle")

    def test_a_method_that_others_inherit(self):
        self.write("package/support.py", SUPPORT)
        self.assertEqual(python_assertions.faults(self.folder),
                         ["package/support.py:14: Case.test_of_all asserts nothing"])


class GoogleTest(folders.InAFolder):
    def found(self, code):
        self.write("core/help.h","""
            #define NEED(x) \\
              if (!(x)) FAIL()
            void Look(int x);
            """)
        self.write("core/help.cc","""
            static void Compare(int x) { EXPECT_EQ(x, 1) << "}"; }
            void Look(int x) { Compare(x); }
            void See(int x) { use(x, "EXPECT_EQ("); }
            struct Counted { ~Counted() { ADD_FAILURE(); } };
            """)
        self.write("core/it_test.cc", '#include "tests/core/help.h"\n' + code)
        return cc_assertions.faults(self.folder)

    def test_good(self):
        for body in ("EXPECT_EQ(f(), 1);", 'ASSERT_TRUE(f()) << "}";', "if (f()) ADD_FAILURE();",
                     "EXPECT_EXIT(f(), testing::ExitedWithCode(0), \"\");", "NEED(f());",
                     "Look(f());", "const Counted counted;", "for (;;) { Look(f()); }",
                     'GTEST_SKIP() << "EXPECT_EQ(1, 1) needs a newer CPython";'):
            for case in ("TEST(A, B) {%s}", "TEST_F(A, B) {\n%s}\n", "TEST_P(A,\n  B) { %s\n}"):
                with self.subTest(body):
                    self.assertEqual(self.found(case % body), [])

    def test_nothing(self):
        for body in ("f();", "// EXPECT_EQ(f(), 1);\n", 'print("EXPECT_EQ(f(), 1);");', "See(f());",
                     "/* } */ f();", "use('\"'); // \" }\n", "SUCCEED();",
                     "if (f()) GTEST_SKIP();", 'R"(EXPECT_EQ(1, 1);)";'):
            with self.subTest(body):
                self.assertEqual(
                    self.found("TEST(A, B) {%s}\nTEST(A, C) { EXPECT_TRUE(f()); }\n" % body),
                    ["core/it_test.cc:2: A.B asserts nothing"])


class TheTree(unittest.TestCase):
    def test_every_test_method_asserts(self):
        self.assertEqual(python_assertions.faults(TESTS), [])

    def test_every_googletest_case_asserts(self):
        self.assertEqual(cc_assertions.faults(TESTS), [])

    def test_the_tree_was_read(self):
        tree = python_assertions.Tree(TESTS)
        self.assertIn(pathlib.Path(TESTS, "package", "test_api.py"), tree.paths)
        code = cc_assertions.Tree(TESTS).source("rendezvous/await_test.cc").code
        self.assertGreater(len(cc_assertions.CASE.findall(code)), 3)
