# Runs code in new interpreters, if Python code can create them here. Shared by tests of modules that several
# interpreters load.
from collected import only_if

try:
    import _interpreters as interpreters
except ImportError:
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        interpreters = None

needs_interpreters = only_if(interpreters)


def check_in_others(test, code, still):
    """Runs `code` in three new interpreters, one after the other, and calls `still()` after each to check that this
    interpreter is unharmed."""
    for _ in range(3):
        interpreter = interpreters.create()
        try:
            # run_string() returns the exception from 3.13 on, and raises it before.
            test.assertIsNone(interpreters.run_string(interpreter, code))
        finally:
            interpreters.destroy(interpreter)
        still()
