"""Finds the names and defaults of a Python callable's parameters, from tag() or the callable's own signature."""
from __future__ import annotations

import functools
import sys
import types
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from typedcall.record.codes import CODES, kind_of, range_of
from typedcall.tools.foreign import (
    exact_text,
    few,
    imported_class,
    is_a,
    name_of,
    printable,
    text_attribute,
    type_name,
    type_of,
)
from typedcall.tools.identity import IdentityTable
from typedcall.tools.parameter_text import parse_parameters

__all__ = ["MISSING", "Arrangement", "Parameters", "arrange", "arrangement_of", "by_position", "check_known", "constant_of",
           "contradiction", "given_parameters", "has_keyword_only", "parameters_of", "plain_default", "read_parameters", "refuse",
           "signature_of"]


class _Missing:
    """Means that there is no default, or none that can be written as a literal."""

    def __repr__(self) -> str:
        return "..."


MISSING = _Missing()


class Parameters(NamedTuple):
    """The parameters of a callable, in their order."""

    names: tuple[str, ...]
    #: The numbers of positional-only and of positional parameters. All others are keyword-only.
    positional_only: int
    positional: int
    #: The default of each parameter, or MISSING.
    defaults: tuple[Any, ...]
    #: True for each parameter that has a default, even if the default has no literal.
    optional: tuple[bool, ...]

    def bind(self, function: str, count: int, keywords: Iterable[str]) -> list[int]:
        """Returns the index of each argument's parameter: first for the `count` positional
        arguments, then for the keywords. Raises the same TypeErrors as Python."""
        if count > self.positional:
            raise TypeError(f"{function}() takes at most {self.positional} arguments by position "
                            f"({count} given)")
        found = list(range(count))
        for keyword in keywords:
            at = self.names.index(keyword) if keyword in self.names else -1
            if at < 0:
                raise TypeError(f"{function}() got an unexpected keyword argument '{keyword:.200}'")
            if at < self.positional_only:
                raise TypeError(
                    f"{function}() got some positional-only arguments passed as keyword arguments: '{keyword:.200}'"
                )
            if at in found:
                raise TypeError(f"{function}() got multiple values for argument '{keyword:.200}'")
            found.append(at)
        missing = [name for i, name in enumerate(self.names) if i not in found and not self.optional[i]]
        if missing:
            listed = few([f"'{name:.200}'" for name in missing])
            raise TypeError(f"{function}() missing required arguments: {listed}")
        return found


#: The parameters that were passed to tag().
given_parameters: IdentityTable[Parameters] = IdentityTable()


def _from_signature(signature: Any) -> Parameters | None:
    """Converts an inspect.Signature. Returns None if it has *args or **keywords."""
    names: list[str] = []
    defaults: list[Any] = []
    optional: list[bool] = []
    positional_only = positional = 0
    for each in signature.parameters.values():
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            return None
        names.append(each.name)
        positional_only += each.kind == each.POSITIONAL_ONLY
        positional += each.kind != each.KEYWORD_ONLY
        optional.append(each.default is not each.empty)
        # In signatures, "..." is a default without a literal.
        known = optional[-1] and each.default is not ...
        defaults.append(each.default if known else MISSING)
    return Parameters(tuple(names), positional_only, positional, tuple(defaults), tuple(optional))


def signature_of(function: Any) -> Any:
    """Returns inspect.signature(). On PyPy, the module is left out, because it appears as a parameter of extensions'
    functions."""
    import inspect

    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    text = text_attribute(function, "__text_signature__") or ""
    if text.startswith("($module") and parameters and parameters[0].name == "module":
        del parameters[0]
    return signature.replace(parameters=parameters)


def _own(function: Any) -> Parameters | None:
    """Reads the callable's own signature. Returns None if there is no usable one."""
    import inspect

    try:
        parameters = signature_of(function).parameters.values()
        # The parameters are rebuilt to check them, because a `__signature__` may be an instance of any subclass.
        checked = [inspect.Parameter(each.name, each.kind, default=each.default) for each in parameters]
        return _from_signature(inspect.Signature(checked))
    except MemoryError:
        raise
    except Exception:  # raised by the callable's attributes
        return None


def parameters_of(function: Any) -> Parameters | None:
    """Returns the callable's parameters, or None if they are unknown."""
    return given_parameters.get(function) or _own(function)


def has_keyword_only(function: Any) -> bool:
    """True if the callable has keyword-only parameters. A signature is built only if necessary, because each resolve()
    calls this."""
    known = given_parameters.get(function)
    if known is None:
        code = getattr(function, "__code__", None) if is_a(function, types.FunctionType) else None
        if code is not None and not code.co_kwonlyargcount:
            return False
        if code is None and "*" not in (text_attribute(function, "__text_signature__") or ""):
            return False
        known = _own(function)
    return known is not None and known.positional < len(known.names)


def by_position(function: Any, called: Any = None) -> Any:
    """Returns a callable that accepts all arguments of a C function by position: `function` itself, or a wrapper that
    passes keyword-only arguments by name. If `called` is given, it is called instead, and must have the same
    parameters."""
    called = function if called is None else called
    known = parameters_of(function) if has_keyword_only(function) else None
    if known is None:
        return called
    first, names = known.positional, known.names[known.positional:]
    return lambda *args: called(*args[:first], **dict(zip(names, args[first:])))


def check_known(function: Any, parameters: Parameters | None) -> None:
    """Raises ValueError if an earlier tag() declared different parameters."""
    known = given_parameters.get(function)
    if None not in (known, parameters) and repr(known) != repr(parameters):
        raise ValueError(f"{name_of(function)} is tagged with other parameters already")


# The type of unbound methods, which take the object as the first parameter. PyPy has no such type for functions in C.
_UNBOUND: Any = types.MethodDescriptorType
if sys.implementation.name == "pypy":
    _UNBOUND = None
# Only exact types are accepted, because a subclass may return anything as its value.
_KNOWN_DEFAULTS: dict[str, tuple[type, ...]] = {
    # A bool parameter accepts any value, as its truth value.
    "bool": (bool, int, float, complex, str, bytes, type(None)),
    "signed": (bool, int),
    "unsigned": (bool, int),
    "floating": (bool, int, float),
    "complex": (bool, int, float, complex),
}
_MADE_BY: dict[str, type] = {"bool": bool, "floating": float, "complex": complex}


@functools.cache
def _numbers_of(dtype: Any) -> frozenset[type]:
    """Returns NumPy's types of numbers that Python has, too. A subclass may return anything as its item()."""
    return frozenset(dtype(letter).type for letter in "?bBhHiIlLqQefdFD")


def plain_default(default: Any) -> Any:
    """Returns the Python number for a number of NumPy, such as numpy.sqrt(2). Returns any other object unchanged."""
    dtype = imported_class("numpy", "dtype")
    return default.item() if dtype is not None and type(default) in _numbers_of(dtype) else default


def constant_of(letters: str, default: Any) -> Any:
    """Converts a default to the Python number for a C type: a bool, int, float or complex. Raises ValueError if this
    is not possible."""
    kind, default = kind_of(letters), plain_default(default)
    if type(default) not in _KNOWN_DEFAULTS.get(kind, ()):
        c_type = CODES[letters].c_type if letters in CODES else "a pointer"
        raise ValueError(f"{default!r:.200} is not accepted for {c_type}")
    if kind in ("signed", "unsigned"):
        least, most = range_of(letters)
        if not least <= default <= most:
            raise ValueError(f"{default!r:.200} does not fit {CODES[letters].c_type}")
    try:
        return _MADE_BY.get(kind, int)(default)
    except OverflowError:
        raise ValueError(f"{default!r:.200} does not fit {CODES[letters].c_type}") from None


def _with_defaults(function: Any, count: int, defaults: Sequence[Any]) -> Parameters:
    """Returns the callable's own parameters, or `count` unnamed ones, with `defaults` for the last ones."""
    if len(defaults) > count:
        raise ValueError(f"{len(defaults)} defaults, but the C function has {count} parameters")
    own = _own(function)
    if own is None:
        names = tuple(f"_{i}" for i in range(count))
        own = Parameters(names, count, count, (MISSING,) * count, (False,) * count)
    if len(own.names) != count:
        raise ValueError(contradiction(function, own, count))
    first = count - len(defaults)
    for i, (known, given) in enumerate(zip(own.defaults[first:], defaults), first):
        if known is not MISSING and repr(known) != repr(given) and known != given:
            raise ValueError(
                f"the default of '{own.names[i]}' is {known!r} to {name_of(function)}'s own signature, not {given!r}"
            )
    return own._replace(defaults=own.defaults[:first] + tuple(defaults),
                        optional=own.optional[:first] + (True,) * len(defaults))


def contradiction(function: Any, parameters: Parameters, count: int) -> str:
    """Returns the error message for a C function whose `count` parameters do not match its callable."""
    named = few(parameters.names)
    return (f"{name_of(function)} has {len(parameters.names)} parameters in Python ({named}), "
            f"and its C function {count}")


def read_parameters(
    function: Any, arguments: Sequence[list[str]], parameters: Any, defaults: Any
) -> Parameters | None:
    """Reads the arguments of tag() that describe parameters. `arguments` are the codes of the C functions' arguments.
    Returns None if tag() got no such arguments."""
    if parameters is None and defaults is None:
        return None
    if parameters is not None and defaults is not None:
        raise TypeError("`parameters` can contain the defaults: give one of them")
    own_self = 1 if type(function) is _UNBOUND else 0
    count = max(map(len, arguments), default=0) + own_self
    if parameters is not None:
        if not is_a(parameters, str):
            raise TypeError(f"parameters must be a str, '(x, y=2.0)', not '{type_name(parameters)}'")
        names, positional_only, positional, given = parse_parameters(exact_text(parameters))
        read = Parameters(tuple(names), positional_only, positional,
                          tuple(given.get(name, MISSING) for name in names), tuple(name in given for name in names))
    else:
        if is_a(defaults, str) or not hasattr(type_of(defaults), "__iter__"):
            raise TypeError(f"defaults must be a sequence, not '{type_name(defaults)}'")
        read = _with_defaults(function, count, tuple(defaults))
    if len(read.names) != count:
        raise ValueError(contradiction(function, read, count))
    for letters in arguments:
        for each, name, default in zip(letters, read.names[own_self:], read.defaults[own_self:]):
            if default is not MISSING and kind_of(each) in _KNOWN_DEFAULTS:
                try:
                    constant_of(each, default)
                except ValueError as error:
                    raise ValueError(f"the default of '{name:.200}': {error}") from None
    return read


class Arrangement(NamedTuple):
    """The parameters of one C function. The callable may have more parameters, all with defaults. Native code reads
    this tuple."""

    names: tuple[str, ...]
    positional_only: int
    positional: int
    defaults: tuple[Any, ...]
    missing: Any
    function: str
    #: The parameters of the callable that this C function lacks.
    left_out: tuple[str, ...]


def arrangement_of(function: Any, count: int) -> Arrangement:
    """Returns the arrangement of arguments for a C function with `count` parameters. Raises TypeError if the
    callable's parameters are unknown or do not match."""
    known = parameters_of(function)
    name = printable(text_attribute(function, "__name__") or name_of(function))
    if known is None:
        # A wrong number of arguments is then reported as usual.
        return Arrangement((), count, count, (MISSING,) * count, MISSING, name, ())
    if len(known.names) < count or not all(known.optional[count:]):
        raise TypeError(contradiction(function, known, count))
    return Arrangement(known.names[:count], min(known.positional_only, count),
                       min(known.positional, count), known.defaults[:count], MISSING, name,
                       known.names[count:])


def refuse(arrangement: Arrangement, count: int, keywords: Sequence[str]) -> None:
    """Raises the TypeError for a call that does not fit. `count` is the number of positional arguments."""
    names, positional_only, positional, defaults, _, function, left_out = arrangement
    if not names and keywords:
        raise TypeError(
            f"{function}() takes no keyword arguments: its parameter names are unknown; "
            "give tag() the parameters, or the Python function a text signature"
        )
    is_plain = not names or positional_only == len(names)
    if not keywords and is_plain and all(each is MISSING for each in defaults):
        wanted = len(defaults)
        plural = "" if wanted == 1 else "s"
        raise TypeError(f"{function}() takes exactly {wanted} argument{plural} ({count} given)")
    if keywords and positional_only == len(names) and not left_out:
        raise TypeError(f"{function}() takes no keyword arguments")
    for keyword in keywords:
        if keyword in left_out:
            raise TypeError(f"{function}(): this C function takes '{keyword:.200}' from its default; resolve "
                            "the signature that has it")
    optional = tuple(each is not MISSING for each in defaults)
    Parameters(names, positional_only, positional, defaults, optional).bind(function, count, keywords)
    raise TypeError(f"{function}() does not take these arguments")


def arrange(arrangement: Arrangement, args: Sequence[Any], keywords: dict[str, Any]) -> list[Any]:
    """Returns all arguments in order, with defaults. Raises the same TypeErrors as Python."""
    names, positional_only, positional, defaults, _, _, _ = arrangement
    values = [*args, *defaults[len(args):]]
    for keyword, value in keywords.items():
        at = names.index(keyword) if keyword in names else -1
        if at < max(positional_only, len(args)):
            refuse(arrangement, len(args), list(keywords))
        values[at] = value
    if len(args) > positional or any(value is MISSING for value in values):
        refuse(arrangement, len(args), list(keywords))
    return values
