# Two modules whose functions have the same names and types: each offers its own functions, whatever the
# visibility of their symbols, and one module's consumer can call the other's.
import unittest

import provider_twin_1 as one
import provider_twin_2 as two


class Twins(unittest.TestCase):
    def test_wrapper(self):
        self.assertEqual((one.next(10), two.next(10)), (11, 12))
        self.assertEqual((one.half(10), two.half(10)), (6.0, 7.0))

    def test_entry(self):
        for consumer in (one, two):
            self.assertEqual(consumer.native_next(one.next, 10), 11)
            self.assertEqual(consumer.native_next(two.next, 10), 12)
            self.assertEqual(consumer.native_half(one.half, 10), 6.0)
            self.assertEqual(consumer.native_half(two.half, 10), 7.0)
            self.assertEqual(consumer.native_next(one.either_a, 10), 10)
            self.assertEqual(consumer.native_next(two.either_b, 10), 20)

    def test_exception_of_the_other_module(self):
        for consumer in (one, two):
            for provider in (one, two):
                with self.assertRaisesRegex(ValueError, "negative"):
                    consumer.native_half(provider.half, -1.0)

    def test_messages_have_their_own_names(self):
        for call, name in ((one.either_a, "either_a"), (two.either_b, "either_b")):
            with self.assertRaisesRegex(TypeError, name):
                call("x")

    def test_refusal(self):
        with self.assertRaisesRegex(TypeError, "does not offer 'l->l'; it offers 'd->d'"):
            one.native_next(two.half, 1)
