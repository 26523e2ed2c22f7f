"""Sinks of the matrix for a made-up runtime: the smallest sink of values, and the smallest sink of arrays. They show what a
new sink needs (CONTRIBUTING.md), and tools that change the engine test it with them, as they are quick to compile."""
import array
import atexit
import functools
import os
import pathlib
import sysconfig

import support
import typedcall
from matrix_c_sinks import CSink
from matrix_sink import Refused, RefusedResult, Sink, kind_in_text, signature_of
from typedcall.calling.choose import VALUES, offered, rows_to_rank, usable, valueless
from typedcall.tools.parameters import by_position

#: The headers that the sinks of the package share, and libffi.
FLAGS = [f"-I{pathlib.Path(__file__).resolve().parents[2] / 'typedcall/python/typedcall'}", "-lffi"]
_BUFFERS = {each + letters for each in ("*", "*k") for letters in "?bBhHiIlLqQnNfd"}


@functools.cache
def module_of(name):
    """Returns a sink's extension module. $TYPEDCALL_MADE_UP is a folder of modules that are used in its place."""
    folder = os.environ.get("TYPEDCALL_MADE_UP")
    module = support.build(name, FLAGS) if folder is None else support.load(
        name, os.path.join(folder, name + sysconfig.get_config_var("EXT_SUFFIX")))
    atexit.register(module.end)
    return module


class MadeUpValues(Sink):
    name, runtime = "made-up values", "the made-up runtime"

    def setUp(self):
        self.module, self.functions = module_of("made_up_values"), []

    def close(self):
        self.functions.clear()

    def made(self, function, state="attached"):
        """Registers the function with the runtime. Returns a callable that calls it in this thread state."""
        found = offered(function)
        try:
            entries = usable(function, self.runtime, lambda entry: valueless(entry, self.runtime, VALUES | _BUFFERS), found)
        except TypeError as error:
            raise Refused(str(error)) from None
        kept = tuple(entry.keep_alive for entry in entries)
        self.functions.append(self.module.function(by_position(function), kept, rows_to_rank(found, entries)))
        at, functions, call = len(self.functions) - 1, self.functions, self.module.call
        return lambda *arguments: call(functions[at], arguments, state)

    def detached(self, function):
        return self.made(function, "detached")

    def pending(self, function):
        return self.made(function, "pending")

    def passing(self, value, letters):
        if isinstance(value, memoryview) and value.format == "c":
            raise Refused("the runtime has no such element")

    def crossing(self, value):
        if type(value) not in (bool, int, float, str, bytes, type(None)):
            raise Refused("the runtime has no such value")
        if isinstance(value, int) and not -2**63 <= value < 2**63:
            raise Refused("the runtime has no such int")

    def giving(self, value):
        self.crossing(value)

    def kind_of(self, error):
        if "the runtime has no such integer" in str(error):
            raise RefusedResult("the runtime has no such int")
        return "BufferError" if "BufferError" in str(error) else kind_in_text(error)


class MadeUpArrays(CSink):
    """Arrays of equal numbers, whose types are those of an entry. The runtime chooses no overload."""

    name = "made-up arrays"
    length = 1

    def setUp(self):
        self.module, self.functions = module_of("made_up_arrays"), []

    def close(self):
        self.functions.clear()

    def caller(self, function, entry, state="attached"):
        letters, result = entry.python_types()
        run = self.runner(function, entry, [*letters, result], state)
        return lambda *arguments: run([[value] * self.length for value in arguments])

    def runner(self, function, entry, types, state="attached"):
        """Registers the function with the runtime. Returns a callable that passes lists, and returns the last result."""
        if not set(types) <= set("?bBhHiIlLqQfd"):
            raise Refused(f"the runtime's arrays contain numbers: not '{signature_of(entry)}'")
        row = entry.signature, int(entry.flags), entry.address
        self.functions.append(self.module.function(by_position(function), entry.keep_alive, row))
        at, functions, call = len(self.functions) - 1, self.functions, self.module.call

        def run(lists):
            count = len(lists[0]) if lists else self.length
            arrays = [_array(letters, values) for letters, values in zip(types, [*lists, [0] * count])]
            call(functions[at], tuple(arrays), count, state)
            results = arrays[-1].tolist()
            assert len(set(map(repr, results))) == 1 or len(set(lists[0])) > 1, results
            return results[-1]

        return run

    def made(self, function):
        made = super().made(function)
        return lambda *arguments: made(*arguments)

    def held(self, function):
        return self.caller(function, *typedcall.entries(function))

    def pending(self, function):
        return self.caller(function, *typedcall.entries(function), state="pending")

    def detached(self, function):
        return self.caller(function, *typedcall.entries(function), state="detached")

    def many(self, function, values):
        entry, = typedcall.entries(function)
        run = self.runner(function, entry, [*entry.python_types()[0], entry.python_types()[1]])
        return lambda: run([values])

    def letting_go(self):
        """A loop releases the GIL."""

    def kind_of(self, error):
        return kind_in_text(error)


class LongArrays(MadeUpArrays):
    """Arrays for which a loop releases the GIL."""

    name, length = "long made-up arrays", 1000


def _array(letters, values):
    """Returns a writable buffer with these elements."""
    if letters == "?":
        return memoryview(bytearray(values)).cast("?")
    return memoryview(array.array(letters, values))
