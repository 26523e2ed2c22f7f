"""Tests the results of typed functions in DuckDB."""

import ctypes
import math
import os
import unittest

import sql_connection
import sql_duckdb_support
import typedcall
from sql_duckdb_support import buffers, fallbacks, functions
from typedcall import Flags


class Values(sql_duckdb_support.OfDuckDb, sql_connection.Values, unittest.TestCase):
    def test_null_and_nan(self):
        for f in (functions.inc, functions.mix, functions.same_text, functions.half, fallbacks.root):
            self.register(f)
        for text in ("inc(NULL)", "mix(1, NULL, 3, 4)", "same_text(NULL)", "root(NULL)"):
            self.assertIsNone(self.value(text), text)
        self.assertTrue(math.isnan(self.value("half('nan'::double)")))

    def test_null_between_the_rows(self):
        for f in (functions.inc, functions.power, functions.same_text, fallbacks.root):
            self.register(f)
        rows = 5000
        for condition in ("false", "true", "i % 2 = 0", "i % 64 = 63", "i < 64", "i between 100 and 300",
                          "hash(i) % 7 = 0", "i = 4999", "i // 64 % 2 = 0"):
            text = """select if({0}, null, i), inc(if({0}, null, i)), power(i, if({0}, null, 1)),
                      root(if({0}, null, i * i)), same_text(if({0}, null, i::varchar))
                      from range({1}) t(i) order by i""".format(condition, rows)
            found = self.query(text)
            self.assertEqual(len(found), rows)
            for x, following, same, root, string in found:
                expected = (None,) * 4 if x is None else (x + 1, float(x), float(x), str(x))
                self.assertEqual((following, same, root, string), expected, condition)

    def test_null_in_several_columns(self):
        self.register(functions.power)
        found = self.query("""select i, power(if(i % 3 = 0, null, i)::double, if(i % 5 = 0, null, 1))
                              from range(3000) t(i) order by i""")
        self.assertEqual(found, [(i, None if i % 3 == 0 or i % 5 == 0 else float(i))
                                 for i in range(3000)])

    def test_rows_that_are_chosen(self):
        # DuckDB passes vectors with a selection, a constant or a dictionary.
        self.register(functions.half)
        self.register(functions.power)
        self.query("create table t as select i::double as x, ['a', 'b'][i % 2 + 1] as s from range(9999) t(i)")
        self.assertEqual(self.query("select half(x) from t where x % 1000 = 998 order by x"),
                         [(x / 2,) for x in range(998, 9999, 1000)])
        self.assertEqual(self.value("sum(power(3.0, 2.0)) from t"), 9.0 * 9999)
        self.register(functions.same_text)
        self.assertEqual(self.query("select same_text(s), count(*) from t group by 1 order by 1"),
                         [("a", 5000), ("b", 4999)])
        self.assertEqual(self.value("sum(case when x < 5 then half(x) else 0 end) from t"), 5.0)

    def test_a_wrong_type_or_count_is_an_error(self):
        import duckdb

        self.register(functions.inc)
        self.register(functions.same_text)
        for text in ("inc()", "inc(1, 2)", "inc([1])", "same_text([1])"):
            with self.assertRaisesRegex(duckdb.BinderException, "No function matches"):
                self.value(text)

    def test_text(self):
        self.register(functions.same_text)
        texts = ["x" * size for size in range(30)] + ["h\u00e4, \u20ac, \U0001f40d " * 9]
        self.assertEqual(self.query("select same_text(x) from (select unnest(?) as x)", texts),
                         [(text,) for text in texts])

    def test_texts_of_every_multi_byte_shape(self):
        self.register(functions.same_text)
        self.register(buffers.utf8_length)
        self.register(self.tagged(lambda x: x, "s->s", functions.same_text), name="boxed")
        # Characters of each UTF-8 length at each position within eight bytes. DuckDB stores texts of more than 12 bytes
        # differently.
        shapes = ("\x7f", "\x80", "\u07ff", "\u0800", "\ud7ff", "\ue000", "\uffff", "\U00010000",
                  "\U0010ffff", "\x80\u0800\U00010000", "\U0010ffff\uffff\u07ff")
        texts = [before * "x" + shape + behind for before in range(17) for shape in shapes
                 for behind in ("", "y", "a text behind it")]
        self.assertEqual({len(text.encode()) for text in texts} & set(range(1, 40)), set(range(1, 40)))
        found = self.query("select same_text(x), utf8_length(x) from (select unnest(?) as x)", texts)
        self.assertEqual(found, [(text, len(text.encode())) for text in texts])
        # The Python function is called, because an `s` must not contain NUL.
        found = self.query("select boxed(x || chr(0)) from (select unnest(?) as x)", texts)
        self.assertEqual(found, [(text + "\0",) for text in texts])

    def test_text_results_of_rows_that_are_null(self):
        getenv = ctypes.cast(ctypes.CDLL(None).getenv, ctypes.c_void_p).value
        self.addCleanup(os.environ.pop, "TYPEDCALL_TEXT", None)
        os.environ["TYPEDCALL_TEXT"] = "a text that is not short"
        # The flags decide how the C function is called.
        for name, flags in (("f", 0), ("g", Flags.THREAD_SAFE), ("h", Flags.ACQUIRES_GIL)):
            def variable(name):
                return "boxed"

            typedcall.tag(variable, "s->s", getenv, flags=flags)
            self.register(variable, name=name)
            # Some rows have no result.
            for names in ("['TYPEDCALL_TEXT', 'TYPEDCALL_NONE', null]",
                          "['TYPEDCALL_TEXT', 'TYPEDCALL_NONE']"):
                found = self.query("select n, %s(n) from (select %s[i %% 3 + 1] as n from range(5000) t(i)"
                                   " where i %% 3 < len(%s))" % (name, names, names))
                self.assertGreater(len(found), 3000)
                self.assertEqual(found, [(each, os.environ.get(each or "")) for each, _ in found])

    def test_blobs(self):
        self.register(buffers.hash, name="typed_hash")
        for data in (b"", b"a\0b", b"x" * 12, bytes(range(256)) * 100):
            self.assertEqual(self.value("typed_hash(?)", data), buffers.hash(data))

    def test_exceptions_in_the_middle_of_the_rows(self):
        self.register(functions.check, name="typed_check")
        self.refuses("ValueError: thirteen", "sum(typed_check(i)) from range(100000) t(i)")
        self.refuses("ValueError: thirteen",
                     "sum(typed_check(if(i % 2 = 0, null, i))) from range(100000) t(i)")
        self.assertEqual(self.value("sum(typed_check(if(i = 13, null, i))) from range(10000) t(i)"),
                         sum(range(10000)) - 13)

    def test_results_of_python_code_that_are_text(self):
        given = []
        self.register(self.tagged(lambda x: given.pop(), "s->s", functions.same_text), name="f")
        self.assertEqual(self.value("f('x')"), "x")
        for result in (None, "t\u00e4xt" * 9, "a\0b", ""):
            given.append(result)
            self.assertEqual(self.value("f('a' || chr(0))"), result)
        for result, message in [
                (3, "TypeError: the function is declared to return a str, not 'int'"),
                ("\ud800", "UnicodeEncodeError")]:
            given.append(result)
            self.refuses(message, "f('a' || chr(0))")

    def test_python_code_gets_the_rows_values(self):
        got = []
        self.register(self.falling_back(lambda x: got.append(x) or -x), name="f")
        found = self.query("select f(if(i % 2 = 0, i * i, -i)) from range(5000) t(i) order by i")
        self.assertEqual(found, [(float(i),) for i in range(5000)])
        self.assertEqual(sorted(got), sorted(-float(i) for i in range(1, 5000, 2)))

    def test_pure_functions_are_called_once_for_a_constant(self):
        self.register(functions.inc)
        self.register(functions.counted)
        self.assertEqual(dict(self.query(
            "select function_name, stability from duckdb_functions()"
            " where function_name in ('inc', 'counted')")), {"inc": "CONSISTENT", "counted": "VOLATILE"})
