# What tools/test does once the packages are there: format check, every interpreter in turn and,
# with --full, platforms, compilers, sanitizers and fuzzers; then the summary.
import argparse
import os
import re
import subprocess
import sys
import time

import address_sanitizer
import checks
import interpreters
import package_tests
import results
from bazel_tests import bazel_test, fuzz_all, query
from results import FAILED, PASSED, SKIPPED, Case, Run

# Tags of the tests that differ from one interpreter to the next.
PER_INTERPRETER = "python,headers"
# Tests that call the compiler themselves: neither its flags nor a second interpreter of the same
# version make a difference to them. The slowest one is the same for all versions, too.
NOT_AGAIN = "-compiles,-compiles-once"
# The slowest to build. What they test is C++ that no version of Python changes, so with --full the
# sanitizers' interpreter stands for all, and otherwise the usual one.
BY_SANITIZERS = ["//tests/exactness/...", "//tests/loop/..."]
# The same, but each compiler has registers of its own: the usual one's GCC and the sanitizers' Clang.
SEEN_BEFORE = [*BY_SANITIZERS, "//tests/invoker/..."]
# Has some lines for old versions.
PROVIDER = "//tests/provider/..."
# The layouts that differ are core's: a sanitizer that has seen what is above it need not again.
CORE = [f"//tests/{room}/..." for room in (
    "class_data", "class_slots", "core", "foreign_slots", "inheritance", "instance_table", "static_types",
    "type_data", "type_from_metaclass")] + ["//tests/memory:core_test"]

# What differs between versions is what CPython's own structs are read for. What is above it runs in
# the package's tests, too.
IN_BETWEEN = CORE + [f"//tests/{room}/..." for room in (
    "abi", "abi3", "c_provider", "rendezvous", "tag", "typed_method")] + ["//tests/resolve:interpreters_test"]

# What threads make a difference to.
FREE_THREADED = CORE + [f"//tests/{room}/..." for room in (
    "abi", "abi3", "c_provider", "memory", "provider", "rendezvous", "resolve", "threads")]
# Where they cannot be had, the run says so. 3.15 has abi3t.
NEWEST_FREE_THREADED = ((3, 14), (3, 15))

# What the optimiser may make something else of: assembly, casts, what is inlined.
OPTIMISED = [f"//tests/{room}/..." for room in ("exactness", "ffi", "invoker", "loop", "provider", "resolve")]

# Of the newest debug build what differs between versions. The other runs of tools/newest_pythons have the rest.
NEWEST_DEBUG = ("tools/newest_pythons tools/test --python /usr/bin/python3.15-dbg --versions-only --clang "
                "--only debug")

# What calls Python functions in loops, or is called in them.
RUN_WITH_JIT = ["//tests/resolve/...", "//tests/provider/...", "//tests/c_provider/..."]

# What includes the C++ library, which musl-gcc has not got. The rest is C99, which C++ reads, too.
WITH_CXX_LIBRARY = ("//:README.md //bazel:fuzz_replay_main.cc //bazel/system:all //bench:class_data_designs.so "
                    "//examples/class_data:greetings_cpp.so //typedcall:typedcall")

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


def package_runs(found, usual, full):
    """(label, function, arguments): the Python package under one interpreter of each flavour. The
    libraries, which take minutes to install, are for the usual one, which alone runs what is slow, the
    newest one and free-threaded ones."""
    candidates = [usual] + [i for i in found if i is not usual and i.runs_package and not i.debug]
    one_of_each = {}
    for interpreter in candidates:
        kind = interpreter.info["implementation"], interpreter.flavour
        one_of_each.setdefault(kind, interpreter)
    cpythons = [i for i in one_of_each.values()
                if i.ordinary and i.info["implementation"] == "CPython"]
    oldest, newest = (pick(cpythons, key=lambda i: i.version) for pick in (min, max))
    for interpreter in one_of_each.values():
        label = "package, " + interpreter.label
        is_first = interpreter in (usual, oldest) or interpreter.info["implementation"] == "PyPy"
        if not full and not is_first:
            yield label, skipped, ("package", "run by --full")
            continue
        left_out = ()
        if not full:
            left_out = package_tests.SLOW, "run by --full"
        elif interpreter is not usual:
            left_out = package_tests.SLOW, "run under the usual CPython"
        has_libraries = interpreter in (usual, newest) or interpreter.info["gil_disabled"]
        libraries = package_tests.libraries() if has_libraries else ()
        yield label, package_tests.cases_of, (interpreter, libraries, *left_out)
    if full:
        yield "package, a newer PyPy", checks.script, ("tools/pypy_newer",)


def skipped(name, reason):
    return [Case(name, SKIPPED, reason)]


def sanitized(chosen, usual):
    """The one for the sanitizers: a debug build, whose own checks find at once what they would alone."""
    return next((i for i in chosen if i.debug), usual)


def full_runs(chosen, usual, fuzz_seconds, thread_sanitizer):
    """(label, function, arguments) of what --full adds."""
    free_threaded = [i.version for i in chosen if i.info["gil_disabled"]]
    if not free_threaded:
        yield "free-threaded", skipped, (
            "a free-threaded CPython", "none was found; tools/free_threaded builds one")
    for version in NEWEST_FREE_THREADED:
        if max(free_threaded, default=(0,)) < version:
            # Says why tools/setup has not built it.
            name = "python{}.{}".format(*version)
            yield name + " free-threaded", checks.script, ("tools/free_threaded " + name,)
    # Its summary has the skips of a second machine.
    yield "the newest CPythons", checks.script, ("tools/newest_pythons", True)
    debug = sanitized(chosen, usual)
    flags = ["--config=asan_ubsan", "--build_tests_only", "--test_tag_filters=" + NOT_AGAIN]
    yield "asan and ubsan, " + debug.label, bazel_test, (debug, flags)
    yield "package, asan and ubsan, " + usual.label, address_sanitizer.cases_of, (
        usual, package_tests.libraries())
    flags = ["--compilation_mode=opt", "--build_tests_only", "--test_tag_filters=" + NOT_AGAIN]
    yield "optimised, " + usual.label, bazel_test, (usual, flags, (), OPTIMISED)
    yield "tsan, clang, " + usual.label, bazel_test, (usual, ["--config=tsan", "--config=clang"])
    yield "fuzz, " + usual.label, fuzz_all, (usual, fuzz_seconds)
    yield "clang-tidy", checks.tidy_check, (usual,)
    yield "platforms", checks.platforms_check, ()
    yield "musl", checks.script, ("tools/musl python3 tools/run_tests.py --arch musl --only gcc", True)
    yield "documentation", checks.script, ("tools/docs",)
    if thread_sanitizer:
        yield "thread sanitizer", checks.script, ("tools/thread_sanitizer",)


def sanitized_core(chosen, usual):
    """(label, function, arguments): the sanitizers on another version's structs."""
    newest = [i for i in chosen if i.ordinary][-1]
    tags = PER_INTERPRETER + "," + NOT_AGAIN
    flags = ["--config=asan_ubsan", "--build_tests_only", "--test_tag_filters=" + tags]
    if newest is not usual:
        yield "asan and ubsan, " + newest.label, bazel_test, (newest, flags, (), CORE)


def bazel_runs(order, usual, full, with_clang, required, versions_only):
    """(label, function, arguments): Bazel's tests under each interpreter, `usual` first.

    With `full` the usual one runs all but BY_SANITIZERS, the oldest all but SEEN_BEFORE, and the first
    debug build is left to the sanitizers. Of the others those that are `required` run all that differs
    between interpreters (`versions_only`: less what another run has), free-threaded ones what threads
    make a difference to, the rest IN_BETWEEN: tools/newest_pythons has newer ones that run more. GCC
    compiles, but for the sanitizers and, `with_clang`, for the others than the usual one.
    """
    ordinary = sorted((i for i in order if i.ordinary), key=lambda i: i.version)
    oldest = ordinary[0]
    for interpreter in order:
        is_free_threaded = interpreter.info["gil_disabled"]
        label, flags, without, folders = interpreter.label, [], (), ("//...",)
        if full and interpreter is sanitized(order, usual) and interpreter is not usual:
            continue
        if interpreter is not usual:
            flags = ["--build_tests_only", f"--test_tag_filters={PER_INTERPRETER},{NOT_AGAIN}"]
            if is_free_threaded and interpreter not in required:
                folders = FREE_THREADED
            elif interpreter in required:
                without = [*SEEN_BEFORE, PROVIDER] if versions_only else ()
            elif full and interpreter is oldest:
                without = SEEN_BEFORE
            else:
                folders = IN_BETWEEN
            if with_clang and not is_free_threaded:
                flags.append("--config=clang")
                label += ", clang"
        elif versions_only:
            without = SEEN_BEFORE
        elif full:
            without = BY_SANITIZERS
        yield label, bazel_test, (interpreter, flags, without, folders)
        if interpreter.info["jit"] and not interpreter.debug:
            # The programs are the same.
            yield label + " with its JIT", bazel_test, (
                interpreter, flags + ["--test_env=PYTHON_JIT=1"], without, RUN_WITH_JIT)


def cross_runs(interpreter):
    """(label, function, arguments) on another processor, in the environment of tools/cross."""
    flags = ["--run_under=" + os.environ["TYPEDCALL_RUN_UNDER"], "--test_env=PATH", "--test_env=TYPEDCALL_RUN_UNDER",
             # Emulation takes about ten times as long.
             "--test_timeout=600,1800,3600,7200"]
    yield interpreter.label, bazel_test, (interpreter, flags)
    yield "package, " + interpreter.label, package_tests.cases_of, (
        interpreter, ["cffi"], package_tests.SLOW, "too slow there")


def musl_runs(interpreter):
    """(label, function, arguments) with musl, in the environment of tools/musl."""
    flags = ["--build_tests_only", "--test_tag_filters=" + NOT_AGAIN]
    in_c = query(f"tests(//tests/...) except rdeps(//tests/..., set({WITH_CXX_LIBRARY})) "
                 "except attr(tags, 'compiles', //tests/...)")
    yield "musl-gcc, " + interpreter.label, bazel_test, (interpreter, flags, (), in_c)
    label, cxx = "clang for musl, " + interpreter.label, os.environ["TYPEDCALL_MUSL_CXX"]
    if not cxx:
        yield label, skipped, ("C++", "no ziglang (tools/setup musl), or no sources of GoogleTest")
        return
    path = os.pathsep.join([os.path.dirname(cxx), os.environ["PATH"]])
    flags = [*flags, "--repo_env=CC=" + cxx, "--test_env=PATH=" + path]
    yield label, bazel_test, (interpreter, flags, in_c, ("//tests/...",))


def rank(part):
    """Another runtime differs more than another version does, and no GIL more than both."""
    return next((at for at, kind in enumerate(("PyPy", "free-threaded")) if kind in part[0]), 2)


def no_time_left(label, minutes):
    return [Case(label, SKIPPED, f"not begun after {minutes} minutes (--last-start)")]


def main():
    parser = argparse.ArgumentParser(
        prog="tools/test", description="Runs every test under every CPython of this machine.")
    parser.add_argument("--full", action="store_true",
                        help="every interpreter, all of its tests, compilers, sanitizers, fuzzers, platforms")
    parser.add_argument("--python", action="append", default=[], metavar="BIN",
                        help="run this interpreter too, and prefer it (repeatable)")
    parser.add_argument("--versions-only", action="store_true",
                        help="without what no version of Python changes, for a run beside another one: "
                             "register images, loops, exactness; the provider but for the first interpreter")
    parser.add_argument("--arch", choices=["arm64", "musl"],
                        help="instead, on an emulated processor: all C and C++ tests and the package; "
                             "or with musl: all C and C++ tests")
    parser.add_argument("--clang", action="store_true",
                        help="Clang, if it is installed, compiles for all interpreters but one")
    parser.add_argument("--only", default="", metavar="REGEX",
                        help="run only the parts whose name has a match: those of the last table")
    parser.add_argument("--last-start", type=int, default=55, metavar="MINUTES",
                        help="--full begins no part after that, set-up included (default: %(default)s)")
    parser.add_argument("--fuzz-seconds", type=int, default=30, metavar="N",
                        help="how long each fuzzer, and the package's, runs (default: %(default)s)")
    parser.add_argument("--thread-sanitizer", action="store_true",
                        help="with --full: also tools/thread_sanitizer, which takes half an hour")
    options = parser.parse_args()

    if options.arch and (options.full or options.clang or options.python):
        parser.error("--arch goes with --only alone")

    # With --arch tools/cross or tools/musl has made one.
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
    if options.arch:
        plan = list((musl_runs if options.arch == "musl" else cross_runs)(usual))
    else:
        plan = [("format", checks.format_check, ()), ("python", checks.python_check, ())]
        required = [i for i in chosen if i.path in options.python]
        first, *others = bazel_runs(
            order, usual, options.full, options.clang, required, options.versions_only)
        package, *packages = package_runs(found, usual, options.full)
        plan += [first, package]
        if options.full:
            # Before what only repeats the first two: there may be no time for all of that.
            plan += full_runs(chosen, usual, options.fuzz_seconds, options.thread_sanitizer)
        plan += sorted(others + packages, key=rank)
        if options.full:
            plan += sanitized_core(chosen, usual)
            plan.append(("the newest CPython, debug", checks.script, (NEWEST_DEBUG, True)))

    if options.full:
        # tests/package/test_property_attack.py
        os.environ.setdefault("TYPEDCALL_ATTACK_SECONDS", str(options.fuzz_seconds))

    plan = [part for part in plan if re.search(options.only, part[0])]
    if not plan:
        sys.exit(f"no part has a name that matches {options.only}")

    installed = [arguments for _, function, arguments in plan if function is package_tests.cases_of]
    runs = []
    with package_tests.prepared(installed):
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
