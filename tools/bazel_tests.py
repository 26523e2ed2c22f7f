# The tests that Bazel builds and runs, under one interpreter at a time, and the fuzzers. Used by
# run_tests.py.
import concurrent.futures
import contextlib
import os
import shutil
import subprocess
import tempfile

import interpreters
import results
from results import FAILED, NO_TESTS, PASSED, Case

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

DISK_CACHE_LIMIT = 4 << 30


def cache_flag():
    """Bazel 4 never empties its disk cache: above the limit the older half goes."""
    folder = os.environ["TYPEDCALL_DISK_CACHE"]
    files = []
    for where, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):  # another run's
                status = os.stat(os.path.join(where, name))
                files.append((status.st_mtime, status.st_size, os.path.join(where, name)))
    size = sum(size for _, size, _ in files)
    if size > DISK_CACHE_LIMIT:
        for _, removed, path in sorted(files):
            with contextlib.suppress(FileNotFoundError):
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
    # Each is one thread.
    with tempfile.TemporaryDirectory() as scratch, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda target: fuzz(target, seconds, scratch), targets))
