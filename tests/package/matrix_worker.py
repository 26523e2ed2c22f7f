"""The program that runs cells of the matrix in a process of their own: matrix_worker.py SINK PROPERTY CELL... prints
a line of JSON for each cell."""
import importlib
import json
import pathlib
import sys
import traceback
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from matrix_sinks import SINKS, Refused  # noqa: E402

#: For each property, the module with its cells and the name of their table.
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
