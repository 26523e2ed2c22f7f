"""Prints the reports of the commands as tables or JSON."""
from __future__ import annotations

import contextlib
import json
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from typing import Any, Callable

from typedcall.cli.streams import report, say
from typedcall.tools.foreign import printable

__all__ = ["print_json", "print_table", "progress", "write_junit"]


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2), file=report())


def write_junit(path: str, suite: str, cases: Sequence[tuple[str, str, str, str]]) -> None:
    """Writes a JUnit file for CI systems. Each case is (name, kind, message, text). `kind` is "skipped", "failure",
    "error", or empty if the case passed."""
    made = ElementTree.Element("testsuite", name=printable(suite), tests=str(len(cases)))
    for plural, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        made.set(plural, str(sum(case[1] == kind for case in cases)))
    for name, kind, message, text in cases:
        case = ElementTree.SubElement(made, "testcase", classname=printable(suite),
                                      name=printable(name))
        if kind:
            reason = ElementTree.SubElement(case, kind, message=printable(message))
            reason.text = "\n".join(map(printable, text.split("\n")))
    ElementTree.ElementTree(made).write(path, encoding="utf-8", xml_declaration=True)


def _console(**options: Any) -> Any:
    """Returns a rich Console, or None if rich is not installed."""
    try:
        from rich.console import Console
    except ImportError:
        return None
    console: Any = Console(**options)
    if not console.is_terminal:  # do not cut or wrap lines written to a file or a pipe
        console = Console(width=200, soft_wrap=True, **options)
    console.on_broken_pipe = _raise_broken_pipe  # rich's own would exit with status 1
    return console


def _raise_broken_pipe() -> None:
    raise BrokenPipeError


def print_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()
) -> None:
    """Prints a table. `right` names the columns to align to the right."""
    title, lines = printable(title), [[printable(cell) for cell in row] for row in rows]
    console = _console(file=report())
    if console is None:
        _print_plain(title, columns, lines, right)
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), title_justify="left")
    for column in columns:
        table.add_column(
            column,
            justify="right" if column in right else "left",
            overflow="fold",
            no_wrap=column in right,
        )
    for line in lines:
        # Otherwise rich would read signatures such as "[d]" as markup.
        table.add_row(*(Text(cell) for cell in line))
    console.print(table)


def _print_plain(
    title: str, columns: Sequence[str], lines: Sequence[Sequence[str]], right: Sequence[str]
) -> None:
    widths = [max(map(len, cells)) for cells in zip(columns, *lines)]
    print(title, file=report())
    for line in (columns, ["-" * width for width in widths], *lines):
        cells = (
            cell.rjust(width) if column in right else cell.ljust(width)
            for cell, column, width in zip(line, columns, widths)
        )
        print("  ".join(cells).rstrip(), file=report())


#: The seconds between two lines about the progress, in a terminal and elsewhere.
_EVERY, _EVERY_ELSEWHERE = 5, 30


def _lines(label: str, total: int, every: int) -> Callable[[int], None]:
    count, last = 0, time.monotonic()

    def done(more: int) -> None:
        nonlocal count, last
        count += more
        now = time.monotonic()
        if now - last >= every:
            last = now
            say(f"{label}: {count} of {total}")

    return done


@contextlib.contextmanager
def progress(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """Shows a progress bar if stderr is a terminal and rich is installed, or else writes a line at times. Call the
    yielded function with the amount of work done since the last call."""
    is_terminal = sys.stderr.isatty()
    console = _console(stderr=True) if is_terminal else None
    if console is None:
        yield _lines(label, total, _EVERY if is_terminal else _EVERY_ELSEWHERE)
        return
    from rich.progress import Progress

    with Progress(console=console, transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.advance(task, done)
