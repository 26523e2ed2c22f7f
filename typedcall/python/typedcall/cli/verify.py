"""`verify`: calls functions boxed and unboxed with the same arguments and reports every difference,
down to the sign of a zero. What is declared or explained is told apart from what is not."""
from __future__ import annotations

import argparse
import struct
import sys
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Callable

import typedcall
from typedcall._foreign import is_a, show, type_name
from typedcall._records import EVERYTHING, Entry, Flags
from typedcall.cli import CRASHED, FOUND, NOTHING, CommandError
from typedcall.cli.arguments import ArgumentMaker, why_not
from typedcall.cli.isolation import Marker, isolated
from typedcall.cli.report import print_json, print_table, progress, write_junit
from typedcall.cli.targets import Target, describe, find_targets

__all__ = ["Verdict", "run", "verify_entry"]

_MOST_SHOWN = 5


@dataclass
class Verdict:
    """What came of the calls of one entry."""

    name: str
    signature: str
    calls: int = 0
    equal: int = 0
    #: Of an entry with DIFFERS.
    declared: int = 0
    #: By reason.
    explained: dict[str, int] = field(default_factory=dict)
    unexplained: int = 0
    #: The first few differences of any kind: arguments, boxed, unboxed, reason.
    examples: list[tuple[str, str, str, str]] = field(default_factory=list)
    #: Why nothing was called; empty if something was.
    skipped: str = ""
    #: Has the unboxed call ended its process? That counts as unexplained.
    crashed: bool = False


_Outcome = tuple[str, Any]


def _outcome(call: Callable[..., Any], arguments: tuple[Any, ...]) -> _Outcome:
    """What a call does: ("returns", value) or ("raises", exception)."""
    try:
        return "returns", call(*arguments)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit, too, is what the function does
        return "raises", error


def _bits(value: float) -> tuple[bool, bytes]:
    """Equal for the same float; all nans are one."""
    return (True, b"") if value != value else (False, struct.pack("d", value))


def _plain(value: Any) -> Any:
    """NumPy's scalars are the Python numbers that they hold."""
    numpy: Any = sys.modules.get("numpy")
    return value.item() if numpy is not None and is_a(value, numpy.generic) else value


def _same_value(a: Any, b: Any) -> bool:
    a, b = _plain(a), _plain(b)
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return _bits(a) == _bits(b)
    if isinstance(a, complex):
        return _bits(a.real) == _bits(b.real) and _bits(a.imag) == _bits(b.imag)
    try:
        return bool(a is b or a == b) or repr(a) == repr(b)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return False


def _same(a: _Outcome, b: _Outcome) -> bool:
    if a[0] != b[0]:
        return False
    # The wording is the wrapper's own affair.
    return type(a[1]) is type(b[1]) if a[0] == "raises" else _same_value(a[1], b[1])


def _shorten(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."


def _show(outcome: _Outcome) -> str:
    if outcome[0] == "raises":
        return _shorten("raises " + describe(outcome[1]))
    return _shorten(show(outcome[1]))


def _function_of(target: Target, entry: Entry) -> Any:
    """The very entry as a function: two of one signature may have different addresses."""
    if sys.implementation.name == "pypy":
        return typedcall.resolve(
            target.function, entry.signature, capabilities=EVERYTHING, casting="exact"
        )
    from typedcall import _native

    return _native.make_function(
        target.function, entry.signature, entry.flags, entry.address, entry.place,
        entry.keep_alive, entry.signature, "exact",
    )


class _Comparison:
    """The calls of one entry of a function."""

    def __init__(self, target: Target, entry: Entry, marker: Marker) -> None:
        self._boxed = target.function
        self._marker = marker
        self._declared = bool(entry.flags & Flags.DIFFERS)
        self._unboxed = _function_of(target, entry)
        self._others = [
            _function_of(target, other)
            for other in target.entries
            if other.signature != entry.signature
        ]

    def explain(self, arguments: tuple[Any, ...], boxed: _Outcome) -> str | None:
        """Why the two may differ, or None."""
        for other in self._others:
            if _same(boxed, _outcome(other, arguments)):
                return f"Python chooses the overload '{other.signature}'"
        if not _same(boxed, _outcome(self._boxed, arguments)):
            return "the boxed call does not repeat itself"
        return None

    def compare(self, arguments: tuple[Any, ...], verdict: Verdict) -> None:
        self._marker.set(f"boxed call with {arguments!r}")
        boxed = _outcome(self._boxed, arguments)
        self._marker.set(f"unboxed call with {arguments!r}")
        unboxed = _outcome(self._unboxed, arguments)
        self._marker.set("comparison")
        verdict.calls += 1
        if _same(boxed, unboxed):
            verdict.equal += 1
            return
        if self._declared:
            reason = "declared (DIFFERS)"
            verdict.declared += 1
        else:
            explanation = self.explain(arguments, boxed)
            reason = explanation or ""
            if explanation is None:
                verdict.unexplained += 1
            else:
                verdict.explained[explanation] = verdict.explained.get(explanation, 0) + 1
        # What is unexplained is shown before anything else.
        shown = (_shorten(repr(arguments)), _show(boxed), _show(unboxed), reason)
        if not reason:
            at = sum(1 for example in verdict.examples if not example[3])
            verdict.examples.insert(at, shown)
            del verdict.examples[_MOST_SHOWN:]
        elif len(verdict.examples) < _MOST_SHOWN:
            verdict.examples.append(shown)


def _obstacle(target: Target, entry: Entry) -> str | None:
    if not callable(target.function):
        return "it cannot be called from Python"
    if type_name(target.function) in ("method_descriptor", "classmethod_descriptor"):
        return "it needs an instance; name a bound method"
    if sys.implementation.name == "pypy":
        from typedcall import _pypy_shims

        asked = replace(entry, flags=entry.flags & ~Flags.DIFFERS)
        reason: Any = _pypy_shims.why_not(asked)
        if reason is not None:
            return f"on PyPy it is called boxed only: it {reason}"
    return why_not(entry.python_types()[0])


def verify_entry(
    target: Target,
    entry: Entry,
    count: int,
    seed: int,
    done: Callable[[int], None],
    largest: int | None = None,
    marker: Marker | None = None,
) -> Verdict:
    """Calls one entry `count` times beside its Python callable. `done` is told of every hundred."""
    verdict = Verdict(target.name, entry.signature)
    obstacle = _obstacle(target, entry)
    if obstacle is not None:
        verdict.skipped = obstacle
        done(count)
        return verdict
    # With one signature only, what does not fit must be refused in the same way both times.
    maker = ArgumentMaker(entry.python_types()[0], seed, len(target.entries) > 1, largest)
    comparison = _Comparison(target, entry, marker or Marker())
    for arguments in maker.all(count):
        comparison.compare(arguments, verdict)
        if verdict.calls % 100 == 0:
            done(100)
    done(count % 100)
    return verdict


def _verify_isolated(target: Target, entry: Entry, options: argparse.Namespace) -> Verdict:
    """verify_entry() in a process of its own. What its boxed call does there is no difference."""
    marker = Marker()
    marker.set("first call")

    def work() -> Verdict:
        return verify_entry(target, entry, options.count, options.seed, lambda _: None,
                            options.largest, marker)

    verdict, fault = isolated(work, options.time_limit)
    if fault is None:
        return verdict  # type: ignore[no-any-return]
    doing = marker.get()
    verdict = Verdict(target.name, entry.signature)
    if doing.startswith("unboxed") and not fault.startswith("did not end"):
        verdict.unexplained, verdict.crashed = 1, True
        verdict.examples.append((_shorten(doing), "returns", fault, ""))
    else:
        verdict.skipped = f"{fault} in its {_shorten(doing)}"
    return verdict


def _print(target: str, verdicts: list[Verdict]) -> None:
    print_table(
        target,
        ("name", "signature", "calls", "equal", "declared", "explained", "unexplained", "note"),
        [
            (
                verdict.name,
                verdict.signature,
                str(verdict.calls),
                str(verdict.equal),
                str(verdict.declared),
                str(sum(verdict.explained.values())),
                str(verdict.unexplained),
                verdict.skipped and "skipped: " + verdict.skipped,
            )
            for verdict in verdicts
        ],
        right=("calls", "equal", "declared", "explained", "unexplained"),
    )
    rows = [(verdict.name, verdict.signature, *example)
            for verdict in verdicts for example in verdict.examples]
    if rows:
        print_table(
            f"Differences (the first {_MOST_SHOWN} of each)",
            ("name", "signature", "arguments", "boxed", "unboxed", "explanation"),
            [(*row[:5], row[5] or "NONE") for row in rows],
        )


def _case(verdict: Verdict) -> tuple[str, str, str, str]:
    """For write_junit()."""
    name = f"{verdict.name} {verdict.signature}"
    if verdict.skipped:
        return name, "skipped", verdict.skipped, ""
    text = "\n".join(f"{arguments}: boxed {boxed}, unboxed {unboxed}"
                     for arguments, boxed, unboxed, reason in verdict.examples if not reason)
    if verdict.crashed:
        return name, "error", "the unboxed call ended its process", text
    differ = f"{verdict.unexplained} of {verdict.calls} calls differ"
    return name, "failure" if verdict.unexplained else "", differ, text


def run(options: argparse.Namespace) -> int:
    targets = find_targets(options.target, options.modules)
    work = [(target, entry) for target in targets for entry in target.entries]
    verdicts = []
    with progress("verifying", len(work) * options.count) as done:
        for target, entry in work:
            if options.isolate:
                verdicts.append(_verify_isolated(target, entry, options))
                done(options.count)
            else:
                verdicts.append(verify_entry(target, entry, options.count, options.seed, done,
                                             options.largest))
    if options.json:
        print_json({"target": options.target, "seed": options.seed,
                    "verdicts": [asdict(verdict) for verdict in verdicts]})
    else:
        _print(options.target, verdicts)
    if options.junit:
        write_junit(options.junit, options.target, [_case(verdict) for verdict in verdicts])
    if all(verdict.skipped for verdict in verdicts):
        raise CommandError(f"nothing was verified: {verdicts[0].skipped}", NOTHING)
    if any(verdict.crashed for verdict in verdicts):
        return CRASHED
    return FOUND if any(verdict.unexplained for verdict in verdicts) else 0
