# Tests a consumer and separately compiled providers.
import gc
import importlib.util
import sys
import unittest

import resolve_consumer as consumer
import resolve_with_bits
import resolve_without_bits
import resolve_default
import resolve_sibling

BITS = "method metadata"
SIDE_TABLE = "def row"


class Places(unittest.TestCase):
    def test_bits(self):
        m = resolve_with_bits
        self.assertEqual(consumer.resolve(m.inc, "l->l"), ("l->l", BITS))
        self.assertEqual(consumer.resolve_alone(m.inc, "q->n"), ("l->l", BITS))
        self.assertEqual(consumer.resolve_alone(m.twice, "d->d"), ("d->d", BITS))

    def test_side_table(self):
        m = resolve_without_bits
        self.assertEqual(consumer.resolve(m.inc, "l->l"), ("l->l", SIDE_TABLE))
        self.assertEqual(consumer.resolve(m.twice, "d->d"), ("d->d", SIDE_TABLE))
        with self.assertRaisesRegex(TypeError, "offers no native signature"):
            consumer.resolve_alone(m.inc, "l->l")

    def test_default(self):
        place = SIDE_TABLE if sys.version_info >= (3, 11) else BITS
        self.assertEqual(consumer.resolve(resolve_default.inc, "l->l"), ("l->l", place))


    def test_sibling_symbol(self):
        m = resolve_sibling
        for resolve in (consumer.resolve, consumer.resolve_alone):
            for _ in range(3):
                self.assertEqual(resolve(m.inc, "l->l"), ("l->l", "sibling symbol"))
                self.assertEqual(resolve(m.inc, "q->n"), ("l->l", "sibling symbol"))
                with self.assertRaisesRegex(TypeError, "inc does not offer 'd->d'; it offers 'l->l'"):
                    resolve(m.inc, "d->d")
                # The symbol does not describe these functions.
                for function in (m.other(), m.untagged, m.other):
                    with self.assertRaisesRegex(TypeError, "offers no native signature"):
                        resolve(function, "l->l")
        self.assertEqual(consumer.call_long(m.inc, 41), 42)


class CallSites(unittest.TestCase):
    """Tests how call sites cache the functions of modules."""

    def test_modules(self):
        for m in (resolve_with_bits, resolve_without_bits, resolve_default, resolve_sibling):
            self.assertEqual(consumer.by_site(m.inc, 100), (100, 99, 1, 0), m.__name__)

    def test_refusal(self):
        for function in (resolve_sibling.untagged, len):
            with self.assertRaisesRegex(TypeError, "it has no tag"):
                consumer.by_site(function, 1)

    def test_kinds_that_are_not_remembered(self):
        self.assertEqual(consumer.by_site(resolve_default.twice, 10), (18, 9, 1, 0))
        with self.assertRaisesRegex(TypeError, "it is a Python function"):
            consumer.by_site(lambda x: x, 1)


class Calls(unittest.TestCase):
    def test_calls(self):
        for m in (resolve_with_bits, resolve_without_bits, resolve_default):
            with self.subTest(m.__name__):
                self.assertEqual(m.inc(1), 2)
                self.assertEqual(consumer.call_long(m.inc, 1), 2)
                self.assertEqual(consumer.call_long(m.inc, -2), -1)
                self.assertEqual(consumer.call_long(m.twice, 4), 8)
                self.assertEqual(consumer.call_double(m.twice, 0.5), 1.0)
                self.assertEqual(consumer.call_pair(m.divide, 1, 4), 0.25)
                self.assertEqual(consumer.call_pair(m.divide, -1, 1), -1.0)
                with self.assertRaisesRegex(ValueError, "division by zero"):
                    consumer.call_pair(m.divide, 1, 0)
                with self.assertRaisesRegex(TypeError, "it offers 'l->l', 'd->d'"):
                    consumer.call_pair(m.twice, 1, 2)

    def test_python_callables(self):
        for callable in (len, lambda x: x, int, self.test_calls, [].append):
            with self.assertRaisesRegex(TypeError, "offers no native signature"):
                consumer.call_long(callable, 1)
        with self.assertRaisesRegex(TypeError, "'int' object is not callable"):
            consumer.call_long(5, 1)


class Lifetime(unittest.TestCase):
    def test_copies_of_a_module(self):
        for m in (resolve_with_bits, resolve_without_bits):
            for _ in range(50):
                spec = importlib.util.spec_from_file_location(m.__name__, m.__file__)
                copy = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(copy)
                inc = copy.inc
                del copy
                gc.collect()
                self.assertEqual(consumer.call_long(inc, 1), 2)
            del inc
            gc.collect()
            self.assertEqual(consumer.call_long(m.inc, 1), 2)
