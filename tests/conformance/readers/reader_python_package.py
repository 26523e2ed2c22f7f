"""A reader that uses typedcall.entries() and typedcall.resolve()."""
import sys

import typedcall
from typedcall.tools.foreign import is_unbound
from typedcall.record.records import matching

PLACES = {"name", "def", "object", "instance", "sibling"} if sys.implementation.name == "cpython" else {"name"}
#: The package looks up the interface on import.
IS_BOUND_EARLY = True


def find(callable_, signature, can, equivalent):
    typedcall.parse_signature(signature)
    if is_unbound(callable_):  # entries() also lists the entries of unbound methods
        return None
    for entry in matching(typedcall.entries(callable_), signature, "equivalent" if equivalent else "exact"):
        if int(entry.flags) & 0xffff & ~can == 0:
            return entry.signature, int(entry.flags), entry.address
    return None


def call_unbound(callable_, signature, can, self, arguments):
    if sys.implementation.name == "pypy":
        raise NotImplementedError("cffi passes no self")
    return call(callable_, signature, can, (self, *arguments))


def call(callable_, signature, can, arguments):
    try:
        function = typedcall.resolve(callable_, signature)
    except TypeError as error:
        if sys.implementation.name == "pypy":
            raise NotImplementedError(f"cffi calls without GIL, exceptions and self: {error}") from None
        raise
    return function(*arguments)
