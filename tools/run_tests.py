# What tools/test does once the packages are there: format check, every interpreter in turn and,
# with --full, platforms, compilers, sanitizers and fuzzers; then the summary.
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import checks
import interpreters
import package_tests
import results
from results import FAILED, NO_TESTS, PASSED, SKIPPED, Case, Run

BAZEL_FLAGS = [
    "--keep_going",
    # What is reported has run, now.
    "--nocache_test_results",
    # Errors and failing tests' output: the summary has the rest.
    "--noshow_progress",
    "--noshow_loading_progress",
    "--show_result=0",
    "--test_summary=none",
]

# Tags of the tests that differ from one interpreter to the next.
PER_INTERPRETER = "python,headers"
# Tests that call the compiler themselves: neither its flags nor a second interpreter of the same
# version make a difference to them. The slowest one is the same for all versions, too.
NOT_AGAIN = "-compiles,-compiles-once"
# The slowest to build. What they test is C++ that no version of Python changes, so the usual
# interpreter, the newest one and those that count references stand for the others.
SAME_EVERYWHERE = ["//tests/invoker/...", "//tests/loop/..."]
# What these versions would find again: the ones before and behind them have all that differs.
BETWEEN = [(3, 10), (3, 12)]
SEEN_BEFORE = SAME_EVERYWHERE + ["//tests/exactness/...", "//tests/provider/..."]
# The layouts that differ are core's: a sanitizer that has seen what is above it need not again.
CORE = [f"//tests/{room}/..." for room in (
    "class_data", "class_slots", "core", "foreign_slots", "inheritance", "instance_table", "static_types",
    "type_data", "type_from_metaclass")] + ["//tests/memory:core_test"]

# What threads make a difference to: all that free-threaded CPythons run but the oldest one, which
# runs everything.
FREE_THREADED_AGAIN = ["//tests/threads/...", "//tests/core/...", "//tests/resolve/...",
                       "//tests/provider/...", "//tests/c_provider/...", "//tests/abi/...",
                       "//tests/abi3/...", "//tests/class_slots/...", "//tests/static_types/..."]
# Has abi3t; where it cannot be had, the run says so.
NEWEST_FREE_THREADED = (3, 15)

# What calls Python functions in loops, or is called in them.
RUN_WITH_JIT = ["//tests/resolve/...", "//tests/provider/...", "//tests/c_provider/..."]

DISK_CACHE_LIMIT = 4 << 30

started = time.monotonic()
# Set-up included: tools/test says when.
began = float(os.environ.get("TYPEDCALL_BEGAN") or time.time())


def progress(text):
    print(f"[{time.monotonic() - started:4.0f} s] {text}", flush=True)


def timed(label, function, *arguments):
    """The Run of function(*arguments), which returns cases."""
    progress(label)
    begin = time.monotonic()
    try:
        cases = function(*arguments)
    except subprocess.CalledProcessError as error:
        cases = [Case(label, FAILED, str(error))]
    run = Run(label, cases, time.monotonic() - begin)
    passed, failed, skipped = map(run.count, (PASSED, FAILED, SKIPPED))
    progress(f"{label}: {passed} passed, {failed} failed, {skipped} skipped")
    return run


def cache_flag():
    """Bazel 4 never empties its disk cache: above the limit the older half goes."""
    folder = os.environ["TYPEDCALL_DISK_CACHE"]
    files = []
    for where, _, names in os.walk(folder):
        for name in names:
            status = os.stat(os.path.join(where, name))
            files.append((status.st_mtime, status.st_size, os.path.join(where, name)))
    size = sum(size for _, size, _ in files)
    if size > DISK_CACHE_LIMIT:
        for _, removed, path in sorted(files):
            os.unlink(path)
            size -= removed
            if size < DISK_CACHE_LIMIT / 2:
                break
    return "--disk_cache=" + folder


def bazel_test(interpreter, flags, without=(), folders=("//...",)):
    """The cases of `bazel test` in folders under one interpreter, less those of some others."""
    # A limited-API module is tried under the others, too: tests cannot see the user's environment.
    others = os.pathsep.join(
        i.executable for i in interpreters.find() if i.info["implementation"] == "CPython")
    with tempfile.TemporaryDirectory() as folder:
        events = os.path.join(folder, "events.json")
        ended = subprocess.run(
            ["bazel", "test", *BAZEL_FLAGS, cache_flag(),
             "--build_event_json_file=" + events,
             "--repo_env=PYTHON_BIN=" + interpreter.executable,
             "--test_env=TYPEDCALL_PYTHONS=" + others, *flags,
             "--", *folders, *("-" + folder for folder in without)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if ended.returncode not in (0, NO_TESTS):
            print(ended.stdout.decode(errors="replace"))
        if not os.path.exists(events):
            return [Case("bazel", FAILED, f"ended with exit code {ended.returncode}")]
        return results.cases_of_events(events, ended.returncode)


def query(expression):
    found = subprocess.run(
        ["bazel", "query", "--noshow_progress", "--ui_event_filters=-info", expression],
        stdout=subprocess.PIPE, text=True, check=True)
    return found.stdout.split()


def path_of(label):
    """The file of //folder:name, from the project's root."""
    return label[2:].replace(":", "/").lstrip("/")


def fuzz(target, seconds, scratch):
    """Runs one fuzzer from a copy of its corpus; what it finds stays in the log."""
    corpus = os.path.join(scratch, path_of(target))
    os.makedirs(corpus)
    for label in query("labels(srcs, {}_corpus)".format(target[:-len("_fuzz")])):
        shutil.copy(path_of(label), os.path.join(corpus, path_of(label).replace("/", "_")))
    environment = dict(os.environ)
    if target in query(f"attr(tags, python, {target})"):
        # The interpreter never frees some of what it allocates.
        environment["ASAN_OPTIONS"] = "detect_leaks=0"
    # Outlives the run: what crashed the target is needed to mend it.
    artifacts = os.path.join(os.path.dirname(os.environ["TYPEDCALL_DISK_CACHE"]), "fuzz")
    os.makedirs(artifacts, exist_ok=True)
    ended = subprocess.run(
        [os.path.join("bazel-bin", path_of(target)), f"-max_total_time={seconds}",
         "-artifact_prefix=" + artifacts + "/", corpus],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    log = ended.stdout.decode(errors="replace")
    if not ended.returncode:
        print(f"  {target}: {log.splitlines()[-1]}")
        return Case(target, PASSED)
    print(log[-8000:])
    return Case(target, FAILED, f"exit {ended.returncode}; its log is above")


def fuzz_all(interpreter, seconds):
    targets = query("attr(tags, '\\bfuzz\\b', kind(cc_binary, //...))")
    if not targets:
        return []
    flags = ["--config=fuzz", cache_flag(), "--repo_env=PYTHON_BIN=" + interpreter.executable]
    subprocess.run(["bazel", "build", *BAZEL_FLAGS, "--ui_event_filters=-info", *flags, *targets],
                   check=True)
    with tempfile.TemporaryDirectory() as scratch:
        return [fuzz(target, seconds, scratch) for target in targets]


def package_runs(found, usual, full, quick, partly):
    """(label, function, arguments): the Python package under one interpreter of each flavour; under
    those of `partly` without libraries and without what is slow."""
    candidates = [usual] + [i for i in found if i is not usual and i.runs_package and not i.debug]
    one_of_each = {}
    for interpreter in candidates:
        kind = interpreter.info["implementation"], interpreter.flavour
        one_of_each.setdefault(kind, interpreter)
    ordinary = [i for i in one_of_each.values()
                if i.ordinary and i.info["implementation"] == "CPython"]
    ordinary.sort(key=lambda i: i.version)
    for interpreter in one_of_each.values():
        label = "package, " + interpreter.label
        is_newest = interpreter is ordinary[-1]
        is_free_threaded = interpreter.info["gil_disabled"]
        in_between = interpreter in ordinary[1:] and interpreter is not usual
        if not full and (in_between or is_free_threaded):
            yield label, skipped, ("package", "run by --full")
        elif interpreter in partly:
            yield label + ", a part", package_tests.cases_of, (
                interpreter, False, package_tests.SLOW, "run under the others")
        else:
            left_out = ()
            if quick:
                left_out = package_tests.SLOW, "--quick"
            elif in_between or is_free_threaded:
                left_out = package_tests.SLOW, "run under the usual CPython, the oldest and the newest"
            # The libraries take minutes to install.
            yield label, package_tests.cases_of, (
                interpreter, interpreter is usual or is_newest or is_free_threaded, *left_out)
    if full:
        yield "package, a newer PyPy", checks.script, ("tools/pypy_newer",)


def skipped(name, reason):
    return [Case(name, SKIPPED, reason)]


def full_runs(chosen, usual, newest, fuzz_seconds, thread_sanitizer):
    """(label, function, arguments) of what --full adds."""
    free_threaded = [i.version for i in chosen if i.info["gil_disabled"]]
    if not free_threaded:
        yield "free-threaded", skipped, (
            "a free-threaded CPython", "none was found; tools/free_threaded builds one")
    if max(free_threaded, default=(0,)) < NEWEST_FREE_THREADED:
        # Says why tools/setup has not built it.
        yield "the newest free-threaded", checks.script, (
            "tools/free_threaded python{}.{}".format(*NEWEST_FREE_THREADED),)
    yield "documentation", checks.script, ("tools/docs",)
    # Its summary has the skips of a second machine.
    yield "the newest CPythons", checks.script, ("tools/newest_pythons", True)
    yield "clang-tidy", checks.tidy_check, (usual,)
    yield "platforms", checks.platforms_check, ()
    for interpreter in [usual] + [i for i in (newest,) if i is not usual]:
        # Both at once: two runs would take twice as long and find the same.
        again = interpreter is not usual
        tags = PER_INTERPRETER + "," + NOT_AGAIN if again else NOT_AGAIN
        flags = ["--config=asan_ubsan", "--build_tests_only", "--test_tag_filters=" + tags]
        yield "asan and ubsan, " + interpreter.label, bazel_test, (
            interpreter, flags, (), CORE if again else ("//...",))
    # The newest one's only run: what no optimisation changes has been seen under the others.
    yield "optimised, " + newest.label, bazel_test, (
        newest, ["-c", "opt", "--test_tag_filters=" + NOT_AGAIN])
    yield "tsan, clang, " + usual.label, bazel_test, (usual, ["--config=tsan", "--config=clang"])
    yield "fuzz, " + usual.label, fuzz_all, (usual, fuzz_seconds)
    if thread_sanitizer:
        yield "thread sanitizer", checks.script, ("tools/thread_sanitizer",)


def bazel_runs(order, usual, newest, full, quick, with_clang, partly):
    """(label, function, arguments): Bazel's tests under each interpreter, `usual` first.

    GCC compiles for the usual interpreter, the newest one and free-threaded ones. With `with_clang`,
    Clang compiles for the others. With `full` it compiles for one of them all that has an interpreter
    (the rest with TSan), and the newest one is left to the optimised run. With `quick` all but the
    usual one run what those in between do. Those of `partly` run a part.
    """
    if full and newest is not usual:
        order = [i for i in order if i is not newest]
    clang = [i for i in order
             if with_clang and i not in (usual, newest) and not i.info["gil_disabled"]]
    clang_builds_all = clang[0] if clang and full else None
    seen = set()
    for interpreter in order:
        again = interpreter.version[:2] in seen
        seen.add(interpreter.version[:2])
        flags, without = [], ()
        if interpreter is not usual:
            versions = [each.version[:2] for each in order]
            in_between = interpreter.ordinary and (again or quick or (
                interpreter.version[:2] in BETWEEN
                and min(versions) < interpreter.version[:2] < max(versions)))
            calls_compiler = not (again or in_between)
            tags = "{},{}".format(PER_INTERPRETER, "-compiles-once" if calls_compiler else NOT_AGAIN)
            flags = ["--build_tests_only", "--test_tag_filters=" + tags]
            if in_between:
                without = SEEN_BEFORE
            elif not interpreter.debug and interpreter not in (newest, clang_builds_all):
                without = SAME_EVERYWHERE
        label = interpreter.label
        if interpreter in clang:
            flags.append("--config=clang")
            label += ", clang"
        if interpreter in partly:
            yield label + ", a part", bazel_test, (interpreter, flags, without, FREE_THREADED_AGAIN)
            continue
        yield label, bazel_test, (interpreter, flags, without)
        if interpreter.info["jit"] and not interpreter.debug:
            # The programs are the same.
            yield label + " with its JIT", bazel_test, (
                interpreter, flags + ["--test_env=PYTHON_JIT=1"], without, RUN_WITH_JIT)
    if full and not clang:
        yield "clang, " + usual.label, bazel_test, (usual, ["--config=clang"])


def cross_runs(interpreter, quick):
    """(label, function, arguments) on another processor, in the environment of tools/cross."""
    flags = ["--run_under=" + os.environ["TYPEDCALL_RUN_UNDER"], "--test_env=PATH", "--test_env=TYPEDCALL_RUN_UNDER",
             # Emulation takes about ten times as long.
             "--test_timeout=600,1800,3600,7200"]
    yield interpreter.label, bazel_test, (interpreter, flags)
    left_out = (package_tests.SLOW, "--quick") if quick else ()
    yield "package, " + interpreter.label, package_tests.cases_of, (
        interpreter, ("cffi",), *left_out)


def no_time_left(label, minutes):
    return [Case(label, SKIPPED, f"not begun after {minutes} minutes (--last-start)")]


def main():
    parser = argparse.ArgumentParser(
        prog="tools/test", description="Runs every test under every CPython of this machine.")
    parser.add_argument("--full", action="store_true",
                        help="every interpreter, compilers, sanitizers, fuzzers, platforms")
    parser.add_argument("--python", action="append", default=[], metavar="BIN",
                        help="run this interpreter too, and prefer it (repeatable)")
    parser.add_argument("--arch", choices=["arm64"],
                        help="instead, on an emulated processor: all C and C++ tests and the package")
    parser.add_argument("--clang", action="store_true",
                        help="Clang, if it is installed, compiles for some interpreters, as with --full")
    parser.add_argument("--only", default="", metavar="REGEX",
                        help="run only the parts whose name has a match: those of the last table")
    parser.add_argument("--quick", action="store_true",
                        help="leave out the slowest tests of the Python package, and of Bazel's, but for one "
                             "interpreter, the slowest to build")
    parser.add_argument("--last-start", type=int, default=75, metavar="MINUTES",
                        help="--full begins no part after that, set-up included (default: %(default)s)")
    parser.add_argument("--fuzz-seconds", type=int, default=30, metavar="N",
                        help="how long each fuzzer, and the package's, runs (default: %(default)s)")
    parser.add_argument("--thread-sanitizer", action="store_true",
                        help="with --full: also tools/thread_sanitizer, which takes half an hour")
    options = parser.parse_args()

    if options.arch and (options.full or options.clang or options.python):
        parser.error("--arch goes with --only and --quick alone")

    # With --arch tools/cross has made one.
    found = ([interpreters.probe(os.environ["PYTHON_BIN"])] if options.arch
             else interpreters.find(options.python))
    chosen, left_out = interpreters.choose(found, options.full, options.python)
    for interpreter, reason in left_out:
        if interpreter.path in options.python:
            sys.exit(f"{interpreter.path}: {reason}")
    if not chosen:
        sys.exit("no CPython with headers and a shared libpython was found")
    usual = next(i for i in found if i in chosen and i.ordinary)

    # The usual one first: it also runs what needs no interpreter, and builds every target.
    order = [usual] + [i for i in chosen if i is not usual]
    newest = [i for i in chosen if i.ordinary][-1]
    if options.arch:
        plan = list(cross_runs(usual, options.quick))
    else:
        plan = [("format", checks.format_check, ()), ("python", checks.python_check, ())]
        # One that is named on the command line runs everything.
        partly = [i for i in chosen if i.info["gil_disabled"] and i.path not in options.python]
        partly = [i for i in partly if i.version[:2] > partly[0].version[:2]]
        with_clang = options.full or options.clang
        first, *others = bazel_runs(order, usual, newest, options.full, options.quick, with_clang, partly)
        package, *packages = package_runs(found, usual, options.full, options.quick, partly)
        plan += [first, package]
        if options.full:
            # Before what only repeats the first two: there may be no time for all of that.
            plan += full_runs(chosen, usual, newest, options.fuzz_seconds, options.thread_sanitizer)
        plan += others + packages

    if options.full:
        # tests/package/test_property_attack.py
        os.environ.setdefault("TYPEDCALL_ATTACK_SECONDS", str(options.fuzz_seconds))

    plan = [part for part in plan if re.search(options.only, part[0])]
    if not plan:
        sys.exit(f"no part has a name that matches {options.only}")

    runs = []
    for label, function, arguments in plan:
        if options.full and time.time() - began > 60 * options.last_start:
            progress(label + ": not begun, there is no time left")
            function, arguments = no_time_left, (label, options.last_start)
        runs.append(timed(label, function, *arguments))
    results.summary(runs, chosen, left_out, time.monotonic() - started)
    no_tests = () if options.only or options.arch else ("format", "python")
    tests_ran = any(run.count(PASSED) for run in runs if run.label not in no_tests)
    return 0 if tests_ran and not any(run.count(FAILED) for run in runs) else 1


if __name__ == "__main__":
    sys.exit(main())
