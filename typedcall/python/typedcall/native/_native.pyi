# The extension module, built from _native.cc for CPython and from _native_pypy.cc for PyPy. It is private; the public
# names are in typedcall itself.
from collections.abc import Callable, Sequence
from enum import IntFlag
from typing import Any, Generic, NoReturn, final

from typing_extensions import TypeVar

TYPE_CODES: tuple[tuple[str, str, str, int, int, bool], ...]
FLAGS: tuple[tuple[str, int, str], ...]
KINDS: tuple[str, ...]
ABI_MASK: int
MANDATORY_MASK: int
HANDLED: int

_Row = tuple[str, int, int, str, Any]

def entries(callable: Any, /) -> list[_Row]: ...
def parse_signature(signature: str, /) -> tuple[list[str], str]: ...
def describe(signature: str, flags: int, /) -> tuple[list[str], str, str, str, int, int, bool]: ...
def rank(kind: str, letters: str, /) -> int | None: ...
def in_order(ranks: bytes, rows: int, /) -> list[int]: ...
def are_equivalent(one: str, other: str, /) -> bool: ...
def answers(offered: str, asked: str, /) -> bool: ...

# PyPy only.

#: The types of objects that may have entries. Do not pass objects of other types to entries(), because some of PyPy's
#: own objects (the getset_descriptors of internal types) crash any extension.
TYPES: tuple[type, type]

def check(signature: str, flags: int, address: int, number: int, name: str, /) -> None: ...
def make_call(signature: str, flags: int, address: int, /) -> Callable[..., Any]: ...

# CPython only.

ROW_FLAGS: int
REGISTER_IMAGE: int
CALL_WITH_ARRAY: int
FALL_BACK: int
IS_ATTACHED: int
ENTER: int
LEAVE: int
CHECK: int
DETACH: int
REATTACH: int
Capsule: type

# The types of the arguments and of the result.
_Given = TypeVar("_Given", contravariant=True, default=Any)
_Result = TypeVar("_Result", covariant=True, default=Any)

@final
class TypedFunction(Generic[_Given, _Result]):
    @property
    def callable(self) -> Any: ...
    @property
    def signature(self) -> str: ...
    @property
    # The actual type is typedcall.Flags. It is built from FLAGS, and mypy fails on the circular import.
    def flags(self) -> IntFlag: ...
    @property
    def address(self) -> int: ...
    @property
    def place(self) -> str: ...
    @property
    def __name__(self) -> str: ...
    # The names and defaults of parameters are those of the callable.
    def __call__(self, *args: _Given, **keywords: _Given) -> _Result: ...

#: A TypedFunction calls these functions for keywords, defaults and pickles. Other subpackages set them.
arrangement_of: Callable[..., Any]
refuse_arguments: Callable[..., Any]
reduce_function: Callable[..., Any]

def find(
    callable: Any, signature: str, capabilities: int, casting: str, /
) -> _Row | None: ...
def refuse(callable: Any, signature: str, capabilities: int, casting: str, /) -> None: ...
def select(
    rows: Sequence[tuple[str, int, int]], signature: str, capabilities: int, casting: str, /
) -> int | None: ...
def make_function(
    callable: Any,
    signature: str,
    flags: int,
    address: int,
    place: str,
    keep_alive: Any,
    asked: str,
    casting: str,
    has_keyword_only: bool = False,
    capabilities: int | None = None,
    /,
) -> TypedFunction: ...
def tag(callable: Any, rows: Sequence[tuple[str, int, int]], keep_alive: Any, /) -> bool: ...
def untag(callable: Any, /) -> bool: ...
def kept_by(callable: Any, /) -> Any: ...
def capsule_name(capsule: Any, /) -> str | None: ...
def capsule_address(capsule: Any, /) -> int: ...
def make_capsule(address: int, name: bytes, /) -> Any: ...
def raise_again() -> NoReturn: ...
def fall_back_plan(callable: Any, signature: str, /) -> int: ...
def scalar_functions(ufunc: Any, /) -> list[tuple[str, int]]: ...
def array_callee(signature: str, address: int, /) -> Any: ...
def time_boxed(callable: Any, arguments: tuple[Any, ...], count: int, /) -> float: ...
def time_unboxed(function: TypedFunction, arguments: tuple[Any, ...], count: int, /) -> float: ...
