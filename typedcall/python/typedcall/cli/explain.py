"""The command `explain`, which says which overload is called for arguments of given types, and why the others are not."""
from __future__ import annotations

import argparse
import ast
from typing import Any

import typedcall
from typedcall.cli import CommandError
from typedcall.cli.report import print_json
from typedcall.cli.streams import report
from typedcall.cli.targets import describe, find_targets
from typedcall.tools.foreign import printable

__all__ = ["run"]


def _read(text: str) -> Any:
    """Returns a Python literal, or the text, which is the name of a type."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def run(options: argparse.Namespace) -> int:
    name = options.target
    if ":" not in name:
        name = ":".join(name.rpartition(".")[::2])
    target, *_ = find_targets(name, options.modules, only_one=True)
    values = [None if each == "None" else _read(each) for each in options.given]
    try:
        made = typedcall.explain(target.function, *values, sink=options.sink)
    except (TypeError, ValueError, ImportError) as error:
        raise CommandError(describe(error)) from None
    if options.json:
        print_json(made.as_json())
    else:
        for line in str(made).split("\n"):
            print(printable(line, 1000), file=report())
    return 0
