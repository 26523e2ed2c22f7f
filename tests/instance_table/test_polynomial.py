# Tests callable instances from Python and from a consumer.
import sys
import threading
import unittest

import slot_consumer as consumer
from polynomial import Polynomial

SLOT = "instance slot"
TAKES_SELF, THREAD_SAFE, PURE = 0x20, 0x10000, 0x20000
FLAGS = TAKES_SELF | THREAD_SAFE | PURE


class Plain:
    pass


class Sub(Polynomial):
    pass


class Behind(Plain, Polynomial):
    pass


class Slots(Polynomial):
    __slots__ = ("x", "y")


class Calls(unittest.TestCase):
    def test_boxed(self):
        p = Polynomial([1, 2, 3])
        self.assertEqual(p(2), 17.0)
        self.assertEqual(list(map(p, (0, 1, -1.0))), [1.0, 6.0, 2.0])
        for arguments in ((), (1, 2)):
            with self.assertRaises(TypeError):
                p(*arguments)
        with self.assertRaises(TypeError):
            p("2")

    def test_found(self):
        p = Polynomial([1, 2])
        self.assertEqual(consumer.resolve(p, "d->d"), ("d->d", SLOT, FLAGS))
        self.assertEqual(consumer.resolve(p, "f->f"), ("f->f", SLOT, FLAGS))
        self.assertEqual(consumer.signatures(p), ["d->d", "f->f"])
        with self.assertRaisesRegex(TypeError, "does not offer 'l->l'; it offers 'd->d', 'f->f'"):
            consumer.resolve(p, "l->l")

    def test_native_is_what_boxed_is(self):
        polynomials = [Polynomial(c) for c in ([], [5], [0, 1], [1, 2, 3], [0.5] * 20)]
        for p in polynomials:
            for x in (-2.0, 0.0, 0.25, 3.0):
                self.assertEqual(consumer.value(p, x), p(x))
                self.assertAlmostEqual(consumer.value_float(p, x), p(x), delta=abs(p(x)) * 1e-6)
        self.assertAlmostEqual(consumer.integral(Polynomial([1, 2, 3]), 1000), 3.0, places=5)

    def test_every_instance_is_its_own_self(self):
        polynomials = [Polynomial([n]) for n in range(100)]
        self.assertEqual([consumer.value(p, 1.0) for p in polynomials], list(range(100)))

    def test_others_offer_nothing(self):
        for other in (Polynomial, Plain(), 5, len, lambda x: x):
            self.assertEqual(consumer.signatures(other), [])


class Replacing(unittest.TestCase):
    def test_offers(self):
        p, other = Polynomial([1]), Polynomial([2])
        for which, signatures in ((1, ["d->d"]), (0, []), (2, ["d->d", "f->f"]),
                                  (3, ["d->d", "f->f", "d->d"]), (1, ["d->d"]),
                                  (3, ["d->d", "d->d"])):
            p.offer(which)
            self.assertEqual(consumer.signatures(p), signatures)
            self.assertEqual(consumer.signatures(other), ["d->d", "f->f"])
            self.assertEqual(p(7), 1.0)

    def test_withdrawn(self):
        p = Polynomial([1])
        p.offer(0)
        with self.assertRaisesRegex(TypeError, "offers no native signature"):
            consumer.value(p, 1.0)

    def test_order_of_overloads(self):
        p = Polynomial([1])
        p.offer(3)
        self.assertEqual(consumer.value(p, 7.0), 1.0)  # the first entry
        p.offer(0)
        p.offer(3)
        self.assertEqual(consumer.value(p, 7.0), 7.0)  # the entry without self
        self.assertEqual(consumer.resolve(p, "d->d"), ("d->d", SLOT, PURE))

    def test_refusals(self):
        p = Polynomial([1])
        for signature, flags, words in (
                ("d->x", 0, "entry 2: signature 'd->x' at position 3: unknown type code"),
                ("d->d", 0x200, "entry 2, 'd->d', has flags 0x200, which contain bits without"),
                ("d->d", 4, "entry 2, 'd->d', has flags MAY_RAISE, which may set an exception"),
                ("d->d", 1 << 24, "which contain bits without a meaning")):
            with self.assertRaisesRegex(ValueError, words):
                p.offer_text(signature, flags)
        with self.assertRaisesRegex(ValueError, "-1 entries"):
            p.offer(-1)
        self.assertEqual(consumer.signatures(p), ["d->d", "f->f"])

    def test_signature_is_copied(self):
        p = Polynomial([1])
        p.offer_text("".join(["Z", "d", "->", "O"]), 0)
        junk = ["".join(["X"] * n) for n in range(5000)]
        self.assertEqual(consumer.signatures(p), ["d->d", "f->f", "Zd->O"])
        del junk

    def test_while_others_integrate(self):
        p = Polynomial([0, 2])
        stop, results, errors = threading.Event(), [], []

        def integrate():
            while not stop.is_set():
                try:
                    results.append(consumer.integral(p, 2000))
                except TypeError:  # the table has just been withdrawn
                    errors.append(1)

        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        threads = [threading.Thread(target=integrate) for _ in range(3)]
        try:
            for thread in threads:
                thread.start()
            turns = 0
            while turns < 1000 or len(results) < 100:
                turns += 1
                for which in (1, 2, 0, 2):
                    p.offer(which)
        finally:
            stop.set()
            sys.setswitchinterval(interval)
            for thread in threads:
                thread.join()
        self.assertTrue(results)
        for result in results:
            self.assertAlmostEqual(result, 1.0)


class Subclasses(unittest.TestCase):
    def test_inherit(self):
        for cls in (Sub, Behind, Slots, type("Deep", (Behind,), {}), type("Both", (Plain, Sub), {})):
            with self.subTest(cls.__name__):
                p = cls([1, 2])
                if hasattr(p, "__dict__"):
                    p.attribute = 1
                self.assertEqual(p(3), 7.0)
                self.assertEqual(consumer.resolve(p, "d->d"), ("d->d", SLOT, FLAGS))
                self.assertEqual(consumer.value(p, 3.0), 7.0)
                p.offer(0)
                self.assertEqual(consumer.signatures(p), [])

    def test_overridden_call_is_not_called_past(self):
        class Negative(Plain, Polynomial):
            def __call__(self, x):
                return -super().__call__(x)

        p = Negative([1, 2])
        self.assertEqual(p(3), -7.0)
        self.assertEqual(consumer.signatures(p), ["d->d", "f->f"])  # the table exists, but is not offered
        with self.assertRaisesRegex(TypeError, "offers no native signature"):
            consumer.value(p, 3.0)

    def test_call_assigned_afterwards(self):
        class Later(Polynomial):
            pass

        p = Later([1, 2])
        self.assertEqual(consumer.value(p, 3.0), 7.0)
        Later.__call__ = lambda self, x: 0.0
        with self.assertRaisesRegex(TypeError, "offers no native signature"):
            consumer.value(p, 3.0)
        del Later.__call__
        self.assertEqual(p(3.0), 7.0)

    def test_new_that_fails(self):
        for arguments in ((), (5,), (["x"],), ([1], 2)):
            with self.assertRaises(TypeError):
                Sub(*arguments)
