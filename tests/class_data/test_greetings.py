"""Tests the classes that the C++ and Cython modules define."""

import copy
import importlib
import pickle
import sys

from both_modules import InCpp, InCython


class Cases:
    def test_a_class_for_each_entry(self):
        self.assertEqual(self.Hello().greet(), "Hello World!")
        self.assertEqual(self.Hello("you").greet(), "Hello you!")
        self.assertEqual(self.GoodMorning().greet(), "Good morning World!")
        self.assertEqual(self.GoodMorning(name="you").greet(), "Good morning you!")
        made = {cls.__name__ for cls in self.Greet.__subclasses__() if cls.__module__ == self.module_name}
        self.assertEqual(made, {"Hello", "GoodMorning"})

    def test_they_are_ordinary_classes(self):
        for name in ("Hello", "GoodMorning"):
            cls = getattr(self.module, name)
            self.assertEqual((cls.__module__, cls.__qualname__), (self.module_name, name))
            self.assertEqual(cls.__bases__, (self.Greet,))
            self.assertFalse(hasattr(cls(), "__dict__"))
        self.assertIs(type(self.Greet), type)

    def test_one_metaclass_for_all_and_no_class_of_ours_besides(self):
        self.assertIs(type(self.Hello), type(self.GoodMorning))
        self.assertEqual(type(self.Hello).__module__, "_extensibletype")
        self.assertIs(type(type(self.Hello)), type)

    def test_a_class_without_a_greeting_says_so(self):
        class Mute(self.Greet):
            pass

        for cls in (self.Greet, Mute):
            with self.assertRaisesRegex(TypeError, "<class '.*%s'> has no greeting" % cls.__name__):
                cls().greet()

    def test_names(self):
        self.assertEqual(self.Hello("x").name, "x")
        self.assertEqual(self.Hello("\u00fc\U0001f600").greet(), "Hello \u00fc\U0001f600!")
        self.assertEqual(self.Hello(type("Text", (str,), {})("x")).greet(), "Hello x!")
        for wrong in ((5,), (None,), (b"x",), ("a", "b")):
            with self.assertRaises(TypeError):
                self.Hello(*wrong)
        with self.assertRaises(TypeError):
            self.Hello(nobody="x")
        with self.assertRaises(AttributeError):
            self.Hello().name = "y"
        hello = self.Hello("x")
        hello.__init__("y")
        self.assertEqual(hello.greet(), "Hello y!")
        self.assertEqual(self.Hello.__new__(self.Hello).greet(), "Hello World!")

    def test_other_types_are_refused(self):
        with self.assertRaisesRegex(TypeError, "not safe"):
            object.__new__(self.Hello)
        for wrong in (int, object, type):
            with self.assertRaises(TypeError):
                self.Hello.__new__(wrong)
            with self.assertRaises(TypeError):
                self.Hello.greet(wrong)
        self.assertEqual(self.Greet.greet(self.Hello()), "Hello World!")
        # Hello's method accepts an instance of GoodMorning.
        self.assertEqual(self.Hello.greet(self.GoodMorning()), "Good morning World!")

    def test_pickle_and_copy(self):
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            for thing in (self.Hello, self.Hello("x")):
                again = pickle.loads(pickle.dumps(thing, protocol))
                if thing is self.Hello:
                    self.assertIs(again, self.Hello)
                else:
                    self.assertIs(type(again), self.Hello)
                    self.assertEqual(again.greet(), "Hello x!")
        for again in (copy.copy(self.GoodMorning("x")), copy.deepcopy(self.GoodMorning("x"))):
            self.assertIs(type(again), self.GoodMorning)
            self.assertEqual(again.greet(), "Good morning x!")
        self.assertIs(copy.deepcopy(self.Hello), self.Hello)

    def test_attributes_of_subclasses_are_pickled(self):
        greeting = WithAttribute[self.module_name]("x")
        greeting.answer = 42
        again = pickle.loads(pickle.dumps(greeting))
        self.assertEqual((again.greet(), again.answer), ("Hello x!", 42))

    def test_class_assignment_changes_the_greeting(self):
        class Friendly(self.Hello):
            __slots__ = ()

        for greeting in (self.Hello("x"), Friendly("x")):
            greeting.__class__ = self.GoodMorning
            self.assertEqual(greeting.greet(), "Good morning x!")
        with self.assertRaises(TypeError):
            self.Hello().__class__ = int


# Pickle only finds classes at module level.
WithAttribute = {}


def with_attribute(module):
    """Returns a subclass of Hello whose instances have a __dict__."""

    class Made(module.Hello):
        def __init__(self, name="World"):
            super().__init__(name)
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
