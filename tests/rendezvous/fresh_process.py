# Runs Python code in a process of its own, where nobody has imported anything of ours yet.
import processes


def run(code):
    """What the process printed; a failure if it did not end well."""
    return processes.python("-X", "faulthandler", code=code, together=True, timeout=120).out
