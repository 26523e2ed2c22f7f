"""Checks that the version numbers in docs/about/stability.md are those of the sources, and that each file that
contains the package's version has the same one."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
#: The files that contain the package's version, and the pattern that finds it.
PACKAGE = [
    ("pyproject.toml", r'(?m)^version = "(.+)"$'),
    ("typedcall/python/typedcall/__init__.py", r'(?m)^__version__ = "(.+)"$'),
    ("typedcall/python/typedcall/cmake/typedcallConfigVersion.cmake", r'PACKAGE_VERSION "(.+)"'),
    *((f"{folder}/pkgconfig/{name}.pc", r"(?m)^Version: (.+)$")
      for folder in ("typedcall", "typedcall/python/typedcall") for name in ("typedcall", "typedcall-ffi")),
    ("CITATION.cff", r"(?m)^version: (.+)$"),
    ("docs/about/citing.md", r"Version (\d\S+\d)\."),
    ("docs/about/citing.md", r"version = \{(.+)\}"),
]
#: The other rows of the page's table, with the file and the patterns of the parts of each number.
OTHERS = {
    "headers": ("core/version.h", [r"(?m)^#define TYPEDCALL_CORE_VERSION_H_ (\d+)$"]),
    "C++ layout": ("typedcall/base/namespace.h", [r"JOIN_5\((v\d+_\d+),"]),
    "interface": ("core/interface.h", [r"PyTypedcall_ABI_MAJOR (\d+)", r"PyTypedcall_ABI_MINOR (\d+)"]),
    "capsule": ("core/interface.h", [r'PyTypedcall_CAPSULE "(.+)"']),
    "data of types": ("core/custom_slots.h", [r"(?m)^#define PyExtensibleType_MAGIC UINT64_C\((.+)\)$"]),
    "METH_TYPED header": ("typedcall/typed_method.h",
                          [r"PyTypedMethod_ABI_MAJOR (\d+)", r"PyTypedMethod_ABI_MINOR (\d+)"]),
}


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def found(name, pattern):
    """Returns the set of numbers that the pattern matches in a file."""
    return set(re.findall(pattern, read(name)))


def rows():
    """Returns the table of the page: {number: its value}."""
    return {what: value.strip("`") for what, value in
            re.findall(r"(?m)^\| ([\w +]+?) \| (\S+) \| `[^|]+ \| [^|]+ \|$", read("docs/about/stability.md"))}


class Versions(unittest.TestCase):
    def test_of_the_package(self):
        for name, pattern in PACKAGE:
            with self.subTest(name):
                self.assertEqual(found(name, pattern), {rows()["package"]})

    def test_of_the_interfaces(self):
        self.assertEqual(set(rows()), {"package", *OTHERS})
        for what, (name, patterns) in OTHERS.items():
            with self.subTest(what):
                parts = [found(name, pattern) for pattern in patterns]
                self.assertEqual([len(part) for part in parts], [1] * len(parts))
                self.assertEqual(".".join(part.pop() for part in parts), rows()[what])


if __name__ == "__main__":
    unittest.main()
