# Runs the commands of a test run, at most one per processor at a time, and ends all processes when
# the run ends.
import concurrent.futures
import contextlib
import os
import signal
import subprocess
import threading

# All parts share this pool, so two parts at once run no more processes than one.
pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())
# This lock is held while a process is started, so end_all() finds every process.
_starting = threading.Lock()
_running = set()
_has_ended = False


def _end(process):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def end_all():
    """Ends all running processes. Afterwards no process can be started."""
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
    """Returns (status, output). The status is None if the time limit is reached."""
    with _start(command, options) as process:
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            _end(process)
            output, _ = process.communicate()
            return None, output.decode(errors="replace") + "\ntook too long"
        finally:
            _end(process)  # the command may have left processes behind
            with _starting:
                _running.discard(process)
    return process.returncode, output.decode(errors="replace")


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip() and "[notice]" not in line]
    return lines[-1] if lines else "nothing was printed"
