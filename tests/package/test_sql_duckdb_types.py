"""Tests the SQL types of a typed function's parameters and result in DuckDB."""
import ctypes
import itertools
import os
import unittest

import matrix_properties_random
import sql_connection
import sql_duckdb_support
import typedcall
from narrow_support import functions as narrow
from sql_duckdb_support import buffers, functions

SIGNED = ["TINYINT", "SMALLINT", "INTEGER", "BIGINT"]
UNSIGNED = ["UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"]
NUMBERS = [*SIGNED, *UNSIGNED, "HUGEINT", "UHUGEINT", "FLOAT", "DECIMAL(4,1)", "DECIMAL(38,2)"]
#: The types that DuckDB casts to each parameter type.
BOUND = {"?": ["BOOLEAN"], "f": NUMBERS, "d": [*NUMBERS, "DOUBLE"]}
for _size, _letter in enumerate("bhil"):
    BOUND[_letter] = SIGNED[:_size + 1] + UNSIGNED[:_size]
    BOUND[_letter.upper()] = UNSIGNED[:_size + 1]
LITERALS = {"bhilfd": ["7", "-5"], "BHILfd": ["7", "300", "1::utinyint"], "fd": ["1.5"], "d": ["1e3"]}


class Types(sql_duckdb_support.OfDuckDb, sql_connection.Connection, unittest.TestCase):
    def types_of(self, f):
        """Returns the parameter types and the result types of the overloads."""
        name = "f_" + f.__name__
        self.register(f, name=name)
        found = self.query("select parameter_types, return_type from duckdb_functions() where function_name = ?", name)
        return [tuple(each) for each, _ in found], {each for _, each in found}

    def test_parameters_are_wide_and_results_are_not(self):
        wide = "BIGINT BOOLEAN DOUBLE HUGEINT UHUGEINT VARCHAR "
        small = "TINYINT SMALLINT UTINYINT USMALLINT"
        for f, result, own, others in [
                (functions.next_char, "TINYINT", "TINYINT", wide), (functions.next_byte, "UTINYINT", "UTINYINT", wide),
                (functions.inc, "BIGINT", "BIGINT", wide), (narrow.same_i, "INTEGER", "INTEGER", wide + small),
                (functions.next_size, "UBIGINT", "UBIGINT", wide + "UTINYINT USMALLINT UINTEGER"),
                (functions.half_float, "FLOAT", "FLOAT", "BOOLEAN DOUBLE VARCHAR INTEGER " + small),
                (functions.half, "DOUBLE", "DOUBLE", "BOOLEAN VARCHAR"),
                (functions.negate, "BOOLEAN", "BOOLEAN", wide + "BLOB"), (functions.same_text, "VARCHAR", "VARCHAR", ""),
                (buffers.hash, "UBIGINT", "BLOB", "VARCHAR")]:
            lists, results = self.types_of(f)
            self.assertEqual(results, {result})
            self.assertEqual(sorted(lists), sorted((each,) for each in {own, *others.split()}))

    def test_functions_of_many_arguments_have_few_lists(self):
        for f, count in ((functions.power, 3 + 3**2), (functions.mix, (2 * 4)**2), (functions.ten, 2)):
            self.assertEqual(len(self.types_of(f)[0]), count)
        self.assertEqual(self.value("f_mix(true, 2::hugeint, 3, 4)"), functions.mix(True, 2, 3, 4))
        self.assertEqual(self.value("f_ten(1, 2, 3, 4::tinyint, 5, 6, 7, 8, 9, 10)"), functions.ten(*range(1, 11)))

    def test_what_bound_to_the_types_of_an_entry_binds(self):
        types = [*NUMBERS, "BOOLEAN", "DOUBLE"]
        self.query("create table t as select " + ", ".join("1::%s as c%d" % pair[::-1] for pair in enumerate(types)))
        for number, name in enumerate(sorted(vars(narrow))):
            f = getattr(narrow, name)
            lists = [each.python_types()[0] for each in typedcall.entries(f)] if callable(f) else []
            if name == "keep" or not lists or len(lists[0]) > 2:
                continue
            self.register(f, name="f%d" % number)
            given = {arguments for letters in lists for arguments in itertools.product(
                *(["NULL", *("c%d" % types.index(each) for each in BOUND[letter]),
                   *(each for letters, some in LITERALS.items() if letter in letters for each in some)]
                  for letter in letters))}
            for arguments in sorted(given):
                self.connection.execute("explain select f%d(%s) from t" % (number, ", ".join(arguments)))
            if name.startswith("same_"):
                for argument in BOUND[lists[0][0]]:
                    found = self.value("f%d(c%d) from t" % (number, types.index(argument)))
                    self.assertEqual((found, type(found)), (f(1), type(f(1))), (name, argument))

    def test_columns_are_converted_as_python_does(self):
        def ends(size, is_signed):
            return (-2**(8 * size - 1), 2**(8 * size - 1) - 1) if is_signed else (0, 2**(8 * size) - 1)

        of = {each: ends(1 << size, types is SIGNED) for types in (SIGNED, UNSIGNED) for size, each in enumerate(types)}
        for letter, bound in BOUND.items():
            f = getattr(narrow, "same_bool" if letter == "?" else "same_" + letter)
            name = "of_%d" % ord(letter)  # SQL ignores the case of names
            self.register(f, name=name)
            for type_ in {"BIGINT", *bound} & {*of}:
                low, high = of[type_]
                if letter not in "?fd":
                    own = of[bound[-1] if letter.isupper() else SIGNED["bhil".index(letter)]]
                    low, high = max(low, own[0]), min(high, own[1])
                # More rows than are converted at once.
                found = self.query("select x, %s(x) from range(130), unnest([%s]::%s[]) u(x)" %
                                   (name, ", ".join(map(str, [low, low + 1, 0, 1, high // 3, high])), type_))
                self.assertEqual([(x, f(x)) for x, _ in found], found, (letter, type_))
        # Later rows contain a value that is out of range, or NULL.
        self.register(functions.next_char)
        self.refuses("OverflowError", "sum(next_char(i)) from range(200) t(i)")
        self.assertEqual(self.value("sum(next_char(if(i < 127, i, null))) from range(300) t(i)"), sum(range(1, 128)))

    def test_a_prepared_statement_takes_what_comes(self):
        self.register(narrow.int_or_float)
        self.query("prepare p as select int_or_float($1)")
        self.assertEqual([self.query("execute p(%s)" % each) for each in ("7", "7e0", "true", "null")],
                         [[(0,)], [(1,)], [(0,)], [(None,)]])

    def test_integers_of_128_bits(self):
        got = []
        self.register(self.tagged(lambda x: got.append(x) or 0, "l->l", functions.inc), name="f")
        for value in (2**63, 2**64 - 1, 2**64, 2**127 - 1, -2**63 - 1, -2**127 + 1, 2**127, 2**128 - 1):
            cast = "UHUGEINT" if value >= 2**127 else "HUGEINT"
            self.assertEqual(self.value("f('%d'::%s)" % (value, cast)), 0)
            self.assertEqual(got.pop(), value)
        for value in (2**63 - 1, -2**63, 0, -1):
            for cast in ("HUGEINT", "UHUGEINT")[:1 + (value >= 0)]:
                self.assertEqual(self.value("f(?::%s)" % cast, value), functions.inc(value))
        self.assertEqual(got, [])
        self.register(functions.next_size)
        self.assertEqual(self.value("next_size(?::hugeint)", 2**64 - 2), 2**64 - 1)

    def test_rows_that_do_not_fit_are_those_of_python(self):
        given = "if(i % 11 = 0, null, if(i % 7 = 0, 2**40 + i, i)::bigint)"
        expected = [(i, None if i % 11 == 0 else -i if i % 7 == 0 else i) for i in range(5000)]
        for name, flags in (("f", None), ("g", 0)):
            self.register(self.tagged(lambda x, y: 2**40 - x, "ii->i", narrow.larger_i, flags), name=name)
            self.assertEqual(self.query("select i, %s(%s, -i) from range(5000) t(i) order by i" % (name, given)), expected)

    def test_an_int_becomes_a_float_as_in_python(self):
        # This value becomes another float if it is rounded twice.
        value = 2**60 + 2**36 + 1
        self.register(narrow.same_f)
        self.register(narrow.larger_f)
        self.assertEqual(self.value("same_f(?)", value), narrow.same_f(value))
        self.assertEqual(self.value("larger_f(?, 0::float)", value), narrow.larger_f(value, 0.0))

    def overloaded(self, *names):
        """Registers the identity function, tagged with the entries of these functions."""
        entries = [typedcall.entries(getattr(narrow, name))[0] for name in names]

        def f(x):
            return x

        typedcall.tag(f, [each.signature for each in entries], [each.address for each in entries], flags=entries[0].flags)
        self.register(f, name="f")

    def test_the_result_has_the_type_of_what_the_values_choose(self):
        for names, expected in (
                (("same_i", "same_d"), {"1": "INTEGER", "true": "INTEGER", "1::bigint": "INTEGER", "1.5": "DOUBLE"}),
                (("same_b", "same_l"), {"1": "BIGINT", "1::tinyint": "TINYINT", "true": "TINYINT"}),
                (("same_b", "same_I"), {"1": "BIGINT", "1::hugeint": "BIGINT", "1::tinyint": "TINYINT"}),
                (("same_f", "same_d"), {"1": "FLOAT", "1.5": "DOUBLE", "1.5::float": "DOUBLE"}),
                (("same_bool", "same_d"), {"1": "DOUBLE", "true": "BOOLEAN"})):
            self.overloaded(*names)
            for argument, type_ in expected.items():
                self.assertEqual(self.value("typeof(f(%s))" % argument), type_, (names, argument))
            self.connection.close()
            self.connection = self.connect()

    def test_a_result_of_several_types_is_in_the_widest(self):
        self.overloaded("same_b", "same_I", "same_L")
        self.assertEqual(self.query("select f(x) from unnest([7, -7, 3000000000]::bigint[]) t(x)"),
                         [(7,), (-7,), (3000000000,)])
        self.refuses("OverflowError: the result is too large for its column", "f(18446744073709551615)")

    def test_a_result_whose_type_depends_on_the_value_is_refused(self):
        # An int that is too large for `i` must not become a float.
        for overloads in ["ii", "ld"], ["di", "il", "ld", "id"]:
            f = matrix_properties_random.tagged(overloads, 0)
            self.addCleanup(typedcall.untag, f)
            self.register(f, name="f")
            self.assertEqual(self.value("f(1, 2)"), f(1, 2))
            self.refuses("TypeError: the type of the result depends on the value", "f(2147483648, 2)")
            self.assertEqual(self.value("f(2147483648, 2e0)"), f(2**31, 2.0))

    def test_a_text_is_among_results_of_several_types(self):
        def f(x):
            return os.strerror(x)

        libc = ctypes.CDLL(None)
        typedcall.tag(f, ["i->s", "l->l"], [ctypes.cast(each, ctypes.c_void_p).value for each in (libc.strerror, libc.labs)])
        self.addCleanup(typedcall.untag, f)
        self.register(f)
        self.assertEqual(self.value("f(1::bigint)"), f(1))
        self.refuses("TypeError: the type of the result depends on the value", "f(4294967296)")

    def test_overloads_of_many_arguments_take_every_type(self):
        # There are too many combinations of types for a list of each.
        functions, got = {}, []

        def f(*arguments):
            got.append(arguments)
            return -1

        for letters, of in (("iii", ctypes.c_int), ("ddd", ctypes.c_double)):
            def called(*arguments, letters=letters):
                got.append((letters, *arguments))
                return len(functions)

            functions[letters + "->l"] = ctypes.CFUNCTYPE(ctypes.c_long, *[of] * 3)(called)
        typedcall.tag(f, list(functions), [ctypes.cast(each, ctypes.c_void_p).value for each in functions.values()], flags=0)
        self.addCleanup(typedcall.untag, f)
        self.register(f)
        for arguments, expected in (
                ("1, 2::tinyint, true", ("iii", 1, 2, 1)), ("1::utinyint, 2::uhugeint, 3::hugeint", ("iii", 1, 2, 3)),
                ("1, 2::bigint, 2.5::float", ("ddd", 1.0, 2.0, 2.5)), ("9007199254740993, 2e0, 1", ("ddd", 2.0**53, 2.0, 1.0)),
                ("-0.1, 2::usmallint, 1", ("ddd", -0.1, 2.0, 1.0)),
                ("-0.1::decimal(9, 4), 0.2::decimal(18, 1), 123456789012345678901.5::decimal(38, 2)",
                 ("ddd", -0.1, 0.2, 123456789012345678901.5)),
                # An int that is too large for `i` becomes no float.
                ("1, 2, 18446744073709551615", (1, 2, 2**64 - 1)), ("1::bigint, 2::bigint, 2::bigint << 61", (1, 2, 2**62)),
                ("-170141183460469231731687303715884105727, 340282366920938463463374607431768211455::uhugeint, 3",
                 (-2**127 + 1, 2**128 - 1, 3)),
                ("1, 'text', 2", (1, "text", 2)), ("1, 2.5, 'blob'::blob", (1, 2.5, b"blob"))):
            self.value("f(%s)" % arguments)
            self.assertEqual(got.pop(), expected, arguments)
        for arguments in ("NULL, 1.5, 2", "1, NULL::date, 2"):
            self.assertIsNone(self.value("f(%s)" % arguments))
        for value in ("current_date", "[1]", "interval 1 day", "uuid()"):
            self.refuses("TypeError: an argument has an SQL type that no overload takes; cast it", "f(1, %s, 2)" % value)
        self.assertEqual(got, [])
        self.assertEqual(self.query("select f(i::smallint, if(i % 5 = 0, null, 1.5), i) from range(3000) t(i)").count((None,)), 600)
        self.assertEqual(sorted(got), [("ddd", float(i), 1.5, float(i)) for i in range(3000) if i % 5])
