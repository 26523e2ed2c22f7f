"""Tests all sets of matrix_sets.py (see test_matrix_sets.py)."""
import test_matrix_sets


class AllCounts(test_matrix_sets.Counts):
    part, sizes = "full", {**dict.fromkeys(test_matrix_sets.Counts.sizes, (1, 1600)), "wrapper": (4, 200), "jax": (8, 400), "numba": (24, 160)}
