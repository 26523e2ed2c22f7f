# Runs code in new interpreters.
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
    """Runs `code` in three new interpreters. After each one, calls `still()` to check this
    interpreter."""
    for _ in range(3):
        interpreter = interpreters.create()
        try:
            # Before 3.13, run_string() raises the exception.
            test.assertIsNone(interpreters.run_string(interpreter, code))
        finally:
            interpreters.destroy(interpreter)
        still()
