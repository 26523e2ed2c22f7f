"""Tests typedcall.accelerate_imports: modules are accelerated when they are imported or reloaded."""
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import pathlib
import shutil
import sys
import textwrap
import types
import unittest

import support
from accelerated import ON_PYPY
from typedcall import accelerate_imports
from typedcall.pypy import restore, wrapper_of


class OnEveryInterpreter(unittest.TestCase):
    def test_names_must_be_strings(self):
        for names in ([1], [None, "a"], [b"a"]):
            with self.assertRaisesRegex(TypeError, "names of modules"):
                accelerate_imports(names)
        with self.assertRaises(TypeError):
            accelerate_imports(3)

    @support.ON_CPYTHON  # CPython's behaviour
    def test_nothing_on_cpython(self):
        before = list(sys.meta_path)
        with accelerate_imports("*") as hook:
            self.assertEqual(sys.meta_path, before)
            self.assertFalse(hook.active)
            self.assertEqual(hook.results, {})


@ON_PYPY
class Imports(support.InAFolder):
    def setUp(self):
        super().setUp()
        folder = self.folder
        name = "typed_functions"
        suffix = importlib.machinery.EXTENSION_SUFFIXES[0]
        compiled = next(pathlib.Path(support.module_folder(name)).glob(name + ".*"))
        package = folder / "hooked_package"
        package.mkdir()
        shutil.copy(compiled, folder / compiled.name)
        shutil.copy(compiled, package / compiled.name)
        (package / "__init__.py").write_text("from .typed_functions import inc, div\n")
        (package / "plain.py").write_text("from .typed_functions import add\nvalue = 1\n")
        (folder / "hooked_plain.py").write_text(
            "import typed_functions\ninc = typed_functions.inc\n")
        (folder / "hooked_empty").mkdir()
        (folder / "hooked_fails.py").write_text("raise RuntimeError('as it should')\n")
        self.suffix = suffix
        path, modules, finders = list(sys.path), dict(sys.modules), list(sys.meta_path)
        sys.path.insert(0, str(folder))
        sys.modules.pop(name, None)

        def put_back():
            sys.path[:] = path
            sys.meta_path[:] = finders
            for new in set(sys.modules) - set(modules):
                if new.startswith(("hooked", name)):
                    del sys.modules[new]
            sys.modules.update(modules)
            for other in ("typed_functions", "pypy_functions"):  # "*" also matches modules of other tests
                if other in modules:
                    restore(modules[other])

        self.addCleanup(put_back)
        importlib.invalidate_caches()

    def is_accelerated(self, function):
        return wrapper_of(function) is not None

    def test_by_name(self):
        with accelerate_imports("typed_functions") as hook:
            module = importlib.import_module("typed_functions")
        self.assertTrue(self.is_accelerated(module.inc))
        self.assertEqual(module.inc(1), 2)
        self.assertEqual(list(hook.results), ["typed_functions"])
        self.assertIn("inc", hook.results["typed_functions"].accelerated)

    def test_loader_and_spec_are_the_usual_ones(self):
        with accelerate_imports(["typed_functions", "hooked_plain"]):
            for name, kind in (
                ("typed_functions", importlib.machinery.ExtensionFileLoader),
                ("hooked_plain", importlib.machinery.SourceFileLoader),
            ):
                module = importlib.import_module(name)
                self.assertIs(type(module.__spec__.loader), kind)
                self.assertIs(type(module.__loader__), kind)
                self.assertTrue(module.__file__.startswith(str(self.folder)))

    def test_others_are_left_alone(self):
        with accelerate_imports("hooked_other") as hook:
            module = importlib.import_module("typed_functions")
            self.assertIsNone(importlib.util.find_spec("hooked_nothing"))
            with self.assertRaises(ModuleNotFoundError):
                importlib.import_module("hooked_other")
        self.assertFalse(self.is_accelerated(module.inc))
        self.assertEqual(hook.results, {})

    def test_star_is_extension_modules(self):
        plain = support.build("plain_functions")
        with accelerate_imports("*") as hook:
            module = importlib.import_module("hooked_plain")
        self.assertTrue(self.is_accelerated(module.inc))  # imported from the extension
        self.assertIn("typed_functions", hook.results)
        self.assertNotIn("hooked_plain", hook.results)
        self.assertIs(sys.modules["plain_functions"], plain)
        self.assertNotIn("plain_functions", hook.results)  # plain_functions has no typed functions

    def test_a_package_and_its_submodules(self):
        with accelerate_imports("hooked_package") as hook:
            package = importlib.import_module("hooked_package")
            plain = importlib.import_module("hooked_package.plain")
        self.assertTrue(self.is_accelerated(package.inc))
        self.assertTrue(self.is_accelerated(plain.add))
        self.assertFalse(self.is_accelerated(package.div))
        self.assertEqual(
            sorted(hook.results),
            ["hooked_package", "hooked_package.plain", "hooked_package.typed_functions"],
        )

    def test_imported_before(self):
        module = importlib.import_module("typed_functions")
        with accelerate_imports("typed_functions") as hook:
            self.assertTrue(self.is_accelerated(module.inc))
            self.assertIn("typed_functions", hook.results)

    def test_reload(self):
        with accelerate_imports("hooked_plain") as hook:
            module = importlib.import_module("hooked_plain")
            hook.results.clear()
            self.assertIs(importlib.reload(module), module)
            self.assertTrue(self.is_accelerated(module.inc))
            self.assertIn("hooked_plain", hook.results)
            self.assertIs(type(module.__loader__), importlib.machinery.SourceFileLoader)

    def test_remove(self):
        hook = accelerate_imports("*")
        self.assertTrue(hook.active)
        self.assertIn("hooked_x", repr(accelerate_imports("hooked_x")))
        hook.remove()
        hook.remove()
        self.assertFalse(hook.active)
        self.assertIn("not installed", repr(hook))
        self.assertFalse(self.is_accelerated(importlib.import_module("typed_functions").inc))

    def test_two_hooks(self):
        for names in (("*", "typed_functions"), ("typed_functions", "*")):
            sys.modules.pop("typed_functions", None)
            with accelerate_imports(names[0]) as one, accelerate_imports(names[1]) as other:
                module = importlib.import_module("typed_functions")
            self.assertTrue(self.is_accelerated(module.inc))
            self.assertIn("typed_functions", one.results)
            self.assertIn("typed_functions", other.results)
            self.assertIs(type(module.__loader__), importlib.machinery.ExtensionFileLoader)

    def test_other_finders_are_asked(self):
        class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
            asked = []

            def find_spec(self, name, path=None, target=None):
                self.asked.append((name, path))
                if name.startswith("hooked_virtual"):
                    # Finders may look up other modules.
                    assert importlib.util.find_spec("hooked_nothing") is None
                    return importlib.machinery.ModuleSpec(name, self)
                return None

            def create_module(self, spec):
                return None

            def exec_module(self, module):
                module.executed_by = self
                module.loader_seen = module.__spec__.loader

        finder = Finder()
        sys.meta_path.insert(0, finder)
        with accelerate_imports("hooked_virtual") as hook:
            module = importlib.import_module("hooked_virtual")
        self.assertIs(module.executed_by, finder)
        self.assertIs(module.loader_seen, finder)  # the same as without the hook
        self.assertIs(module.__spec__.loader, finder)
        self.assertIn("hooked_virtual", hook.results)
        self.assertIn(("hooked_virtual", None), finder.asked)

    def test_a_finder_that_asks_for_the_same_module(self):
        class Finder(importlib.abc.MetaPathFinder):
            def find_spec(self, name, path=None, target=None):
                if name != "typed_functions" or getattr(self, "busy", False):
                    return None
                self.busy = True
                try:
                    return importlib.util.find_spec(name)
                finally:
                    self.busy = False

        with accelerate_imports("typed_functions"):
            sys.meta_path.insert(0, Finder())
            self.assertTrue(self.is_accelerated(importlib.import_module("typed_functions").inc))
            del sys.modules["typed_functions"]
            sys.meta_path.append(sys.meta_path.pop(0))
            self.assertTrue(self.is_accelerated(importlib.import_module("typed_functions").inc))

    def test_failing_and_namespace_modules(self):
        with accelerate_imports(["hooked_fails", "hooked_empty"]) as hook:
            with self.assertRaisesRegex(RuntimeError, "as it should"):
                importlib.import_module("hooked_fails")
            self.assertNotIn("hooked_fails", sys.modules)
            empty = importlib.import_module("hooked_empty")
        self.assertTrue(hasattr(empty, "__path__"))
        self.assertNotIn("hooked_fails", hook.results)

    def test_a_module_that_replaces_itself(self):
        (self.folder / "hooked_lazy.py").write_text(textwrap.dedent("""
            import sys, types, typed_functions
            module = types.ModuleType(__name__)
            module.inc = typed_functions.inc
            sys.modules[__name__] = module
            """))
        importlib.invalidate_caches()
        with accelerate_imports("hooked_lazy"):
            module = importlib.import_module("hooked_lazy")
        self.assertIsInstance(module, types.ModuleType)
        self.assertTrue(self.is_accelerated(module.inc))
