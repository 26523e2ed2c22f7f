# Runs Python code in a separate process.
import processes


def run(code):
    """Returns the output. Raises an exception if the process fails."""
    return processes.python("-X", "faulthandler", code=code, together=True, timeout=120).out
