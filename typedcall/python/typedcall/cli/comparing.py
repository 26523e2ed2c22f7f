"""Makes boxed and unboxed calls to an entry with the same arguments, and compares the outcomes."""
from __future__ import annotations

import itertools
import struct
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Callable

from typedcall.calling.api import backend
from typedcall.cli.arguments import ArgumentMaker, Ranges, as_buffers, fits, why_not
from typedcall.cli.buffers import contents, copied
from typedcall.cli.buffers import show as show_arguments
from typedcall.cli.isolation import Marker
from typedcall.cli.targets import Target, describe
from typedcall.record.records import EVERYTHING, Entry, Flags
from typedcall.tools.foreign import is_a, is_unbound, show
from typedcall.tools.parameters import by_position

__all__ = ["CONVERSION", "MOST_SHOWN", "Calls", "Verdict", "shorten", "verify_entry"]

MOST_SHOWN = 5
#: The reason of a difference that counts as a conversion.
CONVERSION = "an argument of another type or size"

Example = tuple[str, str, str, str]


@dataclass
class Verdict:
    """The results of all calls to one entry."""

    name: str
    signature: str
    calls: int = 0
    equal: int = 0
    #: The number of differences of an entry that is declared with DIFFERS.
    declared: int = 0
    explained: dict[str, int] = field(default_factory=dict)
    #: The number of differences for arguments that do not fit. Wrappers may convert these differently.
    conversions: int = 0
    unexplained: int = 0
    #: The first few differences of any kind, as (arguments, boxed, unboxed, reason).
    examples: list[Example] = field(default_factory=list)
    #: The reason why the entry was not called, or empty.
    skipped: str = ""
    #: The number of unboxed calls that ended their process, by a crash or otherwise. These also count as unexplained.
    crashes: int = 0
    #: The reason why the calls stopped early, or empty.
    stopped: str = ""

    def show(self, example: Example) -> None:
        """Adds an example. Keeps only a few, the unexplained ones first and conversions last."""
        self.examples.append(example)
        self.examples.sort(key=lambda each: (each[3] != "", each[3] == CONVERSION))
        del self.examples[MOST_SHOWN:]

    def add(self, part: Verdict) -> None:
        """Adds the results of other calls to the same entry."""
        for name in ("calls", "equal", "declared", "conversions", "unexplained"):
            setattr(self, name, getattr(self, name) + getattr(part, name))
        for reason, count in part.explained.items():
            self.explained[reason] = self.explained.get(reason, 0) + count
        for example in part.examples:
            self.show(example)
        self.skipped = part.skipped


_Outcome = tuple[str, Any, list[Any]]


def _outcome(
    call: Callable[..., Any], arguments: tuple[Any, ...], letters: list[str]
) -> _Outcome:
    """Returns the outcome of a call: ("returns", value, contents) or ("raises", exception, contents), with the
    contents of the buffers after the call."""
    arguments = copied(letters, arguments)
    try:
        outcome, value = "returns", call(*arguments)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # even SystemExit is an outcome
        outcome, value = "raises", error
    return outcome, value, contents(letters, arguments)


def _bits(value: float) -> tuple[bool, bytes]:
    """Returns a key for comparisons. All nans have the same key, but 0.0 and -0.0 differ."""
    return (True, b"") if value != value else (False, struct.pack("d", value))


def _plain(value: Any) -> Any:
    """Converts a NumPy scalar to a Python number."""
    return value.item() if _is_numpys(value, "generic") else value


def _is_numpys(value: Any, name: str) -> bool:
    return is_a(value, getattr(sys.modules.get("numpy"), name, None))


def _same_value(a: Any, b: Any) -> bool:
    a, b = _plain(a), _plain(b)
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return _bits(a) == _bits(b)
    if isinstance(a, complex):
        return _bits(a.real) == _bits(b.real) and _bits(a.imag) == _bits(b.imag)
    try:
        return a is b or _same_object(a, b)
    except KeyboardInterrupt:
        raise
    except BaseException:  # raised by `__eq__`, or by a container that contains itself
        return repr(a) == repr(b)


def _same_object(a: Any, b: Any) -> bool:
    """True if both have the same type and value. Even inside containers, 0.0 differs from -0.0, and 1 from 1.0."""
    if type(a) in (tuple, list):
        return len(a) == len(b) and all(map(_same_value, a, b))
    if type(a) is dict:
        return a.keys() == b.keys() and all(_same_value(a[key], b[key]) for key in a)
    if _is_numpys(a, "ndarray"):
        return (a.dtype, a.shape) == (b.dtype, b.shape) and _same_value(a.tolist(), b.tolist())
    if _is_numpys(a, "generic"):  # for a long double, == ignores the sign of a zero
        return repr(a) == repr(b)
    return bool(a == b) or repr(a) == repr(b)


def _same(a: _Outcome, b: _Outcome) -> bool:
    if a[0] != b[0] or not _same_value(a[2], b[2]):
        return False
    # The texts of exceptions may differ, so only the types are compared.
    return type(a[1]) is type(b[1]) if a[0] == "raises" else _same_value(a[1], b[1])


def shorten(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."


def _show(outcome: _Outcome) -> str:
    if outcome[0] == "raises":
        return shorten("raises " + describe(outcome[1]))
    return shorten(", ".join(map(show, (outcome[1], *outcome[2][:1]))))


def _function_of(target: Target, entry: Entry) -> Any:
    """Returns a function for exactly this entry. Another entry may have the same signature, but a different
    address."""
    found = backend.resolve_among(target.function, [entry], entry.signature, EVERYTHING, "exact")
    return by_position(target.function, found)


class _Comparison:
    """Compares boxed and unboxed calls to one entry of a function."""

    def __init__(self, target: Target, entry: Entry, marker: Marker, strict: bool) -> None:
        self._boxed = by_position(target.function)
        self._marker = marker
        self._strict = strict
        self._letters = entry.python_types()[0]
        self._declared = bool(entry.flags & Flags.DIFFERS)
        self._unboxed = _function_of(target, entry)
        self._others = [
            _function_of(target, other)
            for other in target.entries
            if other.signature != entry.signature
        ]

    def explain(self, arguments: tuple[Any, ...], boxed: _Outcome) -> str | None:
        """Returns the reason why the unboxed call may have differed from this boxed call, or None."""
        for other in self._others:
            if _same(boxed, _outcome(other, arguments, self._letters)):
                return f"Python chooses the overload '{other.signature}'"
        if not _same(boxed, _outcome(self._boxed, arguments, self._letters)):
            return "the boxed call does not repeat itself"
        return None

    def compare(self, call: int, arguments: tuple[Any, ...], verdict: Verdict) -> None:
        shown = show_arguments(arguments)
        self._marker.set(call, "boxed call with " + shown)
        boxed = _outcome(self._boxed, arguments, self._letters)
        # The marker keeps this outcome if the unboxed call ends the process.
        self._marker.set(call, "comparison")
        did = _show(boxed)
        self._marker.set(call, f"unboxed call with {shorten(shown)}\n{did}")
        unboxed = _outcome(self._unboxed, arguments, self._letters)
        self._marker.set(call, "comparison")
        verdict.calls += 1
        if _same(boxed, unboxed):
            verdict.equal += 1
            return
        if self._declared:
            reason = "declared (DIFFERS)"
            verdict.declared += 1
        elif not self._strict and not all(map(fits, self._letters, arguments)):
            reason = CONVERSION
            verdict.conversions += 1
        else:
            explanation = self.explain(arguments, boxed)
            reason = explanation or ""
            if explanation is None:
                verdict.unexplained += 1
            else:
                verdict.explained[explanation] = verdict.explained.get(explanation, 0) + 1
        verdict.show((shorten(shown), did, _show(unboxed), reason))


def _obstacle(target: Target) -> str | None:
    if not callable(target.function):
        return "it cannot be called from Python"
    if is_unbound(target.function):
        return "it needs an instance; name a bound method"
    return None


def _obstacle_on_pypy(entry: Entry) -> str | None:
    if sys.implementation.name != "pypy":
        return None
    from typedcall.pypy.pointers import why_not

    reason: Any = why_not(replace(entry, flags=entry.flags & ~Flags.DIFFERS))
    return None if reason is None else f"on PyPy it is called boxed only: it {reason}"


@dataclass(frozen=True)
class Calls:
    """The arguments of the calls."""

    count: int
    seed: int = 0
    largest: int | None = None
    ranges: Ranges = ()
    given: tuple[tuple[Any, ...], ...] = ()
    #: True if differences for arguments that do not fit count as unexplained.
    strict: bool = False

    @property
    def number(self) -> int:
        return len(self.given) or self.count

    def of(self, entry: Entry, has_overloads: bool) -> Iterable[tuple[Any, ...]]:
        if self.given:
            return [as_buffers(entry.python_types()[0], each) for each in self.given]
        # Arguments that do not fit are used only if there are no overloads: both calls must then refuse them.
        letters = entry.python_types()[0]
        return ArgumentMaker(letters, self.seed, has_overloads, self.largest,
                             self.ranges).all(self.count)

    def why_not(self, entry: Entry) -> str | None:
        """Returns the reason why the entry cannot be called with these arguments, or None."""
        letters = entry.python_types()[0]
        if not self.given:
            if len(self.ranges) > 1 and len(self.ranges) != len(letters):
                return f"takes {len(letters)} arguments, and {len(self.ranges)} ranges are given"
            return why_not(letters)
        for arguments in self.given:
            if len(arguments) != len(letters):
                return f"takes {len(letters)} arguments, and {len(arguments)} are given"
        return None


def verify_entry(
    target: Target,
    entry: Entry,
    calls: Calls,
    marker: Marker,
    first: int = 0,
    end: int | None = None,
) -> Verdict:
    """Calls an entry and its Python callable with the same arguments, and compares the outcomes. `first` and `end`
    select a slice of the calls."""
    verdict = Verdict(target.name, entry.signature)
    verdict.skipped = _obstacle(target) or calls.why_not(entry) or _obstacle_on_pypy(entry) or ""
    if verdict.skipped:
        return verdict
    comparison = _Comparison(target, entry, marker, calls.strict)
    arguments = calls.of(entry, len(target.entries) > 1)
    for call, each in itertools.islice(enumerate(arguments), first, end):
        comparison.compare(call, each, verdict)
    return verdict
