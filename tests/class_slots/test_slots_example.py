"""Tests examples/slots: every consumer finds the slots of every provider."""
import os
import pathlib
import re
import unittest

import extent
import measured
import ramp
import samples
import slot_tools
import total

EXAMPLE = pathlib.Path(os.environ["EXAMPLE"])
VTABLE, MEMORY = 0x016E7601, 0x016E6D01
UNIT = id(measured.Measured)  # a pointer ID is an object's address


class Example(unittest.TestCase):
    def test_many_to_many(self):
        class Named(ramp.Ramp):
            __slots__ = ("name",)

        class Deep(samples.Samples):
            pass

        for made, expected in ((ramp.Ramp(0.0, 0.5, 5), (5.0, 0.0, 2.0, "s")),
                               (Named(0.0, 0.5, count=5), (5.0, 0.0, 2.0, "s")),
                               (samples.Samples([2, 3.5, -1]), (4.5, -1.0, 3.5, None)),
                               (Deep(numbers=iter([2, 3.5, -1])), (4.5, -1.0, 3.5, None))):
            with self.subTest(type(made)):
                self.assertEqual((total.total(made), *extent.extent(made)), expected)

    def test_positions_are_those_agreed_on(self):
        for cls, ids in ((ramp.Ramp, [VTABLE, 0x1, UNIT]), (samples.Samples, [VTABLE, MEMORY])):
            with self.subTest(cls):
                table = slot_tools.table(cls.__new__(cls) if cls is ramp.Ramp else cls([]))
                self.assertEqual([slot for slot, _ in table], ids)
        # A skipped position is not a slot.
        self.assertEqual(slot_tools.table(ramp.Ramp(0, 0, 0))[1], (0x1, 0))
        self.assertIsNone(slot_tools.find(ramp.Ramp(0, 0, 0), 0x1, 1))

    def test_the_pointer_id_lives_as_long_as_the_type(self):
        self.assertIs(ramp.Ramp.interface, measured.Measured)
        self.assertEqual(UNIT & 1, 0)

    def test_what_has_no_numbers(self):
        for ask in (total.total, extent.extent):
            for other in ([1.0], 5, None, ramp.Ramp, ramp):
                with self.assertRaisesRegex(TypeError, r"^a [\w.]*%s has no numbers$" % type(other).__name__):
                    ask(other)
        self.assertEqual((total.total(samples.Samples([])), total.total(ramp.Ramp(1, 1, -3))), (0.0, 0.0))
        with self.assertRaisesRegex(ValueError, "no numbers in it"):
            extent.extent(ramp.Ramp(1, 1, 0))
        with self.assertRaises(MemoryError):
            total.total(ramp.Ramp(0, 1, 2**62))
        with self.assertRaises(TypeError):
            samples.Samples([1.0, "2"])

    def test_no_file_knows_another(self):
        files = sorted(EXAMPLE.glob("*.c"))
        self.assertEqual(len(files), 5)
        for path in files:
            included = re.findall(r'#include "(.*)"', path.read_text(encoding="utf-8"))
            self.assertEqual([name for name in included if not name.startswith("core/")], ["agreed.h"], path)
        for name in ("total", "extent"):  # consumers install nothing
            self.assertNotIn("xtensible", (EXAMPLE / (name + ".c")).read_text(encoding="utf-8"))
