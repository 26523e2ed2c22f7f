# Runs Python code in a separate process, where none of our modules has been imported yet.
import processes


def run(code):
    """Returns the process's output; fails if it did not succeed."""
    return processes.python("-X", "faulthandler", code=code, together=True, timeout=120).out
