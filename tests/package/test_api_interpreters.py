"""Tests the package in several interpreters of one process. Each interpreter has its own tags and types."""
import importlib
import importlib.util
import sys
import unittest

import support
import typedcall

support.module_only_if(not support.IS_PYPY, "for CPython; PyPy has one interpreter, and test_pypy_api")

# The name of this private module depends on the version.
names = [name for name in ("_interpreters", "_xxsubinterpreters") if importlib.util.find_spec(name)]
support.module_only_if(names, "this Python cannot make interpreters")
interpreters = importlib.import_module(names[0])

typed = support.build("typed_functions")
plain = support.build("plain_functions")


def run(source, **how):
    """Runs `source` in a new interpreter with these options. Raises AssertionError if it raises an exception."""
    preamble = "import sys\nsys.path[:0] = %r\n" % [
        *[path for path in sys.path if path], support.module_folder("typed_functions"),
        support.module_folder("plain_functions")]
    made = interpreters.create(**how)
    try:
        # Before 3.13, run_string() raises the exception. Later versions return it.
        failed = interpreters.run_string(made, preamble + source)
        if failed is not None:
            raise AssertionError(getattr(failed, "formatted", failed))
    finally:
        interpreters.destroy(made)


WORK = """
import typedcall, typed_functions as typed
assert typedcall.signatures(typed.mix) == ["dldl->d"]
f = typedcall.resolve(typed.mix, "dldl->d")
for i in range(500):
    assert f(1.5, i, 2.0, 3) == 1.5 * i + 6.0
scaler = typed.Scaler(3.0)
assert typedcall.resolve(scaler.scale, "d->d")(2.0) == 6.0
try:
    typedcall.resolve(typed.div, "dd->d")(1.0, 0.0)
except ZeroDivisionError:
    pass
else:
    raise AssertionError("nothing raised")
def half(x): return x / 2
import plain_functions as plain
typedcall.tag(half, "d->d", plain.addresses["half"])
assert typedcall.resolve(half, "d->d")(3.0) == 1.5
"""


class Interpreters(unittest.TestCase):
    def test_everything_works_again_and_again(self):
        for _ in range(3):
            run(WORK)
        self.assertEqual(typedcall.resolve(typed.half, "d->d")(3.0), 1.5)

    def test_tags_are_each_interpreters_own(self):
        typedcall.tag(plain.half, "d->d", plain.addresses["half"])
        self.addCleanup(typedcall.untag, plain.half)
        run("import typedcall, plain_functions as plain\n"
            "assert typedcall.signatures(plain.half) == []\n"
            "typedcall.tag(plain.half, 'd->d', plain.addresses['half_differs'])\n"
            "assert typedcall.resolve(plain.half, 'd->d')(2.0) == 1001.0\n")
        self.assertEqual(typedcall.resolve(plain.half, "d->d")(2.0), 1.0)

    def test_at_once(self):
        self.assertEqual(support.at_once(run, [(WORK,)] * 3), [None] * 3)
