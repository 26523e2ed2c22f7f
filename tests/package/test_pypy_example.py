"""The example in examples/pypy, on PyPy and on CPython, where it changes nothing."""
import unittest

import adapter_support
import support


class TheExample(adapter_support.Example):
    def test_it_runs(self):
        printed = self.run_example("pypy")
        self.assertIn("ns a step boxed", printed)
        self.assertIn("energy: ", printed)
        if support.IS_PYPY:
            self.assertIn("pendulum: 2 accelerated", printed)
            self.assertIn("not period: 'd->d' (needs the GIL, may raise)", printed)
        else:
            self.assertIn("nothing is installed", printed)


if __name__ == "__main__":
    unittest.main()
