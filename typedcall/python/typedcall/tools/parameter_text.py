"""Parses the `parameters` of tag(), such as "(x, y, /, octaves=1, *, base=0.0)". Python's own parser accepts any code,
and raises MemoryError for deep nesting."""
from __future__ import annotations

import ast
import keyword
import re
import unicodedata
from typing import Any

from typedcall.tools.foreign import show

__all__ = ["parse_parameters"]

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>[bBrRuU]{0,2}(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"))|(?P<name>[^\W\d]\w*)"""
    r"""|(?P<number>\.?\d(?:[eE][+-]|[\w.])*)|(?P<sign>\S)|(?P<end>$))"""
)
_CONSTANTS = {"True": True, "False": False, "None": None}
_DEEPEST = 20
_LONGEST_NUMBER = 4300  # the limit of int() from Python 3.11 on
_HOW = "they are names, with constants as defaults: '(x, y, /, octaves=1, *, base=0.0)'"


#: The names, the numbers of positional-only and of positional parameters, and the defaults by name.
_Parsed = tuple[list[str], int, int, dict[str, Any]]


class _Reader:
    """Reads the tokens of a text, with one token of look-ahead."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._end = 0
        self.take()

    def take(self) -> str:
        """Consumes the next token and returns it."""
        taken = getattr(self, "token", "")
        found = _TOKEN.match(self._text, self._end)
        assert found is not None  # the pattern matches any character and the end
        self.kind = found.lastgroup or ""
        self.token = found.group(self.kind)
        self._start, self._end = found.start(self.kind), found.end()
        return taken

    def takes(self, token: str) -> bool:
        """Consumes the next token and returns True if it is `token`."""
        return self.token == token and bool(self.kind == "sign" and self.take())

    def need(self, token: str) -> None:
        if not self.takes(token):
            raise self.error(f"'{token}' is missing")

    def error(self, what: str) -> ValueError:
        here = show(self.token) if self.token else "the end"
        return ValueError(f"{what} at position {self._start}, before {here}")


def _number(reader: _Reader, sign: str) -> Any:
    if reader.kind != "number" or len(reader.token) > _LONGEST_NUMBER:
        raise reader.error("a number is missing")
    word = reader.token.lower()
    try:
        if not word.startswith(("0x", "0o", "0b")) and word.endswith("j"):
            value: Any = complex(0, float(word[:-1]))
        elif not word.startswith(("0x", "0o", "0b")) and re.search("[.e]", word):
            value = float(word)
        else:
            value = int(word, 0)
    except ValueError:
        raise reader.error("no number") from None
    reader.take()
    return -value if sign == "-" else value


def _constant(reader: _Reader, depth: int = 0) -> Any:
    if reader.kind == "text":
        try:
            return ast.literal_eval(reader.take())  # a single token has no nesting
        except (SyntaxError, ValueError):
            raise reader.error("an invalid string") from None
    if reader.token in _CONSTANTS and reader.kind == "name":
        return _CONSTANTS[reader.take()]
    if depth < _DEEPEST and reader.takes("("):
        items: list[Any] = []
        is_tuple = False
        while not reader.takes(")"):
            if items and not is_tuple:
                raise reader.error("')' is missing")
            items.append(_constant(reader, depth + 1))
            is_tuple = reader.takes(",") or is_tuple and reader.token == ")"
        return tuple(items) if is_tuple or not items else items[0]
    sign = reader.take() if reader.token in ("+", "-") else ""
    value = _number(reader, sign)
    if reader.token in ("+", "-") and type(value) is not complex:
        imaginary = _number(reader, reader.take())
        if type(imaginary) is not complex:
            raise reader.error("no constant")
        value += imaginary
    return value


def _name(reader: _Reader) -> str:
    if reader.kind != "name" or keyword.iskeyword(reader.token):
        raise reader.error("a name is missing")
    return unicodedata.normalize("NFKC", reader.take())  # Python normalises names in the same way


def _parse(text: str) -> _Parsed:
    reader = _Reader(text)
    names: dict[str, None] = {}
    defaults: dict[str, Any] = {}
    positional_only, positional = 0, -1
    reader.need("(")
    while not reader.takes(")"):
        if reader.takes("*"):
            if reader.token == "*" or reader.kind == "name":
                raise ValueError("C functions have no *args and **keywords")
            if positional >= 0:
                raise reader.error("a second '*'")
            positional = len(names)
        elif reader.takes("/"):
            if positional_only or positional >= 0 or not names:
                raise reader.error("'/' may appear once, after a name and before '*',")
            positional_only = len(names)
        else:
            name = _name(reader)
            if name in names:
                raise ValueError(f"there are two named '{name:.200}'")
            names[name] = None
            if reader.takes("="):
                defaults[name] = _constant(reader)
            elif defaults and positional < 0:
                raise ValueError(f"'{name:.200}' without a default follows one with a default")
        if not reader.takes(",") and reader.token != ")":
            raise reader.error("',' or ')' is missing")
    if reader.kind != "end":
        raise reader.error("more than a list of parameters")
    if positional == len(names):
        raise ValueError("no name after '*'")
    return list(names), positional_only, len(names) if positional < 0 else positional, defaults


def parse_parameters(text: str) -> _Parsed:
    """Parses a text such as "(x, y, /, octaves=1, *, base=0.0)". Raises ValueError for any other text."""
    try:
        return _parse(text)
    except ValueError as error:
        raise ValueError(f"unusable parameters {show(text)}: {error}; {_HOW}") from None
