"""The README's Python example does what it says."""
import math
import pathlib
import re
import unittest

import support

README = pathlib.Path(__file__).resolve().parents[2] / "README.md"


@unittest.skipIf(support.IS_PYPY, "PyPy's math.erf is no function of an extension module")
class Readme(unittest.TestCase):
    def test_the_python_block(self):
        blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
        self.assertEqual(len(blocks), 1)
        scope = {}
        exec(blocks[0], scope)
        import typedcall
        self.addCleanup(typedcall.untag, math.erf)
        self.assertEqual(typedcall.signatures(math.erf), ["d->d"])
        self.assertEqual(scope["f"](0.5), math.erf(0.5))
        self.assertNotEqual(scope["f"].address, 0)


if __name__ == "__main__":
    unittest.main()
