"""The reader that the Python package is: typedcall.entries() and typedcall.resolve(), under CPython and PyPy."""
import sys

import typedcall
from typedcall._records import matching

PLACES = {"name", "def", "object", "instance", "sibling"} if sys.implementation.name == "cpython" else {"name"}
#: It has looked the interface up when it was imported, before the runner put another one there.
IS_BOUND_EARLY = True


#: Of which entries() lists what a caller with a self can have.
UNBOUND = type(str.upper), type(dict.__dict__["fromkeys"])


def find(callable_, signature, can, equivalent):
    typedcall.parse_signature(signature)
    if type(callable_) in UNBOUND:
        return None
    for entry in matching(typedcall.entries(callable_), signature, "equivalent" if equivalent else "exact"):
        if int(entry.flags) & 0xffff & ~can == 0:
            return entry.signature, int(entry.flags), entry.address
    return None


def call(callable_, signature, can, arguments):
    return typedcall.resolve(callable_, signature)(*arguments)
