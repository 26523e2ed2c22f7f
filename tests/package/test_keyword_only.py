"""Functions of which Python passes the last parameters by name only: what who calls the C function, which has
all of them in order, does with these names; and what is called where it falls back or one does not fit."""

import unittest

import adapter_support
import support
import typedcall

functions = support.build("keyword_only_functions")


class Calls(unittest.TestCase):
    def test_tag(self):
        """What the text signature says, tag() reads, and holds what it is told against it."""
        address = typedcall.entries(functions.last)[0].address

        def function(x, y, *, z):
            return x * y * z

        # PyPy's inspect.signature() shows the module, too.
        text = "(" + functions.last.__text_signature__.partition(", ")[2]
        typedcall.tag(function, "ddd->d", address, parameters=text)
        typed = typedcall.resolve(function, "ddd->d")
        self.assertEqual((typed(1, b=2), typed(1, 2, c=3)), (129.0, 123.0))
        with self.assertRaises(TypeError):
            typed(1, 2, 3)

    def test_buffers(self):
        values = memoryview(bytearray(16)).cast("d")
        values[0] = 1.5
        typed = typedcall.resolve(functions.sum, "*kdd->d")
        self.assertEqual((typed(values), typed(values, start=1.0)), (1.5, 2.5))
        with self.assertRaises(TypeError):
            typed(values, 1.0)


class ByPosition(unittest.TestCase):
    """Callers that have no names pass all arguments in order. The Python function gets them by name: of buffers and
    arrays; test_matrix.py has the sinks of numbers."""

    @support.ON_CPYTHON
    def test_ufunc(self):
        numpy = adapter_support.library("numpy")
        from typedcall import ufunc

        root = ufunc(functions.root)
        self.assertEqual(list(root(numpy.array([4.0, -4.0]), 3.0)), [6.0, -12.0])
        with self.assertRaisesRegex(OverflowError, r"narrow\(\) argument 'x'"):
            ufunc(functions.narrow)(numpy.array([4, 2**40]), 3)
        self.assertEqual(ufunc(functions.sum)(numpy.array([1.0, 2.0]), 0.5), 3.5)

    @support.ON_CPYTHON
    def test_callback(self):
        """It is the function's, whatever it calls; test_matrix.py calls it."""
        made = typedcall.callback(functions.root, "double(double x, double y, void *)")
        self.assertIs(made.callable, functions.root)


if __name__ == "__main__":
    unittest.main()
