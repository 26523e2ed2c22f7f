"""Calls the functions of every provider through every reader."""
import array
import importlib
import json
import sys

THREAD, RAISES, NEG_ZERO, STATUS, SELF, BACK = 0x1, 0x4, 0x8, 0x10, 0x20, 0x100
ALL = 0xffff
#: The expected entry of each function: signature, flags below 0x10000, and calls. (arguments, C
#: result or exception's name).
FUNCTIONS = {
    "half": ("d->d", 0, [((5.0,), 2.5), ((-0.5,), -0.25)]),
    "add": ("dd->d", 0, [((5.0, 0.25), 5.25)]),
    "next": ("l->l", 0, [((41,), 42), ((-1,), 0)]),
    "minus": ("d->d", THREAD | RAISES, [((5.0,), -5.0), ((1.0,), -1.0), ((-3.0,), "ValueError")]),
    "thrice": ("d&d->i", THREAD | STATUS, [((5.0,), 15.0), ((-1.0,), "ValueError")]),
    "even": ("l&l->i", BACK, [((8,), 4), ((7,), 1007)]),
    "total": ("*kd->d", 0, [((array.array("d", [1, 2, 4.5]),), 7.5), ((array.array("d"),), 0.0)]),
    "length": ("*s->n", 0, [(("h\u00e4tte",), 6), (("",), 0)]),
    "scaled": ("d->d", SELF, [((2.0,), 8.0)]),
}
#: The functions of each way. Only the way `instance` has `scaled`.
WAYS = {way: [name for name in FUNCTIONS if name != "scaled"] for way in ("header", "def", "object")}
WAYS.update(pypy=["half", "next", "minus"], one_arg=["half", "next"], instance=["half", "scaled"],
            sibling=["half", "add"])
#: The place of each way.
PLACES = {"header": "name", "pypy": "name", "one_arg": "name"}


def flags_of(way, name):
    flags = FUNCTIONS[name][1]
    if way in ("pypy", "one_arg"):
        flags |= THREAD
    return flags | NEG_ZERO if way == "pypy" and name == "minus" else flags


def fault(reader, way, name, callable_):
    """Calls a function through the reader. Returns a description of the fault, or ""."""
    signature, _, calls = FUNCTIONS[name]
    flags = flags_of(way, name)
    found = reader.find(callable_, signature, ALL, False)
    if found is None:
        return "not found"
    if found[0] != signature or found[1] & 0xffff != flags:
        return f"found {found}"
    for missing in (1 << bit for bit in range(16) if flags & 1 << bit):
        if reader.find(callable_, signature, ALL & ~missing, True) is not None:
            return f"found although {missing:#x} is not handled"
    if reader.find(callable_, "i->i", ALL, True) is not None:
        return "found by another signature"
    for arguments, expected in calls:
        try:
            got = reader.call(callable_, signature, ALL, arguments)
        except Exception as error:
            got = type(error).__name__
        if got != expected or type(got) is not type(expected):
            return f"{name}{arguments} gave {got!r}, not {expected!r}"
    return ""


def pairs(provider, reader):
    """Returns (way, name, fault) for every function of the provider that the reader can read."""
    for way, offered in provider.OFFERS.items():
        if PLACES.get(way, way) in reader.PLACES:
            for name in WAYS[way]:
                yield way, name, fault(reader, way, name, offered[name]) if name in offered else "missing"


def main():
    """Usage: members.py PROVIDER READER. Prints a line of JSON for each function."""
    provider_name, reader_name = sys.argv[1:]
    import typedcall  # noqa: F401  installs the interface

    provider, reader = importlib.import_module(provider_name), importlib.import_module(reader_name)
    for row in pairs(provider, reader):
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
