"""The reader that the Python package is: typedcall.entries() and typedcall.resolve(), under CPython and PyPy."""
import sys

import typedcall
from typedcall.tools.foreign import is_unbound
from typedcall.record.records import matching

PLACES = {"name", "def", "object", "instance", "sibling"} if sys.implementation.name == "cpython" else {"name"}
#: It has looked the interface up when it was imported, before the runner put another one there.
IS_BOUND_EARLY = True


def find(callable_, signature, can, equivalent):
    typedcall.parse_signature(signature)
    if is_unbound(callable_):  # of which entries() lists what a caller with a self can have
        return None
    for entry in matching(typedcall.entries(callable_), signature, "equivalent" if equivalent else "exact"):
        if int(entry.flags) & 0xffff & ~can == 0:
            return entry.signature, int(entry.flags), entry.address
    return None


def call(callable_, signature, can, arguments):
    try:
        function = typedcall.resolve(callable_, signature)
    except TypeError as error:
        if sys.implementation.name == "pypy":
            raise NotImplementedError(f"cffi calls without GIL, exceptions and self: {error}") from None
        raise
    return function(*arguments)
