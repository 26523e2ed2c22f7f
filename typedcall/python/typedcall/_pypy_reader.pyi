# What PyPy's extension module _pypy_reader.c has, for type checkers; see that file for what each
# does.
from typing import Any, List, Tuple

TYPE_CODES: Tuple[Tuple[str, str, str, int, int], ...]
#: The types of objects that have entries. Others are better not handed over: some of PyPy's own (the
#: getset_descriptors of internal types) crash whatever extension they are passed to.
TYPES: Tuple[type, type]

def parse_signature(signature: str, /) -> Tuple[List[str], str]: ...
def check(signature: str, flags: int, address: int, number: int, name: str, /) -> None: ...
def entries(callable: Any, /) -> List[Tuple[str, int, int, str]]: ...
