"""Finds the functions that a C header declares."""

from __future__ import annotations

import operator
import re
from typing import Callable

from typedcall.record.c_parser import Function, Parser, Type, spliced
from typedcall.record.c_text import declaration_of

__all__ = ["functions_of"]

# None of these patterns reads a character twice, so parsing takes linear time.
_COMMENT_OR_TEXT = re.compile(
    r"/\*(?:.*?\*/|(?P<open>.*))|//[^\n]*" r'|"(?:\\.|[^"\\\n])*"?' r"|'(?:\\.|[^'\\\n])*'?", re.DOTALL
)
_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(\w*)(.*)")
_DEFINED = re.compile(r"[ \t]*(\w*)(\(?)(.*)")
_WORDS = re.compile(r"\|\||&&|[=!<>]=|\w+|\S")
_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]{1,16}|0[0-7]{0,21}|[1-9][0-9]{0,18})[uUlL]*")
_COMPARED: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt,
    "<=": operator.le, ">=": operator.ge,
}  # fmt: skip
_DEEPEST = 63


def functions_of(text: str, is_wanted: Callable[[str], bool]) -> dict[str, str]:
    """Returns the signatures of the functions for which `is_wanted` is true, by their C names. Static functions are
    skipped. Raises ValueError if the text cannot be parsed, or declares a name in two different ways. Raises TypeError
    for a function without a signature."""
    seen, macros = _seen_by_c(text)
    types: dict[str, Type] = {}
    found: dict[str, str] = {}
    parser = Parser(seen, types)
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
            own = {*words, *parser.words_from(start)} if "typedef" in storage or is_wanted(name) else set()
            if parser.take("="):
                while parser.next not in ("", ",", ";"):
                    parser.skip()
            has_body = is_function and parser.next == "{"
            if own & macros and (is_function or "typedef" in storage):
                raise ValueError(
                    f"{min(own & macros)!r} in {declared!r} is a macro of this header: say what it stands "
                    f"for, or leave {name} out"
                )
            if "typedef" in storage:
                if types.setdefault(name, made) != made:
                    raise ValueError(f"{name} has two types in this C text, the second in {declared!r}")
            elif is_function and is_wanted(name) and "static" not in storage:
                try:
                    signature = declaration_of(made, name, declared).signature
                except ValueError as error:
                    raise TypeError(f"{declared!r} has no signature; leave {name} out: {error}") from None
                if found.setdefault(name, signature) != signature:
                    raise ValueError(f"{name} has two types in this C text, the second in {declared!r}")
            if has_body:
                parser.skip()
            elif not parser.take(",") and parser.next != ";":
                raise parser.refuse()
        if not has_body:
            parser.take(";")
    return found


def _seen_by_c(text: str) -> tuple[str, set[str]]:
    """Returns the text without comments, directives and excluded branches, and the names of its macros except those
    defined as themselves. If the value of a condition is unknown, both branches are kept."""
    lines = _COMMENT_OR_TEXT.sub(_blank, spliced(text)).split("\n")
    kept: list[str] = []
    names: set[str] = set()
    # The values of macros; None if unknown.
    values: dict[str, str | None] = {"__cplusplus": "0"}
    # `now` is true if a compiler sees the current line. For each open #if, `around` holds whether a compiler sees the
    # text around it, and whether an earlier branch was taken.
    now: bool | None = True
    guard = ""
    around: list[tuple[bool | None, bool | None]] = []
    for at, line in enumerate(lines):
        directive = _DIRECTIVE.match(line)
        if directive is None:
            kept += [] if now is False else [line]
            continue
        word, rest = directive.groups()
        if word in ("if", "ifdef", "ifndef"):
            value = _condition(word, rest, values)
            guard = _guard(word, rest, lines[at + 1 : at + 2]) if value is None and now else ""
            if guard:
                value, values[guard] = True, ""
            around.append((now, value))
            now = _both(now, value)
        elif word in ("else", "elif", "elifdef", "elifndef") and around:
            outer, before = around.pop()
            value = True if word == "else" else _condition(word[2:], rest, values)
            now = _both(outer, _both(_not(before), value))
            around.append((outer, _not(_both(_not(before), _not(value)))))
        elif word == "endif" and around:
            now = around.pop()[0]
        elif word in ("define", "undef") and now is not False:
            name, opened, body = _DEFINED.match(rest).groups()  # type: ignore[union-attr]
            if word == "define" and body.strip() != name:
                names.add(name)
            is_known = now is True and word == "define" and not opened and name not in values
            # Only the header itself defines its guard. Any other macro may be defined elsewhere.
            if name != guard:
                values[name] = body.strip() if is_known else None
            guard = ""
    if around:
        raise ValueError("an #if of this C text has no #endif")
    return "\n".join(kept), names


def _blank(found: re.Match[str]) -> str:
    if found["open"] is not None:
        raise ValueError("a comment of this C text has no end")
    return " " if found[0][0] == "/" else found[0]


def _guard(word: str, rest: str, behind: list[str]) -> str:
    """Returns the include guard tested by this condition, or "" if it tests none."""
    defined = _DIRECTIVE.match(behind[0]) if behind else None
    if defined is None or defined.group(1) != "define" or not (word == "ifndef" or "!" in rest):
        return ""
    name = "".join(defined.group(2).split()[:1])
    return name if name in _WORDS.findall(rest) else ""


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
