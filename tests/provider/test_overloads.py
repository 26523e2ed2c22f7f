# Tests which overload is called.
import array
import decimal
import sys
import unittest

from collected import only_if
import leaks
import provider_overloads as m

BOOL, INT, FLOAT, OBJECT, COMPLEX, TEXT, DOUBLES, FLOATS = 1, 2, 3, 4, 5, 6, 7, 8
NARROW, WIDE, UNSIGNED = 32, 64, 65


class Index:
    def __init__(self, value):
        self.value = value
        self.asked = 0

    def __index__(self):
        self.asked += 1
        if isinstance(self.value, BaseException):
            raise self.value
        return self.value


def raises(method, error):
    """Returns an object whose `method` raises `error`."""
    def run(self, *args):
        raise error
    return type("Raises", (), {method: run})()


class Order(unittest.TestCase):
    def test_a_python_float_is_a_double(self):
        """Python and consumers that request `d->d` get the same digits."""
        self.assertEqual(m.single_then_double(0.2), 0.1)
        self.assertEqual(m.single_then_double(1e300), 5e299)
        self.assertEqual(m.complex_single_then_double(0.1 + 1e300j), 0.1 + 1e300j)
        # An int matches neither type exactly, so the first overload is called.
        self.assertEqual(m.single_then_double(3), 1.5)

    def test_exact(self):
        for function in (m.int_then_float, m.float_then_int, m.float_int_bool, m.object_first):
            self.assertEqual((function(1), function(1.0)), (INT, FLOAT), function.__name__)
        self.assertEqual(m.float_int_bool(True), BOOL)

    def test_subclass_before_conversion(self):
        class Int(int):
            pass

        class Float(float):
            pass

        for function in (m.int_then_float, m.float_then_int, m.object_first):
            for value in (True, False, Int(3)):
                self.assertEqual(function(value), INT, function.__name__)
            self.assertEqual(function(Float(3)), FLOAT, function.__name__)

    def test_conversions_in_the_order_of_the_table(self):
        for value in (1, True, decimal.Decimal(1)):
            self.assertEqual(m.float_then_object(value), FLOAT)
            self.assertEqual(m.object_then_float(value), OBJECT)
        self.assertEqual(m.object_first("x"), OBJECT)
        self.assertEqual(m.float_then_object("x"), OBJECT)
        self.assertEqual(m.float_then_object(None), OBJECT)

    def test_what_has_an_index_is_an_int(self):
        for function in (m.int_then_float, m.float_then_int, m.float_int_bool, m.object_first, m.complex_or_int,
                         m.object_or_int):
            self.assertEqual(function(Index(1)), INT, function.__name__)
        with self.assertRaises(OverflowError):
            m.float_then_int(Index(2 ** 70))  # an int is not converted to float
        for base, method in ((float, "__index__"), (str, "__index__"), (complex, "__float__")):
            value = type("Both", (base,), {method: lambda self: 1})()
            self.assertEqual(m.int_or_object(value), OBJECT, base)
            with self.assertRaises(TypeError):
                (m.narrow_or_float if base is not float else m.widths)(value)

    def test_an_array_is_no_int_before_a_buffer(self):
        class Array(array.array):
            def __index__(self):
                return 1

        self.assertEqual(m.int_or_array(Array("d", [1])), DOUBLES)
        self.assertEqual((m.int_or_array(Array("l", [1])), m.int_or_array(3)), (INT, INT))

    def test_better_in_one_argument(self):
        """For two ints, the worst argument is equally bad in all overloads."""
        for args, expected in (((1, 1), 1), ((True, 1), 1), ((1, True), 1), ((1, 1.0), 1), ((1.0, 1), 3), ((1.0, 1.0), 2)):
            self.assertEqual(m.floats_then_mixed(*args), expected, args)
        # An int that is too large for the best overload must not be converted to float.
        with self.assertRaises(OverflowError):
            m.floats_then_mixed(2 ** 70, 1)

    def test_object_is_no_exact_match(self):
        self.assertEqual(m.object_first(1.0), FLOAT)
        self.assertEqual(m.object_first(1), INT)

    def test_worst_argument_decides(self):
        self.assertEqual(m.pairs(1, 1.0), 1)
        self.assertEqual(m.pairs(1.0, 1.0), 2)
        self.assertEqual(m.pairs(1.0, 1), 3)
        self.assertEqual(m.pairs(True, 1.0), 1)
        self.assertEqual(m.pairs(1, 1), 1)

    def test_complex(self):
        class Complex(complex):
            pass

        class Convertible:
            def __complex__(self):
                return 1j

        for value in (1j, Complex(1j), Convertible()):
            self.assertEqual(m.complex_or_int(value), COMPLEX)
            self.assertEqual(m.float_or_complex(value), COMPLEX)
        self.assertEqual((m.complex_or_int(1.5), m.complex_or_int(1)), (COMPLEX, INT))
        self.assertEqual((m.float_or_complex(1.5), m.float_or_complex(1)), (FLOAT, FLOAT))
        with self.assertRaises(TypeError):
            m.complex_or_int("1j")

    def test_text(self):
        class Text(str):
            pass

        for value in ("", "x", Text("x")):
            self.assertEqual((m.text_or_object(value), m.object_or_text(value)), (TEXT, TEXT))
        for value in (b"x", 1, None):
            self.assertEqual((m.text_or_object(value), m.object_or_text(value)), (OBJECT, OBJECT))
        with self.assertRaisesRegex(ValueError, "null character"):
            m.text_or_object("a\0b")

    def test_pointers_by_what_they_point_to(self):
        for pointers in (m.doubles_or_floats, m.floats_or_doubles):
            self.assertEqual(pointers(array.array("d", [1])), DOUBLES)
            self.assertEqual(pointers(array.array("f", [1])), FLOATS)
            for value in (array.array("l", [1]), b"12345678", 1, object()):
                with self.assertRaisesRegex(TypeError, "it offers '&"):
                    pointers(value)

    def test_number_of_arguments(self):
        self.assertEqual((m.area(), m.area(3), m.area(3, 4)), (0, 9, 12))


class Overflow(unittest.TestCase):
    def test_goes_on_to_the_wider_one(self):
        for value in (0, 1, -1, 2 ** 31 - 1, -2 ** 31):
            self.assertEqual(m.widths(value), NARROW)
        for value in (2 ** 31, -2 ** 31 - 1, 2 ** 63 - 1, -2 ** 63):
            self.assertEqual(m.widths(value), WIDE)
        self.assertEqual((m.signs(2 ** 63), m.signs(2 ** 64 - 1)), (UNSIGNED, UNSIGNED))

    def test_fits_nowhere(self):
        for function, value in ((m.widths, 2 ** 63), (m.widths, -2 ** 63 - 1), (m.signs, 2 ** 64),
                                (m.signs, -2 ** 63 - 1), (m.widths, 2 ** 1000)):
            with self.assertRaises(OverflowError):
                function(value)

    def test_never_becomes_a_float(self):
        for function in (m.int_then_float, m.float_then_int, m.float_int_bool,
                         m.widths_and_float, m.narrow_or_float, m.complex_or_int):
            for value in (2 ** 70, -2 ** 70, 2 ** 63):
                with self.assertRaises(OverflowError, msg=function.__name__):
                    function(value)
        with self.assertRaises(OverflowError):
            m.narrow_or_float(2 ** 31)
        with self.assertRaises(OverflowError):
            m.int_then_float(Index(2 ** 70))
        with self.assertRaises(OverflowError):
            m.pairs(2 ** 70, 1.0)

    def test_goes_on_to_an_object(self):
        for value in (2 ** 70, -2 ** 70, Index(2 ** 70)):
            for function in (m.object_first, m.int_or_object, m.object_or_int):
                self.assertEqual(function(value), OBJECT, function.__name__)
        self.assertEqual(m.int_or_object(2 ** 40), INT)
        self.assertEqual(m.object_or_int(2 ** 40), INT)
        # Only the first argument is out of range.
        self.assertEqual(m.ints_or_mixed(2 ** 70, 1), OBJECT)
        self.assertEqual(m.ints_or_mixed(2 ** 70, 1.0), OBJECT)
        with self.assertRaises(OverflowError):
            m.ints_or_mixed(1, 2 ** 70)
        with self.assertRaises(OverflowError):
            m.ints_or_mixed(2 ** 70, 2 ** 70)
        self.assertEqual(m.ints_or_mixed(2, 1), INT)

    def test_only_the_argument_that_is_out_of_range_is_kept_from_being_made_floating(self):
        for call in (m.narrow_then_mixed, m.mixed_then_narrow):
            self.assertEqual((call(3, 2), call(3, 2.0)), (NARROW, WIDE))
            for value in (300, -129, 2 ** 40, Index(300)):
                for other in (2, True, 2.0, 2 ** 60):
                    self.assertEqual(call(value, other), WIDE, (call, value, other))
            with self.assertRaises(OverflowError):
                call(3, 2 ** 70)
            with self.assertRaises(OverflowError):
                call(300, 2 ** 70)
            with self.assertRaises(OverflowError):
                call(2 ** 70, 2)

    def test_every_argument_that_is_out_of_range(self):
        # The last overload accepts both ints. Neither may become a float.
        for args in ((300, 400), (3, 400), (Index(300), 400), (300, Index(400)), (3, Index(400))):
            self.assertEqual(m.narrow_pair(*args), INT)
        self.assertEqual((m.narrow_pair(3, 4), m.narrow_pair(300, 4)), (NARROW, INT))
        self.assertEqual((m.narrow_pair(Index(300), Index(4)), m.narrow_pair(300, 4.0)),
                         (INT, WIDE))
        self.assertEqual(m.narrow_pair(300, 4j), COMPLEX)

    def test_message_names_the_argument(self):
        for args, position in (((2 ** 70, 1), 1), ((1, 2 ** 70), 2), ((2 ** 70, -2 ** 70), 1)):
            with self.assertRaises(OverflowError) as caught:
                m.narrow_then_mixed(*args)
            self.assertEqual(
                str(caught.exception), "narrow_then_mixed() has no overload for the int in argument "
                "%d; it offers 'bl->l', 'ld->l'" % position)

    def test_too_large_for_a_float(self):
        for value in (2 ** 1024, Index(2 ** 1024)):
            self.assertEqual(m.float_then_object(value), OBJECT)
            self.assertEqual(m.complex_or_object(value), OBJECT)
            for call in (m.float_or_complex, m.float_then_int):
                with self.assertRaises(OverflowError):
                    call(value)
        self.assertEqual(m.complex_or_object(Index(2 ** 1000)), COMPLEX)

    def test_nothing_pending_after_success(self):
        # A pending exception would be raised by a later call.
        self.assertEqual(m.widths(2 ** 40), WIDE)
        self.assertEqual([m.widths(x) for x in (2 ** 40, 1)], [WIDE, NARROW])

    def test_raised_by_the_function_itself(self):
        m.take_calls()
        with self.assertRaisesRegex(OverflowError, "from the function"):
            m.raises(1)
        self.assertEqual(m.take_calls(), 1)
        self.assertEqual(m.raises(2 ** 40), 0)
        self.assertEqual(m.take_calls(), 100)


class Refusals(unittest.TestCase):
    def test_no_match_lists_what_is_offered(self):
        for value in ("x", None, [], 1j):
            with self.assertRaises(TypeError) as caught:
                m.signs(value)
            self.assertEqual(
                str(caught.exception),
                "signs() has no overload for (%s); it offers 'i->l', 'l->l', 'L->l'"
                % type(value).__name__)

    def test_wrong_count(self):
        for args in ((), (1, 2), (1, 2, 3)):
            with self.assertRaises(TypeError):
                m.widths(*args)
        with self.assertRaisesRegex(
                TypeError, r"area\(\) has no overload for \(int, int, str\); it offers '->d', "
                           "'d->d', 'dd->d'"):
            m.area(1, 2, "x")


    def test_long_messages_are_cut(self):
        named = type("n" * 1000000, (), {})
        with self.assertRaisesRegex(TypeError, r"^area\(\) has no overload for \((n{200}\.\.\., ){9}n{200}\.\.\. "
                                    r"and 1990 more\); it offers '->d', "):
            m.area(*[named()] * 2000)

    def test_no_keywords(self):
        for function in (m.area, m.widths):
            with self.assertRaisesRegex(TypeError, "keyword"):
                function(x=1)

    def test_exceptions_of_conversions(self):
        with self.assertRaisesRegex(LookupError, "mine"):
            m.widths(Index(LookupError("mine")))
        value = Index(2 ** 40)
        self.assertEqual((m.widths(value), value.asked), (WIDE, 2))

    def test_users_exceptions_choose_no_overload(self):
        calls = (
            ("__index__", (m.widths, m.signs, m.int_or_object, m.int_then_float,
                           m.float_then_object, m.float_or_complex, m.complex_or_object)),
            ("__float__", (m.float_then_object, m.float_then_int, m.float_or_complex,
                           m.complex_or_object)),
            ("__complex__", (m.complex_or_int, m.complex_or_object, m.float_or_complex)),
        )
        for method, functions in calls:
            for error in (OverflowError, TypeError, BufferError, KeyError, KeyboardInterrupt):
                for function in functions:
                    mine = error("mine")
                    with self.assertRaises(error) as caught:
                        function(raises(method, mine))
                    self.assertIs(caught.exception, mine, (method, function))
        mine = OverflowError("mine")
        with self.assertRaises(OverflowError) as caught:
            m.narrow_pair(300, raises("__index__", mine))
        self.assertIs(caught.exception, mine)

    def test_float_of_an_int_subclass_raises(self):
        class Int(int):
            def __float__(self):
                raise OverflowError("mine")

        with self.assertRaisesRegex(OverflowError, "mine"):
            m.float_then_object(Int(1))
        self.assertEqual(m.float_then_int(Int(1)), INT)

    @only_if(sys.version_info >= (3, 12))  # for __buffer__
    def test_exceptions_of_buffers(self):
        for error in (KeyboardInterrupt, TypeError, ValueError, LookupError, MemoryError):
            for function in (m.doubles_or_object, m.doubles_or_floats, m.floats_or_doubles):
                mine = error("mine")
                with self.assertRaises(error) as caught:
                    function(raises("__buffer__", mine))
                self.assertIs(caught.exception, mine)
        # BufferError means that the object cannot provide such memory.
        self.assertEqual(m.doubles_or_object(raises("__buffer__", BufferError("no"))), OBJECT)

    def test_exporters_that_refuse(self):
        released = memoryview(array.array("d", [1]))
        released.release()
        doubles = memoryview(array.array("d", [1, 2, 3]))
        for value in (released, doubles[::2], array.array("l", [1]), b"x", 1):
            self.assertEqual(m.doubles_or_object(value), OBJECT)
        self.assertEqual(m.doubles_or_object(doubles), DOUBLES)
        with self.assertRaisesRegex(TypeError, "no overload"):
            m.floats_or_doubles(released)

    def test_references(self):
        values = [Index(2 ** 70), array.array("d", [1]), array.array("l", [1]),
                  "".join(["a text ", "of its own"]), 2 ** 70]

        def use():
            for value in values:
                for function in (m.doubles_or_floats, m.text_or_object, m.int_or_object, m.widths,
                                 m.complex_or_int):
                    try:
                        function(value)
                    except (TypeError, OverflowError):
                        pass

        leaks.check(use, 100, warm_up=1, unchanged=values)
        values[1].append(2.0)  # raises BufferError if the array is still exported
