"""Tests sets of overloads of all types (see matrix_sets.py). Sinks that have values are always right, and refuse nothing
that they can pass. For sinks that know types, matrix_sets_expected.json pins the number of wrong cells of each family of
sets, and of calls that are refused although the oracle does not allow it: fewer fail, too."""
import collections
import importlib
import json
import pathlib
import unittest
import warnings

import adapter_support
import matrix_sets
import matrix_sets_compiled
import support

EXPECTED = pathlib.Path(__file__).with_name("matrix_sets_expected.json")


class Counts(unittest.TestCase):
    maxDiff = None
    #: The part of the expected numbers, and for each sink every how many pairs are tested, and the number of random sets.
    part, sizes = "gate", {"duckdb": (16, 300), "ufunc": (12, 400), "sqlite": (12, 400), "tvm-ffi": (12, 400), "made-up values": (12, 400),
                           "wrapper": (80, 14), "jax": (240, 16), "numba": (480, 10)}

    def found(self, kind, seed=matrix_sets.SEED):
        if kind.library is not None:
            adapter_support.library(kind.library)
        step, count = self.sizes[kind.name]
        sets = [*matrix_sets.grids(kind.types), *[*matrix_sets.pairs(kind.types)][::step],
                *matrix_sets.drawn(kind.types, count, seed)]
        if "bytes" in kind.types:
            sets += matrix_sets.drawn(kind.types, count, seed, ["b", "l", "d", "O", "s", *matrix_sets.BUFFERS])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy warns about overflow
            return [*matrix_sets.cells(kind(), sets)]

    def check(self, name):
        found = self.found({**matrix_sets.TYPE_SINKS, **matrix_sets_compiled.SINKS}[name])
        with open(EXPECTED, encoding="utf-8") as file:
            expected = json.load(file)[self.part][name]
        counted = matrix_sets.counted(found)
        examples = collections.defaultdict(list)
        for one, call, outcome, what in found:
            if outcome == "refused wrongly" and counted[outcome] != expected[outcome]:
                examples[outcome].append((one.overloads, call, what))
            if outcome == "wrong" and counted["wrong"][one.family] != expected["wrong"].get(one.family, 0):
                examples[one.family].append((one.overloads, call, what))
        shown = "\n".join(f"{family}: {cells[0]}" for family, cells in examples.items())
        self.assertEqual(counted, expected, f"now: {json.dumps(counted)}\n{shown}")

    def check_values(self, name):
        found = self.found(matrix_sets.VALUE_SINKS[name], support.seeds.seed(matrix_sets.SEED))
        wrong = [(one.overloads, call, what) for one, call, outcome, what in found if outcome.endswith(("wrong", "wrongly"))]
        self.assertEqual(wrong, [])
        self.assertGreater(sum(what == "C" for _, _, _, what in found), len(found) // 5)

    def test_ufunc(self):
        self.check("ufunc")

    def test_duckdb(self):
        self.check("duckdb")

    def test_jax(self):
        self.check("jax")

    def test_numba(self):
        self.check("numba")

    def test_wrapper(self):
        self.check_values("wrapper")

    def test_sqlite(self):
        importlib.import_module("sql_support")  # skips if the package was built without SQLite
        self.check_values("sqlite")

    def test_made_up(self):
        self.check_values("made-up values")

    def test_tvm_ffi(self):
        self.check_values("tvm-ffi")
