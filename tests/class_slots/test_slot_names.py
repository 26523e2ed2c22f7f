# Tests slot IDs by name, which are the same in every module of an interpreter.
import unittest

from at_once import at_once
from slot_tools import find, id_by_name, make


class Names(unittest.TestCase):
    def test_the_same_name_is_the_same_id(self):
        one = id_by_name(b"test.one")
        self.assertEqual(id_by_name(b"test.one"), one)
        self.assertNotEqual(id_by_name(b"test.another"), one)

    def test_ids_are_allocated_ones_of_the_run_time_registrar(self):
        for i in range(300):
            self.assertEqual(id_by_name(b"test.range.%d" % i) & ~0x00fffffe, 0xff000001)

    def test_they_name_slots(self):
        one, other = id_by_name(b"test.c"), id_by_name(b"test.python")
        Base = make({one: 5})

        class X(Base):
            __customslots__ = {other: 6}

        self.assertEqual((find(X(), one), find(X(), other)), (5, 6))
        self.assertIsNone(find(X(), id_by_name(b"test.neither")))

    def test_unicode(self):
        self.assertNotEqual(id_by_name("größe".encode()), id_by_name("grosse".encode()))

    def test_refused(self):
        with self.assertRaisesRegex(ValueError, "needs a name"):
            id_by_name(b"")
        with self.assertRaises(UnicodeDecodeError):
            id_by_name(b"\xff")

    def test_threads_agree(self):
        found = at_once(lambda: [id_by_name(b"test.thread.%d" % i) for i in range(200)], [()] * 8)
        self.assertTrue(all(mine == found[0] for mine in found))
        self.assertEqual(len(set(found[0])), 200)
