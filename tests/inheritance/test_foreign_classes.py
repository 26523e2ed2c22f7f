# Tests subclasses that are made by a C extension without our headers.
import gc
import sys
import unittest
import weakref

from collected import only_if
import foreign_classes as foreign
from slot_ids import bare, check_answers, slots
from slot_tools import Metaclass, make

Base = make(slots(None, (1, 11), (2, 22)))
Other = make(slots((2, 222), (3, 333)))
BASE = slots(None, (1, 11), (2, 22))
BASE_OTHER = slots(None, (1, 11), (2, 22), (3, 333))


class Plain:
    pass


class Meta(Metaclass):
    pass


class Forgetful(Metaclass):
    def __init__(cls, *args):
        pass


# Functions that make a class from `bases`.
CALLS = {
    "type called": lambda bases: foreign.by_type_call(bases, {}),
    "type called, namespace": lambda bases: foreign.by_type_call(bases, {"__slots__": ("a",)}),
    "metaclass called": lambda bases: foreign.by_metaclass_call(bases, {}),
    "type's tp_new, our metaclass": lambda bases: foreign.by_type_new(Metaclass, bases),
    "type's tp_new, a derived one": lambda bases: foreign.by_type_new(Meta, bases),
    "type's tp_new, `type`": lambda bases: foreign.by_type_new(type, bases),
}
SPECS = {
    "PyType_FromSpecWithBases": foreign.by_spec,
    "PyType_FromModuleAndSpec": foreign.by_module_and_spec,
}
if sys.version_info >= (3, 12):
    SPECS["PyType_FromMetaclass, NULL"] = lambda bases: foreign.by_from_metaclass(None, bases)
    CALLS.update({
        "PyType_FromMetaclass, ours":
            lambda bases: foreign.by_from_metaclass(Metaclass, bases),
        "PyType_FromMetaclass, a derived one":
            lambda bases: foreign.by_from_metaclass(Meta, bases),
        "PyType_FromMetaclass, a forgetful one":
            lambda bases: foreign.by_from_metaclass(Forgetful, bases),
    })


class ForeignClasses(unittest.TestCase):
    def check(self, function, bases, expected):
        cls = function(bases)
        child = type(cls)("Child", (cls,), {})
        check_answers(self, bare(child), expected)
        check_answers(self, bare(cls), expected)
        check_answers(self, bare(type(cls)("Late", (cls, Plain), {})), expected)
        dead = weakref.ref(cls)
        del cls, child
        for _ in range(3):
            gc.collect()
        self.assertIsNone(dead())

    def test_calls(self):
        for name, function in CALLS.items():
            with self.subTest(name):
                self.check(function, (Base,), BASE)
                self.check(function, (Base, Other), BASE_OTHER)
                if name != "metaclass called":
                    self.check(function, (Plain, Base), BASE)

    def test_calls_that_are_refused(self):
        for name, function in CALLS.items():
            for bases in ((Base, Base), (Base, bool), (Base, 5)):
                with self.subTest(name):
                    self.assertRaises(TypeError, function, bases)
        check_answers(self, Base(), BASE)

    @only_if(sys.version_info >= (3, 12))  # older versions ignore the metaclass of the bases
    def test_specs(self):
        for name, function in SPECS.items():
            with self.subTest(name):
                self.check(function, (Base,), BASE)
                self.check(function, (Plain, Base), BASE)
                self.check(function, (Base, Other), BASE_OTHER)

    @only_if(sys.version_info < (3, 12))  # newer versions use the metaclass of the bases
    def test_specs_whose_classes_get_type_as_their_metaclass(self):
        """Such a class is not extensible, but a subclass with our metaclass inherits all slots."""
        for name, function in SPECS.items():
            with self.subTest(name):
                self.check(function, (Base,), None)
                self.check(function, (Base, Other), None)
                cls = function((Base, Other))
                self.assertIs(type(cls), type)
                check_answers(self, Metaclass("C", (cls,), {})(), BASE_OTHER)
                check_answers(self, type("C", (cls, Base), {})(), BASE_OTHER)
                check_answers(self, Metaclass("C", (Plain, cls), {})(), BASE_OTHER)

    def test_mixed_with_classes_of_its_own(self):
        theirs = foreign.by_spec((Plain,))
        self.assertIs(type(theirs), type)
        check_answers(self, bare(theirs), None)
        check_answers(self, bare(type("C", (theirs, Base), {})), BASE)
        check_answers(self, bare(foreign.by_type_call((theirs, Base, Other), {})), BASE_OTHER)

    def test_metaclass_new_with_bases_that_have_a_more_derived_one(self):
        derived = Meta("D", (Base,), {})
        cls = foreign.by_type_new(Metaclass, (derived,))
        self.assertIs(type(cls), Meta)
        check_answers(self, bare(cls), BASE)
