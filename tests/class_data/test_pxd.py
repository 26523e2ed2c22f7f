"""Tests that everything in core/*.pxd exists and behaves as in C."""

import abc
import glob
import os
import re
import unittest

NO_CYTHON = os.environ.get("TYPEDCALL_NO_CYTHON", "")

if not NO_CYTHON:
    import pxd_module


def declared():
    """Returns (header, name) of every declared macro and function."""
    for path in sorted(glob.glob("core/*.pxd")):
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"#.*", "", file.read())
        for name in re.findall(r"\b(Py(?:CustomSlots?|ExtensibleType|Typedcall)_\w+)\b", text):
            yield path[:-len("pxd")] + "h", name


class Declarations(unittest.TestCase):
    def test_the_headers_have_every_name(self):
        headers = ""
        for path in glob.glob("core/**/*.h", recursive=True):
            with open(path, encoding="utf-8") as file:
                headers += file.read()
        names = {name for _, name in declared()} - {"PyCustomSlot_Data"}  # an unnamed union in C
        self.assertGreater(len(names), 20)
        for name in sorted(names):
            self.assertRegex(headers, r"\b%s\b" % name)

    def test_every_pxd_has_its_header(self):
        found = [path for path in glob.glob("core/*.pxd") if "__init__" not in path]
        self.assertEqual(len(found), 3)
        for path in found:
            self.assertTrue(os.path.exists(path[:-len("pxd")] + "h"), path)


@unittest.skipIf(NO_CYTHON, NO_CYTHON)
class Calls(unittest.TestCase):
    def test_ids(self):
        self.assertEqual((pxd_module.ID_EMPTY, pxd_module.ID_SKIP), (0, 1))
        self.assertEqual(pxd_module.REGISTRARS, (0, 1, 2, 3, 4, 5, 0xFF))
        self.assertEqual(pxd_module.ID_NATIVECALLABLE, 0x04000001)
        made = pxd_module.make_id(1, 0x6772, 3)
        self.assertEqual(made, 0x01677207)
        self.assertEqual(pxd_module.parts(made), (1, 0x6772, 3))
        self.assertEqual(pxd_module.kind(made), (True, True))
        self.assertEqual(pxd_module.kind(1), (False, False))
        self.assertEqual(pxd_module.kind(0x1000), (True, False))
        self.assertTrue(pxd_module.pointer_id_is_the_address())

    def test_ids_by_name(self):
        one = pxd_module.id_by_name(b"test_pxd.one")
        self.assertEqual(pxd_module.parts(one)[0], 0xFF)
        self.assertEqual(pxd_module.id_by_name(b"test_pxd.one"), one)
        self.assertNotEqual(pxd_module.id_by_name(b"test_pxd.two"), one)
        with self.assertRaises(ValueError):
            pxd_module.id_by_name(b"")

    def test_a_class_from_a_spec(self):
        first = pxd_module.make_id(1, 1, 0)
        cls = pxd_module.make(first, 7, 16, object)
        for made in (cls, type(cls)("Sub", (cls,), {})):
            self.assertEqual(pxd_module.read(made(), first, 0), (7, True, 2, 0))
            self.assertEqual(pxd_module.offset(made(), first + 2), 16)
            self.assertEqual(pxd_module.find_without_the_gil(made(), first), 7)
        self.assertEqual(pxd_module.read(5, first, 0), (None, False, 0, None))
        self.assertIs(type(cls), pxd_module.metaclass())
        with self.assertRaises(ValueError):
            pxd_module.make(1 << 40 | 1, 7, 16, object)
        with self.assertRaises(TypeError):
            pxd_module.make(first, 7, 16, bool)

    def test_combined_metaclass(self):
        meta = pxd_module.combined(abc.ABCMeta)
        self.assertTrue(issubclass(meta, abc.ABCMeta))
        self.assertTrue(issubclass(meta, pxd_module.metaclass()))
        with self.assertRaises(TypeError):
            pxd_module.combined(int)
