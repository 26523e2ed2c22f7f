# What PyPy's extension module _pypy_reader.c has, for type checkers; see that file for what each
# does.
from typing import Any

TYPE_CODES: tuple[tuple[str, str, str, int, int, bool], ...]
FLAGS: tuple[tuple[str, int, str], ...]
ABI_MASK: int
MANDATORY_MASK: int
#: The types of objects that have entries. Others are better not handed over: some of PyPy's own (the
#: getset_descriptors of internal types) crash whatever extension they are passed to.
TYPES: tuple[type, type]

def parse_signature(signature: str, /) -> tuple[list[str], str]: ...
def are_equivalent(one: str, other: str, /) -> bool: ...
def check(signature: str, flags: int, address: int, number: int, name: str, /) -> None: ...
def entries(callable: Any, /) -> list[tuple[str, int, int, str]]: ...
