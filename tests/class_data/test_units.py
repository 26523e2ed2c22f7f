"""Tests the classes that the C++ and Cython modules define."""

import copy
import importlib
import pickle
import sys

from both_modules import InCpp, InCython


class Cases:
    def test_a_class_for_each_entry(self):
        self.assertEqual(self.Ounce().text(), "1 oz")
        self.assertEqual(self.Ounce(5).text(), "5 oz")
        self.assertEqual(self.Kilogram().text(), "1 kg")
        self.assertEqual(self.Kilogram(amount=5).text(), "5 kg")
        made = {cls.__name__ for cls in self.Mass.__subclasses__() if cls.__module__ == self.module_name}
        self.assertEqual(made, {"Ounce", "Kilogram"})

    def test_they_are_ordinary_classes(self):
        for name in ("Ounce", "Kilogram"):
            cls = getattr(self.module, name)
            self.assertEqual((cls.__module__, cls.__qualname__), (self.module_name, name))
            self.assertEqual(cls.__bases__, (self.Mass,))
            self.assertFalse(hasattr(cls(), "__dict__"))
        self.assertIs(type(self.Mass), type)

    def test_one_metaclass_for_all_and_no_class_of_ours_besides(self):
        self.assertIs(type(self.Ounce), type(self.Kilogram))
        self.assertEqual(type(self.Ounce).__module__, "_extensibletype")
        self.assertIs(type(type(self.Ounce)), type)

    def test_a_class_without_a_unit_says_so(self):
        class Unitless(self.Mass):
            pass

        for cls in (self.Mass, Unitless):
            with self.assertRaisesRegex(TypeError, "<class '.*%s'> has no unit" % cls.__name__):
                cls().text()

    def test_amounts(self):
        self.assertEqual(self.Ounce(3).amount, 3)
        self.assertEqual(self.Ounce(2.5).text(), "2.5 oz")
        self.assertEqual(self.Ounce(10**30).text(), "1%s oz" % ("0" * 30))

        class Rounded(float):
            def __str__(self):
                return "about %d" % self

        self.assertEqual(self.Ounce(Rounded(2.5)).text(), "about 2 oz")
        for wrong in (("5",), (None,), (b"5",), (1, 2)):
            with self.assertRaises(TypeError):
                self.Ounce(*wrong)
        with self.assertRaises(TypeError):
            self.Ounce(nobody=3)
        with self.assertRaises(AttributeError):
            self.Ounce().amount = 4
        ounce = self.Ounce(3)
        ounce.__init__(4)
        self.assertEqual(ounce.text(), "4 oz")
        self.assertEqual(self.Ounce.__new__(self.Ounce).text(), "1 oz")

    def test_other_types_are_refused(self):
        with self.assertRaisesRegex(TypeError, "not safe"):
            object.__new__(self.Ounce)
        for wrong in (int, object, type):
            with self.assertRaises(TypeError):
                self.Ounce.__new__(wrong)
            with self.assertRaises(TypeError):
                self.Ounce.text(wrong)
        self.assertEqual(self.Mass.text(self.Ounce()), "1 oz")
        # Ounce's method accepts an instance of Kilogram.
        self.assertEqual(self.Ounce.text(self.Kilogram()), "1 kg")

    def test_pickle_and_copy(self):
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            for thing in (self.Ounce, self.Ounce(3)):
                again = pickle.loads(pickle.dumps(thing, protocol))
                if thing is self.Ounce:
                    self.assertIs(again, self.Ounce)
                else:
                    self.assertIs(type(again), self.Ounce)
                    self.assertEqual(again.text(), "3 oz")
        for again in (copy.copy(self.Kilogram(3)), copy.deepcopy(self.Kilogram(3))):
            self.assertIs(type(again), self.Kilogram)
            self.assertEqual(again.text(), "3 kg")
        self.assertIs(copy.deepcopy(self.Ounce), self.Ounce)

    def test_attributes_of_subclasses_are_pickled(self):
        unit = WithAttribute[self.module_name](3)
        unit.answer = 42
        again = pickle.loads(pickle.dumps(unit))
        self.assertEqual((again.text(), again.answer), ("3 oz", 42))

    def test_class_assignment_changes_the_unit(self):
        class Heavy(self.Ounce):
            __slots__ = ()

        for unit in (self.Ounce(3), Heavy(3)):
            unit.__class__ = self.Kilogram
            self.assertEqual(unit.text(), "3 kg")
        with self.assertRaises(TypeError):
            self.Ounce().__class__ = int


# Pickle only finds classes at module level.
WithAttribute = {}


def with_attribute(module):
    """Returns a subclass of Ounce whose instances have a __dict__."""

    class Made(module.Ounce):
        def __init__(self, amount=1):
            super().__init__(amount)
            self.answer = 0

    Made.__qualname__ = "WithAttribute_" + module.__name__
    return Made


def setUpModule():
    for case in (Cpp, Cython):
        if case.NO_MODULE:
            continue
        made = with_attribute(importlib.import_module(case.module_name))
        WithAttribute[case.module_name] = made
        setattr(sys.modules[__name__], made.__qualname__, made)


class Cpp(Cases, InCpp):
    pass


class Cython(Cases, InCython):
    pass
