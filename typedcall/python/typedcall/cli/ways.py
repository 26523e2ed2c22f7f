"""The ways to call a typed function that `bench` compares."""
from __future__ import annotations

import array
import sys
import time
import timeit
from typing import Any, Callable, NamedTuple

import typedcall
from typedcall.cli.targets import describe
from typedcall.record.codes import is_buffer
from typedcall.record.records import EVERYTHING, Entry, has_buffers

__all__ = ["WAYS", "Way", "all_ways"]

#: Makes about this many calls. Returns the exact number of calls and the seconds that they took.
Timer = Callable[[int], tuple[int, float]]


class Way(NamedTuple):
    label: str
    timer: Timer | None
    #: The reason why there is no timer.
    note: str = ""


class _Unavailable(Exception):
    pass


def _python_loop(function: Any, arguments: tuple[Any, ...]) -> Timer:
    """Times a realistic loop: the arguments are local variables, and garbage collection is on, unlike in timeit."""
    names = ", ".join(f"a{i}" for i in range(len(arguments)))
    given = {"given": (function, arguments)}
    timer = timeit.Timer(
        f"function({names})", f"import gc; gc.enable(); function, [{names}] = given", globals=given)
    return lambda count: (count, timer.timeit(count))


def _import(name: str) -> Any:
    try:
        return __import__(name, fromlist=["*"])
    except ImportError:
        raise _Unavailable("{} is not installed".format(name.partition(".")[0])) from None


def _elements(numpy: Any, value: Any) -> Any:
    return numpy.frombuffer(value, "u1") if type(value) is bytes else numpy.asarray(value)


class _Ways:
    """Makes the timers for all the ways to call one entry of a function."""

    def __init__(self, function: Any, entry: Entry, arguments: tuple[Any, ...]) -> None:
        self.function = function
        self.entry = entry
        self.arguments = arguments
        self.resolved = typedcall.resolve(
            function, entry.signature, capabilities=EVERYTHING, casting="exact"
        )

    def boxed(self) -> Timer:
        return _python_loop(self.function, self.arguments)

    def typed(self) -> Timer:
        return _python_loop(self.resolved, self.arguments)

    def accelerated(self) -> Timer:
        if sys.implementation.name != "pypy":
            raise _Unavailable("PyPy only")
        from typedcall.pypy.backend import own_entries
        from typedcall.pypy.shims import make_shim

        shim = make_shim(self.function, own_entries(self.function))
        if shim is None:
            raise _Unavailable("nothing that it offers can be called through cffi")
        return _python_loop(shim, self.arguments)

    def pointer(self) -> Timer:
        pointer = getattr(self.resolved, "pointer", None)
        if pointer is None:
            raise _Unavailable("only on PyPy, and only if cffi can call the function")
        return _python_loop(pointer, self.arguments)

    def boxed_from_c(self) -> Timer:
        native = self._native()
        return lambda count: (count, native.time_boxed(self.function, self.arguments, count))

    def invoker(self) -> Timer:
        native = self._native()
        return lambda count: (count, native.time_unboxed(self.resolved, self.arguments, count))

    def ctypes(self) -> Timer:
        import ctypes

        made = typedcall.ctypes_function(self.resolved, self.entry.signature)
        given: list[Any] = []
        for value, of in zip(self._c_arguments(), made.argtypes):
            element: Any = getattr(of, "_type_", None)
            is_array = type(value) is memoryview and isinstance(element, type)
            given.append((element * len(value)).from_buffer_copy(value) if is_array else value)
        types = made.argtypes
        for at, each in enumerate(given):
            if isinstance(each, ctypes.Array):
                types = (*types[:at], ctypes.c_void_p, *types[at + 1:])
        # `types` includes the pointer to a status function's result, because ctypes checks the number of arguments.
        made.argtypes = types
        return _python_loop(made, tuple(given))

    def cffi(self) -> Timer:
        _import("cffi")
        made = typedcall.cffi_function(self.resolved, self.entry.signature, thread_safe_only=False)
        if has_buffers(self.entry):
            ffi = _import("cffi").FFI()
            given = [ffi.from_buffer(value) if type(value) is memoryview else value
                     for value in self._c_arguments()]
            types = ffi.typeof(made).args
            return _python_loop(made, tuple(
                ffi.cast(of, value) if of.kind == "pointer" and type(value) is not bytes else value
                for of, value in zip(types, given)))
        return _python_loop(made, self.arguments)

    def numba(self) -> Timer:
        numba = _import("numba")
        names = [f"a{i}" for i in range(len(self.arguments))]
        source = (
            "def loop(count, {}):\n"
            "    result = function({})\n"
            "    for _ in range(count - 1):\n"
            "        result = function({})\n"
            "    return result\n"
        ).format(", ".join(names) or "nothing=0", ", ".join(names), ", ".join(names))
        scope: dict[str, Any] = {"function": self.resolved}
        exec(source, scope)
        loop = numba.njit(scope["loop"])
        arguments = tuple(_import("numpy").asarray(each) if type(each) is array.array else each
                          for each in self.arguments)
        loop(1, *arguments)  # this call compiles the loop

        def timer(count: int) -> tuple[int, float]:
            return count, timeit.timeit(lambda: loop(count, *arguments), number=1)

        return timer

    def ufunc(self) -> Timer:
        numpy = _import("numpy")
        made = typedcall.ufunc(self.resolved)
        size = 1000 if has_buffers(self.entry) else 10000
        arrays = [numpy.tile(_elements(numpy, value), (size, 1)) if is_buffer(letters)
                  else numpy.full(size, value)
                  for letters, value in zip(self.entry.python_types()[0], self.arguments)]
        out = made(*arrays)

        def timer(count: int) -> tuple[int, float]:
            turns = max(count // size, 1)
            return turns * size, timeit.timeit(lambda: made(*arrays, out), number=turns)

        return timer

    def quad_boxed(self) -> Timer:
        return self._quad(self.function)

    def quad(self) -> Timer:
        _import("scipy.integrate")
        return self._quad(typedcall.low_level_callable(self.resolved, self.entry.signature))

    def _quad(self, function: Any) -> Timer:
        integrate = _import("scipy.integrate")
        if self.entry.signature != "d->d":
            raise _Unavailable("quad takes 'd->d' only")
        # With this many pieces, the function is called far more often than quad.
        points = [i / 256 for i in range(1, 256)]

        def timer(count: int) -> tuple[int, float]:
            made, took = 0, 0.0
            while made < count:
                start = time.perf_counter()
                result = integrate.quad(function, 0.0, 1.0, points=points, limit=1000,
                                        full_output=1)
                took += time.perf_counter() - start
                made += int(result[2]["neval"])
            return made, took

        return timer

    def _c_arguments(self) -> list[Any]:
        """Returns the arguments of the C function. A buffer becomes two arguments: its memory and the number of
        elements."""
        made: list[Any] = []
        for letters, value in zip(self.entry.python_types()[0], self.arguments):
            if letters == "*s":
                made += [value.encode(), len(value.encode())]
            elif is_buffer(letters):
                made += [memoryview(value), len(value)]
            else:
                made.append(value)
        return made

    @staticmethod
    def _native() -> Any:
        if sys.implementation.name != "cpython":
            raise _Unavailable("CPython only")
        from typedcall.native import _native

        return _native


WAYS: tuple[tuple[str, Callable[[_Ways], Timer]], ...] = (
    ("boxed, Python loop", _Ways.boxed),
    ("TypedFunction, Python loop", _Ways.typed),
    ("accelerated, Python loop", _Ways.accelerated),
    ("cffi pointer of PyPy's, Python loop", _Ways.pointer),
    ("ctypes function, Python loop", _Ways.ctypes),
    ("cffi function, Python loop", _Ways.cffi),
    ("boxed, C loop", _Ways.boxed_from_c),
    ("invoker, C loop", _Ways.invoker),
    ("Numba, nopython loop", _Ways.numba),
    ("NumPy ufunc, per element", _Ways.ufunc),
    ("SciPy quad, boxed", _Ways.quad_boxed),
    ("SciPy quad, LowLevelCallable", _Ways.quad),
)


def all_ways(
    function: Any, entry: Entry, arguments: tuple[Any, ...], done: Callable[[int], None]
) -> list[Way]:
    """Returns every way, with the boxed call first. Calls `done` after each way."""
    ways = _Ways(function, entry, arguments)
    made = []
    for label, make in WAYS:
        try:
            timer = make(ways)
            timer(1)  # raises if these arguments cannot be passed
            made.append(Way(label, timer))
        except Exception as error:  # libraries differ in the exceptions that they raise here
            note = str(error) if isinstance(error, _Unavailable) else describe(error)
            made.append(Way(label, None, note))
        done(1)
    return made

