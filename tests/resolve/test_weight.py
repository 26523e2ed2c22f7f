"""Tests the size of a consumer with one resolve<double(double)>."""
import os
import platform
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "bench"))
import processes
import weight


class Consumer(unittest.TestCase):
    def test_is_small(self):
        for level, limit in {"-O2": 16000, "-Os": 16000, "-O3": 18000}.items():
            with self.subTest(level=level), tempfile.TemporaryDirectory() as folder:
                made = weight.consumer(os.getcwd(), folder, level)
                # An AArch64 instruction takes four bytes.
                self.assertLessEqual(made[".text"], 22000 if platform.machine() == "aarch64" else limit)
                self.assertLessEqual(made[".bss"], 1000)


class Headers(unittest.TestCase):
    # These headers take the longest to compile.
    HEAVY = {"complex", "functional", "iostream", "map", "memory", "mutex", "sstream"}

    def test_include_no_heavy_ones(self):
        for header in ("provider", "loop"):
            with self.subTest(header=header), tempfile.TemporaryDirectory() as folder:
                source = os.path.join(folder, "included.cc")
                with open(source, "w", encoding="utf-8") as file:
                    file.write('#include "typedcall/%s.h"\n' % header)
                said = processes.run(weight.command(os.getcwd(), "-M", source)).out
                names = {os.path.basename(path) for path in said.split()}
                self.assertIn("utility", names)
                self.assertEqual(sorted(names & self.HEAVY), [])
