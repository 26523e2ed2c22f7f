"""Runs random programs against the Python API in separate processes. No program may crash, hang or leak. Every typed
call must return the same result as the boxed call.

    python property_attack.py                                   # the same programs each time
    python property_attack.py --seconds 3600 --seed 5
        python property_attack.py --seed 5 --only 1234 --shrink     # shortens a program that failed
"""
import argparse
import faulthandler
import gc
import os
import random
import sys
import sysconfig
import tempfile
import time

from support import leaks, processes

#: A process may grow by this many kilobytes per program. untag() frees its memory only when the interpreter ends.
LEAK_BOUND = 400
FAILED = 3


def child(options):
    """Runs programs, and writes their numbers to the file `options.log`."""
    import support
    import attack_meanings
    import attack_program

    for library in ("numpy", "scipy.integrate", "cffi"):
        if library.split(".")[0] not in options.without.split(","):
            try:
                __import__(library)
            except ImportError:
                pass
    try:
        modules = [support.build(name) for name in
                   ("plain_functions", "typed_functions", "fallback_functions")]
        # Programs import the module again by name.
        sys.path.append(support.module_folder("plain_functions"))
    except Exception as error:
        print("without extension modules: %s" % error, flush=True)
        modules = None, None, None
    sys.setswitchinterval(1e-5)
    # Do not print exceptions that are raised in a ctypes callback or in `__del__`.
    sys.unraisablehook = lambda unraisable: None
    log = os.open(options.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

    def note(step, text):
        os.pwrite(log, ("%d %d %s" % (number, step, text)).ljust(80).encode() + b"\n", 0)

    gc.collect()
    gc.freeze()  # the collector ignores the objects made by imports
    known = attack_meanings.meanings(*modules)
    calls = asked = 0
    before = None
    started = time.monotonic()
    done = 0
    for number in range(options.first, options.first + options.count):
        faulthandler.dump_traceback_later(120, exit=True)
        program = attack_program.Program(options.seed, number, known, not options.no_threads, note,
                                         options.leave_out.split(","), options.verbose)
        skipped = frozenset()
        if options.only in (None, number):
            skipped = frozenset(int(step) for step in options.skip.split(",") if step)
        try:
            program.run(options.steps, skipped)
        except attack_meanings.Wrong as error:
            print("WRONG in step %d: %s" % (program.step, error), flush=True)
            os._exit(FAILED)
        calls += program.calls
        asked += program.asked
        done += 1
        del program
        if done == 20:  # caches are full by now
            before = resident()
        if options.until and time.time() > options.until:
            break
    faulthandler.cancel_dump_traceback_later()
    growth = 0
    if before is not None and done > 40:
        growth = (resident() - before) / (done - 20)
        if growth > LEAK_BOUND:
            print("LEAK: %d kB with each program" % growth, flush=True)
            os._exit(FAILED)
    note(0, "all done")
    print("ok %d programs, %d calls, %d questions, %.1f s, %d kB each"
          % (done, calls, asked, time.monotonic() - started, growth), flush=True)


def resident():
    """Returns the resident memory in kilobytes."""
    try:
        return leaks.resident()
    except OSError:
        return 0


class Batch:
    """A process that runs some programs."""

    def __init__(self, options, first, count, environment, skip=(), until=0, verbose=False):
        self.first, self.environment = first, environment
        handle, log = tempfile.mkstemp()
        os.close(handle)
        command = [sys.executable, "-X", "faulthandler", os.path.abspath(__file__), "--child",
                   "--log", log, "--seed", str(options.seed), "--first", str(first), "--count",
                   str(count), "--steps", str(options.steps), "--without", options.without,
                   "--skip", ",".join(map(str, skip)), "--until", str(until)]
        if options.only is not None:
            command += ["--only", str(options.only)]
        command += ["--leave-out", options.leave_out]
        command += ["--no-threads"] if options.no_threads else []
        command += ["--verbose"] if verbose else []
        try:
            self.status, self.output, _ = processes.run(command, environment=environment, check=False,
                                                        together=True, timeout=max(600, 10 * count))
        except processes.Hung as error:
            self.status, self.output = "no end", error.out
        with open(log, encoding="ascii", errors="replace") as file:
            self.last = file.read().split()
        os.unlink(log)

    @property
    def failed(self):
        return self.status != 0

    @property
    def program(self):
        return int(self.last[0]) if self.last else self.first


def environments(seed):
    """Returns the environments of alternate batches. In the second one the allocators overwrite freed memory."""
    plain = {"PYTHONHASHSEED": str(random.Random(seed).randrange(1000))}
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return [plain, plain]  # mimalloc cannot overwrite freed memory
    return [plain, dict(plain, MALLOC_PERTURB_="165", PYTHONMALLOC="malloc")]


def one(options, environment, skip, verbose=False):
    """Runs the program options.only. If options.first is given, also runs the programs before it."""
    first = options.first if options.first is not None else options.only
    return Batch(options, first, options.only - first + 1, environment, skip, verbose=verbose)


def shrink(options, environment):
    """Returns the smallest set of steps, found before the time is up, with which the program still fails."""
    needed = list(range(options.steps))
    width = max(1, len(needed) // 2)
    limit = time.monotonic() + options.shrink_seconds

    def still_fails(steps):
        without = sorted(set(range(options.steps)) - set(steps))
        return any(one(options, environment, without).failed for _ in range(2))

    while width and time.monotonic() < limit:
        at = 0
        while at < len(needed) and time.monotonic() < limit:
            shorter = needed[:at] + needed[at + width:]
            if still_fails(shorter):
                needed = shorter
            else:
                at += width
        width //= 2
    return needed


def report(options, batch):
    number = batch.program
    print("FAILED: seed %s, program %d, status %s, last: %s, with %s"
          % (options.seed, number, batch.status, " ".join(batch.last), batch.environment))
    print(batch.output[-6000:])
    print("again: %s %s --seed %s --steps %d --only %d --shrink   (after the earlier programs: --first %d)"
          % (sys.executable, os.path.basename(__file__), options.seed, options.steps, number,
             batch.first), flush=True)


def only(options):
    """Runs one program in each environment. With --shrink, also shortens the program."""
    failed = False
    for environment in environments(options.seed):
        batch = one(options, environment, [int(step) for step in options.skip.split(",") if step],
                    options.verbose)
        if not batch.failed:
            print(batch.output[-6000:], end="", flush=True)
            continue
        failed = True
        report(options, batch)
        if options.shrink:
            needed = shrink(options, environment)
            drop = sorted(set(range(options.steps)) - set(needed))
            print("needed steps %s:\n--skip %s" % (needed, ",".join(map(str, drop))), flush=True)
            shown = one(options, environment, drop, verbose=True)
            print(shown.output[-9000:])
        break
    return FAILED if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--batches", type=int, default=2, help="processes, one after the other")
    parser.add_argument("--seconds", type=float, help="run as many batches as end in this time")
    parser.add_argument("--seed", default=os.environ.get("TYPEDCALL_SEED", "1"),
                        help="default: TYPEDCALL_SEED, or 1")
    parser.add_argument("--steps", type=int, default=150, help="of each program")
    parser.add_argument("--first", type=int, help="the number of the first program")
    parser.add_argument("--count", type=int, default=100, help="programs in one process")
    parser.add_argument("--most-failures", type=int, default=1, help="before it ends")
    parser.add_argument("--without", default="", help="libraries not to import: numpy,scipy,cffi")
    parser.add_argument("--leave-out", default="", help="kinds of steps: overwrite,export")
    parser.add_argument("--verbose", action="store_true", help="print every step of a child")
    parser.add_argument("--no-threads", action="store_true")
    parser.add_argument("--only", type=int, help="one program")
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--shrink-seconds", type=float, default=300)
    parser.add_argument("--skip", default="", help="steps to leave out")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--log", help=argparse.SUPPRESS)
    parser.add_argument("--until", type=float, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(options)
    if options.only is not None:
        return only(options)
    print("seed %s, %s" % (options.seed, sys.version.split()[0]), flush=True)
    started, first, failures, batches = time.monotonic(), options.first or 0, 0, 0
    totals = [0, 0, 0]
    until = 0 if options.seconds is None else time.time() + options.seconds
    while ((time.time() < until if until else batches < options.batches)
           and failures < options.most_failures):
        turn = environments(options.seed)[batches % 2]
        batch = Batch(options, first, options.count, turn, until=until)
        batches += 1
        if batch.failed:
            failures += 1
            report(options, batch)
            first = batch.program + 1
            continue
        words = batch.output.split("ok ")[-1].split()
        totals = [a + int(words[i]) for a, i in zip(totals, (0, 2, 4))]
        first += options.count
    print("seed %s: %d programs, %d typed calls compared, %d questions in %d processes, %.0f s; "
          "%d failed" % (options.seed, *totals, batches, time.monotonic() - started, failures))
    return FAILED if failures else 0


if __name__ == "__main__":
    sys.exit(main())
