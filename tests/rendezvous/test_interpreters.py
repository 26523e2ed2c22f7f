# Tests subinterpreters that import both providers. Each has its own metaclass, interface and rows.
import gc
import sys
import unittest

import provider_a
import provider_b

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

CODE ="""
import sys
sys.path[:] = {path!r}
import {first}, {second}
import provider_a, provider_b
assert provider_a.metaclass() is provider_b.metaclass() is type(provider_b.Type)
assert provider_a.interface() == provider_b.interface() != {outer}
assert id(provider_a.metaclass()) != {metaclass}
assert provider_a.row(provider_b.key) == 2 and provider_b.row(provider_a.key) == 1
class Both(provider_b.Type, provider_a.Type): pass
class Plain: pass
late = type.__new__(provider_a.metaclass(), 'Late', (Plain, Both), {{}})
for module in (provider_a, provider_b):
    assert module.find(Both(), 1) == 11 and module.find(Both(), 2) == 22
    # Before 3.12 there is no way to tell that a thread's second thread state is attached.
    if sys.version_info >= (3, 12): assert module.find(late(), 1) == 11
    late()
sys.kept_to_the_end = Both(), late
"""


def run(interpreter, code):
    failure = interpreters.run_string(interpreter, code)
    if failure is not None:  # 3.13 returns the exception
        raise AssertionError(failure)


class Subinterpreters(unittest.TestCase):
    def setUp(self):
        self.before = provider_a.interface(), provider_a.metaclass()

    def code(self, turn=0):
        first, second = ("provider_a", "provider_b")[::1 if turn % 2 else -1]
        return CODE.format(path=sys.path, first=first, second=second, outer=self.before[0],
                           metaclass=id(self.before[1]))

    def tearDown(self):
        self.assertEqual((provider_a.interface(), provider_a.metaclass()), self.before)
        self.assertEqual(provider_a.row(provider_b.key), 2)
        self.assertEqual(provider_b.row(provider_a.key), 1)

        class Both(provider_a.Type, provider_b.Type):
            pass

        self.assertEqual([provider_a.find(Both(), idea) for idea in (1, 2)], [11, 22])

    def test_one_after_the_other(self):
        for turn in range(10):
            interpreter = interpreters.create()
            try:
                run(interpreter, self.code(turn))
            finally:
                interpreters.destroy(interpreter)

    def test_several_that_end_in_another_order(self):
        made = [interpreters.create() for _ in range(5)]
        try:
            for turn, interpreter in enumerate(made):
                run(interpreter, self.code(turn))
            for interpreter in made:
                run(interpreter, "assert provider_a.find(sys.kept_to_the_end[0], 2) == 22\n"
                                 "class More(Both): pass\n"
                                 "assert provider_b.find(More(), 1) == 11\n")
        finally:
            for interpreter in made[1::2] + made[::2]:
                interpreters.destroy(interpreter)

    def test_rows_end_with_their_interpreter(self):
        gc.collect()
        before = provider_a.destroyed(), provider_b.destroyed()
        interpreter = interpreters.create()
        try:
            run(interpreter, self.code())
            self.assertEqual((provider_a.destroyed(), provider_b.destroyed()), before)
        finally:
            interpreters.destroy(interpreter)
        self.assertEqual((provider_a.destroyed(), provider_b.destroyed()),
                         (before[0] + 1, before[1] + 1))

    def test_a_squatter_is_one_interpreter_s_own_trouble(self):
        interpreter = interpreters.create()
        try:
            run(interpreter, "import sys\nsys.path[:] = %r\nsys.modules['_extensibletype'] = 5\n"
                             "try: import provider_a\n"
                             "except ImportError as error: assert \"'int'\" in str(error), error\n"
                             "else: raise AssertionError\n" % (sys.path,))
            run(interpreter, "del sys.modules['_extensibletype']\n" + self.code())
        finally:
            interpreters.destroy(interpreter)
