"""Makes shims for PyPy. A shim is a Python function that calls a C function through cffi if the arguments have its
types or, for resolve(), can be converted to them. Otherwise, it calls the boxed wrapper."""
from __future__ import annotations

import contextlib
import keyword
import unicodedata
from collections.abc import Sequence
from operator import index
from types import ModuleType
from typing import Any, Callable, NamedTuple

import __pypy__  # type: ignore[import-not-found,unused-ignore]

from typedcall.pypy.buffers import release, taker
from typedcall.pypy.pointers import native_pointer, new_place, says_threads, why_not
from typedcall.record.choice import Kind, steps_of_kinds
from typedcall.record.codes import is_buffer, kind_of, pointee
from typedcall.record.records import Entry
from typedcall.tools.foreign import text_attribute
from typedcall.tools.parameters import MISSING, Parameters, constant_of, parameters_of, signature_of

__all__ = ["direct_call", "make_shim"]

# The exact Python type for a parameter of each kind. cffi converts values of this type like the wrapper, or raises
# OverflowError.
_PYTHON_TYPES = {"bool": "_bool", "signed": "_int", "unsigned": "_int", "floating": "_float"}
#: The kinds of values in typedcall/overload_choice.h that correspond to these types.
_KINDS = {"_bool": "BOOL", "_int": "INT", "_float": "FLOAT"}

#: For each type, a test for objects that can be converted, and an expression that converts them like the wrapper.
#: Subclasses of float are left to the wrapper, because only old versions of cffi call their `__float__`. For an int,
#: cffi would call `__int__` instead of `__index__`.
_CONVERSIONS = {
    "_bool": ("True", "_bool({})"),
    "_int": ("_hasattr(_type({}), '__index__')", "_index({})"),
    "_float": ("(_type({0}) is _float or _hasattr(_type({0}), '__float__') and not _issubclass(_type({0}), _float))", "{}"),
}


#: The exceptions with which conversions refuse an argument.
_REFUSALS = TypeError, ValueError, OverflowError, BufferError


class _Choice(NamedTuple):
    """A branch of a shim, which calls an entry for arguments of certain Python types."""

    types: tuple[str, ...]
    entry: Entry
    usable: bool
    #: True if the branch also accepts arguments that must be converted to its types.
    converts: bool = False


def _types(entry: Entry) -> tuple[str, ...]:
    """Returns the Python types of the entry's arguments, with a "*" in front for buffers. Types without a test in
    shims, such as objects and strings, are represented by their kinds."""
    return tuple("*" + pointee(each) if is_buffer(each) else _PYTHON_TYPES.get(kind_of(each), kind_of(each))
                 for each in entry.python_types()[0])


def _first(types: tuple[str, ...], entries: Sequence[Entry]) -> Entry:
    """Returns the entry that the wrapper tries first for these types. The entry's own types may differ: `d` comes
    before `f` for a float."""
    alike = [entry for entry in entries
             if all(own == each or each in _KINDS for own, each in zip(_types(entry), types))]
    kinds = [Kind(_KINDS.get(each, "DEFAULT")) for each in types]
    at: int = steps_of_kinds([entry.python_types()[0] for entry in alike], kinds, is_alone=False)[0].overload
    return alike[at]


def _choices(entries: Sequence[Entry]) -> list[_Choice]:
    """Returns the entries that Python chooses for arguments of exactly their types. Ints that do not fit are left to
    the wrapper. Entries that cannot be called here, or for whose types the wrapper first tries an entry with other
    types, are included as unusable, because no other entry may be called for their types."""
    found: dict[tuple[str, ...], _Choice] = {}
    for entry in entries:
        types = _types(entry)
        if types not in found:
            first = _first(types, entries)
            found[types] = _Choice(types, first, types == _types(first) and why_not(first) is None)
    # An entry with objects may accept any arguments, so the wrapper must choose.
    any_object = {len(types) for types in found if "object" in types}
    # Pointers and buffers may accept the same exporters, and strings and texts may accept the same strs.
    any_buffer = {len(types) for types in found if {"pointer", "string"} & set(types)}
    return [choice for types, choice in found.items() if len(types) not in any_object
            if len(types) not in any_buffer or not any(each[0] == "*" for each in types)]


def _is_own_name(name: str) -> bool:
    """True if generated code can use this name, which must not clash with the shim's own names, nor be changed by NFKC,
    to which Python normalises names in code."""
    return type(name) is str and not name.startswith("_") and unicodedata.normalize("NFKC", name) == name


def _defaults(parameters: Parameters | None, choices: Sequence[_Choice]) -> list[Any]:
    """Returns the defaults, as C values, for a shim that takes the callable's parameters. The list is empty if the shim must
    take *args and **keywords."""
    if parameters is None or not all(map(_is_own_name, parameters.names)):
        return []
    count = len(parameters.names)
    if parameters.positional_only == count and not any(parameters.optional):
        return []  # the wrapper raises the correct error for keywords
    whole = [choice for choice in choices if len(choice.types) == count]
    if not whole or any(len(choice.types) > count for choice in choices):
        return []
    defaults = []
    for i, (optional, default) in enumerate(zip(parameters.optional, parameters.defaults)):
        # If overloads convert the default to different types, the wrapper must choose.
        if optional and len({choice.types[i] for choice in whole}) > 1:
            return []
        try:
            letters = whole[0].entry.python_types()[0][i]
            defaults.append(constant_of(letters, default) if optional else MISSING)
        except ValueError:
            return []
    return defaults


def _refuser(wrapper: Any, parameters: Parameters, defaults: list[Any]) -> Callable[..., Any]:
    """Returns a function that calls the wrapper if there are too few or too many arguments, because the wrapper raises
    the correct error. An argument that is its default counts as not passed."""
    names, positional = parameters.names, parameters.positional

    def refused(values: tuple[Any, ...], rest: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        first = 0
        while first < positional and (rest or values[first] is not defaults[first]):
            first += 1
        by_name = {names[i]: values[i] for i in range(first, len(names)) if values[i] is not defaults[i]}
        return wrapper(*values[:first], *rest, **{**keywords, **by_name})

    return __pypy__.hidden_applevel(refused)  # type: ignore[no-any-return]


def _falls_back(choice: _Choice) -> bool:
    return choice.entry.view().may_fall_back


def _branch(i: int, choice: _Choice, arguments: Sequence[str], left_out: Sequence[str]) -> list[str]:
    """Returns code that calls the C function if the arguments have its types or, with `converts`, can be converted to
    them."""
    buffers = [at for at, each in enumerate(choice.types) if each[0] == "*"]
    tests, passed = [], []
    for at, (argument, each) in enumerate(zip(arguments, choice.types)):
        if at in buffers:
            passed.append(f"_b{at}, _len(_b{at})")
            continue
        test, value = _CONVERSIONS[each] if choice.converts else (f"_type({{}}) is {each}", "{}")
        tests.append(test.format(argument))
        passed.append(value.format(argument))
    tests += left_out
    _, result = choice.entry.python_types()
    called = [f"return _native{i}({', '.join(passed)})"]
    if _falls_back(choice):
        called = [f"if not _native{i}({', '.join(passed)}):", "    return None"]
        if result != "v":
            # The memory is reused, because allocating it takes longer than the call. During the call, it is not in the
            # list, because other threads may make the same call.
            called = [
                "try:",
                f"    _value = _free{i}.pop()",
                "except _IndexError:",
                f"    _value = _place{i}()",
                f"if not _native{i}({', '.join([*passed, '_value'])}):",
                "    _result = _value[0]",
                f"    _free{i}.append(_value)",
                "    return _result",
            ]
    # A function that may fall back leaves refused arguments to the Python function.
    refusals = "_refusals" if choice.converts and _falls_back(choice) else "_OverflowError"
    called = ["try:", *("    " + line for line in called), f"except {refusals}:", "    pass"]
    # The code is nested from the last buffer to the first, so that each buffer is released if a later step fails.
    for at in reversed(buffers):
        called = [f"_b{at} = _take{i}[{at}]({arguments[at]})", f"if _b{at} is not None:", "    try:",
                  *("        " + line for line in called),
                  "    finally:", f"        _release(_b{at})"]
    return ["if %s:" % (" and ".join(tests) or "True"), *("    " + line for line in called)]


def _source(name: str, choices: Sequence[_Choice], parameters: Parameters | None) -> str:
    """Returns the source of a shim. With `parameters`, the shim has these parameters and also handles wrong calls.
    Otherwise, it takes any arguments."""
    if parameters is None:
        lines = [f"def {name}(*_args, **_keywords):", "    if not _keywords:"]
        for i, choice in enumerate(choices):
            arguments = [f"_{at}" for at in range(len(choice.types))]
            lines += [f"        if _len(_args) == {len(arguments)}:",
                      f"            ({''.join(each + ', ' for each in arguments)}) = _args"]
            lines += ["            " + line for line in _branch(i, choice, arguments, [])]
        return "\n".join([*lines, "    return _boxed(*_args, **_keywords)"])
    names, positional = parameters.names, parameters.positional
    listed = [f"{each}=_default{i}" for i, each in enumerate(names)]
    listed.insert(positional, "*_rest")
    if parameters.positional_only:
        listed.insert(parameters.positional_only, "/")
    lines = [f"def {name}({', '.join(listed)}, **_keywords):", "    if not _rest and not _keywords:"]
    for i, choice in enumerate(choices):
        kept = len(choice.types)
        left_out = [f"{each} is _default{at}" for at, each in enumerate(names) if at >= kept]
        lines += ["        " + line for line in _branch(i, choice, names[:kept], left_out)]
    needed = [f"{each} is not _missing" for each, optional in zip(names, parameters.optional) if not optional]
    passed = [*names[:positional], *(f"{each}={each}" for each in names[positional:])]
    return "\n".join([
        *lines,
        f"        if {' and '.join(needed) or 'True'}:",
        f"            return _boxed({', '.join(passed)})",
        f"    return _refused(({', '.join(names)},), _rest, _keywords)",
    ])


def _copy_names(shim: Any, wrapper: Any) -> None:
    """Copies the wrapper's names. Must be called before the shim becomes a builtin function, whose names are
    read-only."""
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        with contextlib.suppress(AttributeError, TypeError):
            setattr(shim, name, getattr(wrapper, name))
    shim.__wrapped__ = wrapper
    text = text_attribute(wrapper, "__text_signature__")
    if text is None:
        return
    shim.__text_signature__ = text
    with contextlib.suppress(TypeError, ValueError):
        shim.__signature__ = signature_of(wrapper)


def _compile(wrapper: Any, choices: Sequence[_Choice], parameters: Parameters | None) -> Any:
    """Compiles a shim. Each function has its own code, so that the JIT can treat its globals as constants."""
    defaults = _defaults(parameters, choices)
    if parameters is not None and not defaults:
        # Without these parameters, the wrapper handles calls with keyword-only arguments.
        choices = [choice for choice in choices if len(choice.types) <= parameters.positional]
        parameters = None
    name = text_attribute(wrapper, "__name__") or ""
    taken = parameters.names if parameters is not None else ()
    if not name.isidentifier() or keyword.iskeyword(name) or not _is_own_name(name) or name in taken:
        name = "shim"  # only profiles show this name
    # Globals in a plain dict are four times as slow as in a module.
    namespace = vars(ModuleType(name))
    namespace.update(
        _type=type, _bool=bool, _int=int, _float=float, _len=len, _OverflowError=OverflowError,
        _IndexError=IndexError, _refusals=_REFUSALS, _hasattr=hasattr, _index=index, _issubclass=issubclass, _release=release,
        _boxed=wrapper, _missing=MISSING,
    )
    if parameters is not None:
        namespace["_refused"] = _refuser(wrapper, parameters, defaults)
        namespace.update((f"_default{i}", each) for i, each in enumerate(defaults))
        # An entry that omits the last parameters does the same as the entry for all parameters with their defaults,
        # and may be faster if the latter may fall back.
        whole = [choice for choice in choices if len(choice.types) == len(defaults)]
        falls_back = any(map(_falls_back, whole))
        choices = [each for each in choices if each not in whole and falls_back and not _falls_back(each)] + whole
    for i, choice in enumerate(choices):
        entry = choice.entry
        namespace[f"_native{i}"] = native_pointer(entry.signature, entry.address)
        namespace[f"_place{i}"] = new_place(entry)
        namespace[f"_free{i}"] = []
        namespace[f"_take{i}"] = [taker(each) if is_buffer(each) else None for each in entry.python_types()[0]]
    file = "<typedcall shim of %s>" % (text_attribute(wrapper, "__qualname__") or name)
    exec(compile(_source(name, choices, parameters), file, "exec"), namespace)
    return namespace[name]


def direct_call(entry: Entry, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that calls an entry if Python code can convert all arguments to its types. why_not() must
    allow the entry. For other arguments, the function calls `otherwise`."""
    choices = [choice._replace(converts=True) for choice in _choices([entry])]
    return _compile(otherwise, choices, None)  # type: ignore[no-any-return]


def make_shim(wrapper: Any, entries: Sequence[Entry]) -> Callable[..., Any] | None:
    """Returns a function that does the same as `wrapper`, or None if none of the entries can be called through cffi.
    Entries must be known to be thread-safe. The result is a builtin function, which on PyPy does not bind as a method
    and is hidden from tracebacks."""
    choices = [choice for choice in _choices(entries) if choice.usable and says_threads(choice.entry)]
    if not choices:
        return None
    function = _compile(wrapper, choices, parameters_of(wrapper))
    _copy_names(function, wrapper)
    return __pypy__.builtinify(__pypy__.hidden_applevel(function))  # type: ignore[no-any-return]
