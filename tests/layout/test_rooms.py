"""Tests which folders of the Python package import each other, and that the backends define the
same names."""
import ast
import collections
import os
import pathlib
import re
import unittest

# Bazel's links lead to the repository.
PACKAGE = pathlib.Path(os.path.realpath(__file__)).parents[2] / "typedcall" / "python" / "typedcall"
# The rooms that each room may use. Top-level files are `package`, except the files of `python -m
# typedcall`.
ARROWS = {
    "native": "",
    "record": "native",
    "tools": "record",
    "sources": "native record tools",
    "places": "record tools sources",
    "pypy": "native record tools places",
    "calling": "native record tools sources places pypy",
    "numba": "native record tools calling",
    "numpy": "native record tools sources calling",
    "sinks": "native record tools sources calling",
    "explaining": "record tools sources calling numba numpy sinks",
    "package": "record pypy calling numba numpy sinks explaining",
    "sql": "sinks",
    "jax": "sinks",
    "tvm_ffi": "sinks",
    "cli": "native record tools sources pypy calling package",
}
# The only sink that uses another one: a LowLevelCallable is a callback.
BETWEEN_SINKS = {("sinks.scipy", "sinks.callbacks")}
# The headers that the C++ code of a sink may include. Two sinks need more.
ENGINE = {"typedcall/calling.h", "typedcall/provider.h"}
UNDER_THE_ENGINE = {
    "sql/duckdb_function.h": {"typedcall/loop.h"},
    "jax/_jax.cc": {"typedcall/loop.h"},
    "callbacks/callback.h": {"typedcall/" + name for name in (
        "callback/library_call.h", "callback/waiting_exception.h", "fallback.h", "invoker.h")},
    "callbacks/_callbacks.cc": {"typedcall/resolve.h"},
}
AT_THE_TOP = 12
IMPORTS_IN_C = re.compile(r'PyImport_Import\w*\("(typedcall\.[^"]+)"')
INCLUDE = re.compile(r'^\s*#\s*include\s+"((?!core/|typedcall/)[^"]+)"', re.MULTILINE)


def module_of(path):
    """Returns the name of the module, such as `numba.cache`, or "" for the package itself."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


SOURCES = [path for path in sorted(PACKAGE.rglob("*")) if path.suffix in (".py", ".pyi", ".c", ".cc", ".h")]
# Compiled modules have stubs.
MODULES = {module_of(path): path for path in SOURCES if path.suffix in (".py", ".pyi")}


def room_of(module):
    folder = module.partition(".")[0]
    return folder if folder in ARROWS else "cli" if module == "__main__" else "package"


def known(name):
    """Returns the module that contains a dotted name, or None for another package."""
    top, _, rest = name.partition(".")
    while rest and rest not in MODULES:
        rest = rest.rpartition(".")[0]
    return rest if top == "typedcall" else None


def imported(source, module, is_package=False):
    """Returns the modules of the package that a source text imports or names."""
    here = ("typedcall." + module if module else "typedcall").split(".")
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = here[:len(here) + is_package - node.level] if node.level else []
            base = ".".join([*base, *([node.module] if node.module else [])])
            names = [base + "." + alias.name for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            names = [each.value for each in node.args if isinstance(each, ast.Constant)]
        else:
            continue
        found.update(filter(lambda each: each is not None, map(known, names)))
    return found - {module}


def arrows():
    """Yields (file, the module or header that it uses)."""
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        if path.suffix in (".py", ".pyi"):
            for other in imported(text, module_of(path), path.stem == "__init__"):
                yield module_of(path), other
        else:
            for target in INCLUDE.findall(text):
                header = (path.parent / target).resolve()
                yield module_of(path) + path.suffix, module_of(header) + header.suffix
            for name in IMPORTS_IN_C.findall(text):
                yield module_of(path) + path.suffix, known(name)


def circle(graph):
    """Returns a cycle in the graph, or None."""
    done, way = set(), []

    def visit(node):
        if node in way:
            return way[way.index(node):] + [node]
        if node in done:
            return None
        way.append(node)
        found = next(filter(None, map(visit, sorted(graph.get(node, ())))), None)
        way.pop()
        done.add(node)
        return found

    return next(filter(None, map(visit, sorted(graph))), None)


def offered_by(module):
    """Returns the names in `__all__`, with the parameters of functions."""
    parameters, listed = {}, []
    for node in ast.parse(MODULES[module].read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            parameters[node.name] = [each.arg for each in node.args.args]
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            listed = ast.literal_eval(node.value)
    return {name: parameters.get(name) for name in listed}


def docstring(path):
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


class Rooms(unittest.TestCase):
    maxDiff = None

    def test_every_folder_is_a_room(self):
        folders = {path.parent.relative_to(PACKAGE).parts[:1] for path in SOURCES} - {()}
        self.assertEqual({folder for folder, in folders}, set(ARROWS) - {"package"})

    def test_only_what_the_table_allows(self):
        not_allowed, used = [], set()
        for module, other in arrows():
            pair = room_of(module), room_of(other)
            used.add(pair)
            if pair[0] != pair[1] and pair[1] not in ARROWS[pair[0]].split():
                not_allowed.append((module, other))
        self.assertEqual(not_allowed, [])
        self.assertEqual([(room, other) for room, allowed in ARROWS.items() for other in allowed.split()
                          if (room, other) not in used], [])

    def test_no_circles(self):
        graph = collections.defaultdict(set)
        for module, other in arrows():
            graph[module].add(other)
        self.assertGreater(len(graph), 90)
        self.assertIsNone(circle(graph))
        self.assertIsNone(circle({room: allowed.split() for room, allowed in ARROWS.items()}))

    def test_sinks_do_not_use_each_other(self):
        sinks = {tuple(".".join(each.split(".")[:2]) for each in pair) for pair in arrows()
                 if all(room_of(each) == "sinks" for each in pair)}
        self.assertEqual({pair for pair in sinks if pair[0] != pair[1]}, BETWEEN_SINKS)

    def test_sinks_include_the_engine(self):
        found = {}
        for path in (PACKAGE / "sinks").rglob("*"):
            if path.suffix in (".cc", ".h"):
                text = path.read_text(encoding="utf-8")
                more = set(re.findall(r'(?m)^#include "((?:core|typedcall)/[^"]+)"', text)) - ENGINE
                found.update({str(path.relative_to(PACKAGE / "sinks")): more} if more else {})
        self.assertEqual(found, UNDER_THE_ENGINE)

    def test_contributing_says_what_the_table_says(self):
        text = (PACKAGE.parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("| room of the package |")[2]
        rows = re.findall(r"(?m)^\| (\w+) \| .+ \| (.+) \|$", text.partition("\n\n")[0])
        self.assertEqual({room: "" if allowed == "nothing" else allowed.replace(",", "") for room, allowed in rows}, ARROWS)

    def test_the_picture_is_drawn_from_the_imports(self):
        import draw_rooms

        self.assertEqual(draw_rooms.PICTURE.read_text(encoding="utf-8"), draw_rooms.picture(),
                         "run tests/layout/draw_rooms.py")

    def test_few_files_are_at_the_top(self):
        at_the_top = [path.name for path in PACKAGE.iterdir() if path.is_file()]
        self.assertIn("__init__.py", at_the_top)
        self.assertLessEqual(len(at_the_top), AT_THE_TOP, at_the_top)

    def test_backends_have_the_same_names(self):
        names = offered_by("calling.cpython_backend")
        others = offered_by("pypy.backend")
        # Compiled functions have no parameters here.
        self.assertEqual({name: others[name] if each is not None else None
                          for name, each in names.items()}, names)
        self.assertEqual(list(others), list(names))
        used = {node.attr for node in ast.walk(ast.parse(MODULES["calling.api"].read_text(encoding="utf-8")))
                if isinstance(node, ast.Attribute) and getattr(node.value, "id", None) == "backend"}
        self.assertEqual(used | {"TypedFunction"}, set(names))

    def test_the_test_finds_them(self):
        for source, expected in [
                ("import typedcall", {""}),
                ("import typedcall.record.codes as c", {"record.codes"}),
                ("def f():\n from typedcall import native, entries", {"native", ""}),
                ("from typedcall.sources.ctypes_ import address_of", {"sources.ctypes_"}),
                ("from ..sources import numpy_", {"sources.numpy_"}),
                ("from . import report", {"cli.report"}),
                ("importlib.import_module('typedcall.calling.api')", {"calling.api"}),
                ("import typing, typedcalls", set())]:
            self.assertEqual(imported(source, "cli.show"), expected, source)
        self.assertEqual(circle({"a": ["b"], "b": ["c"], "c": ["b"]}), ["b", "c", "b"])
        self.assertIsNone(circle({"a": ["b", "c"], "b": ["c"]}))
