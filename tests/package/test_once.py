"""Tests that an object is made only once if two threads request it at the same time. One thread stops at each line of
the package's code in turn, while the other thread runs."""
import unittest

import support
from stopped_thread import STOPPED

support.module_only_if(not support.IS_PYPY, "for CPython: it traces threads")

try:
    import numpy
except ImportError:
    numpy = None
try:
    import jax
except ImportError:
    jax = None

COMMON = STOPPED + """
import typed_functions
sys.modules["functions"] = functions = types.ModuleType("functions")

def new(at):
    # Makes a function that can be imported.
    def function(x):
        return x / 2
    function.__name__ = function.__qualname__ = "function%d" % at
    function.__module__ = "functions"
    setattr(functions, function.__name__, function)
    entry, = (each for each in typedcall.entries(typed_functions.half) if each.signature == "d->d")
    typedcall.tag(function, "d->d", entry.address, flags=entry.flags | typedcall.Flags.PURE)
    return function

def both(ask, at, other=None):
    # Returns what two threads get, the first of which stops at that line; fewer results if there are fewer lines.
    # `other` is the second thread's query, if it differs.
    got = []
    found = stopped(lambda: got.append(ask()), at)
    if found is None:
        return got
    first, go = found
    second = threading.Thread(target=lambda: got.append((other or ask)()))
    second.start()
    second.join(0.03)  # it may wait for a lock that the first thread holds
    go.set()
    second.join()
    first.join()
    return got
"""


class Once(unittest.TestCase):
    def runs(self, code):
        status, said, _ = support.python("-X", "faulthandler", "-c", COMMON + code, together=True,
                                         paths=[support.module_folder("typed_functions")],
                                         environment={"JAX_PLATFORMS": "cpu"})
        self.assertEqual((status, said.strip()), (0, "True"))

    @unittest.skipIf(numpy is None, "NumPy is not installed")
    def test_a_ufunc(self):
        self.runs("""
typedcall.ufunc(new(0))
for at in itertools.count(1):
    function = new(at)
    got = both(lambda: typedcall.ufunc(function), at)
    if len(got) == 1:
        break
    assert got[0] is got[1] is typedcall.ufunc(function), at
print(at > 10)
""")

    @unittest.skipIf(numpy is None, "NumPy is not installed")
    def test_a_ufunc_of_what_is_untagged_meanwhile(self):
        self.runs("""
def ask():
    try:
        return typedcall.ufunc(function).nin
    except TypeError as error:
        assert "offers no typed function" in str(error), error
        return 1

for at in itertools.count(1):
    function = new(at)
    got = both(ask, at, lambda: typedcall.untag(function))
    if got == [1]:
        break
    assert got in ([1, True], [True, 1]), (at, got)
print(at > 10)
""")

    @unittest.skipIf(numpy is None, "NumPy is not installed")
    def test_how_ufuncs_are_pickled(self):
        # The first ufunc of a process also registers how ufuncs are pickled.
        self.runs("""
import numpy, typedcall.numpy.ufunc

def copied(ufunc):
    try:
        return pickle.loads(pickle.dumps(ufunc))
    except pickle.PicklingError as error:
        return error

PACKAGE += "/numpy/pickles.py"
for at in itertools.count(1):
    child = os.fork()
    if child == 0:
        function = new(at)
        got = both(lambda: copied(typedcall.ufunc(function, "named")), at)
        assert all(isinstance(each, numpy.ufunc) for each in got), (at, got)
        assert copied(numpy.sin) is numpy.sin
        os._exit(len(got) % 2)
    status = os.waitpid(child, 0)[1]
    if status:
        break
print(at > 3 and os.WIFEXITED(status) and os.WEXITSTATUS(status) == 1)
""")

    @unittest.skipIf(jax is None or not hasattr(jax, "ffi"), "jax with jax.ffi is not installed")
    def test_what_jax_calls(self):
        self.runs("""
import jax
from typedcall.jax import elementwise
PACKAGE += "/sinks/jax/"

def program(call):
    return jax.jit(call).lower(1.0).as_text()

elementwise(new(0))
for at in itertools.count(1):
    function = new(at)
    got = both(lambda: elementwise(function), at)
    if len(got) == 1:
        break
    assert program(got[0]) == program(got[1]), at
print(at > 10)
""")
