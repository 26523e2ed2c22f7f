"""The matrix's property for calls of C code: without the GIL, and while an exception is pending."""
import support
from matrix_values import compare
from narrow_support import functions

#: Functions of one double with a status of their own, with exceptions, and with a fall back; and arguments.
CALLS = {"same_d": (functions, (1.5,)), "checked_d": (functions, (1.5, -1.0, 13.0)),
         "root": (support.build("fallback_functions"), (4.0, -1.0, -4.0))}


class In:
    """The sink, whose callables make each call in a thread state: "detached", or "pending"."""

    def __init__(self, sink, state):
        self.sink, self.state = sink, state

    def __getattr__(self, name):
        return getattr(self.sink, name)

    def made(self, function):
        return getattr(self.sink, self.state)(function)


def states(sink):
    """A call has its result or its own exception in any thread state. An exception that was pending stays."""
    for state in ("pending", "detached"):
        for name, (module, values) in CALLS.items():
            function = getattr(module, name)
            calls = [(value,) for value in values]
            yield from compare(In(sink, state), f"{state} {name}", function, [function], [["d"]], calls)
