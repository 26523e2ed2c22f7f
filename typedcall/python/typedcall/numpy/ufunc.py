"""Makes NumPy ufuncs from typed functions. The loops call the C function directly."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from typedcall.calling.choose import extension_of, is_alone, offered, usable
from typedcall.calling.pickles import ask_again
from typedcall.numpy.gufuncs import Core, RowLoop, core_of, read_core, row_loops, why_no_rows
from typedcall.numpy.loop_order import in_order
from typedcall.numpy.pickles import pickle_by_origin, show_loops
from typedcall.numpy.planner import Loop, Loops, Planner, arrays_of, has_dtype
from typedcall.record.codes import is_place, kind_of, pointee
from typedcall.record.records import Entry, has_buffers
from typedcall.sources.numpy_ import dtype_of
from typedcall.tools.foreign import few, import_path, is_a, name_of, text_attribute, type_name
from typedcall.tools.locks import RenewedLock
from typedcall.tools.parameters import by_position

__all__ = ["dtype_of", "plan_of", "ufunc", "why_no_numbers"]

# Ufuncs, by the id of their function and by `signature`; protected by the lock. A ufunc's `__name__` is its path below
# typedcall.ufuncs.
_keeping = RenewedLock()
_made: dict[tuple[int, str | None], tuple[Any, Loops, Any]] = {}


def _written_to(arguments: list[str], result: str) -> str:
    """Suggests alternatives to a function that takes pointers to numbers."""
    places = [each for each in arguments if is_place(each)]
    pointed = [each for each in arguments if kind_of(each) == "pointer"]
    results = [] if result == "v" else [result]
    if not pointed or not all([has_dtype(pointee(each)) for each in arguments + results]):
        return ""
    if len(pointed) > len(places):
        return _lengthless(arguments, result) if places or results else ""
    read = [each for each in arguments if each not in places]
    rows = "".join("*k" + pointee(each) for each in read) + "".join("*" + pointee(each) for each in places)
    core = ",".join(["(n)"] * len(read)) + "->" + ",".join(["(n)"] * len(places))
    return (f"writes to {few(places)}, and a ufunc has one result: offer a C function for each, "
            f"'{''.join(read)}->{pointee(places[0])}', or one of rows, '{rows}->v', for signature='{core}'")


def _lengthless(arguments: list[str], result: str) -> str:
    """Suggests rows to a function that reads arrays through pointers. An int behind a pointer may be its length."""
    pointed = [each for each in arguments if kind_of(each) == "pointer"]
    lengths = {at for at, letters in enumerate(arguments)
               if at and arguments[at - 1] in pointed and kind_of(letters) in ("signed", "unsigned")}
    rows = [letters.replace("&", "*") for at, letters in enumerate(arguments) if at not in lengths]
    outputs = [letters for letters in rows if letters[0] == "*" and letters[1] != "k"]
    core = ",".join(["(n)" if letters[0] == "*" else "()" for letters in rows if letters not in outputs])
    outs = ",".join(["(n)"] * len(outputs) + ["()"] * (result != "v"))
    left = "".join([arguments[at] for at in sorted(lengths)])
    which = f", if '{left}' {'is their length' if len(lengths) == 1 else 'are their lengths'}" if lengths else ""
    return (f"takes {few(pointed)}, and NumPy does not know the lengths of these arrays: offer a C function with a "
            f"Py_ssize_t of its own behind each pointer, '{''.join(rows)}->{result}'{which}, for "
            f"signature='{core}->{outs}'")


def why_no_numbers(entry: Entry) -> str:
    """Returns the reason why no loop of numbers can call the entry, or ""."""
    written_to = _written_to(*entry.python_types())
    if written_to:
        return written_to
    letters = arrays_of(entry)
    if not letters:
        return "has no arguments or no result"
    return "" if all(map(has_dtype, letters)) else "has types other than numbers"


def _loops(function: Any, core: Core | None) -> tuple[Loops, Planner | None]:
    """Returns the loops of all entries that NumPy can use and that have as many arguments as the first such entry, and
    what plans loops for the types of a call."""
    import numpy

    # NumPy before 1.22 does not check for exceptions after a loop that acquires the GIL itself.
    may_raise = tuple(map(int, numpy.__version__.split(".")[:2])) >= (1, 22)

    def unusable(entry: Entry) -> str:
        view = entry.view()
        if not may_raise and (view.may_raise or view.may_fall_back):
            return "may raise, or fall back, and NumPy checks for exceptions only since 1.22"
        if has_buffers(entry):
            return why_no_rows(entry, core)
        if core is None or core == core_of(entry):
            return why_no_numbers(entry)
        if any(core[0] + core[1]):
            return "has no buffers, but the signature has"
        return f"takes {len(core_of(entry)[0])} numbers, not {len(core[0])}"

    found = offered(function)
    entries = usable(function, "NumPy", unusable, found)
    first = entries[0]
    entries = [entry for entry in entries if has_buffers(entry) == has_buffers(first)]
    # Entries with fewer arguments only omit arguments with defaults.
    count = len(core_of(first)[0])
    takes_truth = is_alone(function, [each.python_types()[0] for each in found])
    if has_buffers(first):
        return Loops(in_order(row_loops(entries, core, may_raise, takes_truth))), None
    entries = [entry for entry in entries if len(arrays_of(entry)) == len(arrays_of(first))]
    # Other loops need NumPy's check for exceptions, because an int that does not fit raises.
    if not may_raise:
        return Loops(in_order([Loop(entry, tuple(arrays_of(entry))) for entry in entries])), None
    planner = Planner([entry for entry in found if len(core_of(entry)[0]) == count], entries, takes_truth)
    return planner.loops, planner


def plan_of(f: Any, dtypes: list[Any]) -> str:
    """Returns the code of the result's type for arrays of these types. Raises TypeError as a call would."""
    loops, planner = _loops(f, None)
    if planner is None:
        raise TypeError("the ufunc has loops of rows, of which NumPy takes the first to which it can cast the arrays")
    if len(dtypes) != len(loops.loops[0].inputs):
        raise TypeError(f"the ufunc takes {len(loops.loops[0].inputs)} arrays, not {len(dtypes)}")
    return planner.planned(tuple([each.num for each in dtypes])).letters[-1]


def ufunc(f: Any, name: str | None = None, *, signature: str | None = None) -> Any:
    """Returns a numpy.ufunc with a loop for each overload of `f` whose types are numbers. The result is always
    the same object if the function can be imported by its name. The ufunc keeps `f` alive.

    A ufunc is pickled as the names of the function and its module. The function may be a static method, or be defined
    in the script itself. The reading process makes the ufunc again. A call raises ImportError if that process lacks
    the module, and TypeError if the loops have different types there.

    The loops are in the order in which Python tries the overloads, but narrow types come before wide types, and ints
    before floats. There are also loops over 64-bit ints for narrower ints, and over doubles for floats. If a function
    has no overloads, its bool parameters also have loops over doubles and complex numbers. These loops convert elements
    as `f` does, and call `f` for an int that does not fit, so that its OverflowError is raised. Their results are int64
    and float64. If a call brings other types to a function with overloads, the loop of the overload that Python chooses
    for them is added, or the call raises TypeError. All loops have as many arguments as the first overload, or as
    `signature`, such as `(),()->()`.

    A function that takes buffers becomes a generalised ufunc, with a signature such as `(n)->()` for `*kd->d`. Each
    buffer is a row of an array. Rows with gaps are copied. `signature` declares in NumPy's notation which lengths are
    equal, as in `(n),(n)->()`. By default, each buffer has its own length. `signature` also declares which buffers are
    outputs. Outputs come before the result, in the order of the arguments. With `(n)->(n)`, a function `*kd*d->v`
    writes to an output, and a function `*d->v` changes a copy of the input. NumPy copies outputs that overlap inputs.

    NumPy calls loops without the GIL. Loops of overloads that may raise or are not thread-safe acquire the GIL. If an
    overload falls back for an element, `f` is called. After an exception, the rest of the output is unchanged,
    or undefined if it is converted. With NumPy before 1.22, which does not check for exceptions, overloads that may
    raise are omitted. Raises TypeError as typedcall.resolve() does, and ImportError on PyPy."""
    if sys.implementation.name == "pypy":
        raise ImportError("CPython only: ufunc() needs NumPy's C API, which PyPy emulates")
    with extension_of("ufunc()"):
        from typedcall.numpy._numpy_bridge import make_ufunc

    if name is not None and not is_a(name, str):
        raise TypeError(f"name must be a str, not '{type_name(name)}'")
    core = None if signature is None else read_core(signature)
    loops, planner = _loops(f, core)
    path = name or _path(f)
    existing = _made.get((id(f), signature))
    if name is None and existing is not None and existing[1] == loops:
        return existing[2]
    types = b""
    for loop in loops.loops:
        types += bytes([dtype_of(letters).num for letters in loop.letters])
    first = loops.loops[0]
    nin, nout, shape = len(first.inputs), 1, ""
    if isinstance(first, RowLoop):
        nout, shape = len(first.core[1]), first.signature
    function = by_position(f)
    text = _c_string(text_attribute(f, "__doc__"))
    doc = f"{name_of(f)} for arrays.\n\n{text}"
    made = make_ufunc(path, doc, loops.rows(function), types, nin, nout, shape, (f, name, signature, len(loops.loops)),
                      planner and planner.for_calls(function))
    pickle_by_origin(type(made), _ufunc_again)
    if name is not None or "." not in path:
        return made
    with _keeping.lock:
        existing = _made.get((id(f), signature))
        if existing is None or existing[1] != loops:
            # The ufunc is kept until the process ends.
            existing = _made[id(f), signature] = (f, loops, made)
    return existing[2]


def _ufunc_again(pickled: Any, name: str | None, signature: str | None, loops: str) -> Any:
    """Reads a pickled ufunc. Raises TypeError if the results would differ."""

    def make(function: Any) -> Any:
        made = ufunc(function, name, signature=signature)
        if show_loops(made) != loops:
            raise TypeError(f"as a ufunc {name_of(function)} has the loops {few(show_loops(made).split(), ' ')}, "
                            f"not {few(loops.split(), ' ')}")
        return made

    return ask_again(pickled, make)


# Pickles refer to this name in typedcall.to_numpy.
_ufunc_again.__module__ = "typedcall.to_numpy"


def _path(function: Any) -> str:
    """Returns `module.name` or `module.Class.name` if `function` can be imported from there. Otherwise returns only
    its name."""
    place = import_path(function)
    if place is not None and _c_string(".".join(place)) == ".".join(place):
        return ".".join(place)
    return _c_string(text_attribute(function, "__name__")) or "typed_function"


def _c_string(text: str | None) -> str:
    """Removes null characters and lone surrogates, which a C string cannot contain."""
    return (text or "").replace("\0", "").encode(errors="replace").decode()


def _is_special(name: str) -> bool:
    """True if `name` is a special name, which Python may look up on any object."""
    return name.startswith("__") and name.endswith("__")


class _Names:
    """A module or class on the path to a ufunc."""

    def __init__(self, path: str, inside: type | None = None) -> None:
        self._path = path
        self._inside = inside

    def __getattr__(self, name: str) -> Any:
        if _is_special(name):
            # pickle also calls this for an object that has no path yet.
            if "{}.{}".format(self.__dict__.get("_path"), name) not in sys.modules:
                raise AttributeError(name)
        path = f"{self._path}.{name}"
        module: Any = self._inside
        if module is None:
            try:
                module = importlib.import_module(self._path)
            except ImportError as error:
                raise AttributeError(str(error)) from None
        found = getattr(module, name, None)
        if callable(found):
            try:
                return ufunc(found)
            except TypeError as error:
                if isinstance(found, type):
                    return _Names(path, found)
                raise AttributeError(str(error)) from None
        if self._inside is not None:
            raise AttributeError(f"there is no function {path:.200}")
        if not isinstance(found, ModuleType):
            try:
                importlib.import_module(path)
            except ImportError:
                raise AttributeError(f"there is no function {path:.200}") from None
        return _Names(path)
