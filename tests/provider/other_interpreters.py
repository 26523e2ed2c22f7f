# Runs code in new interpreters, where the Python can make them from Python: what the tests of modules
# that several interpreters load share.
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
    """Runs `code` in three new interpreters, one after the other; `still()` after each of them must
    find this one unharmed."""
    for _ in range(3):
        interpreter = interpreters.create()
        try:
            # 3.13 returns what went wrong, before it was raised.
            test.assertIsNone(interpreters.run_string(interpreter, code))
        finally:
            interpreters.destroy(interpreter)
        still()
