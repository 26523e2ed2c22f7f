"""Specs for the tests of core/types/type_from_metaclass.h."""

import sys
import warnings

import fromspec_module as fs

try:
    import _testcapi
except ImportError:  # a separate package in Debian
    _testcapi = None

GOOD = ["empty", "members", "weakdict", "number", "vectorcall", "protocol", "final", "sized",
        "list_base", "tuple_of_bases", "undotted"]
if sys.version_info >= (3, 10):
    GOOD += ["dotted",  # the NULL doc crashes CPython 3.9
             "immutable", "abstract"]
IGNORED_FLAG = 1 << 19  # Py_TPFLAGS_VALID_VERSION_TAG depends on earlier look-ups


class DerivedMetaclass(fs.Metaclass):
    created = 0

    def __init__(cls, *args, **kwargs):
        DerivedMetaclass.created += 1
        super().__init__(*args, **kwargs)


class UnrelatedMetaclass(type):
    pass


class MetaclassWithNew(type):
    def __new__(mcs, *args, **kwargs):
        return super().__new__(mcs, *args, **kwargs)


def quiet(function, *args):
    """Calls `function` without the warning about types without a module."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return function(*args)


def make(kind, metaclass=fs.Metaclass, bases=None):
    return quiet(fs.make, kind, metaclass, bases)


def plain(kind, bases=None):
    return quiet(fs.plain, kind, bases)


def layout(cls):
    size, basic, item, dict_, weak, vectorcall, flags, name, _ = fs.layout(cls)
    return size, basic, item, dict_, weak, vectorcall, flags & ~IGNORED_FLAG, name
