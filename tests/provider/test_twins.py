# Tests modules whose functions have the same names and types. Each must offer its own functions.
import unittest

import provider_twin_1 as one
import provider_twin_2 as two
import provider_twin_3 as three

TWINS = (one, two, three)


class Twins(unittest.TestCase):
    def test_wrapper(self):
        self.assertEqual([twin.next(10) for twin in TWINS], [11, 12, 13])
        self.assertEqual([twin.half(10) for twin in TWINS], [6.0, 7.0, 8.0])

    def test_entry(self):
        for consumer in TWINS:
            self.assertEqual([consumer.native_next(twin.next, 10) for twin in TWINS], [11, 12, 13])
            self.assertEqual([consumer.native_half(twin.half, 10) for twin in TWINS], [6.0, 7.0, 8.0])
            self.assertEqual(consumer.native_next(one.either_a, 10), 10)
            self.assertEqual(consumer.native_next(two.either_b, 10), 20)

    def test_exception_of_the_other_module(self):
        for consumer in TWINS:
            for provider in TWINS:
                with self.assertRaisesRegex(ValueError, "negative"):
                    consumer.native_half(provider.half, -1.0)

    def test_messages_have_their_own_names(self):
        for call, name in ((one.either_a, "either_a"), (two.either_b, "either_b")):
            with self.assertRaisesRegex(TypeError, name):
                call("x")

    def test_refusal(self):
        for consumer in TWINS:
            with self.assertRaisesRegex(TypeError, "does not offer 'l->l'; it offers 'd->d'"):
                consumer.native_next(two.half, 1)
