"""The command `cinderx`, which writes declarations for CinderX's Static Python. Static Python can then call a module's
C functions of ints directly."""
from __future__ import annotations

import argparse
import keyword
from typing import Any

from typedcall.cli import NOTHING, CommandError
from typedcall.cli.report import print_json
from typedcall.cli.streams import report
from typedcall.cli.targets import Target, find_targets
from typedcall.record.codes import CODES
from typedcall.record.records import Entry
from typedcall.tools.foreign import printable
from typedcall.tools.libraries import symbol_of
from typedcall.tools.parameters import parameters_of

__all__ = ["run"]

_HEAD = '''"""C functions that {target} offers, for Static Python. Written by `python -m typedcall cinderx
{target}` for the files of this environment: write it again after an installation."""
import __static__
from __static__ import {names}, native
'''


def _static_type(letters: str) -> str:
    """Returns Static Python's name for an int type, or "" if it has none."""
    code = CODES.get(letters)
    if code is None or code.kind not in ("signed", "unsigned"):
        return ""
    return f"{'u' if code.kind == 'unsigned' else ''}int{8 * code.size}"


def _obstacle(entry: Entry) -> str:
    """Returns the reason why Static Python cannot call the entry, or ""."""
    asked = entry.flags.asks()
    if asked:
        return asked
    arguments, result = entry.python_types()
    # The quoted texts are the errors of CinderX 2026.11.
    for letters in arguments:
        if letters == "?":
            return '"Native function argument must be a primitive int, got CBool"'
        if not _static_type(letters):
            return f'"@native: expected a primitive arg", not {_words(letters)}'
    if not _static_type(result):
        return f'"Native function return type must be a primitive int", not {_words(result)}'
    if symbol_of(entry.address) is None:
        return ('its C function has no symbol that others see: make it extern "C" with '
                '__attribute__((visibility("default")))')
    return ""


def _words(letters: str) -> str:
    return CODES[letters].c_type if letters in CODES else f"'{letters}'"


def _parameters(target: Target, count: int) -> list[str]:
    known = parameters_of(target.function)
    names = list(known.names[:count]) if known is not None else []
    usable = len(set(names)) == count and all(
        name.isidentifier() and not keyword.iskeyword(name) for name in names
    )
    return names if usable else [f"x{i}" for i in range(count)]


def _rows(targets: list[Target]) -> list[dict[str, Any]]:
    rows = []
    library_of: dict[str, str] = {}
    for target in targets:
        for entry in target.entries:
            # The generated program contains this name, and a key of a module's dict may be any text.
            row: dict[str, Any] = {"name": printable(target.name), "signature": entry.signature}
            obstacle = _obstacle(entry)
            found = None if obstacle else symbol_of(entry.address)
            if found is not None:
                library, symbol = found
                if not symbol.isidentifier() or keyword.iskeyword(symbol):
                    obstacle = f"'{symbol}' is not a Python name"
                elif library_of.setdefault(symbol, library) != library:
                    obstacle = f"another '{symbol}' is in {library_of[symbol]}"
            if found is None or obstacle:
                row["obstacle"] = obstacle
            else:
                arguments, result = entry.python_types()
                row["library"], row["symbol"] = found
                row["types"] = [_static_type(letters) for letters in [*arguments, result]]
                row["parameters"] = _parameters(target, len(arguments))
            rows.append(row)
    return rows


def _declaration(row: dict[str, Any], names: list[str]) -> str:
    *types, result = row["types"]
    listed = ", ".join(f"{name}: {each}" for name, each in zip(row["parameters"], types))
    return (
        f"\n\n# {', '.join(names)}\n@native({row['library']!r})\n"
        f"def {row['symbol']}({listed}) -> {result}:\n    pass\n"
    )


def run(options: argparse.Namespace) -> int:
    rows = _rows(find_targets(options.target, options.modules))
    if options.json:
        print_json({"target": options.target, "entries": rows})
        return 0
    usable = [row for row in rows if "symbol" in row]
    if not usable:
        reasons = "; ".join(f"{row['name']} '{row['signature']}' {row['obstacle']}" for row in rows)
        raise CommandError(f"Static Python can call nothing of '{options.target}': {reasons}", NOTHING)
    # One C function may be offered under several names.
    by_symbol: dict[str, tuple[dict[str, Any], list[str]]] = {}
    for row in usable:
        by_symbol.setdefault(row["symbol"], (row, []))[1].append(f"{row['name']} '{row['signature']}'")
    names = sorted({name for row in usable for name in row["types"]})
    text = _HEAD.format(target=printable(options.target).replace('"', "'"), names=", ".join(names))
    text += "".join(_declaration(row, shown) for row, shown in by_symbol.values())
    left_out = [row for row in rows if "symbol" not in row]
    if left_out:
        text += "\n\n# Not for Static Python:\n"
    text += "".join(
        f"# {row['name']} '{row['signature']}': {printable(row['obstacle'], 1000)}\n" for row in left_out
    )
    print(text, end="", file=report())
    return 0
