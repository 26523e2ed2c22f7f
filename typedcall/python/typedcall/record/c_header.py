"""Finds the functions that a C header declares."""

from __future__ import annotations

import operator
import re
from typing import Callable, NamedTuple

from typedcall.record.c_parser import Function, Parser, Type, spliced
from typedcall.record.c_text import declaration_of

__all__ = ["functions_of"]

# None of these patterns reads a character twice, so parsing takes linear time.
_COMMENT_OR_TEXT = re.compile(
    r"/\*(?:.*?\*/|(?P<open>.*))|//[^\n]*" r'|"(?:\\.|[^"\\\n])*"?' r"|'(?:\\.|[^'\\\n])*'?", re.DOTALL
)
_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(\w*)(.*)")
_DEFINED = re.compile(r"[ \t]*(\w*)(\(?)(.*)")
_DEFINE = re.compile(r"[ \t]*#[ \t]*define[ \t]+(\w+)")
# `#ifndef X` and `#if !defined(X)`.
_NOT_DEFINED = re.compile(
    r"[ \t]*#[ \t]*(?:ifndef[ \t]+(\w+)|if[ \t]*![ \t]*defined(?:[ \t]+(\w+)|[ \t]*\([ \t]*(\w+)[ \t]*\)))[ \t]*"
)
_WORDS = re.compile(r"\|\||&&|[=!<>]=|\w+|\S")
_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]{1,16}|0[0-7]{0,21}|[1-9][0-9]{0,18})[uUlL]*")
_COMPARED: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt,
    "<=": operator.le, ">=": operator.ge,
}  # fmt: skip
_DEEPEST = 63


def functions_of(text: str, is_wanted: Callable[[str], bool]) -> dict[str, str]:
    """Returns the signatures of the functions for which `is_wanted` is true, by their C names. Static functions are
    skipped. Raises ValueError if the text cannot be parsed, declares a name in two different ways, or declares it by
    a macro or by a typedef that a compiler may not see. Raises TypeError for a function without a signature."""
    seen = _seen_by_c(text)
    types: dict[str, Type] = {}
    found: dict[str, str] = {}
    typedefs = _Typedefs(seen)
    parser = Parser(seen.text, types)
    while parser.next:
        start = parser.at
        of, storage = parser.specifiers() if parser.next != ";" else (Type("void"), set())
        specified, words = parser.text_from(start), parser.words_from(start)
        has_body = False
        while parser.next != ";" and not has_body:
            start = parser.at
            made, name = parser.declarator(of)
            if not name:
                raise parser.refuse()
            is_function = bool(made.layers) and isinstance(made.layers[0], Function)
            declared = f"{specified} {parser.text_from(start)}"
            is_typedef = "typedef" in storage
            own = [*words, *parser.words_from(start)] if is_typedef or is_wanted(name) else []
            if parser.take("="):
                while parser.next not in ("", ",", ";"):
                    parser.skip()
            has_body = is_function and parser.next == "{"
            by_macro = seen.macros.intersection(word for word, _ in own)
            if by_macro and (is_function or is_typedef):
                raise ValueError(
                    f"{min(by_macro)!r} in {declared!r:.500} is a macro of this header: say what it stands "
                    f"for, or leave {name} out"
                )
            at, conditional = typedefs.conditional(name, own)
            if is_typedef:
                if types.setdefault(name, made) != made:
                    raise ValueError(f"{name} has two types in this C text, the second in {declared!r:.500}")
                typedefs.add(name, at, bool(conditional))
            elif is_function and is_wanted(name) and "static" not in storage:
                if conditional:
                    raise ValueError(
                        f"{conditional!r} in {declared!r:.500} depends on an #if whose condition is not known: keep "
                        f"one of its branches, or leave {name} out"
                    )
                try:
                    signature = declaration_of(made, name, declared).signature
                except ValueError as error:
                    raise TypeError(f"{declared!r:.500} has no signature; leave {name} out: {error}") from None
                if found.setdefault(name, signature) != signature:
                    raise ValueError(f"{name} has two types in this C text, the second in {declared!r:.500}")
            if has_body:
                parser.skip()
            elif not parser.take(",") and parser.next != ";":
                raise parser.refuse()
        if not has_body:
            parser.take(";")
    return found


#: The branches whose condition is unknown around a line, each as (number of the #if, number of the branch).
Branch = tuple[tuple[int, int], ...]


class _Seen(NamedTuple):
    """The text that a compiler may see."""

    #: The text without comments, directives and excluded branches.
    text: str
    #: The names of the macros except those defined as themselves.
    macros: set[str]
    #: The branch of each line.
    lines: list[Branch]
    #: The number of branches of each #if of which a compiler always sees one.
    chains: dict[int, int]


class _Typedefs:
    """The branches that declare each typedef of a text."""

    def __init__(self, seen: _Seen) -> None:
        self._seen = seen
        self._branches: dict[str, set[Branch]] = {}
        self._counts: dict[tuple[str, int], int] = {}
        # Typedefs whose own meaning depends on an unknown condition.
        self._unknown: set[str] = set()

    def conditional(self, name: str, own: list[tuple[str, int]]) -> tuple[Branch, str]:
        """Returns the branch of a declaration of `name` with these words, and the word that makes its meaning depend
        on an unknown condition, or ""."""
        at: Branch = self._seen.lines[own[0][1]] if own else ()
        for word, line in own:
            if self._seen.lines[line] != at or word != name and not self._has(word, at):
                return at, word
        return at, ""

    def _has(self, word: str, at: Branch) -> bool:
        """True if a compiler that sees this branch always sees the same typedef, or if the word is no typedef."""
        branches = self._branches.get(word)
        return branches is None or word not in self._unknown and any(
            at[:depth] in branches for depth in range(len(at) + 1))

    def add(self, name: str, at: Branch, is_unknown: bool) -> None:
        self._unknown.update([name] if is_unknown else [])
        branches = self._branches.setdefault(name, set())
        while at not in branches:
            branches.add(at)
            if not at:
                break
            number = at[-1][0]
            count = self._counts[name, number] = self._counts.get((name, number), 0) + 1
            if count != self._seen.chains.get(number):
                break
            at = at[:-1]  # each branch of this #if declares it


class _If:
    """An open #if."""

    def __init__(self, number: int, outer: bool | None) -> None:
        self.number = number
        #: True if a compiler sees the text around the #if, and None if that is unknown. `before` tells in the same way
        #: whether it sees one of the branches read so far.
        self.outer = outer
        self.before: bool | None = False
        self.branch = -1
        self.known = False
        #: The number of branches that a compiler may see.
        self.seen = 0

    def start_branch(self, value: bool | None) -> bool | None:
        """Starts the next branch, whose condition has this value. Returns whether a compiler sees it."""
        own = _both(_not(self.before), value)
        self.before = _not(_both(_not(self.before), _not(value)))
        self.branch += 1
        self.known = own is not None
        self.seen += own is not False
        return _both(self.outer, own)


def _seen_by_c(text: str) -> _Seen:
    """Returns what a compiler sees. If the value of a condition is unknown, all branches are kept."""
    lines = _COMMENT_OR_TEXT.sub(_blank, spliced(text)).split("\n")
    guards = _guards(lines)
    seen = _Seen("", set(), [], {})
    kept: list[str] = []
    # The values of macros; None if unknown.
    values: dict[str, str | None] = {"__cplusplus": "0"}
    # True if a compiler sees the current line.
    now: bool | None = True
    guard = ""
    number = 0
    around: list[_If] = []
    for at, line in enumerate(lines):
        directive = _DIRECTIVE.match(line)
        if directive is None:
            if now is not False:
                kept.append(line + " ")  # a line is joined once only
                seen.lines.append(tuple((each.number, each.branch) for each in around if not each.known))
            continue
        word, rest = directive.groups()
        if word in ("if", "ifdef", "ifndef"):
            if len(around) == _DEEPEST:
                raise ValueError(f"conditions of this C text are nested more than {_DEEPEST} deep")
            value = _condition(word, rest, values)
            # Whoever defines it, the macro is defined from here on.
            guard = _tested_and_defined(lines, at) if value is None and now else ""
            if guard:
                values[guard] = ""
            number += 1
            around.append(_If(number, now))
            now = around[-1].start_branch(True if at in guards and value is None else value)
        elif word in ("else", "elif", "elifdef", "elifndef") and around:
            now = around[-1].start_branch(True if word == "else" else _condition(word[2:], rest, values))
        elif word == "endif" and around:
            last = around.pop()
            now = last.outer
            if last.before:
                seen.chains[last.number] = last.seen
        elif word in ("define", "undef") and now is not False:
            name, opened, body = _DEFINED.match(rest).groups()  # type: ignore[union-attr]
            if word == "define" and body.strip() != name:
                seen.macros.add(name)
            is_known = now is True and word == "define" and not opened and name not in values
            # A guard has no value. Any other macro may be defined elsewhere.
            if name != guard:
                values[name] = body.strip() if is_known else None
            guard = ""
    if around:
        raise ValueError("an #if of this C text has no #endif")
    return seen._replace(text="\n".join(kept))


def _blank(found: re.Match[str]) -> str:
    if found["open"] is not None:
        raise ValueError("a comment of this C text has no end")
    return " " if found[0][0] == "/" else found[0]


def _tested_and_defined(lines: list[str], at: int) -> str:
    """Returns the name if the #if in this line tests only that a name is not defined, and the next line defines it.
    Otherwise returns ""."""
    test = _NOT_DEFINED.fullmatch(lines[at])
    defined = _DEFINE.match(lines[at + 1]) if test and at + 1 < len(lines) else None
    return test[1] or test[2] or test[3] if test and defined and defined[1] in test.groups() else ""


def _guards(lines: list[str]) -> set[int]:
    """Returns the lines with the include guards of whole headers. There are none if declarations stand outside: such a
    text may test a macro that another header defines."""
    found: set[int] = set()
    depth, start, is_guard, has_declarations = 0, 0, False, False
    for at, line in enumerate(lines):
        directive = _DIRECTIVE.match(line)
        word = directive[1] if directive else ""
        if word in ("if", "ifdef", "ifndef"):
            depth += 1
            if depth == 1:
                start, is_guard, has_declarations = at, bool(_tested_and_defined(lines, at)), False
        elif word == "endif":
            depth -= 1
            if depth == 0 and has_declarations and not is_guard:
                return set()
            found.update([start] if depth == 0 and is_guard else [])
        elif word in ("else", "elif", "elifdef", "elifndef"):
            is_guard = is_guard and depth > 1
        elif not directive:
            has_declarations = has_declarations or ";" in line  # other lines are like `extern "C" {`
            if depth == 0 and line.strip():
                return set()
    return found


def _both(one: bool | None, other: bool | None) -> bool | None:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def _not(one: bool | None) -> bool | None:
    return None if one is None else not one


def _condition(word: str, rest: str, values: dict[str, str | None]) -> bool | None:
    words = _WORDS.findall(rest)
    if word != "if":
        value = _value(["defined", *words[:1]], values, 0)
        return _not(_truth(value)) if word == "ifndef" else _truth(value)
    return _truth(_value(words, values, 0))


def _truth(value: int | None) -> bool | None:
    return None if value is None else value != 0


def _value(words: list[str], values: dict[str, str | None], depth: int) -> int | None:
    """Evaluates a condition if constants, __cplusplus and the header's own macros determine its value."""
    if depth > _DEEPEST or "?" in words:
        return None
    for sign, deciding in (("||", True), ("&&", False)):
        parts = _split(words, {sign})
        if len(parts) > 1:
            known = [_truth(_value(part, values, depth + 1)) for part in parts]
            return int(deciding) if deciding in known else None if None in known else int(not deciding)
    parts = _split(words, set(_COMPARED))
    if len(parts) == 2:
        one, other = (_value(part, values, depth + 1) for part in parts)
        sign = words[len(parts[0])]
        return None if one is None or other is None else int(_COMPARED[sign](one, other))
    signs = next((at for at, word in enumerate(words) if word != "!"), len(words))
    if signs:
        truth = _truth(_value(words[signs:], values, depth + 1))
        return None if truth is None else int(truth != bool(signs % 2))
    if words[:1] == ["("] and words[-1] == ")" and len(_split(words[1:-1], set())) == 1:
        return _value(words[1:-1], values, depth + 1)
    if words[:1] == ["defined"]:
        name = "".join(words[1:]).strip("()")
        return 0 if name == "__cplusplus" else 1 if values.get(name) is not None else None
    if len(words) != 1:
        return None
    integer = _INTEGER.fullmatch((values.get(words[0]) or words[0]).strip("() "))
    if integer is None:
        return None
    number = integer.group(1)
    return int(number, 8 if number[0] == "0" and number.isdigit() else 0)


def _split(words: list[str], signs: set[str]) -> list[list[str]]:
    """Splits the words at those signs that are outside parentheses. Returns [] if the parentheses do not match."""
    parts: list[list[str]] = [[]]
    depth = 0
    for word in words:
        depth += {"(": 1, ")": -1}.get(word, 0)
        if depth < 0:
            return []
        if word in signs and depth == 0:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts if depth == 0 else []
