"""A reader that compiles nopython code with Numba and typedcall.enable()."""
import ctypes
import numba
import typedcall
from typedcall.record.records import HANDLED

PLACES = {"name", "object"}
#: A type sink has argument types instead of a signature.
IS_TYPE_SINK = True


def run(callable_, arguments):
    """Returns the result of nopython code that calls the function. Raises LookupError if the code
    does not compile."""
    names = ", ".join(f"a{i}" for i in range(len(arguments)))
    scope = {"f": callable_}
    exec(f"def caller({names}):\n    return f({names})", scope)
    try:
        return numba.njit(scope["caller"])(*arguments)
    except numba.core.errors.NumbaError as error:
        raise LookupError(str(error).partition("\n")[0]) from None


def find(callable_, signature, can, equivalent):
    """Supports only `d->d`. Returns (None, None, address) for the entry whose result equals that of
    nopython code."""
    if (can, equivalent, signature) != (0xffff, True, "d->d"):
        raise NotImplementedError("Numba chooses by types, and says which flags it handles")
    there = [entry for entry in typedcall.entries(callable_) if entry.signature == signature]
    try:
        got = run(callable_, [1.5])
    except LookupError:
        if any(entry.flags.requirements(HANDLED) for entry in there):
            raise NotImplementedError("it does not handle the flags") from None
        return None
    for entry in there:
        if ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(entry.address)(1.5) == got:
            return None, None, entry.address
    return "another", got, None


def choose(callable_, arguments):
    if not all(isinstance(argument, (bool, int, float)) and abs(argument) < 1 << 63 for argument in arguments):
        raise NotImplementedError("no number of Numba's")
    try:
        return run(callable_, arguments)
    except LookupError as error:
        raise NotImplementedError(f"it refuses: {error}") from None


def call(callable_, signature, can, arguments):
    if not all(type(argument) in (int, float) and abs(argument) < 1 << 63 for argument in arguments):
        raise NotImplementedError("no number of Numba's")
    if typedcall.entries(callable_)[0].python_types()[1] == "v" and signature[-1] != "v":
        raise NotImplementedError("where there is no value its result is always None")
    try:
        return run(callable_, arguments)
    except LookupError as error:
        raise NotImplementedError(f"it refuses: {error}") from None
