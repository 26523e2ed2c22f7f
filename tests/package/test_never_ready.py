"""Tests callables whose static type was never made ready: its `ob_type`, MRO and dictionary are NULL. CPython calls
such objects, shows them, and makes the type ready when it needs to."""
import sqlite3
import types
import unittest

import support

support.module_only_if(not support.IS_PYPY, "the module is a consumer in C++")

import typedcall
import typedcall.tvm_ffi
from typedcall import sql
from typedcall.tools import foreign

never_ready = support.build("never_ready")
ADDRESS = typedcall.entries(never_ready.plus_one)[0].address
REFUSING = ("resolve", "ctypes_function", "cffi_function", "ufunc", "low_level_callable")


class NeverReady(unittest.TestCase):
    """Each test takes a new type, because the first use may make a type ready."""

    def setUp(self):
        self.function = never_ready.instance(False)

    def test_it_is_called(self):
        self.assertEqual(self.function(3.0), 1.5)
        self.assertIn("never_ready.Static", repr(self.function))

    def test_nothing_is_offered(self):
        self.assertEqual(typedcall.entries(self.function), [])
        self.assertEqual(typedcall.signatures(never_ready.instance(False)), [])
        self.assertEqual(typedcall.publish(never_ready.instance(False)), [])
        self.assertFalse(typedcall.untag(never_ready.instance(False)))

    def test_the_refusals(self):
        for name in REFUSING:
            arguments = ("d->d",) if name == "resolve" else ()
            with self.subTest(name):
                try:
                    getattr(typedcall, name)(never_ready.instance(False), *arguments)
                except ImportError:
                    continue  # the library is not there
                except TypeError as error:
                    self.assertIn("Static", str(error))
                else:
                    self.fail("it was accepted")
        with self.assertRaisesRegex(TypeError, "Static"):
            typedcall.callback(never_ready.instance(False), "double(double)")

    def test_a_tag(self):
        typedcall.tag(self.function, "d->d", ADDRESS)
        self.assertEqual((typedcall.resolve(self.function, "d->d")(3.0), self.function(3.0)), (4.0, 1.5))
        self.assertEqual(never_ready.resolved(self.function, 3.0), 4.0)

    def test_a_tag_with_parameters(self):
        typedcall.tag(self.function, "d->d", ADDRESS, parameters="(x)")
        self.assertEqual(typedcall.resolve(self.function, "d->d")(x=3.0), 4.0)

    def test_add(self):
        typedcall.add_overloads(self.function, "d->d", ADDRESS)
        self.assertEqual(typedcall.signatures(self.function), ["d->d"])

    def test_a_module_that_has_it(self):
        module = types.ModuleType("module")
        module.f = self.function
        with self.assertRaises((TypeError, AttributeError, OSError)):
            typedcall.tag_module(module, {"f": "d->d"})

    def test_it_is_no_argument_of_tag(self):
        for arguments in [("d->d", self.function), (["d->d"], never_ready.instance(False)),
                          (never_ready.instance(False), 1)]:
            with self.subTest(arguments=arguments), self.assertRaisesRegex(TypeError, "Static"):
                typedcall.tag(never_ready.among_two, *arguments)
        for flags in never_ready.instance(False), [never_ready.instance(False)]:
            with self.subTest(flags=flags), self.assertRaisesRegex(TypeError, "Static"):
                typedcall.tag(never_ready.instance(False), "d->d", ADDRESS, flags=flags)

    def test_the_sinks_of_sql(self):
        connection = sqlite3.connect(":memory:")
        self.addCleanup(connection.close)
        for at, given in enumerate([(connection, self.function, "f"), (never_ready.instance(False), never_ready.plus_one, "f"),
                      (connection, never_ready.plus_one, never_ready.instance(False))]):
            with self.subTest(at), self.assertRaisesRegex(TypeError, "Static"):
                sql.register(*given[:2], name=given[2])

    def test_other_arguments(self):
        bad, one = never_ready.instance, never_ready.plus_one
        for at, call in enumerate((lambda: typedcall.callback(one, bad(False)),
                     lambda: typedcall.callback(one, "double(double)", arrays={"x": (bad(False), bad(False))}),
                     lambda: typedcall.ufunc(one, name=bad(False)), lambda: typedcall.ufunc(one, signature=bad(False)),
                     lambda: typedcall.low_level_callable(one, bad(False)),
                     lambda: typedcall.tvm_ffi.typed_function(bad(False), "d->d"), lambda: typedcall.resolve(one, bad(False)),
                     lambda: typedcall.tag_module(bad(False), {}), lambda: typedcall.tag_module(never_ready, bad(False)),
                     lambda: typedcall.tag_module(never_ready, {"plus_one": bad(False)}))):
            with self.subTest(at):
                try:
                    call()
                except ImportError:
                    continue  # the library is not there
                except (TypeError, AttributeError) as error:
                    self.assertIn("Static", str(error))
                else:
                    self.fail("it was accepted")

    def test_checks_of_foreign_objects(self):
        self.assertFalse(foreign.is_a(self.function, int))
        self.assertEqual(foreign.type_name(never_ready.instance(False)), "Static")
        self.assertIn("Static", foreign.name_of(never_ready.instance(False)))

    def test_cpp_looks_it_up(self):
        with self.assertRaisesRegex(TypeError, "never_ready.Static"):
            never_ready.resolved(self.function, 3.0)

    def test_cpp_finds_its_tag(self):
        typedcall.tag(self.function, "d->d", ADDRESS)
        self.assertEqual(never_ready.resolved(self.function, 3.0), 4.0)

    def test_slots(self):
        self.assertFalse(never_ready.has_slot(self.function))
        self.assertTrue(never_ready.register_slot(self.function))

    def test_an_argument(self):
        self.assertEqual(never_ready.among_two(never_ready.instance(True)), 5.0)
        with self.assertRaisesRegex(TypeError, "among_two"):
            never_ready.among_two(self.function)
        with self.assertRaises(TypeError):
            typedcall.resolve(never_ready.plus_one, "d->d")(never_ready.instance(False))


if __name__ == "__main__":
    unittest.main()
