"""The result of resolve() on PyPy. A call converts the arguments like the boxed wrapper. It uses cffi if the function
is known to be thread-safe. Other functions are called through the extension module, by one thread at a time."""
from __future__ import annotations

import dataclasses
from typing import Any, Callable, ClassVar

from typedcall.native import _native
from typedcall.pypy.pointers import native_pointer, says_threads, why_not
from typedcall.pypy.shims import direct_call
from typedcall.record.records import Entry, Flags
from typedcall.tools.foreign import printable, text_attribute, type_name
from typedcall.tools.locks import RenewedLock
from typedcall.tools.parameters import Arrangement, arrange, arrangement_of, by_position

__all__ = ["TypedFunction"]

#: A thread holds this lock while it calls a function that is not known to be thread-safe without the GIL.
_alone = RenewedLock()


def _no_result(*args: Any) -> Any:
    """Called instead of the C function for values that it does not accept. TypedFunction then calls the Python
    callable."""
    return NotImplemented


class TypedFunction:
    """A C function that resolve() has found behind a Python callable. A call converts the arguments and calls the C
    function."""

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
        "_boxed",
        "_call",
        "_can",
        "_casting",
        "_keep_alive",
        "_count",
        "_falls_back",
        "_is_alone",
        "_native",
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
        #: The function as a cffi function pointer, or None if cffi cannot call it. The pointer is the fastest way to
        #: call the function, and keeps the same objects alive as the entry.
        self.pointer: Any = None
        self._call: Callable[..., Any] = self._refuse
        # An entry with DIFFERS is found only if the caller asks for it.
        entry = dataclasses.replace(entry, flags=entry.flags & ~Flags.DIFFERS)
        self._reason = why_not(entry)
        self._count = len(entry.python_types()[0])
        self._falls_back = entry.view().may_fall_back
        self._arrangement: Arrangement | None = None
        self._boxed = by_position(function)
        if self._reason is None:
            self.pointer = native_pointer(entry.signature, entry.address, entry.keep_alive)
            # The GIL prevents concurrent calls, including those to the wrapper. Tagged functions use a lock instead,
            # because a ctypes callback waits for the GIL even if its own thread holds it.
            self._is_alone = not entry.place.endswith(" metadata")
            flags = entry.flags | Flags.ACQUIRES_GIL if self._is_alone else entry.flags
            self._native = _native.make_call(entry.signature, int(flags), entry.address)
            self._call = self._convert_and_call
            if says_threads(entry):  # cffi releases the GIL during a call
                self._call = direct_call(entry, _no_result if self._falls_back else self._native)

    #: The function that pickle_by() has set.
    reduce: ClassVar[Callable[..., Any]]

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if keywords or self._boxed is not self.callable or len(args) != self._count:
            return self._arrange_and_call(args, keywords)
        result = self._call(*args)
        return self._boxed(*args) if result is NotImplemented and self._falls_back else result

    def _arrange_and_call(self, args: Any, keywords: dict[str, Any]) -> Any:
        """Calls the C function with all arguments by position."""
        if self._reason is not None:
            self._refuse()
        try:
            if self._arrangement is None:
                self._arrangement = arrangement_of(self.callable, self._count)
            values = arrange(self._arrangement, args, keywords)
        except TypeError:
            if not self._falls_back:
                raise
            return self.callable(*args, **keywords)  # the callable handles these arguments itself
        result = self._call(*values)
        return self.callable(*args, **keywords) if result is NotImplemented and self._falls_back else result

    def _convert_and_call(self, *args: Any) -> Any:
        if self._is_alone:
            with _alone.lock:
                return self._native(*args)
        return self._native(*args)

    def _refuse(self, *args: Any) -> Any:
        raise TypeError(
            f"{printable(self.__name__)} '{self.signature}' {self._reason}: on PyPy it can only be called boxed"
        )

    def __copy__(self) -> TypedFunction:
        return self

    def __deepcopy__(self, memo: Any) -> TypedFunction:
        return self

    def __reduce__(self) -> Any:
        return self.reduce(self.callable, self._asked, self._can, self._casting)

    def __repr__(self) -> str:
        return f"<typedcall function {printable(self.__name__)} '{self.signature}' at 0x{self.address:x}>"
