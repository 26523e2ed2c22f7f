"""Which module of the package may import which: one table, and no circles. Imports inside functions
and those for type checkers count, too. And the backends, of which an interpreter has one, have
the same names."""
import ast
import pathlib
import unittest

import typedcall

PACKAGE = pathlib.Path(typedcall.__file__).resolve().parent
COMPILED = ("_native", "_numpy_bridge", "callbacks._callbacks", "jax._jax", "sql._duckdb", "sql._sqlite",
            "tvm_ffi._tvm_ffi")
# Group: its modules, and the groups that these may import beside each other. What is imported by
# name only where it is needed is not seen here: the adapters by the package and by `sources`, the
# commands by `cli`.
TABLE = {
    "compiled": (COMPILED, ""),
    "tools": ("_cffi _foreign _identity _libraries _locks includes", ""),
    "record": ("_buffers _c_header _c_parser _c_text _capsules _codes _no_native _records _signature_types", "compiled"),
    "parameters": ("_parameter_text _parameters", "tools record"),
    "sources": ("sources sources.cffi_ sources.ctypes_ sources.cython_ sources.numba_"
                " sources.numpy_ sources.scipy_", "compiled tools record"),
    "shims": ("_pypy_buffers _pypy_function _pypy_originals _pypy_pointers _pypy_shims", "tools record parameters"),
    "tags": ("_pointers _tagging", "tools record sources"),
    "backends": ("_cpython_backend _no_backend _pypy_backend", "compiled tools record parameters shims tags"),
    "functions": ("_api _choose sources.resolved_",
                  "compiled tools record parameters sources tags backends"),
    "acceleration": ("pypy _pypy_imports _pypy_trust", "tools record shims backends"),
    "adapters": ("jax _numba_arguments _numba_buffers _numba_cache _numba_call _numba_fall_back _numba_overloads"
                 " _numba_raise _numba_refusals _numpy_gufuncs _numpy_pickles _pickles _tag_modules callbacks callbacks._shape sql sql._to_duckdb"
                 " sql._to_sqlite to_cffi to_ctypes to_cython to_numba"
                 " to_numpy to_scipy tvm_ffi ufuncs",
                 "compiled tools record parameters sources tags functions"),
    "package": ("typedcall", "tools record functions acceleration adapters"),
    "command line": ("__main__ cli cli.arguments cli.bench cli.buffers cli.cinderx cli.comparing cli.doctor cli.isolation"
                     " cli.report cli.show cli.streams cli.targets cli.verify cli.ways",
                     "compiled tools record parameters sources shims backends package"),
}
GROUP_OF = {module: group for group, (modules, _) in TABLE.items()
            for module in (modules.split() if isinstance(modules, str) else modules)}


def name_of(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__") or "typedcall"


# What compiled modules look like to type checkers is no module.
FILES = {name_of(path): path for path in PACKAGE.rglob("*.py*")
         if path.suffix in (".py", ".pyi") and name_of(path) not in COMPILED and "include" not in path.parts}


def imported(source, module, is_package=False):
    """The package's modules that a source text imports. `from typedcall import x` is of the module
    x, if there is one."""
    found = set()
    here = ("typedcall." + module if module != "typedcall" else module).split(".")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = here[:len(here) + is_package - node.level] if node.level else []
            base = ".".join([*base, *([node.module] if node.module else [])])
            names = [base + "." + alias.name for alias in node.names]
        else:
            continue
        for name in names:
            top, _, rest = name.partition(".")
            if top != "typedcall":
                continue
            while rest and rest not in GROUP_OF:
                rest = rest.rpartition(".")[0]
            found.add(rest or "typedcall")
    return found - {module}


def arrows():
    return {module: imported(path.read_text(encoding="utf-8"), module, path.stem == "__init__")
            for module, path in FILES.items()}


def circle(graph):
    """One circle of a graph, or None."""
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
    """What is in the module's `__all__`: the names of its parameters, where it defines a function."""
    parameters, listed = {}, []
    for node in ast.parse(FILES[module].read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            parameters[node.name] = [each.arg for each in node.args.args]
        elif isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
            listed = ast.literal_eval(node.value)
    return {name: parameters.get(name) for name in listed}


class Imports(unittest.TestCase):
    def test_every_module_has_its_place(self):
        self.assertEqual(set(GROUP_OF) - set(COMPILED), set(FILES))

    def test_only_what_the_table_allows(self):
        not_allowed, used = [], set()
        for module, others in arrows().items():
            for other in others:
                pair = GROUP_OF[module], GROUP_OF[other]
                used.add(pair)
                if pair[0] != pair[1] and pair[1] not in TABLE[pair[0]][1].split():
                    not_allowed.append((module, other))
        self.assertEqual(not_allowed, [])
        unused = [(group, other) for group, (_, allowed) in TABLE.items()
                  for other in allowed.split() if (group, other) not in used]
        self.assertEqual(unused, [])

    def test_no_circles(self):
        self.assertIsNone(circle(arrows()))
        self.assertIsNone(circle({group: allowed.split() for group, (_, allowed) in TABLE.items()}))

    def test_backends_have_the_same_names(self):
        names = offered_by("_cpython_backend")
        for others in map(offered_by, ("_no_backend", "_pypy_backend")):
            # Compiled functions are imported, and show no parameters.
            self.assertEqual({name: others[name] if each is not None else None
                              for name, each in names.items()}, names)
            self.assertEqual(list(others), list(names))
        used = {node.attr for node in ast.walk(ast.parse(FILES["_api"].read_text(encoding="utf-8")))
                if isinstance(node, ast.Attribute) and getattr(node.value, "id", None) == "backend"}
        self.assertEqual(used | {"TypedFunction"}, set(names))

    def test_the_test_finds_them(self):
        for source, expected in [
                ("import typedcall", {"typedcall"}),
                ("import typedcall._codes as c", {"_codes"}),
                ("def f():\n from typedcall import _native, entries", {"_native", "typedcall"}),
                ("from typedcall.sources.ctypes_ import address_of", {"sources.ctypes_"}),
                ("from ..sources import numpy_", {"sources.numpy_"}),
                ("from . import report", {"cli.report"}),
                ("import typing, typedcalls", set())]:
            self.assertEqual(imported(source, "cli.show"), expected, source)
        self.assertEqual(circle({"a": ["b"], "b": ["c"], "c": ["b"]}), ["b", "c", "b"])
        self.assertIsNone(circle({"a": ["b", "c"], "b": ["c"]}))


if __name__ == "__main__":
    unittest.main()
