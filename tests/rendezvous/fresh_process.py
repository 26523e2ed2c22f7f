# Runs Python code in a separate process, in which none of our modules has been imported yet.
import processes


def run(code):
    """Returns the output of the process, or raises if the process fails."""
    return processes.python("-X", "faulthandler", code=code, together=True, timeout=120).out
