"""What the commands print: tables and progress bars by rich for people, JSON for programs."""
from __future__ import annotations

import contextlib
import json
import sys
from typing import Any, Callable, Iterator, Sequence

from typedcall._foreign import printable
from typedcall.cli import CommandError

__all__ = ["print_json", "print_table", "progress"]


def print_json(value: Any) -> None:
    json.dump(value, sys.stdout, indent=2)
    sys.stdout.write("\n")


def _console(**options: Any) -> Any:
    try:
        from rich.console import Console
    except ImportError:
        raise CommandError("tables need the package rich; --json does without") from None
    console = Console(**options)
    # Into a file or a pipe nothing is cut off or wrapped.
    return console if console.is_terminal else Console(width=200, soft_wrap=True, **options)


def print_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()
) -> None:
    """A table; the columns named in `right` are numbers."""
    console = _console()
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(printable(title)), title_justify="left")
    for column in columns:
        table.add_column(
            column,
            justify="right" if column in right else "left",
            overflow="fold",
            no_wrap=column in right,
        )
    for row in rows:
        # Signatures such as "[d]" are no markup.
        table.add_row(*(Text(printable(cell)) for cell in row))
    console.print(table)


@contextlib.contextmanager
def progress(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr while it is a terminal: call what this gives with the work done."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    try:
        console = _console(stderr=True)
    except CommandError:  # the work can do without
        yield lambda done: None
        return
    from rich.progress import Progress

    with Progress(console=console, transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.advance(task, done)
