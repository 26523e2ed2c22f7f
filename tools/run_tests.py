# Implements tools/test once the packages are installed.
import argparse
import collections
import os
import re
import signal
import sys
import threading
import time
import traceback

import commands
import expected
import interpreters
import kept
import package_tests
import parts
import record
import results
from results import FAILED, FLAKY, PASSED, SKIPPED, UNAVAILABLE, Case, Run

started = time.monotonic()


def progress(text):
    # The text is written in a single call, because there are two threads.
    sys.stdout.write(f"[{time.monotonic() - started:4.0f} s] {text}\n")
    sys.stdout.flush()


def run_part(part):
    progress(part.name)
    begin = time.monotonic()
    try:
        cases = part.cases()
        expected.apply(part.name, cases)
    except Exception:
        cases = [Case(part.name, FAILED, "the runner failed", traceback.format_exc(), is_final=True)]
    run = Run(part.name, cases, time.monotonic() - begin)
    counts = ((outcome, run.count(outcome)) for outcome in (PASSED, FAILED, SKIPPED, FLAKY, UNAVAILABLE))
    progress(f"{part.name}: " + ", ".join(
        f"{count} {outcome}" for outcome, count in counts if count or outcome in (PASSED, FAILED)))
    for case in cases:
        if case.outcome in (FAILED, UNAVAILABLE):
            print(f"\n{case.outcome} {case.name}: {case.message}\n{case.log[-8000:]}", flush=True)
    return run


def run_all(plan, store, is_kept):
    """Runs the parts, two at once, and returns their Runs in the order of the plan. If is_kept() is true for a part
    that has passed before, the part is not run again."""
    found = {}
    waiting = {lane: collections.deque(part for part in plan if part.lane == lane)
               for lane in ("bazel", "package", "quiet")}

    lock = threading.Lock()

    def take(lanes):
        with lock:
            return next((waiting[lane].popleft() for lane in lanes if waiting[lane]), None)

    def run_lane(*lanes):
        while part := take(lanes):
            run = store.load(part.name, part.ignores) if is_kept(part) else None
            if run is None:
                run = run_part(part)
                store.store(run, part.ignores)
            else:
                progress(f"{part.name}: passed before, for the same {'files' if part.ignores else 'tree'}")
            found[part] = run

    # Bazel runs one command at a time, so its parts run one after the other. When they are done, both workers take
    # the remaining parts. No part runs in this thread, because a signal may end this thread anywhere.
    for together in [("bazel", "package"), ("package",)], [("quiet",)]:
        threads = [threading.Thread(target=run_lane, args=lanes, daemon=True) for lanes in together]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return [found[part] for part in plan]


def make_environments(usual, pypy):
    """Runs pip in both environments before the run, so that the results do not include pip's time."""
    progress("environments of the package's tests")
    threads = [threading.Thread(target=package_tests.environment_of, args=(interpreter, libraries))
               for interpreter, libraries in ((usual, package_tests.ALL), (pypy, ())) if interpreter]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def version(text):
    found = re.fullmatch(r"3\.(\d+)", text)
    if not found:
        raise argparse.ArgumentTypeError("a version such as 3.9")
    return 3, int(found[1])


def read_options():
    parser = argparse.ArgumentParser(
        prog="tools/test", description="Runs the gate: preflight, all tests under the usual CPython, what differs "
        "under the oldest and newest, sanitizers, and the package's tests. Status 0: none failed.")
    parser.add_argument("--full", action="store_true",
                        help="more: every interpreter, all of its tests, compilers, sanitizers, fuzzers, platforms. "
                             "Parts that have passed for the same tree are not run again")
    parser.add_argument("--again", action="store_true", help="with --full: also run parts that have passed")
    parser.add_argument("--demand", action="append", default=[], type=version, metavar="3.N",
                        help="fail if no CPython of this version is installed (repeatable)")
    parser.add_argument("--python", action="append", default=[], metavar="BIN",
                        help="instead of the gate, all tests under this interpreter (repeatable)")
    parser.add_argument("--clang", action="store_true",
                        help="with --python: Clang compiles for all interpreters but the first")
    parser.add_argument("--arch", choices=["arm64", "musl"],
                        help="instead, on an emulated processor: all C and C++ tests and the package; "
                             "or with musl: all C and C++ tests")
    parser.add_argument("--only", default="", metavar="REGEX",
                        help="run only the parts whose name matches: the names in the last table")
    parser.add_argument("--seconds", type=int, metavar="N",
                        help="with --full: how long each fuzzer runs, the package's included (default: 30)")
    parser.add_argument("--seed", type=int, metavar="N",
                        help="with --full: the seed for everything random (default: a new one, which is printed)")
    parser.add_argument("--record", action="store_true",
                        help="write what has passed into docs/support.md")
    parser.add_argument("--thread-sanitizer", action="store_true",
                        help="with --full: also tools/thread_sanitizer, which takes half an hour")
    options = parser.parse_args()
    if sum(map(bool, (options.arch, options.full, options.python))) > 1:
        parser.error("one of --full, --python and --arch")
    return options


def plan_of(options, machine):
    """Returns the parts, and messages that say what is not run on this machine."""
    if options.arch:
        return list((parts.musl if options.arch == "musl" else parts.cross)(machine.usual)), []
    if options.python:
        required = [next(each for each in machine.found if each.path == path) for path in options.python]
        return list(parts.by_name(machine, required, options.clang)), []
    plan, not_run = parts.gate(machine, options.demand)
    if options.full:
        seed = time.time_ns() % (1 << 31) if options.seed is None else options.seed
        progress(f"the seed for everything random: {seed}")
        plan += parts.full(machine, options.seconds or 30, seed, options.thread_sanitizer)
        not_run = []
    return plan, not_run


def status(runs, is_full):
    """Runs the requested parts, and returns the exit status. A gate with missing parts has not passed. A full run may
    have missing parts."""
    bad = {FAILED} if is_full else {FAILED, UNAVAILABLE}
    outcomes = {case.outcome for run in runs for case in run.cases}
    return 1 if outcomes & bad or not outcomes & {PASSED, FLAKY} else 0


def main():
    options = read_options()
    expected.entries()  # raises ValueError if the file is faulty
    # With --arch, the interpreter is the one that tools/cross or tools/musl has made.
    found = ([interpreters.probe(os.environ["PYTHON_BIN"])] if options.arch
             else interpreters.find(options.python))
    for each in found:
        if each.path in options.python and each.reason:
            sys.exit(f"{each.path}: {each.reason}")
    usual = next((each for each in found if each.ordinary and not each.reason), None)
    if usual is None:
        sys.exit("no CPython with headers and a shared libpython was found")
    machine = parts.Machine(found, usual)
    plan, not_run = plan_of(options, machine)
    plan = [part for part in plan if re.search(options.only, part.name)]
    names = [part.name for part in plan]
    if len(set(names)) < len(names):
        sys.exit("two parts have one name: " + ", ".join(sorted(names)))
    if not plan:
        sys.exit(f"no part has a name that matches {options.only}")
    if any(part.lane == "package" for part in plan) and not options.arch:
        make_environments(usual, machine.pypy)
        progress("set-up is complete")
    begin = time.monotonic()
    # In the gate, a part that ignores some files is skipped if it has passed for the same other
    # files. All other parts run, but Bazel uses cached results.
    is_gate = not options.arch and not options.python
    store = kept.Kept(found, "" if is_gate else "-other")
    asks_for_chance = options.seed is not None or options.seconds is not None
    runs = run_all(plan, store, lambda part: (options.full or part.ignores) and not options.again and not (
        part.is_random and asks_for_chance))
    results.summary(runs, found, not_run, time.monotonic() - begin, store.folder)
    if options.record:
        gate = {part.name for part in parts.gate(machine, options.demand)[0]} if is_gate else ()
        record.record(runs, record.FULL if options.full else record.BY_HAND, gate)
    return status(runs, options.full)


def main_that_can_be_cut():
    """Calls main(), and afterwards ends all processes that it has started."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        return main()
    except BaseException:
        commands.end_all()
        raise


if __name__ == "__main__":
    sys.exit(main_that_can_be_cut())
