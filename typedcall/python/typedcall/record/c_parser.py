"""Parses C declarations in linear time. Raises ValueError for anything that it does not understand."""

from __future__ import annotations

import bisect
import re
from collections.abc import Mapping
from typing import NamedTuple, Union

__all__ = ["Array", "Function", "Layer", "Parameter", "Parser", "Pointer", "Type", "continues_a_type", "spliced"]

# Names of typedefs, each with an equivalent built-in type. `intptr_t` and `size_t` stand for "n" and "N".
_ALIASES = {
    "intptr_t": "intptr_t",
    "size_t": "size_t",
    "Py_ssize_t": "intptr_t",
    "Py_hash_t": "intptr_t",
    "ssize_t": "intptr_t",
    "ptrdiff_t": "intptr_t",
    "npy_intp": "intptr_t",
    "uintptr_t": "size_t",
    "npy_uintp": "size_t",
    "npy_float": "float",
    "npy_double": "double",
    "npy_longdouble": "long double",
    "__pyx_t_float_complex": "float _Complex",
    "__pyx_t_double_complex": "double _Complex",
    "__pyx_t_long_double_complex": "long double _Complex",
    "_cffi_float_complex_t": "float _Complex",
    "_cffi_double_complex_t": "double _Complex",
}
# SciPy's BLAS and LAPACK types, such as `ctypedef double d`. Cython prefixes these names with the name of the module.
_BLAS_TYPE = re.compile(r"__pyx_t_5scipy_6linalg_\d+cython_(?:blas|lapack)_([sdcz])")
_BLAS_TYPES = {"s": "float", "d": "double", "c": "float _Complex", "z": "double _Complex"}
# `int8` alone is left out: some libraries count bytes, and some bits.
_FIXED_WIDTH = re.compile(r"(u?int(?:8|16|32|64))_t|npy_(u?int(?:8|16|32|64))")

# Alternative spellings of C's keywords.
_SAME = {
    "__const": "const", "__const__": "const", "__volatile": "volatile", "__volatile__": "volatile",
    "__restrict": "restrict", "__restrict__": "restrict", "__inline": "inline", "__inline__": "inline",
    "__signed": "signed", "__signed__": "signed", "_Bool": "bool", "complex": "_Complex",
    "__complex": "_Complex", "__complex__": "_Complex",
}  # fmt: skip
_QUALIFIERS = {"const", "volatile", "restrict"}
_STORAGE = {"extern", "static", "inline", "register", "typedef", "_Noreturn", "__extension__"}
_TAGS = {"struct", "union", "enum"}
_BASIC = {
    "void", "bool", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "_Complex",
}  # fmt: skip
# Macros that stand for several of these words.
_MACROS = {"PY_LONG_LONG": ("long", "long")}
# The words that may be followed by others, such as `int` or a macro like PY_LONG_LONG.
_OPEN = {"short", "long", "signed", "unsigned"}
# Names that are usually macros or types. They are no names of parameters behind one of those words. C itself reads every
# word there that is no macro as a name, even a typedef's.
_LIKE_A_TYPE = re.compile(
    r"_\w*|[A-Z][A-Z0-9_]+|\w+_t|(?i:(?:u|un)?[dhoqx]?_?(?:word|byte|octet|nibble|hyper)\d*|u?int(?:ptr|max|p)"
    r"|(?:big|small|tiny|medium|huge|wide|g|q|x|w|b|l)u?(?:(?:int|long|short|char)\d*)+|(?:long|double)?_?(?:real|dbl|float)\d*)")
# Macros for C's own words, and other names of integers. They are no names of parameters behind any of C's types.
_LIKE_C = re.compile(r"(?:\w*_)?(?:(?:un)?signed|complex|u?quad|[iu](?:8|16|32|64|128)"
                     r"|(?:u|s|unsigned|signed)?_?(?:(?:long|short|char|int)_?)+\d*)(?:_*t?_*)", re.IGNORECASE)
# Reserved words that this parser does not understand.
_OTHERS = {
    "__attribute", "__attribute__", "__declspec", "__asm", "__asm__", "__int128", "__typeof",
    "__typeof__", "__thread", "__alignof__", "alignas", "alignof", "asm", "auto", "break", "case",
    "constexpr", "continue", "default", "do", "else", "for", "goto", "if", "return", "sizeof", "switch",
    "thread_local", "typeof", "typeof_unqual", "while",
}  # fmt: skip


def _spellings() -> dict[tuple[str, ...], str]:
    """Returns the names of C's types, by their words in alphabetical order."""
    made = {}
    for name in ("void", "bool", "char", "float", "double", "long double", "signed char", "unsigned char",
                 "float _Complex", "double _Complex", "long double _Complex"):  # fmt: skip
        made[tuple(sorted(name.split()))] = name
    for size in ("", "short", "long", "long long"):
        for sign in ("", "signed", "unsigned"):
            for least in ("", "int"):
                words = f"{sign} {size} {least}".split()
                unsigned = "unsigned " if sign == "unsigned" else ""
                if words:
                    made[tuple(sorted(words))] = unsigned + (size or "int")
    return made


_SPELLINGS = _spellings()
_BASIC_TYPES = frozenset(_SPELLINGS.values())
# C guarantees 63 levels of brackets, and 12 levels of declarators.
_DEEPEST = 63


def continues_a_type(word: str) -> bool:
    """True if the word looks like a macro for one of C's own words, such as `LONG`, or like an integer type."""
    # C compares 63 characters of a name.
    return len(word) <= 63 and _LIKE_C.fullmatch(word) is not None


def _standard(name: str) -> str | None:
    """Returns C's own name for a type such as `Py_ssize_t` or `npy_int32`."""
    fixed = _FIXED_WIDTH.fullmatch(name)
    if fixed is not None:
        return f"{fixed[1] or fixed[2]}_t"
    blas = _BLAS_TYPE.fullmatch(name)
    return _ALIASES.get(name) if blas is None else _BLAS_TYPES[blas.group(1)]


class Pointer(NamedTuple):
    """A pointer to the rest of the type."""

    is_const: bool


class Array(NamedTuple):
    """An array of the rest of the type."""

    #: The length as it is written, without `static` or qualifiers; "" if there is none.
    length: str


class Function(NamedTuple):
    """A function that returns the rest of the type."""

    #: None if the text does not list the parameters, as in `double f()`.
    parameters: tuple[Parameter, ...] | None
    is_variadic: bool


Layer = Union[Pointer, Array, Function]


class Type(NamedTuple):
    """`const double *x[3]` is an array (layers[0]) of pointers (layers[1]) to a const `double`."""

    base: str  # "unsigned long", "int32_t", "struct x", or an unknown name
    is_const: bool = False
    layers: tuple[Layer, ...] = ()

    def qualified(self) -> Type:
        """Returns the type with `const` added, or an array with const elements."""
        for at, layer in enumerate(self.layers):
            if isinstance(layer, Pointer):
                layers = (*self.layers[:at], Pointer(True), *self.layers[at + 1:])
                return self._replace(layers=layers)
            if isinstance(layer, Function):
                return self
        return self._replace(is_const=True)


class Parameter(NamedTuple):
    """A parameter of a function, or another declared name."""

    type: Type
    name: str  # or ""
    text: str


# One of these alternatives matches at each position, without reading a character twice.
_TOKEN = re.compile(
    r"(?P<blank>\s+|//[^\n]*|/\*.*?\*/)|(?P<open>/\*.*)"
    r"|(?:[^\W\d]\w*(?:::\w+)*|\.?\d[\w.]*|\.\.\."
    r'|"(?:[^"\\\n]|\\.)*"|' r"'(?:[^'\\\n]|\\.)*'" r"|(?P<quote>[\"'])|.)",
    re.DOTALL,
)
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def spliced(text: str) -> str:
    """Joins lines that end in a backslash with the next line."""
    return text.replace("\r\n", "\n").replace("\\\n", "")


def _tokens(text: str) -> list[re.Match[str]]:
    """Returns the tokens without comments or blanks. Raises ValueError for an unterminated comment or literal."""
    found = []
    for match in _TOKEN.finditer(text):
        if match["open"] or match["quote"]:
            raise ValueError(f"{match[0][:20]!r} has no end")
        if not match["blank"]:
            found.append(match)
    return found


def _pairs(tokens: list[re.Match[str]]) -> dict[int, int]:
    """Maps the position of each opening bracket to that of its closing bracket."""
    found, opened = {}, []
    for at, token in enumerate(tokens):
        if token[0] in _CLOSING:
            opened.append(at)
        elif token[0] in _CLOSING.values():
            if not opened or _CLOSING[tokens[opened[-1]][0]] != token[0]:
                raise ValueError(f"nothing opens {token[0]!r}")
            found[opened.pop()] = at
        if len(opened) > _DEEPEST:
            raise ValueError(f"brackets are nested more than {_DEEPEST} deep")
    if opened:
        raise ValueError(f"nothing closes {tokens[opened[-1]][0]!r}")
    return found


class Parser:
    """Parses a text from its start. `at` is the index of the next token. `types` maps the names of types to their
    meanings, and may grow during parsing."""

    def __init__(self, text: str, types: Mapping[str, Type] | None = None) -> None:
        self._text = spliced(text)
        self._types = {} if types is None else types
        self._tokens = _tokens(self._text)
        self._end_of = _pairs(self._tokens)
        self._ends = [at for at, each in enumerate(self._text) if each == "\n"]
        self.at = 0
        # True if another word could continue the type that specifiers() has read.
        self._is_open = False

    @property
    def next(self) -> str:
        """The next token, or "" at the end."""
        return self._word(self.at)

    def _word(self, at: int) -> str:
        text = self._tokens[at][0] if at < len(self._tokens) else ""
        return _SAME.get(text, text)

    def take(self, text: str) -> bool:
        """Consumes the next token and returns True if it is `text`."""
        if self.next != text:
            return False
        self.at += 1
        return True

    def skip(self) -> None:
        """Skips the next token. If it is an opening bracket, skips everything up to the closing bracket."""
        self.at = self._end_of.get(self.at, self.at) + 1

    def text_from(self, start: int) -> str:
        """Returns the text from the token at `start` to the last token read, in one line."""
        return self._quoted(self._tokens[start:self.at])

    def _quoted(self, tokens: list[re.Match[str]]) -> str:
        return " ".join(self._text[tokens[0].start():tokens[-1].end()].split()) if tokens else ""

    def words_from(self, start: int) -> list[tuple[str, int]]:
        """Returns the tokens from `start` to the last one read, except those in braces and square brackets, each with
        its line, counted from 0."""
        found, at = [], start
        while at < self.at:
            word = self._tokens[at][0]
            found.append((word, bisect.bisect(self._ends, self._tokens[at].start())))
            at = self._end_of[at] if word in ("[", "{") else at + 1
        return found

    def refuse(self, what: str = "") -> ValueError:
        """Returns a ValueError whose message quotes the text around the current position."""
        what = what or (f"{self.next!r} is not understood" if self.next else "something is missing")
        near = self._quoted(self._tokens[max(self.at - 6, 0):self.at + 6])
        return ValueError(f"{what}, in {near!r:.500}")

    def specifiers(self) -> tuple[Type, set[str]]:
        """Parses a type without its stars, and the storage classes of the declaration."""
        basic: list[str] = []
        named: Type | None = None
        is_const, storage = False, set()
        self._is_open = False
        while True:
            word = self.next
            if word in _QUALIFIERS:
                is_const = is_const or word == "const"
            elif word in _STORAGE:
                storage.add(word)
                if word == "extern" and self._word(self.at + 1) == '"C"':
                    self.at += 1
            elif word in _BASIC or word in _MACROS:
                basic += _MACROS.get(word, (word,))
            elif not self._is_name(word) or (basic or named) and word not in _TAGS:
                break
            elif basic or named:
                raise self.refuse("two types")
            else:
                named = self._named()
                continue
            self.at += 1
        if named is None:
            name = _SPELLINGS.get(tuple(sorted(basic)))
            if name is None:
                raise self.refuse(f"{' '.join(basic)!r:.500} is not a C type" if basic else "")
            named = Type(name)
            self._is_open = _OPEN.issuperset(basic)
        elif basic:
            raise self.refuse("two types")
        return (named.qualified() if is_const else named), storage

    def without_header(self, is_parameter: bool = False) -> tuple[Type, str, set[str]]:
        """Parses the type, the name and the storage classes of a declaration that may have no name. In `unsigned COUNT`,
        the word may be the name or a macro that continues the type. The type is then unknown, and its base is the
        declaration that makes the word a name: `unsigned int COUNT`."""
        of, storage = self.specifiers()
        word = self.next
        is_unknown = self._is_name(word) and of.base in _BASIC_TYPES and (
            continues_a_type(word) or self._is_open and _LIKE_A_TYPE.fullmatch(word) is not None)
        of, name = self.declarator(of, is_parameter)
        if is_unknown and not self._is_type(word):
            least = " int" if self._is_open and not of.base.endswith("int") else ""
            of = of._replace(base=f"{of.base}{least} {word}")
        return of, name, storage

    def _named(self) -> Type:
        """Parses a struct, or the name of a type."""
        word = self.next
        self.at += 1
        if word in _TAGS:
            name = self.next if self._is_name(self.next) else ""
            self.at += bool(name)
            if self.next == "{":
                self.skip()
            elif not name:
                raise self.refuse()
            return Type(f"{word} {name}".rstrip())
        if self.next == "<":  # in C++, the template arguments are part of the name
            depth = 0
            while depth or self.next == "<":
                depth += {"<": 1, ">": -1}.get(self.next, 0)
                if self.next in ("", ";", "{"):
                    raise self.refuse()
                self.skip()
            return Type(word + "<>")
        known = self._types.get(word)
        return Type(_standard(word) or word) if known is None else known

    def _is_name(self, word: str) -> bool:
        """True if the word is a name. C reserves words such as `_Atomic`."""
        is_reserved = word[:1] == "_" and word[1:2].isupper() or word in _OTHERS
        return word[:1].isidentifier() and not is_reserved

    def _is_type(self, word: str) -> bool:
        known = word in _BASIC or word in _MACROS or word in _QUALIFIERS or word in _TAGS or word in _STORAGE
        return known or word in self._types or _standard(word) is not None

    def _is_group(self, at: int, is_parameter: bool) -> bool:
        """True if the parentheses enclose a part of the declarator rather than parameters."""
        word = self._word(at + 1)
        if word in ("*", "[", "("):
            return word != "(" or self._is_group(at + 1, is_parameter)
        if not self._is_name(word) or self._is_type(word):
            return False
        is_alone = self._word(at + 2) == ")"
        if is_alone and self._word(at + 3) in ("(", "["):
            return True
        if is_parameter and is_alone or self._word(at + 2) in ("(", "["):
            raise self.refuse(f"{word!r:.500} in parentheses may be a name or a type; without them it is a name")
        return False

    def declarator(self, of: Type, is_parameter: bool = False) -> tuple[Type, str]:
        """Parses the stars, the name, and the rest of the declarator. Returns the type and the name."""
        layers, name = self._layers(is_parameter)
        layers += of.layers
        for one, other in zip(layers, layers[1:]):
            if isinstance(one, Function) and not isinstance(other, Pointer):
                raise self.refuse("a function cannot return an array or a function")
            if isinstance(one, Array) and isinstance(other, Function):
                raise self.refuse("an array cannot contain functions")
        if layers and isinstance(layers[-1], Array) and of.base == "void":
            raise self.refuse("an array cannot have elements of void")
        return of._replace(layers=layers), name

    def _layers(self, is_parameter: bool) -> tuple[tuple[Layer, ...], str]:
        pointers: list[Pointer] = []
        inner: tuple[Layer, ...] = ()
        name = ""
        while self.take("*"):
            is_const = False
            while self.next in _QUALIFIERS:
                is_const = is_const or self.next == "const"
                self.at += 1
            pointers.append(Pointer(is_const))
        if self.next == "(" and self._is_group(self.at, is_parameter):
            self.at += 1
            inner, name = self._layers(is_parameter)
            if not self.take(")"):
                raise self.refuse()
        elif self._is_name(self.next) and self.next not in _TAGS:
            name = self.next
            if self._is_type(name) and name not in self._types:
                raise self.refuse("two types")
            self.at += 1
        behind: list[Layer] = []
        while self.next in ("(", "["):
            behind.append(self._array() if self.next == "[" else self._function())
        return (*inner, *behind, *reversed(pointers)), name

    def _array(self) -> Array:
        end = self._end_of[self.at]
        words = [self._word(at) for at in range(self.at + 1, end)]
        self.at = end + 1
        return Array(" ".join(each for each in words if each not in _QUALIFIERS and each != "static"))

    def _function(self) -> Function:
        end = self._end_of[self.at]
        self.at += 1
        if self.take(")"):
            return Function(None, False)
        if self.next == "void" and self.at + 1 == end:
            self.at = end + 1
            return Function((), False)
        parameters: list[Parameter] = []
        while True:
            if parameters and self.next == "..." and self.at + 1 == end:
                self.at = end + 1
                return Function(tuple(parameters), True)
            parameters.append(self._parameter())
            if self.at == end:
                self.at += 1
                return Function(tuple(parameters), False)
            if not self.take(","):
                raise self.refuse()

    def _parameter(self) -> Parameter:
        start = self.at
        made, name, storage = self.without_header(is_parameter=True)
        if storage - {"register"}:
            raise self.refuse(f"a parameter cannot be {min(storage)!r}")
        return Parameter(made, name, self.text_from(start))
