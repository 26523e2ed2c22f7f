"""The command `show`, which prints the signatures that functions offer."""
from __future__ import annotations

import argparse
from typing import Any

from typedcall.cli.report import print_json, print_table
from typedcall.cli.streams import report
from typedcall.cli.targets import find_targets
from typedcall.sources import numpy_

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    rows: list[dict[str, Any]] = []
    targets = find_targets(options.target, options.modules, exports=True)
    is_special = any(numpy_.is_special(target.function, target.entries) for target in targets)
    for target in targets:
        for entry in target.entries:
            rows.append(
                {
                    "name": target.name,
                    "signature": entry.signature,
                    "flags": entry.flags.names,
                    "is_plain": entry.flags.is_plain,
                    "address": entry.address,
                    "place": entry.place,
                }
            )
    if options.json:
        note = {"note": numpy_.NOT_FOLLOWED} if is_special else {}
        print_json({"target": options.target, "entries": rows, **note})
        return 0
    print_table(
        options.target,
        ("name", "signature", "flags", "address", "place"),
        [(row["name"], row["signature"], " ".join(row["flags"]), hex(row["address"]), row["place"]) for row in rows],
    )
    if is_special:
        print(f"Note: {numpy_.NOT_FOLLOWED}.", file=report())
    return 0
