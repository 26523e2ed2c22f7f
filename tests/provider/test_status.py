# Tests functions with a status, exceptions of a module, and functions that release the GIL.
import array
import threading
import unittest

import leaks
import provider_status as m
from at_once import at_once

CONVERSIONS = [("to_bool", bool), ("to_schar", int), ("to_ulong", int), ("to_double", float),
               ("to_longdouble", float), ("to_object", int)]


class Status(unittest.TestCase):
    def test_value(self):
        for name, kind in CONVERSIONS:
            with self.subTest(name):
                convert = getattr(m, name)
                for value in (0, 1, 41, 44, 127):
                    self.assertEqual(convert(value), kind(value))
                    self.assertIs(type(convert(value)), kind)
        for value in (-1, -128):
            self.assertEqual(m.to_schar(value), value)
            self.assertEqual(m.to_double(value), value)
        self.assertEqual(m.to_ulong(-1), 2 ** 64 - 1)
        self.assertEqual(m.to_complex(-1), -1 + 1j)
        self.assertEqual((m.to_text(0), m.to_text(1)), (None, "text"))
        self.assertIs(m.only_place(), True)

    def test_no_value(self):
        self.assertIsNone(m.check(1))
        self.assertIsNone(m.last_is_memory(1, bytearray(1)))
        self.assertIsNone(m.last_is_object(1, 2))

    def each(self):
        for name, _ in CONVERSIONS:
            yield getattr(m, name)
        yield from (m.check, m.to_complex, m.to_text, m.throw_or_convert, m.first_of_two,
                    lambda x: m.last_is_memory(x, None), lambda x: m.last_is_object(x, None))

    def test_exception(self):
        for call in self.each():
            for _ in range(3):
                with self.assertRaisesRegex(ArithmeticError, "it is 42"):
                    call(42)

    def test_status_without_exception(self):
        for call in self.each():
            with self.assertRaisesRegex(SystemError, "failed without setting an exception"):
                call(43)

    def test_an_exception_behind_a_good_status(self):
        self.assertEqual(m.set_and_return_0(41), 41.0)
        with self.assertRaisesRegex(ArithmeticError, "it is 42"):
            m.set_and_return_0(42)

    def test_thrown(self):
        self.assertEqual(m.throw_or_convert(40), 40.0)
        with self.assertRaisesRegex(IndexError, "it is 41"):
            m.throw_or_convert(41)

    def test_overloads(self):
        self.assertEqual(m.first_of_two(1), 1.0)
        # The message shows the types that Python uses.
        with self.assertRaisesRegex(TypeError, "it offers 'l->d', 'l->Zd'"):
            m.first_of_two("x")

    def test_count(self):
        for call in (m.check, m.to_bool):
            for args in ((), (1, 2)):
                with self.assertRaises(TypeError):
                    call(*args)
        with self.assertRaises(TypeError):
            m.only_place(1)


class NoErrorValue(unittest.TestCase):
    def test_results(self):
        self.assertIs(m.is_even(2), True)
        self.assertIs(m.is_even(3), False)
        self.assertIsNone(m.store(5))
        self.assertEqual(m.get_stored(), 5)
        self.assertEqual(m.root(2.0), 2 - 2j)

    def test_thrown(self):
        for call in (m.is_even, m.store, m.root):
            with self.assertRaisesRegex(ValueError, "negative"):
                call(-1)

    def test_exception_of_the_c_api(self):
        items = []
        self.assertIsNone(m.append(items, 1))
        self.assertEqual(items, [1])
        with self.assertRaises(SystemError):
            m.append((), 1)


class OwnExceptions(unittest.TestCase):
    def test_translated(self):
        with self.assertRaisesRegex(SyntaxError, "line 7"):
            m.throw_own(0)

    def test_left_alone(self):
        with self.assertRaisesRegex(RuntimeError, "unknown"):
            m.throw_own(1)  # the translator has set no exception
        with self.assertRaisesRegex(RuntimeError, "unknown"):
            m.throw_own(2)
        with self.assertRaisesRegex(IndexError, "standard"):
            m.throw_own(3)


class Gil(unittest.TestCase):
    def test_held(self):
        self.assertIs(m.holds_gil(), True)
        self.assertIs(m.holds_gil_released(), False)
        self.assertIs(m.holds_gil_with(array.array("d"), "x"), False)
        with self.assertRaises(TypeError):
            m.holds_gil_with(array.array("d"), 1)

    def test_other_threads_run(self):
        self.assertEqual(at_once(m.meet, [(20,)] * 2), [1, 1])

    def test_buffer_is_held_meanwhile(self):
        items = array.array("d", [1])
        threads = [threading.Thread(target=m.touch, args=(items,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            while m.touching() < 2:
                self.assertTrue(all(thread.is_alive() for thread in threads))
            with self.assertRaises(BufferError):
                items.append(0)
        finally:
            m.leave()
            for thread in threads:
                thread.join()
        items.append(0)
        self.assertGreaterEqual(items[0], 2)


class Leaks(unittest.TestCase):
    def test_references(self):
        value, items, memory = 2 ** 40, [], bytearray(1)

        def use():
            m.to_object(value), m.last_is_memory(1, memory), m.append(items, value)
            m.last_is_object(1, value)
            for call in (lambda: m.last_is_memory(42, memory), lambda: m.last_is_object(42, value),
                         lambda: m.append(value, memory), lambda: m.to_object(42)):
                try:
                    call()
                except Exception:
                    continue
                raise AssertionError("nothing was raised")
            items.clear()

        leaks.check(use, 200, warm_up=1, unchanged=(value, items, memory))
        memory.append(1)
