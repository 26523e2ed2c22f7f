# Runs code in new interpreters, if this Python can create them from Python. Shared by the tests of modules
# that several interpreters load.
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
    """Runs `code` in three new interpreters, one after the other; after each of them `still()` must find this
    interpreter unharmed."""
    for _ in range(3):
        interpreter = interpreters.create()
        try:
            # 3.13 returns the exception; earlier versions raised it.
            test.assertIsNone(interpreters.run_string(interpreter, code))
        finally:
            interpreters.destroy(interpreter)
        still()
