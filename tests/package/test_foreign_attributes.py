"""Tests objects whose attributes raise exceptions or return nonsense. These must not cause errors. KeyboardInterrupt
and MemoryError must propagate."""
import collections
import contextlib
import ctypes
import itertools
import unittest

import support
import typedcall
from foreign_attributes import (
    HALF, TABLE, Answer, Text, need, of_ctypes, of_ctypes_callback, of_numba_cfunc, of_numba_protocol,
    of_scipy, of_shared_ctypes)
from typedcall.record.records import parse_signature


class Number(int):
    """An int whose methods raise ValueError."""

    def __and__(self, other):
        raise ValueError("no number")

    __index__ = __int__ = __lt__ = __gt__ = __le__ = __ge__ = __rand__ = __hash__ = __and__


class Boom:
    """An object whose attributes all raise ValueError."""

    def __getattribute__(self, name):
        raise ValueError(name)

    __eq__ = __bool__ = __index__ = __iter__ = __len__ = __repr__ = __call__ = (
        lambda self, *unused: self.nothing)
    __hash__ = None


LONG = itertools.repeat(ctypes.c_double, 1 << 16)
#: Values that the replaced attributes return.
NONSENSE = (None, True, 0, -5, 5, 1 << 80, Number(5), 1.5, float("nan"), "x", "123", "\udc80",
            Text("text"), b"name", (), [], {}, {5: 5}, (5,), [None], [ctypes.c_double] * 70,
            object(), int, LONG, Boom(), lambda *unused: None, lambda *unused: -5)
#: Exceptions that must be ignored.
FAULTS = (ValueError, TypeError, AttributeError, KeyError, StopIteration, RecursionError, OSError,
          ImportError)
#: Exceptions that must propagate.
ENDS = (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError)


def other(x):
    return x / 2


def ask_for_entries(obj):
    for entry in typedcall.entries(obj):
        assert type(entry.address) is int and 0 < entry.address < 1 << 64, entry.address
        assert type(entry.signature) is str and entry.signature.isascii(), entry.signature
        parse_signature(entry.signature)
        assert 0 <= int(entry.flags) < 1 << 32


def ask_to_resolve(obj):
    with contextlib.suppress(TypeError):
        typedcall.resolve(obj, "d->d")


def ask_to_adopt(obj):
    try:
        typedcall.publish(obj)
    finally:
        typedcall.untag(obj)


def ask_to_tag(obj):
    try:
        typedcall.tag(other, "d->d", obj)
    except (TypeError, ValueError) as error:
        assert str(error).isprintable() and len(str(error)) > 10, error
    finally:
        typedcall.untag(other)


ASKED = (ask_for_entries, typedcall.signatures, ask_to_resolve, ask_to_adopt, ask_to_tag)


class Attributes(unittest.TestCase):
    def check(self, make, name, ask, answer):
        """Checks that exceptions in ENDS propagate, and other exceptions do not."""
        with contextlib.ExitStack() as stack:
            try:
                obj = stack.enter_context(make(name, answer))
            except AttributeError:
                if not support.IS_PYPY:
                    raise
                self.skipTest("PyPy's ctypes, which is Python, sets the attribute itself")
            answer.is_armed = True
            try:
                ask(obj)
            except ENDS as error:
                self.assertIs(error, answer.error)
                return
            finally:
                answer.is_armed = False
        if answer.was_asked:
            self.assertNotIsInstance(answer.error, ENDS)

    def check_table(self, answers):
        """Checks all attributes in the table. `answers` returns a new Answer for each value or exception."""
        counts = collections.Counter()
        for make, names in TABLE.items():
            for name in names.split():
                for ask, number in itertools.product(ASKED, range(len(answers()))):
                    answer = answers()[number]
                    with self.subTest(make=make.__qualname__, name=name, ask=ask.__name__,
                                      number=number):
                        try:
                            self.check(make, name, ask, answer)
                        except unittest.SkipTest:
                            continue
                        counts[make, name] += answer.was_asked
        if not counts:
            self.skipTest("none of the libraries is installed")
        self.assertGreater(sum(counts.values()), len(answers()))

    def test_as_they_should_be(self):
        for make in (of_ctypes, of_ctypes_callback, of_shared_ctypes, of_numba_protocol,
                     of_numba_cfunc, of_scipy):
            with self.subTest(make=make.__name__):
                try:
                    with make("unused", Answer()) as obj:
                        self.assertEqual(typedcall.signatures(obj), ["d->d"])
                except unittest.SkipTest:
                    continue

    @support.ON_CPYTHON  # Numba is only for CPython
    def test_addresses(self):
        need("numba", "numpy")
        import numpy

        for address, expected in ((HALF, [HALF]), (numpy.int64(HALF), [HALF]), (0, []), (-5, []),
                                  (1 << 64, []), (1 << 80, []), ((1 << 64) - 1, [(1 << 64) - 1]),
                                  (True, []), (str(HALF), []), (float(HALF), []), (None, [])):
            answer = Answer(address)
            with self.subTest(address=address), of_numba_protocol("__wrapper_address__",
                                                                  answer) as obj:
                answer.is_armed = True
                self.assertEqual([each.address for each in typedcall.entries(obj)], expected)
                if not expected:
                    with self.assertRaisesRegex(TypeError, "holds no address"):
                        typedcall.tag(other, "d->d", obj)

    def test_nonsense(self):
        self.check_table(lambda: [Answer(value) for value in NONSENSE])

    def test_faults(self):
        self.check_table(lambda: [Answer(error=kind("no")) for kind in FAULTS])

    def test_what_comes_out(self):
        self.check_table(lambda: [Answer(error=kind("no")) for kind in ENDS])
