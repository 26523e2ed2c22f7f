# Tests imports when other objects already have our names. The import must raise ImportError and
# change nothing.
import os
import tempfile
import unittest

from fresh_process import run

# `squat` and `leave` are code, and `words` is a part of the message.
CODE ="""
import sys, types
%(squat)s
before = dict(vars(m)) if isinstance(m, types.ModuleType) else None
for name in ("provider_a", "provider_b", "provider_a"):
    try:
        __import__(name)
    except ImportError as error:
        assert %(words)r in str(error), error
        assert type(error) is ImportError and error.__cause__ is None, error
    else:
        raise AssertionError("imported")
if before is not None:
    for name, value in before.items():
        assert vars(m)[name] is value, name
import abi_probe
assert abi_probe.find(object(), 1) is None
%(leave)s
import provider_a, provider_b
class Both(provider_b.Type, provider_a.Type): pass
assert provider_a.find(Both(), 2) == 22 and abi_probe.find(Both(), 1) == 11
"""
MODULE = "m = sys.modules['_extensibletype'] = types.ModuleType('_extensibletype')\n"


class Squatters(unittest.TestCase):
    def check(self, squat, words, leave):
        with self.subTest(squat):
            run(CODE % dict(squat=squat, words=words, leave=leave))

    def test_the_module_s_name(self):
        words = "sys.modules['_extensibletype'] is a '"
        for squatter, kind in (("None", "NoneType"), ("object()", "object"), ("{}", "dict"),
                               ("types.SimpleNamespace(typedcall_v2=1)", "types.SimpleNamespace"),
                               ("type('_extensibletype', (), {})", "type")):
            self.check("m = sys.modules['_extensibletype'] = " + squatter, words + kind + "' instead of a module",
                       "del sys.modules['_extensibletype']")

    def test_the_capsule_s_name(self):
        words = "_extensibletype.typedcall_v2 is a '"
        for squatter, kind in (("5", "int"), ("None", "NoneType"), ("m", "module"),
                               ("__import__('_datetime').datetime_CAPI", "PyCapsule")):
            self.check(MODULE + "m.typedcall_v2 = " + squatter, words + kind + "' instead of typedcall's interface",
                       "del m.typedcall_v2")

    def test_the_metaclass_s_name(self):
        words = "_extensibletype.extensibletype_v2 is a '"
        for squatter in ("type", "None", "5", "types.new_class('M', (type,))", "m"):
            self.check(MODULE + "m.extensibletype_v2 = " + squatter, words,
                       "del m.extensibletype_v2")

    def test_the_metaclass_is_replaced_later(self):
        run("""
import sys, provider_a
meta = provider_a.metaclass()
m = sys.modules['_extensibletype']
m.extensibletype_v2 = type
try: import provider_b
except ImportError as error: assert "is a 'type' instead of typedcall's metaclass" in str(error), error
else: raise AssertionError
class C(provider_a.Type): pass
assert type(C) is meta and provider_a.find(C(), 1) == 11
m.extensibletype_v2 = meta
import provider_b
assert provider_b.metaclass() is meta
""")

    def test_our_capsule_under_another_interpreter_s_roof_is_ours(self):
        """Our capsule may be in a module object that other code has made."""
        run("""
import sys, types, provider_a
old = sys.modules['_extensibletype']
class Theirs(types.ModuleType):
    def __getattr__(self, name): raise RuntimeError(name)
    def __setattr__(self, name, value): raise RuntimeError(name)
m = sys.modules['_extensibletype'] = Theirs('_extensibletype')
import provider_b
assert provider_b.metaclass() is provider_a.metaclass()
assert vars(m)['typedcall_v2'] is old.typedcall_v2
""")


class HarmlessNeighbours(unittest.TestCase):
    def test_a_file_of_that_name(self):
        """The providers must also work if a file has this name."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "_extensibletype.py"), "w") as file:
                file.write("extensibletype_v1 = 'theirs'\n")
            for order in ("import _extensibletype, provider_a",
                          "import provider_a, _extensibletype"):
                run("""
import sys
sys.path.insert(0, %r)
%s
import provider_b
assert provider_b.metaclass() is provider_a.metaclass() is _extensibletype.extensibletype_v2
assert getattr(_extensibletype, "extensibletype_v1", "theirs") == "theirs"
""" % (folder, order))

    def test_a_package_of_that_name(self):
        run("""
import sys, types
m = sys.modules['_extensibletype'] = types.ModuleType('_extensibletype')
m.__path__ = []
import provider_a
import _extensibletype
assert _extensibletype is m and m.extensibletype_v2 is provider_a.metaclass()
""")

    def test_a_strange_sys_modules(self):
        run("""
import sys
class Modules(dict):
    def __setitem__(self, key, value):
        if "extensible" in key: raise RuntimeError(key)
        dict.__setitem__(self, key, value)
    def setdefault(self, *args): raise RuntimeError
sys.modules = Modules(sys.modules)
import provider_a, provider_b
assert provider_a.metaclass() is provider_b.metaclass()
""")
