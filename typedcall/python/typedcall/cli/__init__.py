"""The command line."""
from __future__ import annotations

import argparse
import difflib
import importlib
import os
import re
import shlex
import sys
import traceback
from collections.abc import Iterable
from typing import Any, NoReturn

from typedcall.cli import streams
from typedcall.tools.foreign import printable

__all__ = ["CommandError", "main", "suggestion"]

#: Exit statuses: FOUND if verify found differences or doctor found a fault, ERROR if the request was wrong, CRASHED
#: if a function crashed, NOTHING if no function could be shown or verified.
FOUND, ERROR, CRASHED, NOTHING = 1, 2, 3, 4

_COMMANDS = ("show", "verify", "explain", "doctor", "bench")


class CommandError(Exception):
    """A user error, described in one line."""

    def __init__(self, text: str, status: int = ERROR) -> None:
        super().__init__(text)
        self.status = status


def suggestion(word: str, known: Iterable[str], before: str = "", behind: str = "") -> str:
    """Returns the end of a message about an unknown word: the known one that resembles it most, between `before` and
    `behind`, or "" if none does."""
    found = difflib.get_close_matches(word, list(known), 1)
    return f"; did you mean '{printable(before + found[0] + behind)}'?" if found else ""


class _Parser(argparse.ArgumentParser):
    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.suggest_on_error = False  # Python 3.15 would make other suggestions

    def error(self, message: str) -> NoReturn:
        choice = re.search("invalid choice: '(.*?)'", message)
        message += suggestion(choice[1], _COMMANDS) if choice else ""
        self.exit(ERROR, f"typedcall: {message} (see {self.prog} --help)\n")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {text}")
    return number


_positive.__name__ = "number"


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m typedcall", description="Typed, unboxed calls between extension modules."
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--includes", action="store_true", help="compiler flags for the headers")
    where.add_argument("--sources", action="store_true", help="source file for TYPEDCALL_SEPARATE")
    where.add_argument("--cmakedir", action="store_true", help="folder of typedcallConfig.cmake")
    where.add_argument("--pkgconfigdir", action="store_true", help="folder of the .pc files")
    where.add_argument("--version", action="store_true", help="version of this package")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)

    def command(name: str, summary: str, target: str | None) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=summary, description=summary)
        if target is not None:
            made.add_argument("target", metavar=target, help="a module, and a name in it")
            made.add_argument(
                "-m", dest="modules", metavar="MODULE", action="append", default=[],
                help="import this one first: it tags functions of others (repeatable)",
            )
        made.add_argument("--json", action="store_true", help="print JSON instead of tables")
        return made

    command("show", "List the native signatures that functions offer.", "MODULE[:NAME]")
    verify = command(
        "verify", "Call functions boxed and unboxed and report every difference.", "MODULE[:NAME]"
    )
    verify.add_argument("--seed", type=int, default=0, help="seed of the random arguments (0)")
    verify.add_argument(
        "--count", type=_positive, default=1000, help="calls for each signature (1000)"
    )
    verify.add_argument(
        "--largest", type=_positive, metavar="N",
        help="use no number beyond N: some functions take longer for larger arguments",
    )
    verify.add_argument(
        "--arguments", action="append", default=[], metavar="VALUES",
        help="Python literals, such as '1.5, 2', instead of generated arguments (repeatable)",
    )
    verify.add_argument(
        "--ranges", metavar="LOW:HIGH,...",
        help="range of the numbers for each parameter, such as '0:1, :, -5:'",
    )
    verify.add_argument(
        "--strict", action="store_true",
        help="also count differences for arguments that do not fit the C types",
    )
    verify.add_argument(
        "--in-process", action="store_true",
        help="run the functions in this process, which a crash then ends",
    )
    verify.add_argument("--junit", metavar="FILE", help="also write a report for CI systems")
    verify.add_argument(
        "--time-limit", type=_positive, metavar="SECONDS", default=60,
        help="limit for each call, unless --in-process (60)",
    )
    explain = command(
        "explain", "Say which overload is called for arguments of given types, and why no other.", "MODULE:NAME"
    )
    explain.add_argument("given", nargs="*", metavar="TYPE", help="int64, float32, str, uint8[], ... or a Python literal")
    explain.add_argument("--sink", default="python", help="the caller: python (default), numpy, numba, jax, duckdb, ...")
    command("doctor", "Report what this interpreter supports and what is installed.", None)
    bench = command("bench", "More: measure every way to call a function.", "MODULE:NAME")
    bench.add_argument("--signature", help="signature to measure, if the function offers several")
    bench.add_argument("--arguments", help="Python literals, such as '1.5, 2'")
    bench.add_argument("--rounds", type=_positive, default=11, help="rounds of interleaved turns (11)")
    bench.add_argument(
        "--milliseconds", type=_positive, default=10, help="time for each way in each round (10)"
    )
    return parser


def _print_path(options: argparse.Namespace) -> bool:
    """Prints the value for an option without a command. Returns False if there is no such option."""
    from typedcall import includes

    if options.includes:
        shown = " ".join(shlex.quote(flag) for flag in includes.include_flags())
    elif options.sources:
        shown = includes.get_source()
    elif options.cmakedir:
        shown = includes.get_cmake_dir()
    elif options.pkgconfigdir:
        shown = includes.get_pkgconfig_dir()
    elif options.version:
        import typedcall

        shown = typedcall.__version__
    else:
        return False
    print(shown, file=streams.report())
    return True


def _run(options: argparse.Namespace) -> int:
    if _print_path(options):
        return 0
    if options.command is None:
        raise CommandError("name a command: show, verify, explain, doctor or bench (see --help)")
    # `python -m` puts the current folder on the path; the installed script must do so itself.
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    module: Any = importlib.import_module("typedcall.cli." + options.command)
    return int(module.run(options))


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns the exit status."""
    streams.open_closed()
    options = _parser().parse_args(arguments)
    try:
        with streams.report_apart(to_the_end=arguments is None):
            return _run(options)
    except KeyboardInterrupt:
        streams.say("typedcall: interrupted")
        return 130
    except BrokenPipeError:  # the process that read the output has closed it
        return 141
    except (CommandError, OSError) as error:
        streams.say(f"typedcall: {printable(str(error), 10000)}")
        return error.status if isinstance(error, CommandError) else ERROR
    except BaseException:  # Python's own status, 1, would mean "differences found"
        streams.say("typedcall: internal error\n" + traceback.format_exc())
        return ERROR
