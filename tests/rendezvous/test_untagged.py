# Tests imports of modules with tags where no interface can be used. A tag never stops an import,
# unless the module requires its tags or a tag is faulty.
import unittest

from fresh_process import run

MODULE = "m = sys.modules['_extensibletype'] = types.ModuleType('_extensibletype')\n"
# Code that makes the interface unusable, and a part of the message.
SPOILED = {
    "import other_major": "has ABI version",
    "sys.modules['_extensibletype'] = None": "instead of a module",
    MODULE + "m.typedcall_v2 = 5": "instead of typedcall's interface",
    MODULE + "m.extensibletype_v2 = type": "instead of typedcall's metaclass",
}
# These modules need the side table with every version of Python.
FRONTS = "untagged_cpp", "untagged_c"
WORKS = """
assert module.twice(2.5) == 5.0 and module.Thing().seven() == 7
if hasattr(module, "plain"):
    assert module.plain(2.5) == module.edited(2.5) == 5.0
else:
    assert module.plus(2, y=3) == 5
"""
START = """
import importlib, sys, types, warnings
unraisable = []
def hook(it): unraisable.append((it.exc_type, str(it.exc_value), it.object))
sys.unraisablehook = hook
%s
"""


class Degrades(unittest.TestCase):
    def check(self, front, spoil, words, code):
        with self.subTest(front=front, spoil=spoil):
            code = code.replace("FRONT", repr(front)).replace("WORDS", repr(words))
            run((START % spoil) + code.replace("WORKS", WORKS).replace("SPOIL", spoil))

    def check_all(self, code, without=None):
        for front in FRONTS:
            for spoil, words in SPOILED.items():
                if spoil != without:
                    self.check(front, spoil, words, code)

    def test_one_warning_for_each_module(self):
        self.check_all("""
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    module = importlib.import_module(FRONT)
    again = sys.modules.pop(FRONT)
    module = importlib.import_module(FRONT)
    assert again is not module
assert [each.category for each in told] == [RuntimeWarning], [str(each.message) for each in told]
text = str(told[0].message)
assert text.startswith("typedcall: module " + repr(FRONT)) and WORDS in text, text
assert not unraisable
WORKS
""")

    def test_each_module_is_named(self):
        self.check("untagged_cpp", "import other_major", "", """
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    import untagged_c, untagged_cpp
assert ["untagged_cpp" in str(each.message) for each in told] == [False, True], told
""")

    def test_a_filter_by_the_module(self):
        self.check_all("""
warnings.simplefilter("error")
warnings.filterwarnings("ignore", module=FRONT)
module = importlib.import_module(FRONT)
assert not unraisable, unraisable
WORKS
""")

    def test_a_warning_that_is_an_error_is_unraisable(self):
        self.check_all("""
warnings.simplefilter("error")
module = importlib.import_module(FRONT)
(kind, text, where), = unraisable
assert kind is RuntimeWarning and FRONT in text and WORDS in text and where is module, unraisable
WORKS
""")

    def test_a_hook_of_warnings_that_raises(self):
        self.check_all("""
def showwarning(*arguments, **keywords): raise ValueError("mine")
warnings.simplefilter("always")
warnings.showwarning = showwarning
module = importlib.import_module(FRONT)
assert [each[:2] for each in unraisable] == [(ValueError, "mine")], unraisable
WORKS
""")

    def test_an_interrupt_in_a_hook_of_warnings_is_raised(self):
        for front in FRONTS:
            self.check(front, "import other_major", "", """
def showwarning(*arguments, **keywords): raise KeyboardInterrupt
warnings.simplefilter("always")
warnings.showwarning = showwarning
try: importlib.import_module(FRONT)
except KeyboardInterrupt: assert FRONT not in sys.modules and not unraisable
else: raise AssertionError("imported")
""")

    def test_in_other_interpreters(self):
        self.check_all("""
if sys.version_info >= (3, 13): import _interpreters as interpreters
else: import _xxsubinterpreters as interpreters
code = '''
import importlib, sys, types, warnings
sys.path = %r
SPOIL
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    module = importlib.import_module(FRONT)
assert len(told) == 1, told
WORKS
''' % sys.path
for _ in range(2):
    interpreter = interpreters.create()
    failed = interpreters.run_string(interpreter, code)
    assert failed is None, failed
    interpreters.destroy(interpreter)
""", without="import other_major")  # from 3.12 on, other interpreters refuse that module

    def test_tags_once_the_names_are_free(self):
        for front in FRONTS:
            self.check(front, MODULE + "m.typedcall_v2 = 5", "", """
warnings.simplefilter("ignore")
module = importlib.import_module(FRONT)
del m.typedcall_v2, sys.modules[FRONT]
warnings.simplefilter("error")
module = importlib.import_module(FRONT)
import resolve_consumer
assert resolve_consumer.call_double(module.twice, 2.5) == 5.0 and not unraisable
""")

    def test_tags_in_the_method_need_no_interface(self):
        for front in ("untagged_cpp_flagged", "untagged_cpp_required_flagged"):
            self.check(front, "import other_major", "", """
warnings.simplefilter("error")
module = importlib.import_module(FRONT)
assert not unraisable, unraisable
WORKS
""")


class StillRaise(unittest.TestCase):
    def check(self, module, spoil, code):
        with self.subTest(module=module, spoil=spoil):
            run((START % spoil) + code.replace("MODULE", repr(module)))

    def test_required_tags(self):
        for front in FRONTS:
            for spoil, words in SPOILED.items():
                self.check(front + "_required", spoil, """
warnings.simplefilter("error")
try: importlib.import_module(MODULE)
except ImportError as error: assert %r in str(error), error
else: raise AssertionError("imported")
assert MODULE not in sys.modules and not unraisable
""" % words)
            self.check(front + "_required", "", """
module = importlib.import_module(MODULE)
import resolve_consumer
assert resolve_consumer.call_double(module.twice, 2.5) == 5.0
""")

    def test_malformed_tags(self):
        for front in FRONTS:
            for spoil in ("", "import other_major"):
                self.check(front + "_malformed", spoil, """
warnings.simplefilter("ignore")
try: importlib.import_module(MODULE)
except ValueError as error: assert "class" in str(error) or "d-d" in str(error), error
else: raise AssertionError("imported")
""")

    def test_slots(self):
        for spoil, words in SPOILED.items():
            self.check("provider_a", spoil, """
try: importlib.import_module(MODULE)
except ImportError as error: assert %r in str(error), error
else: raise AssertionError("imported")
""" % words)

    def test_consumers(self):
        for spoil, words in SPOILED.items():
            self.check("resolve_consumer", spoil, """
warnings.simplefilter("ignore")
module = importlib.import_module(MODULE)
import untagged_c
for _ in range(2):
    try: module.call_double(untagged_c.twice, 2.5)
    except ImportError as error: assert %r in str(error), error
    else: raise AssertionError("called")
""" % words)
