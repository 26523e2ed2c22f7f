# Runs the tests that Bazel builds, and the fuzzers. Used by run_tests.py.
import contextlib
import functools
import os
import shutil
import subprocess
import tempfile

import commands
import interpreters
import results
from results import FAILED, PASSED, Case

BAZEL_FLAGS = [
    "--keep_going",
    # Show only errors. The logs contain everything else.
    "--noshow_progress",
    "--noshow_loading_progress",
    "--show_result=0",
    "--test_summary=none",
    "--test_output=summary",
]

# The limit is three times the size of a full run's results.
DISK_CACHE_LIMIT = 8 << 30


@functools.cache  # called once per run, because later parts use the results of earlier ones
def cache_flag():
    """Returns Bazel's flag for the disk cache. If the cache is too large, removes the files that were
    used least recently, because Bazel 4 never does."""
    folder = os.environ["TYPEDCALL_DISK_CACHE"]
    files = []
    for where, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):  # another run has removed the file
                status = os.stat(os.path.join(where, name))
                files.append((max(status.st_atime, status.st_mtime), status.st_size, os.path.join(where, name)))
    size = sum(size for _, size, _ in files)
    if size > DISK_CACHE_LIMIT:
        for _, removed, path in sorted(files):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            size -= removed
            if size < DISK_CACHE_LIMIT / 2:
                break
    return "--disk_cache=" + folder


def _command(interpreter, flags):
    # Limited API modules are also tested under the other interpreters. Their paths are passed, because tests cannot see
    # the user's environment.
    has_limited_api = interpreter.version >= (3, 12) and not interpreter.info["gil_disabled"]
    others = [each for each in interpreters.find() if has_limited_api and each.info["implementation"] == "CPython"]
    # For each class with its own mro(), a free-threaded 3.13 waits for a lock that its thread holds, and yields the CPU
    # up to 40 times. On a busy machine each time costs a time slice.
    more_time = ["--test_timeout=300,600,1800,3600"] if interpreter.info["gil_disabled"] else []
    return ["bazel", "test", *BAZEL_FLAGS, cache_flag(), *more_time,
            "--repo_env=PYTHON_BIN=" + interpreter.executable,
            "--test_env=TYPEDCALL_PYTHON_STATE=" + " ".join(each.state for each in [interpreter, *others]),
            "--test_env=TYPEDCALL_PYTHONS=" + os.pathsep.join(each.executable for each in others), *flags]


def _run(command, targets):
    """Runs one Bazel command, and returns its cases."""
    with tempfile.TemporaryDirectory() as folder:
        events = os.path.join(folder, "events.json")
        status, output = commands.run(*command, "--build_event_json_file=" + events, "--", *targets)
        if not os.path.exists(events):
            return [Case("bazel", FAILED, f"ended with exit code {status}", output, is_final=True)]
        cases = results.cases_of_events(events, status)
        for case in cases:
            if case.outcome == FAILED and not case.log:
                # Only one case gets the reason for a failed build.
                case.log = output
                break
        return cases


def bazel_test(interpreter, flags=(), without=(), folders=("//...",)):
    """Runs the tests in `folders`, except for the folders `without`, under one interpreter. Returns their cases, with
    Bazel's cached results. Failed cases are run again, alone."""
    command = _command(interpreter, flags)

    def again(case):
        # The name of a failing subtest is followed by its parameters.
        name = case.name[len(case.target):].partition(" (")[0].strip()
        only = ["--test_filter=" + name] if name else []
        return _run([*command, "--nocache_test_results", *only], [case.target])

    cases = _run(command, [*folders, *("-" + folder for folder in without)])
    results.run_again(cases, again)
    return cases


def query(expression):
    found = subprocess.run(
        ["bazel", "query", "--noshow_progress", "--ui_event_filters=-info", expression],
        stdout=subprocess.PIPE, text=True, check=True)
    return found.stdout.split()


def path_of(label):
    """Returns the file of //folder:name, relative to the project's root."""
    return label[2:].replace(":", "/").lstrip("/")


def fuzz(target, seconds, seed, scratch):
    """Runs one fuzzer on a copy of its corpus."""
    corpus = os.path.join(scratch, path_of(target))
    os.makedirs(corpus)
    for label in query("labels(srcs, {}_corpus)".format(target[:-len("_fuzz")])):
        shutil.copy(path_of(label), os.path.join(corpus, path_of(label).replace("/", "_")))
    environment = dict(os.environ)
    if target in query(f"attr(tags, python, {target})"):
        # The interpreter never frees some of its memory.
        environment["ASAN_OPTIONS"] = "detect_leaks=0"
    # This folder is kept, because the crashing input is needed to fix the target.
    artifacts = os.path.join(os.path.dirname(os.environ["TYPEDCALL_DISK_CACHE"]), "fuzz")
    os.makedirs(artifacts, exist_ok=True)
    status, log = commands.run(
        os.path.join("bazel-bin", path_of(target)), f"-max_total_time={seconds}", f"-seed={seed}",
        "-artifact_prefix=" + artifacts + "/", corpus, env=environment)
    if status == 0:
        return Case(target, PASSED, commands.last_line(log))
    return Case(target, FAILED, f"exit status {status}", log, is_final=True)


def fuzz_all(interpreter, seconds, seed):
    targets = query("attr(tags, '\\bfuzz\\b', kind(cc_binary, //...))")
    if not targets:
        return []
    flags = ["--config=fuzz", cache_flag(), "--repo_env=PYTHON_BIN=" + interpreter.executable]
    status, output = commands.run("bazel", "build", *BAZEL_FLAGS, "--ui_event_filters=-info", *flags, *targets)
    if status:
        return [Case("fuzzers", FAILED, "did not build", output, is_final=True)]
    # Each fuzzer uses one thread.
    with tempfile.TemporaryDirectory() as scratch:
        return list(commands.pool.map(lambda target: fuzz(target, seconds, seed, scratch), targets))
