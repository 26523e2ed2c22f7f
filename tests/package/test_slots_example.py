"""Tests examples/slots with NumPy."""

import adapter_support
import support

support.module_only_if(not support.IS_PYPY, "for CPython: PyPy has no slots on types")

EXAMPLE = adapter_support.EXAMPLES / "slots"


class WithNumPy(adapter_support.Example):
    @classmethod
    def setUpClass(cls):
        cls.numpy = adapter_support.library("numpy")

    def setUp(self):
        super().setUp()
        for source in EXAMPLE.glob("*.c"):
            support.compile_module(source, self.folder, flags=["-Wall", "-Wextra", "-Werror"])

    def test_the_demo_prints_what_its_readme_says(self):
        printed = self.run_example("slots")
        self.assertEqual(len(printed.splitlines()), 12)
        self.assertIn("".join("    " + line + "\n" for line in printed.splitlines()),
                      (EXAMPLE / "README.md").read_text(encoding="utf-8"))

    def test_arrays(self):
        program = """
import numpy, extent, total
print(*outcomes(lambda: extent.extent(numpy.ones(2))))      # it has no slots yet
import ndarray_slots
class Sub(numpy.ndarray): pass
class Own(ndarray_slots.Array): pass
plain = numpy.arange(6.0)
for each in (plain, plain[::-2], plain.view(Sub), plain.view(numpy.matrix)[0].A1, plain.view(Own)):
    print(type(each).__name__, *outcomes(lambda: extent.extent(each), lambda: total.total(each)))
for wrong in (numpy.arange(6), numpy.ones((2, 2)), numpy.float64(1), plain.astype('f').view(Own)):
    print(type(wrong).__name__, *outcomes(lambda: extent.extent(wrong)))
plain[:] = 7
print(plain.view(Own).base is plain, extent.extent(plain.view(Own)))
"""
        status, printed, errors = support.python("-c", """
def outcomes(*calls):
    for call in calls:
        try: yield call()
        except Exception as error: yield type(error).__name__ + ": " + str(error)
""" + program, paths=[self.folder, EXAMPLE])
        self.assertEqual((status, errors), (0, ""))
        foreign = "TypeError: a numpy.ndarray has no numbers"
        self.assertEqual(printed.splitlines(), [
            foreign,
            "ndarray (0.0, 5.0, None) " + foreign,
            "ndarray (1.0, 5.0, None) " + foreign,
            "Sub (0.0, 5.0, None) TypeError: a Sub has no numbers",
            "ndarray (0.0, 5.0, None) " + foreign,
            "Own (0.0, 5.0, None) 15.0",
            "ndarray TypeError: numbers are float64, in one dimension",
            "ndarray TypeError: numbers are float64, in one dimension",
            "float64 TypeError: a numpy.float64 has no numbers",
            "Own TypeError: numbers are float64, in one dimension",
            "True (7.0, 7.0, None)",
        ])
