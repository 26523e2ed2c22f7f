"""Four threads count prime numbers at once, in three ways."""

import sys
import threading
import time

import primes

THREADS, LAST, EXPECTED = 4, 2_000_000, 148_933


def from_python(first, last):
    """Counts by many short calls."""
    return sum(primes.is_prime(n) for n in range(first, last))


def native_loop(first, last):
    """Counts in a consumer's loop, which calls the C function behind the Python function."""
    return primes.count(primes.is_prime, first, last)


def in_threads(work, threads):
    """Runs `work` in several threads. Returns the total count and the time."""
    share = LAST // threads
    counts = [None] * threads
    barrier = threading.Barrier(threads)

    def run(number):
        barrier.wait()  # all threads start at once
        counts[number] = work(number * share, (number + 1) * share)

    started = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    start = time.perf_counter()
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    assert None not in counts, "a thread has failed"
    return sum(counts), time.perf_counter() - start


# Check this after the import, because importing a module can enable the GIL again.
if getattr(sys, "_is_gil_enabled", lambda: True)():
    print("This Python has a GIL: threads take turns, except in the native loop, "
          "which releases it.")
else:
    print("This Python has no GIL: all threads run at once.")

for name, work in [
    ("many short calls", from_python),
    ("one long call", primes.count_primes),
    ("a native loop", native_loop),
]:
    alone, time_alone = in_threads(work, 1)
    primes.take_most_at_once()
    together, time_together = in_threads(work, THREADS)
    assert alone == together == EXPECTED, (name, alone, together)
    at_once = primes.take_most_at_once()
    times = "1 thread %4.0f ms, %d threads %4.0f ms" % (
        time_alone * 1000, THREADS, time_together * 1000
    )
    inside = ", %d of them inside at once" % at_once if at_once else ""
    print("%-17s %d primes, %s%s" % (name + ":", together, times, inside))
