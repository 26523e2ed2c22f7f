"""Tests `import typedcall` when the repository's root, which contains a folder with the package's
name, is on sys.path."""
import pathlib
import shutil
import tempfile
import unittest

import support
import typedcall

PACKAGE = pathlib.Path(typedcall.__file__).resolve().parent
ROOT = pathlib.Path(__file__).resolve().parents[2]
SHOW = "import typedcall; print(typedcall.__file__, typedcall.signatures(len))"
# Some tools implement editable installations with a finder like this.
EDITABLE = """
import importlib.util, sys
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "typedcall":
            return importlib.util.spec_from_file_location(
                name, %r, submodule_search_locations=%r)
sys.meta_path.append(Finder)
""" % (str(PACKAGE / "__init__.py"), list(typedcall.__path__))


@unittest.skipUnless((ROOT / "typedcall" / "typed_method.h").is_file(),
                     "the repository is not here")
class AtTheRoot(unittest.TestCase):
    def check(self, *arguments, **options):
        status, output, errors = support.python(*arguments, **dict({"cwd": str(ROOT)}, **options))
        self.assertEqual((status, errors), (0, ""))
        return output

    def test_the_installed_package(self):
        expected = "%s []\n" % (PACKAGE / "__init__.py")
        self.assertEqual(self.check("-c", SHOW), expected)
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.check("-c", SHOW, cwd=folder, paths=[ROOT]), expected)
        self.assertEqual(self.check("-m", "typedcall", "--version"), typedcall.__version__ + "\n")

    def test_it_is_the_module_that_it_is_elsewhere(self):
        code = ("import sys, typedcall, typedcall.sources\n"
                "import importlib\n"
                "from typedcall import *\n"
                "assert signatures is typedcall.signatures\n"
                "spec = typedcall.__spec__\n"
                "print(typedcall is sys.modules['typedcall'], typedcall.__package__)\n"
                "print(spec.origin == typedcall.__file__, spec.loader is typedcall.__loader__)\n"
                "print(list(spec.submodule_search_locations) == list(typedcall.__path__))\n"
                "print(hasattr(importlib.reload(typedcall), 'tag'))\n"
                "print(sorted(name for name in vars(typedcall) if not name.startswith('__')))")
        with tempfile.TemporaryDirectory() as folder:
            usual = self.check("-c", code, cwd=folder)
        self.assertEqual(self.check("-c", code), usual)
        self.assertEqual(usual.splitlines()[:4], ["True typedcall", "True True", "True", "True"])

    def test_an_editable_installation(self):
        # With -S, Python does not find the installed package.
        self.assertEqual(self.check("-S", "-c", EDITABLE + SHOW),
                         "%s []\n" % (PACKAGE / "__init__.py"))

    def test_nothing_is_installed(self):
        code = ("try: import typedcall\n"
                "except ImportError as error: print(type(error).__name__, error.name, error)\n"
                "import sys; print('typedcall' in sys.modules)")
        expected = ("ModuleNotFoundError typedcall typedcall is not installed; %s is only the "
                    "folder of its C headers. Install it: pip install %s\nFalse\n"
                    % (ROOT / "typedcall", ROOT))
        self.assertEqual(self.check("-S", "-c", code), expected)
        # A second checkout is not a package either.
        with tempfile.TemporaryDirectory() as folder:
            other = pathlib.Path(folder, "typedcall")
            other.mkdir()
            for name in ("__init__.py", "typed_method.h"):
                shutil.copy(str(ROOT / "typedcall" / name), str(other))
            self.assertEqual(self.check("-S", "-c", code, paths=[folder]), expected)

    def test_threads_wait_for_the_import(self):
        code = ("import threading\n"
                "found = []\n"
                "def look():\n"
                "    import typedcall\n"
                "    found.append(hasattr(typedcall, 'untag'))\n"
                "threads = [threading.Thread(target=look) for _ in range(8)]\n"
                "for thread in threads: thread.start()\n"
                "for thread in threads: thread.join()\n"
                "print(all(found), len(found))")
        for _ in range(5):
            self.assertEqual(self.check("-c", code), "True 8\n")
