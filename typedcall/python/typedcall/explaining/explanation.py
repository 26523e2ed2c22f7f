"""Explains which overload of a typed function is called for arguments of given types or values, and why the others are
not. The choice is the plan's (typedcall/record/choice.py), as each sink makes it."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

from typedcall.calling.choose import is_alone, nothing_offered, offered
from typedcall.explaining.arguments import Given, read
from typedcall.explaining.sinks import SINKS
from typedcall.record.choice import Overloads, Step, makes_floating, rank_of_kind
from typedcall.record.codes import kind_of, pointee, range_of
from typedcall.record.records import HANDLED, Flags
from typedcall.tools.foreign import few, name_of, printable

__all__ = ["Argument", "Check", "Explanation", "Other", "Tried", "explain"]


class Argument(NamedTuple):
    """One argument, as the plan sees it."""

    given: str
    #: The kind, from typedcall/overload_choice.h, such as "INT" or "C_FLOAT".
    kind: str
    #: The range of an int; 0 and 0 for everything else.
    least: int
    most: int


class Check(NamedTuple):
    """What decides at run time whether a step is taken."""

    #: The number of the argument, from 1.
    argument: int
    #: The range that the int must be in. None if it must be in the ranges of the earlier steps.
    least: int | None
    most: int | None

    def __str__(self) -> str:
        if self.least is None:
            return f"argument {self.argument} was in range before"
        return f"argument {self.argument} is in {self.least}..{self.most}"


class Tried(NamedTuple):
    """A step: an overload that may be called."""

    signature: str
    place: str
    flags: list[str]
    #: All must hold, or the next step follows.
    checks: list[Check]
    #: Why the sink calls the Python function in its place; "" if it calls the C function.
    boxed_because: str


class Other(NamedTuple):
    """An overload that is not called."""

    signature: str
    why: str


class Explanation(NamedTuple):
    """What explain() returns. str() is the text for a person, and as_json() what --json prints."""

    function: str
    sink: str
    arguments: list[Argument]
    #: In the order in which they are tried.
    steps: list[Tried]
    others: list[Other]
    #: True if the Python function is called for values that no step takes.
    falls_back: bool
    #: The codes of the types that the result may have.
    results: list[str]
    #: Why the sink refuses such a call; "" if it does not.
    refused: str

    def as_json(self) -> dict[str, Any]:
        """Returns dicts, lists, texts and numbers. The keys are the names of the fields."""
        made = self._asdict()
        for name in ("arguments", "others"):
            made[name] = [each._asdict() for each in made[name]]
        made["steps"] = [{**step._asdict(), "checks": [check._asdict() for check in step.checks]} for step in self.steps]
        return made

    def __str__(self) -> str:
        given = ", ".join([each.given for each in self.arguments])
        lines = [f"{self.function}({given}), called from {self.sink}"]
        if self.refused:
            lines.append(f"  refused: {self.refused}")
        for number, step in enumerate(self.steps, 1):
            checks = " and ".join(map(str, step.checks))
            instead = f": the Python function is called, because it {step.boxed_because}" if step.boxed_because else ""
            lines.append(f"  {number}. '{step.signature}'{instead}" + (f", if {checks}" if checks else ""))
        if self.falls_back:
            lines.append(f"  {len(self.steps) + 1}. the Python function" + (", for all other values" if self.steps else ""))
        if self.results and not self.refused:
            lines.append(f"  result: {few(map(repr, self.results), ' or ')}")
        lines += ["  not called:"] if self.others else []
        return "\n".join(lines + [f"    '{each.signature}' {each.why}" for each in self.others])


def explain(f: Any, *given: Any, sink: str = "python") -> Explanation:
    """Explains what a call of `f` with such arguments does: which overloads are tried, in which order, what decides at
    run time, and why each other overload is not called.

    Each argument is a value, or a type: the name of a type such as "int64", "float32", "int", "str" or "uint8[]" (an
    array), a code such as "l", Python's int, float, bool, complex, str or bytes, or a dtype of NumPy. A str is always
    the name of a type. `sink` is "python", "numpy", "numba", "jax", "duckdb", "sqlite" or "tvm_ffi". An entry that is
    not PURE counts as if it were, for JAX.

    Calls no function. Raises ValueError for an unknown sink or name, TypeError if `f` offers nothing, and ImportError if
    the sink's library is missing."""
    known = SINKS.get(sink)
    if known is None:
        raise ValueError(f"{sink!r:.200} is none of {few(SINKS)}")
    found = offered(f)
    if not found:
        raise TypeError(f"{name_of(f)} {nothing_offered(f)}")
    values = list(map(read, given))
    obstacles = [entry.flags.requirements(HANDLED) or known.obstacle(entry) for entry in found]
    # An overload that differs from Python's function takes no part in its choice.
    among = [at for at, entry in enumerate(found) if not (obstacles[at] and entry.flags & Flags.DIFFERS)]
    letters = [found[at].python_types()[0] for at in among]
    alone = is_alone(f, [entry.python_types()[0] for entry in found])

    def rank_of(i: int, code: str) -> int | None:
        value = values[i]
        if value.is_array and not known.is_elementwise:
            return 1 if kind_of(code) == "buffer" and pointee(code) == value.letters else None
        return rank_of_kind(alone, value.kind, code)

    plan = Overloads(letters, rank_of)
    ranges = [value.kind.range for value in values]
    tried = plan.steps([*range(len(values))], ranges)
    refused, results = "", [found[among[step.overload]].python_types()[1] for step in tried.reachable
                            if not obstacles[among[step.overload]]]
    if known.ask is not None:
        try:
            results = known.ask(f, found, values)
        except (TypeError, ValueError, OverflowError) as error:
            refused = printable(str(error), 1000)
    taken = tried.reachable
    steps = []
    for step in taken:
        at = among[step.overload]
        steps.append(Tried(found[at].signature, found[at].place, found[at].flags.names, _checks(step, letters[step.overload]),
                           obstacles[at]))
        if obstacles[at]:
            break
    others = [Other(entry.signature, _why_not(at, among, letters, obstacles[at], values, rank_of, tried))
              for at, entry in enumerate(found)
              if at not in [among[step.overload] for step in taken[:len(steps)]]]
    is_sure = bool(steps) and not steps[-1].checks and not steps[-1].boxed_because
    arguments = [Argument(value.text, value.kind.name, *value.kind.range) for value in values]
    return Explanation(name_of(f), sink, arguments, steps, others, not (refused or is_sure or steps and steps[-1].boxed_because),
                       list(dict.fromkeys(results)), refused)


def _checks(step: Step, letters: list[str]) -> list[Check]:
    return [Check(i + 1, *((None, None) if makes_floating(letters[i]) else range_of(letters[i]))) for i in sorted(step.open)]


def _why_not(at: int, among: list[int], letters: list[list[str]], obstacle: str, values: list[Given],
             rank_of: Callable[[int, str], int | None], tried: list[Step]) -> str:
    """Returns the reason why an overload is not called, as the end of a sentence."""
    if at not in among:
        return obstacle
    own = letters[among.index(at)]
    if len(own) != len(values):
        return f"takes {len(own)} argument{'' if len(own) == 1 else 's'}, not {len(values)}"
    for i, code in enumerate(own):
        if rank_of(i, code) is None:
            return f"takes no {values[i].text} as argument {i + 1}, which is '{code}'"
    step = next((step for step in tried if among[step.overload] == at), None)
    if step is not None and False in step.fits:
        i = step.fits.index(False)
        if makes_floating(own[i]):
            return f"would round argument {i + 1}, an int out of range for an overload that comes first"
        return f"has no room for argument {i + 1}: '{own[i]}' is {'..'.join(map(str, range_of(own[i])))}"
    floating = {i for i, code in enumerate(own) if makes_floating(code)}
    for before in tried:
        if before.open and before.open <= floating:
            i = min(before.open) + 1
            return f"would round argument {i}, if that is an int out of range for an overload that comes first"
    if tried:
        return "comes after overloads that accept all such values"
    return obstacle or "is not tried"
