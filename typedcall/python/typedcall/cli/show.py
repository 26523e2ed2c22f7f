"""`show`: a table of the native signatures that functions offer."""
from __future__ import annotations

import argparse
from typing import Any

from typedcall.cli.report import print_json, print_table
from typedcall.cli.targets import find_targets

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    rows: list[dict[str, Any]] = []
    for target in find_targets(options.target, options.modules, exports=True):
        for entry in target.entries:
            rows.append(
                {
                    "name": target.name,
                    "signature": entry.signature,
                    "flags": entry.flags.names,
                    "needs_nothing": entry.flags.is_plain,
                    "address": entry.address,
                    "place": entry.place,
                }
            )
    if options.json:
        print_json({"target": options.target, "entries": rows})
        return 0
    print_table(
        options.target,
        ("name", "signature", "flags", "address", "place"),
        [
            (
                row["name"],
                row["signature"],
                " ".join(row["flags"]),
                hex(row["address"]),
                row["place"],
            )
            for row in rows
        ],
    )
    return 0
