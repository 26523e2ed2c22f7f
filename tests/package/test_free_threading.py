"""Tests that threads can use the package at the same time, and that it does not enable the GIL."""
import os
import sysconfig
import unittest

import support
import typedcall

support.module_only_if(not support.IS_PYPY, "for CPython")

typed = support.build("typed_functions")
plain = support.build("plain_functions")
THREADS, ROUNDS = 6, 300


def in_threads(work):
    """Calls work(number) in several threads."""
    support.at_once(work, [(number,) for number in range(THREADS)])


class Threads(unittest.TestCase):
    def test_calls_of_one_function(self):
        half = typedcall.resolve(typed.half, "d->d")

        def work(number):
            for i in range(ROUNDS):
                value = float(number * ROUNDS + i)
                assert half(value) == value / 2

        in_threads(work)

    def test_resolving_the_same_functions(self):
        def work(_):
            for _ in range(ROUNDS):
                assert typedcall.resolve(typed.inc, "l->l")(41) == 42
                assert typedcall.resolve(typed.add, "dd->d")(0.5, 0.25) == 0.75
                assert "dldl->d" in typedcall.signatures(typed.mix)

        in_threads(work)

    def test_tagging_and_letting_go(self):
        address = plain.addresses["half"]

        def work(number):
            for i in range(ROUNDS):
                function = eval("lambda x: x / 2")
                typedcall.tag(function, "d->d", address)
                assert typedcall.resolve(function, "d->d")(3.0) == 1.5
                if i % 2:
                    assert typedcall.untag(function)
                    assert typedcall.signatures(function) == []

        in_threads(work)

    def test_one_tag_by_all(self):
        """If several threads set the same tag, the function has only one tag."""
        def function(x):
            return x / 2

        in_threads(lambda _: typedcall.tag(function, "d->d", plain.addresses["half"]))
        self.assertEqual(typedcall.signatures(function), ["d->d"])
        self.assertTrue(typedcall.untag(function))


@support.only_if(sysconfig.get_config_var("Py_GIL_DISABLED"))
class NoGil(unittest.TestCase):
    def says(self, code):
        status, said, _ = support.python(
            "-W", "error", "-c", code, environment={"PYTHON_GIL": None}, together=True,
            paths=[os.path.dirname(typed.__file__), os.environ.get("PYTHONPATH", "")])
        return status, said.strip()

    def test_the_package_needs_none(self):
        self.assertEqual(self.says("import sys, typedcall, typedcall.numpy._numpy_bridge\n"
                                   "typedcall.entries(len)\n"
                                   "print(sys._is_gil_enabled())"), (0, "False"))

    def test_a_module_that_says_so_needs_none(self):
        self.assertEqual(self.says("import sys, typed_functions; print(sys._is_gil_enabled())"),
                         (0, "False"))
