"""Checks the words of the names that cannot change after the release: those of the C headers, of the Python package, and
of the keys that --json prints. A noun names a thing, and a verb an act."""
import ast
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "typedcall/python/typedcall"
#: Words that say who did something to a thing, instead of what the thing is.
NOT_NOUNS = {"answers", "ask", "asked", "asks", "await", "awaited", "came", "given", "hold", "kept", "left", "made",
             "passed", "taken", "told", "verdict", "verdicts", "wanted"}


def words(name):
    """Splits a name in CamelCase, lower case or upper case into its words, in lower case."""
    return {each.lower() for each in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def c_names():
    """Returns the public names that the C headers use, except those inside comments and strings."""
    found = set()
    for path in [*ROOT.glob("core/*.h"), *ROOT.glob("typedcall/*.h"), *ROOT.glob("typedcall/signature/*.h"),
                 *ROOT.glob("typedcall/tag/*.h")]:
        text = re.sub(r'//.*|"(\\.|[^"\\])*"', "", path.read_text(encoding="utf-8"))
        found.update(re.findall(r"\bPy(?:Native|Typed|CustomSlot|Extensible|ForeignSlots|TypeData)\w*", text))
        for fields in re.findall(r"typedef struct \w*\s*\{([^}]*)\} PyNative\w+;", text):
            found.update(re.findall(r"\w+(?=(?:\[\w*\])?;)", fields))
    return {name for name in found if "Internal" not in name}


def python_names():
    """Returns the names in `__all__` of the package and its public modules, and the members of public classes."""
    found = set()
    faces = [PACKAGE / each / "__init__.py" for each in ("", "jax", "sql", "tvm_ffi")]
    for path in [*faces, PACKAGE / "record/records.py"]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                found.update(each.value for each in node.value.elts)
            if isinstance(node, ast.ClassDef) and node.name in ("Entry", "Flags", "View"):
                found.update(each.name for each in node.body if isinstance(each, ast.FunctionDef))
                found.update(each.target.id for each in node.body if isinstance(each, ast.AnnAssign))
    return found


def json_keys():
    """Returns the keys of the dicts in the commands of the command line, and the fields of their rows."""
    found = set()
    for name in ("show", "verify", "bench", "doctor"):
        for node in ast.walk(ast.parse((PACKAGE / f"cli/{name}.py").read_text(encoding="utf-8"))):
            if isinstance(node, ast.Dict):
                found.update(key.value for key in node.keys if isinstance(key, ast.Constant))
            if isinstance(node, ast.ClassDef):
                found.update(each.target.id for each in node.body if isinstance(each, ast.AnnAssign))
            if isinstance(node, ast.Tuple) and name == "doctor" and isinstance(node.elts[-1], (ast.Call, ast.List)):
                found.update(each.value for each in node.elts[:1] if isinstance(each, ast.Constant))
    return found


class Names(unittest.TestCase):
    def check(self, names, some):
        self.assertLessEqual(some, names)
        self.assertEqual(sorted(name for name in names if words(name) & NOT_NOUNS), [])

    def test_c(self):
        self.check(c_names(), {"PyNativeKind_SIGNED", "PyTypedcall_Import", "nargs", "has_place"})

    def test_python(self):
        self.check(python_names(), {"resolve", "register", "is_plain", "arguments"})

    def test_keys(self):
        keys = json_keys()
        self.check(keys, {"signature", "best", "seed", "note", "libraries"})
        self.assertEqual(sorted(key for key in keys if not key.isidentifier()), [])


if __name__ == "__main__":
    unittest.main()
