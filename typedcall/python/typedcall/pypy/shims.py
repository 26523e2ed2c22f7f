"""PyPy: Python functions that hand their arguments to a C function through cffi when the types are
its own, and to the boxed wrapper otherwise. acceleration.py puts them into modules."""
from __future__ import annotations

import contextlib
import keyword
import unicodedata
from collections.abc import Sequence
from typing import Any, Callable, NamedTuple

from typedcall.pypy.buffers import release, taker
from typedcall.pypy.pointers import native_pointer, new_place, says_threads, why_not
from typedcall.record.choice import Kind, steps_of_kinds
from typedcall.record.codes import is_buffer, kind_of, pointee
from typedcall.record.records import Entry
from typedcall.tools.foreign import text_attribute
from typedcall.tools.parameters import MISSING, Parameters, constant_of, parameters_of, signature_of

__all__ = ["direct_call", "make_shim"]

# What a Python object's type must be for a parameter of a kind; then cffi converts as the wrapper
# does, or raises OverflowError.
_PYTHON_TYPES = {"bool": "_bool", "signed": "_int", "unsigned": "_int", "floating": "_float"}
#: The kinds of values, of typedcall/overload_choice.h, that these types are.
_KINDS = {"_bool": "BOOL", "_int": "INT", "_float": "FLOAT"}


class _Choice(NamedTuple):
    """One entry as a branch: the Python types that its arguments have."""

    types: tuple[str, ...]
    entry: Entry
    usable: bool


def _types(entry: Entry) -> tuple[str, ...]:
    """The Python types of its arguments; a shim looks for none of the others (objects, strings), and asks for a buffer."""
    return tuple("*" + pointee(each) if is_buffer(each) else _PYTHON_TYPES.get(kind_of(each), kind_of(each))
                 for each in entry.python_types()[0])


def _first(types: tuple[str, ...], entries: Sequence[Entry]) -> Entry:
    """Returns the entry that the wrapper tries first for these types: `d` before `f` for a float, and perhaps one that has
    other types."""
    alike = [entry for entry in entries
             if all(own == each or each in _KINDS for own, each in zip(_types(entry), types))]
    kinds = [Kind(_KINDS.get(each, "LEFT_OUT")) for each in types]
    at: int = steps_of_kinds([entry.python_types()[0] for entry in alike], kinds, is_alone=False)[0].overload
    return alike[at]


def _choices(entries: Sequence[Entry]) -> list[_Choice]:
    """The entries that arguments of exactly their types lead to, in the table's order: an int that does
    not fit goes to the wrapper, which knows the others. One that cannot be called here, or comes behind one that
    has other types, keeps its place: those types are its own."""
    found: dict[tuple[str, ...], _Choice] = {}
    for entry in entries:
        types = _types(entry)
        if types not in found:
            first = _first(types, entries)
            found[types] = _Choice(types, first, types == _types(first) and why_not(first) is None)
    # One that takes objects may want any at all: which one wins then is for the wrapper to say.
    any_object = {len(types) for types in found if "object" in types}
    # As one of pointers may want the same exporters as one of buffers, and a text is a string, too.
    any_buffer = {len(types) for types in found if {"pointer", "string"} & set(types)}
    return [choice for types, choice in found.items() if len(types) not in any_object
            if len(types) not in any_buffer or not any(each[0] == "*" for each in types)]


def _is_own_name(name: str) -> bool:
    """Can code have it that is none of the names of a shim's own, and stays the same there? Signatures have
    others: Python code has names in the form NFKC."""
    return type(name) is str and not name.startswith("_") and unicodedata.normalize("NFKC", name) == name


def _named(parameters: Parameters | None, choices: Sequence[_Choice]) -> list[Any] | None:
    """The defaults of a shim that has the callable's own parameters, as the C types have them; None where
    it has to take *args and **keywords."""
    if parameters is None or not all(map(_is_own_name, parameters.names)):
        return None
    count = len(parameters.names)
    if parameters.positional_only == count and not any(parameters.optional):
        return None  # the wrapper knows what to say of keywords
    whole = [choice for choice in choices if len(choice.types) == count]
    if not whole or any(len(choice.types) > count for choice in choices):
        return None
    defaults = []
    for i, (optional, default) in enumerate(zip(parameters.optional, parameters.defaults)):
        # Overloads have a default each in its own type: which one, the wrapper says.
        if optional and len({choice.types[i] for choice in whole}) > 1:
            return None
        try:
            letters = whole[0].entry.python_types()[0][i]
            defaults.append(constant_of(letters, default) if optional else MISSING)
        except ValueError:
            return None
    return defaults


def _head(name: str, parameters: Parameters) -> tuple[str, str]:
    """The line that defines such a shim, which takes faulty calls, too, and the call of the wrapper with
    all arguments."""
    listed, passed = [], []
    for i, each in enumerate(parameters.names):
        if i == parameters.positional:
            listed.append("*_rest")
        listed.append(f"{each}=_default{i}")
        passed.append(each if i < parameters.positional else f"{each}={each}")
        if i == parameters.positional_only - 1:
            listed.append("/")
    if parameters.positional == len(parameters.names):
        listed.append("*_rest")
    return f"def {name}({', '.join(listed)}, **_keywords):", f"_boxed({', '.join(passed)})"


def _refuser(wrapper: Any, parameters: Parameters, defaults: list[Any]) -> Callable[..., Any]:
    """Calls the wrapper of a shim where arguments are missing, or too many: it says what is wrong. What is
    the default is as if it had not been passed."""
    names, positional = parameters.names, parameters.positional

    def refused(values: tuple[Any, ...], rest: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        first = 0
        while first < positional and (rest or values[first] is not defaults[first]):
            first += 1
        by_name = {names[i]: values[i] for i in range(first, len(names)) if values[i] is not defaults[i]}
        return wrapper(*values[:first], *rest, **{**keywords, **by_name})

    return refused


def _branch(
    i: int, choice: _Choice, arguments: Sequence[str], tests_of_defaults: Sequence[str] = ()
) -> list[str]:
    """Calls the C function where the types are its own."""
    buffers = [at for at, each in enumerate(choice.types) if each[0] == "*"]
    tests = [f"_type({argument}) is {each}" for argument, each
             in zip(arguments, choice.types) if each[0] != "*"]
    tests += tests_of_defaults
    _, result = choice.entry.python_types()
    passed = [f"_b{at}, _len(_b{at})" if at in buffers else argument
              for at, argument in enumerate(arguments)]
    called = [f"return _native{i}({', '.join(passed)})"]
    if choice.entry.view().verdict == "FALLS_BACK":
        called = [f"if not _native{i}({', '.join(passed)}):", "    return None"]
        if result != "v":
            # Used again, for to make one takes longer than the call. Other threads run
            # meanwhile, so it is nobody else's until then. The JIT takes what is in a closure
            # for constant only until the first call that it does not see through: hence locals.
            called = [
                f"_call, _places = _native{i}, _free{i}",
                "try:",
                "    _value = _places.pop()",
                "except _IndexError:",
                f"    _value = _place{i}()",
                f"if not _call({', '.join([*passed, '_value'])}):",
                "    _result = _value[0]",
                "    _places.append(_value)",
                "    return _result",
            ]
    called = ["try:", *("    " + line for line in called), "except _OverflowError:", "    pass"]
    # From the last one to the first: each is released whatever happens behind it.
    for at in reversed(buffers):
        called = [f"_b{at} = _take{i}[{at}]({arguments[at]})", f"if _b{at} is not None:", "    try:",
                  *("        " + line for line in called),
                  "    finally:", f"        _release(_b{at})"]
    return ["if %s:" % (" and ".join(tests) or "True"), *("    " + line for line in called)]


def _source(name: str, choices: Sequence[_Choice], parameters: Parameters | None, positional: int) -> str:
    """Closure cells, because the globals of a plain `exec` are four times as slow. With `parameters` the
    shim has these, else it takes whatever comes, and calls natively with up to `positional` arguments."""
    natives = "".join(f", _native{i}, _place{i}, _free{i}, _take{i}" for i in range(len(choices)))
    count = len(parameters.names) if parameters is not None else 0
    defaults = ", _refused" * bool(count) + "".join(f", _default{i}" for i in range(count))
    lines = [
        "def _make(_type, _bool, _int, _float, _len, _OverflowError, _IndexError, _release, "
        f"_boxed, _missing{natives}{defaults}):",
    ]
    if parameters is not None:
        head, boxed = _head(name, parameters)
        lines += [f"    {head}", "        if not _rest and not _keywords:"]
        # What leaves out the last parameters does what the whole function does with their defaults, and may
        # be quicker where that falls back.
        whole = [choice for choice in choices if len(choice.types) == count]
        falls_back = any(choice.entry.view().verdict == "FALLS_BACK" for choice in whole)
        for i, choice in enumerate(choices):
            if choice not in whole and falls_back and choice.entry.view().verdict != "FALLS_BACK":
                kept = len(choice.types)
                tests = [f"{each} is _default{at}" for at, each in enumerate(parameters.names) if at >= kept]
                lines += ["            " + line for line
                          in _branch(i, choice, parameters.names[:kept], tests)]
        for i, choice in enumerate(choices):
            if choice in whole:
                lines += ["            " + line for line in _branch(i, choice, parameters.names)]
        needed = [f"{each} is not _missing" for each, optional
                  in zip(parameters.names, parameters.optional) if not optional]
        lines += [
            f"            if {' and '.join(needed) or 'True'}:",
            f"                return {boxed}",
            f"        return _refused(({', '.join(parameters.names)},), _rest, _keywords)",
            f"    return {name}",
            "",
        ]
        return "\n".join(lines)
    lines += [f"    def {name}(*args, **keywords):", "        if not keywords:"]
    for arity in sorted({len(choice.types) for choice in choices if len(choice.types) <= positional}):
        arguments = [f"_{i}" for i in range(arity)]
        lines.append(f"            if _len(args) == {arity}:")
        if arity:
            lines.append("                {}, = args".format(", ".join(arguments)))
        for i, choice in enumerate(choices):
            if len(choice.types) == arity:
                lines += ["                " + line for line in _branch(i, choice, arguments)]
    lines += ["        return _boxed(*args, **keywords)", f"    return {name}", ""]
    return "\n".join(lines)


def _copy_names(shim: Any, wrapper: Any) -> None:
    """To be done before it is made a builtin function, whose names are read-only."""
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        try:
            setattr(shim, name, getattr(wrapper, name))
        except (AttributeError, TypeError):
            pass
    shim.__wrapped__ = wrapper
    text = text_attribute(wrapper, "__text_signature__")
    if text is None:
        return
    shim.__text_signature__ = text
    with contextlib.suppress(TypeError, ValueError):
        shim.__signature__ = signature_of(wrapper)


def _compile(
    wrapper: Any, choices: Sequence[_Choice], parameters: Parameters | None = None
) -> Any:
    """Compiled for each function: the JIT then knows the closure of each piece of code."""
    # What goes by name only goes to the wrapper, unless the shim has these names.
    positional = parameters.positional if parameters is not None else max(len(choice.types) for choice in choices)
    defaults = _named(parameters, choices)
    if defaults is None or parameters is None:
        parameters, defaults = None, []
    else:
        defaults.insert(0, _refuser(wrapper, parameters, defaults[:]))
    name = text_attribute(wrapper, "__name__") or ""
    taken = parameters.names if parameters is not None else ()
    if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_") or name in taken:
        name = "shim"  # the name in profiles, and none of those that the code uses
    namespace: dict[str, Any] = {}
    file = "<typedcall shim of %s>" % (text_attribute(wrapper, "__qualname__") or name)
    exec(compile(_source(name, choices, parameters, positional), file, "exec"), namespace)
    natives: list[Any] = []
    for entry in (choice.entry for choice in choices):
        place = new_place(entry) if entry.view().verdict == "FALLS_BACK" else None
        takers = [taker(each) if is_buffer(each) else None for each in entry.python_types()[0]]
        natives += [native_pointer(entry.signature, entry.address), place, [], takers]
    return namespace["_make"](
        type, bool, int, float, len, OverflowError, IndexError, release, wrapper, MISSING,
        *natives, *defaults
    )


def direct_call(entry: Entry, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """A function that calls an entry, for which why_not() has no reason, with arguments of exactly
    its types, and `otherwise` with all others."""
    return _compile(otherwise, _choices([entry]))  # type: ignore[no-any-return]


def make_shim(wrapper: Any, entries: Sequence[Entry]) -> Callable[..., Any] | None:
    """A builtin function (for PyPy: it does not bind as a method, and does not show in tracebacks)
    that does what `wrapper` does; None when none of the entries can be called through cffi. One of which
    nobody has said that threads may be in it is not."""
    import __pypy__  # type: ignore[import-not-found,unused-ignore]

    choices = [choice for choice in _choices(entries) if choice.usable and says_threads(choice.entry)]
    if not choices:
        return None
    function = _compile(wrapper, choices, parameters_of(wrapper))
    _copy_names(function, wrapper)
    return __pypy__.builtinify(__pypy__.hidden_applevel(function))  # type: ignore[no-any-return]
