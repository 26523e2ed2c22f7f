"""A consumer has the interface and not the providers' half: what one resolve<double(double)> weighs."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "bench"))
import weight


class Consumer(unittest.TestCase):
    def test_is_small(self):
        for level in ("-O2", "-Os", "-O3"):
            with self.subTest(level=level), tempfile.TemporaryDirectory() as folder:
                made = weight.consumer(os.getcwd(), folder, level)
                self.assertLessEqual(made[".text"], 20000)
                self.assertLessEqual(made[".bss"], 1000)


if __name__ == "__main__":
    unittest.main()
