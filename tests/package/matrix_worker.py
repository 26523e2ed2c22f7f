"""Runs cells of the matrix and prints a line of JSON for each: matrix_worker.py SINK PROPERTY CELL..."""
import importlib
import json
import pathlib
import sys
import traceback
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from matrix_sinks import SINKS, Refused  # noqa: E402

#: The module and the table of each property's cells.
TABLES = {"lifetimes": ("matrix_cells_lifetimes", "CELLS"), "no_memory": ("matrix_cells_memory", "CELLS"),
          "endings": ("matrix_cells_ends", "ENDS"), "interpreters": ("matrix_cells_ends", "INTERPRETERS")}


def main(name, property_, *cells):
    module, table = TABLES[property_]
    table = getattr(importlib.import_module(module), table)
    for cell in cells:
        sink = SINKS[name]()
        sink.setUp()
        try:
            outcome, what = table[cell](sink)
        except Refused as error:
            outcome, what = "refused", str(error)
        except Exception:
            outcome, what = "wrong", traceback.format_exc()
        print(json.dumps([cell, outcome, what]), flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*sys.argv[1:])
