"""The results of the callables in attack_program.py: Python functions, and equivalent C functions."""
import ctypes
import ctypes.util
import functools
import importlib
import math
import pickle
import sys

import typedcall
from typedcall import Flags
from typedcall.record.records import falling_back, parse_signature

IS_CPYTHON = sys.implementation.name == "cpython"
#: The exceptions that the package documents, and those that hostile objects raise.
ALLOWED = (TypeError, ValueError, OverflowError, RuntimeError, ImportError, AttributeError,
           LookupError, pickle.PicklingError)
KEEPS = Flags.NEEDS_THREAD | Flags.MAY_RAISE


class Wrong(Exception):
    """Raised if a typed call and a boxed call have different results."""


class Meaning:
    """The behaviour of a callable. A callable is tagged only with functions that behave the same, so every tag is
    correct."""

    def __init__(self, signature, python, *addresses, flags=0, made=()):
        self.signature = signature
        #: The signature of the C function. It returns a status if the function falls back.
        self.offered = falling_back(signature)[0] if flags & Flags.FALLS_BACK else signature
        self.python = python
        #: Addresses of C functions that are never freed.
        self.addresses = addresses
        self.flags = flags
        self.builtins = made


    @property
    def falls_back(self):
        return self.offered != self.signature


def _root(x):
    if x < 0:
        raise ValueError(x)
    return math.sqrt(x)


def _letters(letter):
    if letter.startswith("&"):
        return ctypes.POINTER(_letters(letter[1:]))
    return {"d": ctypes.c_double, "l": ctypes.c_long, "O": ctypes.py_object, "v": None,
            "i": ctypes.c_int}[letter]


def prototype(signature):
    """Returns the ctypes type of a function."""
    arguments, result = parse_signature(signature)
    # A CFUNCTYPE function releases the GIL, but a function that takes objects needs the GIL.
    factory = ctypes.PYFUNCTYPE if "O" in signature else ctypes.CFUNCTYPE
    return factory(_letters(result), *map(_letters, arguments))


@functools.lru_cache(maxsize=None)
def _of_cffi(signature):
    """Returns (FFI, type). Cached, because cffi holds a lock while it parses, and a `__del__` must not wait for it."""
    import cffi

    arguments, result = signature.split("->")
    names = {"d": "double", "l": "long"}
    ffi = cffi.FFI()
    text = "%s(*)(%s)" % (names[result], ", ".join(names[each] for each in arguments))
    return ffi, ffi.typeof(text)


class _List(list):
    clear = reverse = copy = None


class _Dict(dict):
    clear = copy = None


def _method(kind, plain, name):
    """Returns a function that makes bound methods with the same def."""
    return lambda: getattr(super(kind, kind()), name) if kind is not plain else getattr(plain(), name)


def _import_again(name, attribute):
    """Returns a function that imports a module again, which makes new builtin functions with the same defs."""
    def make():
        known = sys.modules.pop(name, None)
        try:
            return getattr(importlib.import_module(name), attribute)
        finally:
            if known is not None:
                sys.modules[name] = known
    return make


def meanings(plain, typed, fallback):
    """Returns all meanings. Each parameter is a module of tests/package/modules, or None."""
    libm = ctypes.CDLL(ctypes.util.find_library("m"))
    address = lambda name: ctypes.cast(getattr(libm, name), ctypes.c_void_p).value
    own = plain.addresses if plain is not None else {}
    of = lambda *pairs: tuple(getattr(module, name) for module, name in pairs if module is not None)
    made = [
        Meaning("d->d", lambda x: x / 2, *filter(None, [own.get("half")]),
                made=[lambda f=f: f for f in of((plain, "half"), (typed, "half"))]),
        Meaning("d->d", math.fabs, address("fabs"),
                made=[lambda: math.fabs, _import_again("math", "fabs")]),
        Meaning("d->d", math.atan, address("atan"), made=[lambda: math.atan]),
        Meaning("dd->d", lambda a, b: a + b, *filter(None, [own.get("add")]),
                made=[lambda f=f: f for f in of((plain, "add"), (typed, "add"))]),
        Meaning("dd->d", math.copysign, address("copysign"),
                made=[_import_again("math", "copysign"), lambda: math.copysign]),
        Meaning("l->l", lambda x: x + 1, *filter(None, [own.get("inc")]),
                made=[lambda f=f: f for f in of((plain, "inc"), (typed, "inc"))]),
        Meaning("O->O", lambda x: x, flags=KEEPS),
        # Methods of empty containers share their def.
        Meaning("->O", list, flags=KEEPS, made=[_method(list, list, "copy"), _method(_List, list, "copy")]),
        Meaning("->O", dict, flags=KEEPS, made=[_method(dict, dict, "copy"), _method(_Dict, dict, "copy")]),
        Meaning("->O", lambda: None, flags=KEEPS,
                made=[_method(list, list, "clear"), _method(_List, list, "clear"),
                      _method(_List, list, "reverse"), _method(list, list, "reverse")]),
    ]
    if "cffi" in sys.modules:
        for meaning in made:
            if "O" not in meaning.signature:
                _of_cffi(meaning.signature)
    if plain is not None:
        made[0].builtins.append(_import_again("plain_functions", "half"))
    if fallback is not None:
        for signature, python, *functions in (
                ("d->d", _root, fallback.root, fallback.c_root),
                ("l->l", lambda x: x * x, fallback.square)):
            made.append(Meaning(
                signature, python, *[typedcall.entries(f)[0].address for f in functions],
                flags=Flags.FALLS_BACK, made=[lambda f=f: f for f in functions]))
    return made


class Thing:
    """A callable and its meaning."""

    def __init__(self, obj, meaning, kind):
        self.obj, self.meaning, self.kind = obj, meaning, kind
