"""Runs the benchmarks and reads their samples, and describes the machine."""

import datetime
import importlib.metadata
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time

from results import Group, NotHere, reason_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARIES = ("apache-tvm-ffi", "apsw", "cffi", "cinderx", "cython", "dask", "distributed", "duckdb", "jax", "jaxlib",
             "matplotlib", "nanobind", "numba", "numpy", "pyarrow", "pybind11", "pyerfa", "scipy")
#: Debian packages of the C libraries that take callbacks.
DEBIAN_LIBRARIES = ("libcubature0", "libgsl27", "libnlopt0", "libsundials-cvode6")
#: The timeout of one benchmark, in seconds.
TIME_LIMIT = 600


def read_groups(file):
    """Reads a file in the format of interleaved.keep()."""
    skipped = file.get("skipped", {})
    # A group that was skipped as a whole has only a reason.
    return [Group(group["name"], group["samples"], skipped) for group in file["groups"]] or [
        Group("", {}, skipped)]


def read_google(file):
    """Reads a file in Google Benchmark's format. The names are program/group/contestant."""
    groups = {}
    for run in sorted(file["benchmarks"], key=lambda run: run.get("repetition_index", 0)):
        if run.get("run_type") != "iteration" or run.get("error_occurred") or run.get("skipped"):
            continue
        name, _, contestant = run["run_name"].rpartition("/")
        samples = groups.setdefault(name, Group(name, {})).samples
        scale = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[run["time_unit"]]
        samples.setdefault(contestant, []).append(run["cpu_time"] * scale)
    return list(groups.values())


def read_peers(file):
    """Reads a file in the format of bench/peers/run.py."""
    return [Group(f"{each['how']} {each['shape']}", each["by_peer"], file["skipped"])
            for each in file["samples"]]


def first_line(command):
    try:
        ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               check=False, cwd=ROOT)
    except OSError:
        return None
    return ended.stdout.splitlines()[0] if ended.returncode == 0 and ended.stdout else None


def processor():
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.machine()
    found = re.search(r"model name\s*: (.*)", text)
    return found[1] if found else platform.machine()


def system():
    try:
        text = pathlib.Path("/etc/os-release").read_text(encoding="utf-8")
    except OSError:
        return platform.system()
    return re.search(r'PRETTY_NAME="?(.*?)"?\n', text)[1]


def work_of_others(seconds=1.0):
    """Returns the number of processors that are busy while this process sleeps. The load average would include our own
    compilations."""
    def times():
        with open("/proc/stat", encoding="ascii") as file:
            ticks = [int(field) for field in file.readline().split()[1:9]]
        return sum(ticks), ticks[3] + ticks[4]  # idle time, and time spent waiting for a disk

    try:
        before = times()
        time.sleep(seconds)
        passed, idle = (after - then for after, then in zip(times(), before))
    except OSError:
        passed = 0
    # Some sandboxes do not provide /proc/stat.
    return os.cpu_count() * (1 - idle / passed) if passed else os.getloadavg()[0]


class Bench:
    """Runs benchmarks. `python`, `pypy` and `free_threaded` have the package. `programs` is the folder of the C++
    benchmarks, and `cpython` is the interpreter that they were built for. `newest` is the newest installed CPython."""

    def __init__(self, quick=False, pypy=None, cpython=sys.executable, programs=None, python=None,
                 newest=None, free_threaded=None):
        self.free_threaded = free_threaded
        self.quick, self.pypy, self.cpython, self.newest = quick, pypy, cpython, newest
        self.python = python or sys.executable
        self.programs = pathlib.Path(programs) if programs else None
        self.load = work_of_others()
        # Versions that were found in other roots.
        self.more_versions = {}
        # Read the commit before results are written into the tree.
        self.commit = first_line(["git", "describe", "--always", "--dirty"]) or ""
        # The folder for built modules.
        cache = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
        self.folder = os.path.join(cache, "typedcall", "figures", "built")

    def rounds(self, usual, quick):
        return str(quick if self.quick else usual)

    def run(self, command):
        """Runs a program, and returns the samples that it writes. {json} is replaced by the path of the file."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "samples.json")
            command = [str(part).replace("{json}", path) for part in command]
            try:
                ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                       text=True, check=False, cwd=ROOT, timeout=TIME_LIMIT)
            except (OSError, subprocess.TimeoutExpired) as error:
                raise NotHere(reason_of(error)) from error
            # A benchmark that misses a target exits with status 1, but still writes its samples.
            if not os.path.exists(path):
                lines = [line for line in ended.stdout.splitlines() if line.strip()]
                raise NotHere(lines[-1] if lines else f"status {ended.returncode}")
            with open(path, encoding="utf-8") as file:
                return json.load(file)

    def script(self, name, *arguments, python=None, prefix=()):
        """Runs a script in bench/ with a Python that has the package."""
        return self.run([*prefix, python or self.python, ROOT / "bench" / name, *arguments, "--json",
                         "{json}"])

    def interleaved(self, name, usual, quick, *arguments, python=None):
        return read_groups(self.script(name, "--rounds", self.rounds(usual, quick), *arguments,
                                       python=python))

    def program(self, name, pattern=".", least=0):
        """Runs a C++ benchmark."""
        if self.programs is None or not (self.programs / name).exists():
            raise NotHere("it is built by Bazel, which is not here")
        repetitions, seconds = (max(least, 9), "0.01") if self.quick else (max(2 * least, 25), "0.03")
        return read_google(self.run([
            self.programs / name, f"--benchmark_filter={pattern}", "--benchmark_out={json}",
            "--benchmark_out_format=json", f"--benchmark_repetitions={repetitions}",
            f"--benchmark_min_time={seconds}", "--benchmark_report_aggregates_only=false"]))

    def need_pypy(self):
        if self.pypy is None:
            raise NotHere("there is no PyPy with headers")
        return self.pypy

    def need_newest(self):
        if self.newest is None:
            raise NotHere("there is no CPython of 3.12 or later")
        return self.newest

    def is_for(self, name):
        """Returns true if `cpython` is the interpreter with this name, such as python3.15."""
        code = "import sys; print('python%d.%d' % sys.version_info[:2])"
        return first_line([self.cpython, "-c", code]) == name

    def describe(self):
        """Describes the machine."""
        busy = self.load > 0.25 * os.cpu_count()
        return {"processor": processor(), "cores": os.cpu_count(), "system": system(),
                "load before the run": round(self.load, 2), "busy": busy}

    def versions(self):
        found = {"typedcall": self.commit,
                 platform.python_implementation(): platform.python_version()}
        if self.pypy:
            said = first_line([self.pypy, "-c", "import sys; print('%d.%d.%d' % "
                                                "sys.pypy_version_info[:3])"])
            found["PyPy"] = said or ""
        if self.free_threaded:
            found["free-threaded CPython"] = (first_line([self.free_threaded, "--version"]) or "").partition(" ")[2]
        if self.newest:
            said = first_line([self.newest, "--version"]) or ""
            found["newest CPython"] = said.partition(" ")[2]
        found["C++ compiler"] = first_line([os.environ.get("CXX", "c++"), "--version"]) or ""
        for name in LIBRARIES:
            try:
                found[name] = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                continue
        for name in DEBIAN_LIBRARIES:
            found[name] = first_line(["dpkg-query", "-W", "-f=${Version}", name])
        found.update(self.more_versions)
        return {name: version for name, version in found.items() if version}

    def now(self):
        return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


def compiler_is_here():
    return shutil.which(os.environ.get("CXX", "c++")) is not None
