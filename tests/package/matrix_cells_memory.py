"""Cells of the matrix in which memory allocation fails."""
import re

import support
from no_memory_support import ENDS_DEEP_CALLS, MAKES_FUNCTIONS, sweep


def is_for_want(error):
    """Returns true for errors that libraries raise if memory allocation fails."""
    return re.search("(?i)nomem|memory", f"{type(error).__name__} {error}") is not None


def swept(call, undo=lambda result: None, errors=(), onwards=True):
    return "right", "%d calls had no memory" % sweep(call, undo, errors, onwards=onwards, is_for_want=is_for_want)


def making(sink):
    if MAKES_FUNCTIONS:
        return "limit", "CPython 3.12 and 3.13 crash if they have no memory for a generator"
    function = support.build("typed_functions").half

    def right(made):
        assert sink.result(made(8.0), 4.0) == 4.0

    right(sink.held(function))
    return swept(lambda: sink.held(function), right, onwards=not ENDS_DEEP_CALLS)


def calling(sink):
    call, read = sink.single(support.build("typed_functions").half, 8.0)

    def right(result):
        assert sink.result(read(result), 4.0) == 4.0

    right(call())
    return swept(call, right)


def failing(sink, function, value, text):
    """Tests a call that raises ValueError with this text."""
    call, read = sink.single(function, value)
    try:
        read(call())
    except Exception as error:
        assert sink.kind_of(error) == "ValueError" and text in str(error), error
        usual = type(error)
    else:
        raise AssertionError("nothing raised")

    def wrong(result):
        raise AssertionError(f"a result: {read(result)!r}")

    return swept(call, wrong, errors=usual)


def raising(sink):
    return failing(sink, support.build("narrow_functions").checked_d, 13.0, "thirteen")


def falling_back(sink):
    return failing(sink, support.build("fallback_functions").root, -4.0, "no result for these arguments")


CELLS = {"making": making, "calling": calling, "raising": raising, "falling back": falling_back}
