"""PyPy: what resolve() gives, a C function that is called through cffi with what the boxed wrapper would make
of the arguments."""
from __future__ import annotations

import dataclasses
import operator
import sys
from collections.abc import Iterator
from typing import Any, Callable, ClassVar

from typedcall.pypy.buffers import buffer_of, release
from typedcall.pypy.pointers import native_pointer, new_place, why_not
from typedcall.pypy.shims import direct_call
from typedcall.record.codes import CODES, Code, is_buffer
from typedcall.record.records import Entry, Flags
from typedcall.tools.foreign import text_attribute, type_name
from typedcall.tools.parameters import Arrangement, arrange, arrangement_of, has_keyword_only

__all__ = ["TypedFunction"]

# PyFloat_AsDouble, which the wrapper calls, has it since PyPy 8.0 only.
_DOUBLES_TAKE_INDEX = getattr(sys, "pypy_version_info", (8,))[0] >= 8


def _float(value: Any) -> float:
    """What PyFloat_AsDouble makes of it: float() alone would read strings and buffers."""
    if hasattr(type(value), "__float__"):
        return float(value)
    if _DOUBLES_TAKE_INDEX and hasattr(type(value), "__index__"):
        return float(operator.index(value))
    raise TypeError(f"must be real number, not {type(value).__name__}")


def _fits(code: Code, value: int) -> bool:
    if code.kind == "signed":
        value = -value - 1 if value < 0 else value
        return value < 1 << (8 * code.size - 1)
    return 0 <= value < 1 << (8 * code.size)


# For arguments that are not of the very type.
_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "bool": bool,
    "signed": operator.index,
    "unsigned": operator.index,
    "floating": _float,
}


def _converted(arguments: list[str], args: tuple[Any, ...], buffers: list[Any]) -> Iterator[Any]:
    """What C gets. `buffers` gets those that are to be released."""
    for letters, arg in zip(arguments, args):
        if is_buffer(letters):
            buffers.append(buffer_of(letters, arg))
            yield buffers[-1]
            yield len(buffers[-1])
            continue
        code = CODES[letters]
        value = _CONVERSIONS[code.kind](arg)
        if code.kind in ("signed", "unsigned") and not _fits(code, value):
            sign = "a signed" if code.kind == "signed" else "an unsigned"
            raise OverflowError(f"Python int does not fit {sign} integer of {code.size} bytes")
        yield value


class TypedFunction:
    """A C function that was found behind a Python callable. A call converts the arguments to its
    types and calls it through cffi, without the GIL. Made by resolve()."""

    __slots__ = (
        "signature",
        "address",
        "flags",
        "callable",
        "place",
        "pointer",
        "__name__",
        "_arrangement",
        "_asked",
        "_call",
        "_can",
        "_casting",
        "_has_keyword_only",
        "_keep_alive",
        "_letters",
        "_new_place",
        "_reason",
        "__weakref__",
    )

    def __init__(
        self, function: Any, entry: Entry, asked: str, can: int | None, casting: str
    ) -> None:
        self.signature: str = entry.signature
        self.address: int = entry.address
        self.flags: Flags = entry.flags
        self.callable: Any = function
        self.place: str = entry.place
        self.__name__ = text_attribute(function, "__name__") or type_name(function)
        self._asked, self._can, self._casting = asked, can, casting
        self._keep_alive = entry.keep_alive
        #: The function as a cffi function pointer, which is the quickest to call and keeps alive
        #: what the entry does; None where cffi cannot call it.
        self.pointer: Any = None
        self._call: Callable[..., Any] = self._refuse
        # Whoever has resolved an entry that DIFFERS has asked for it.
        entry = dataclasses.replace(entry, flags=entry.flags & ~Flags.DIFFERS)
        self._reason = why_not(entry)
        self._letters = entry.python_types()[0]
        self._new_place: Callable[[], Any] | None = None
        self._arrangement: Arrangement | None = None
        self._has_keyword_only = has_keyword_only(function)
        if self._reason is None:
            self.pointer = native_pointer(entry.signature, entry.address, entry.keep_alive)
            if entry.flags & Flags.FALLS_BACK:
                self._new_place = new_place(entry)
            self._call = direct_call(entry, self._convert_and_call)

    #: What pickle_by() was given.
    reduce: ClassVar[Callable[..., Any]]

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if keywords or self._has_keyword_only or len(args) != len(self._letters):
            return self._arrange_and_call(args, keywords)
        return self._call(*args)

    def _arrange_and_call(self, args: Any, keywords: dict[str, Any]) -> Any:
        """With all arguments by position, defaults among them."""
        if self._reason is not None:
            self._refuse()
        try:
            if self._arrangement is None:
                self._arrangement = arrangement_of(self.callable, len(self._letters))
            values = arrange(self._arrangement, args, keywords)
        except TypeError:
            if self._new_place is None:
                raise
            return self.callable(*args, **keywords)  # knows better
        if self._new_place is None:
            return self._call(*values)
        return self._convert_and_call(*values, boxed=lambda: self.callable(*args, **keywords))

    def _convert_and_call(self, *args: Any, boxed: Callable[[], Any] | None = None) -> Any:
        buffers: list[Any] = []
        place: Any = None
        try:
            values = list(_converted(self._letters, args, buffers))
            if self._new_place is None:
                return self.pointer(*values)
        except (TypeError, OverflowError, ValueError, BufferError):
            if self._new_place is None:
                raise
            falls_back = True  # the callable may know of others
        else:
            place = self._new_place()
            falls_back = self.pointer(*values, *([] if place is None else [place]))
        finally:
            for each in buffers:
                release(each)
        if falls_back:
            return self.callable(*args) if boxed is None else boxed()
        return None if place is None else place[0]

    def _refuse(self, *args: Any) -> Any:
        raise TypeError(
            f"{self.__name__} '{self.signature}' {self._reason}: on PyPy it can only be called boxed"
        )

    def __copy__(self) -> TypedFunction:
        return self

    def __deepcopy__(self, memo: Any) -> TypedFunction:
        return self

    def __reduce__(self) -> Any:
        return self.reduce(self.callable, self._asked, self._can, self._casting)

    def __repr__(self) -> str:
        return f"<typedcall function {self.__name__} '{self.signature}' at 0x{self.address:x}>"
