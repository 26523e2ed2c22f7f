# Runs the commands of a run, so many at once as the machine has processors, and ends with the run what they
# have started.
import concurrent.futures
import contextlib
import os
import signal
import subprocess

# All parts share it: two of them at once are no more processes than one.
pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())
_running = set()
_has_ended = False


def _end(process):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def end_all():
    """Ends what runs. Nothing can be started afterwards."""
    global _has_ended
    _has_ended = True
    pool.shutdown(wait=False, cancel_futures=True)
    for process in list(_running):
        _end(process)


def run(*command, timeout=None, **options):
    """(status, what it printed). A time limit that is reached is no status."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
                          **options) as process:
        _running.add(process)
        if _has_ended:
            _end(process)
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            _end(process)
            output, _ = process.communicate()
            return None, output.decode(errors="replace") + "\ntook too long"
        finally:
            _running.discard(process)
    return process.returncode, output.decode(errors="replace")


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip() and "[notice]" not in line]
    return lines[-1] if lines else "nothing was printed"
