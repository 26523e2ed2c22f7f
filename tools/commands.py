# Runs the commands of a run, so many at once as the machine has processors, and ends with the run what they
# have started.
import concurrent.futures
import contextlib
import os
import signal
import subprocess
import threading

# All parts share it: two of them at once are no more processes than one.
pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())
# Held while a process is started: who ends all of them finds it.
_starting = threading.Lock()
_running = set()
_has_ended = False


def _end(process):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def end_all():
    """Ends what runs. Nothing can be started afterwards."""
    global _has_ended
    pool.shutdown(wait=False, cancel_futures=True)
    with _starting:
        _has_ended = True
        for process in _running:
            _end(process)


def _start(command, options):
    with _starting:
        if _has_ended:
            raise RuntimeError("the run has ended")
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   start_new_session=True, **options)
        _running.add(process)
    return process


def run(*command, timeout=None, **options):
    """(status, what it printed). A time limit that is reached is no status."""
    with _start(command, options) as process:
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            _end(process)
            output, _ = process.communicate()
            return None, output.decode(errors="replace") + "\ntook too long"
        finally:
            _end(process)  # what it has left behind
            with _starting:
                _running.discard(process)
    return process.returncode, output.decode(errors="replace")


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip() and "[notice]" not in line]
    return lines[-1] if lines else "nothing was printed"
