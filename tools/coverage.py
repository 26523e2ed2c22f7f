# Implements tools/coverage once the Debian packages are installed.
import argparse
import collections
import glob
import json
import os
import pathlib
import subprocess
import sys
import sysconfig
import tempfile

import bazel_tests
import commands
import headers
import interpreters
import package_tests
import tomllib
from results import FAILED, UNAVAILABLE, Case

PACKAGE = "typedcall/python/typedcall"
EXCEPTIONS = "tools/coverage.toml"
FLAGS = "--coverage -fprofile-update=atomic -fstack-reuse=none"
# A .pth file that starts coverage.py in the first interpreter of each process. coverage.py supports no other
# interpreter.
START = """import os; os.environ.get("COVERED") == str(os.getpid()) or (\
os.environ.update(COVERED=str(os.getpid()), COVERAGE_PROCESS_START={!r}), \
__import__("coverage").process_startup(), os.environ.pop("COVERAGE_PROCESS_START"))"""
# The tags of tests that compile code themselves or measure compiled code.
NOT_MEASURED = "-compiles,-compiles-once,-instructions,-preflight,-programs,-timing"
# A line of source code. The tests have taken `taken` of its `branches`.
Line = collections.namedtuple("Line", "path number text is_covered taken branches")


def checked(*command, **options):
    """Returns a command's output, and exits if it fails."""
    status, output = commands.run(*command, **options)
    if status:
        sys.exit(f"tools/coverage: {command[0]}: exit status {status}\n{output}")
    return output


def with_bazel(usual, targets, scratch):
    """Runs Bazel's tests, writes the coverage to `scratch`, and returns the cases."""
    # Bazel runs the compiler in the folder /proc/self/cwd, which differs in each test.
    flags = ["--config=coverage", "--nocache_test_results", "--build_tests_only", "--test_tag_filters=" + NOT_MEASURED,
             "--test_env=GCOV_PREFIX=" + scratch, "--test_env=GCOV_PREFIX_STRIP=3"]
    cases = bazel_tests.bazel_test(usual, flags, folders=targets)
    root = subprocess.run(["bazel", "info", "execution_root"], stdout=subprocess.PIPE, text=True, check=True).stdout
    for path in glob.glob(scratch + "/bazel-out/**/*.gcda", recursive=True):
        notes = path[:-2] + "no"
        os.symlink(os.path.join(root.strip(), os.path.relpath(notes, scratch)), notes)
    return cases


def with_package(usual, names, scratch):
    """Runs the package's tests, writes the coverage to `scratch`, and returns the cases."""
    libraries, reason = package_tests.environment_of(usual)
    if libraries is None:
        return [Case("package", UNAVAILABLE, reason)]
    settings = os.path.join(scratch, "settings")
    with open(settings, "w", encoding="utf-8") as file:
        file.write(f"[run]\nbranch = true\nparallel = true\ndata_file = {scratch}/python\npatch = _exit\n"
                   f"source = {os.path.abspath(PACKAGE)}\n")
    python = package_tests.make_environment(usual, libraries, os.path.join(scratch, "venv"), START.format(settings))
    pins = package_tests.lines_of("tools/pins/tools.txt")
    status, output = package_tests.pip(python, "install", *(pin for pin in pins if pin.startswith("coverage==")))
    compilers = {"CC": "gcc " + FLAGS, "CXX": "g++ " + FLAGS, "CCACHE_DISABLE": "1"}
    if not status:
        status, output = package_tests.install_in_place(
            python, "build-dir=" + os.path.join(scratch, "build"), env={**os.environ, **compilers})
    if status:
        return [Case("package", FAILED, commands.last_line(output), output)]
    modules = os.path.join(scratch, "modules")
    os.mkdir(modules)
    cases = package_tests.run_files(
        usual, os.path.join(scratch, "venv"), () if names else package_tests.SLOW, names, "not timing",
        {**compilers, "TMPDIR": modules})
    checked(python, "-m", "coverage", "combine", "--quiet", "--rcfile", settings)
    checked(python, "-m", "coverage", "lcov", "--quiet", "--rcfile", settings, "-o", scratch + "/python.info")
    return cases


def compile_headers(folder):
    """Compiles all headers, because a test's object contains only the inline functions that the test calls."""
    for source, standard in headers.write_sources(folder):
        checked("gcc", standard, "-c", *FLAGS.split(), "-fkeep-inline-functions", "-fkeep-static-functions", "-I.",
                "-isystem" + sysconfig.get_paths()["include"], source, "-o", source + ".o")


def read(path):
    """Returns the lines in an LCOV file, as Line objects."""
    counts = collections.defaultdict(lambda: [0, 0, 0])
    with open(path, encoding="utf-8") as file:
        for kind, _, value in (row.strip().partition(":") for row in file):
            if kind == "SF":
                source = os.path.relpath(os.path.realpath(value))
            elif kind == "DA":
                number, hits = value.split(",")[:2]
                counts[source, int(number)][0] |= int(hits) > 0
            elif kind == "BRDA":
                number, *_, taken = value.split(",")
                counts[source, int(number)][1] += taken not in ("-", "0")
                counts[source, int(number)][2] += 1
    texts = {source: pathlib.Path(source).read_text(encoding="utf-8").splitlines() for source, _ in counts}
    return [Line(source, number, texts[source][number - 1].strip(), *count)
            for (source, number), count in sorted(counts.items())]


def counted(lines, key):
    """Returns [covered lines, other lines, branches taken, branches not taken], keyed by key(line)."""
    counts = collections.defaultdict(lambda: [0, 0, 0, 0])
    for line in lines:
        counts[key(line)] = [a + b for a, b in zip(counts[key(line)], (
            line.is_covered, not line.is_covered, line.taken, line.branches - line.taken))]
    return counts


def room(line):
    return "/".join(os.path.dirname(line.path).split("/")[:4 if line.path.startswith(PACKAGE) else 2])


def share(row, i):
    return 100 * row[i] / (row[i] + row[i + 1]) if row[i] + row[i + 1] else 100


def show(lines, key):
    for name, row in sorted(counted(lines, key).items()):
        print(f"{name:40}", *(f"{share(row, i):9.2f} % of {row[i] + row[i + 1]:6}" for i in (0, 2)))


def show_all(lines):
    """Prints the table, and the branches of the C99 headers that no test takes."""
    print(f"{'room':40}", f"{'lines':>20}", f"{'branches':>20}")
    show(lines, room)
    show(lines, lambda line: "all")
    with open(EXCEPTIONS, "rb") as file:
        rows = tomllib.load(file).get("branch", [])
    if not all({"text", "reason"} <= set(row) <= {"path", "text", "branches", "reason"} for row in rows):
        sys.exit(f"{EXCEPTIONS}: a branch has text and reason, and may have path and branches")
    in_c = {path for path in {line.path for line in lines}
            if path.endswith(".h") and not path.startswith(PACKAGE) and headers.is_c(path)}
    unused, listed, rest = list(rows), [], []
    for line in (line for line in lines if line.path in in_c):
        for row in rows:
            missing = line.branches - line.taken
            if missing and row["text"] in line.text and row.get("path", line.path) == line.path:
                unused = [other for other in unused if other is not row]
                line = line._replace(branches=line.branches - min(missing, row.get("branches", missing)))
        rest.append(line)
        listed += [line] if line.taken < line.branches else []
    show(rest, lambda line: "the C99 headers without the exceptions")
    for line in listed:
        print(f"{line.path}:{line.number}: {line.taken} of {line.branches} branches: {line.text}")
    for row in unused:
        print(f"{EXCEPTIONS}: {row.get('path', 'any header')}, {row['text']}: every branch is taken, or none is measured")


def compare(old, new):
    """Prints the rooms, and the lines and branches covered in `old` but not in `new`. Lines are compared by their
    text, because they may move. Returns True if there are such lines or branches."""
    before, after = (counted(lines, room) for lines in (old, new))
    for name in sorted(before.keys() & after.keys()):
        print(f"{name:40}", *(f"{what} {share(before[name], i):6.2f} -> {share(after[name], i):6.2f}"
                              for i, what in ((0, "lines"), (2, "branches"))))
    before, after = (counted(lines, lambda line: line.text) for lines in (old, new))
    lost = []
    for line in new:
        had, has = before[line.text], after[line.text]
        for i, is_missing, what in ((0, not line.is_covered, "line"), (2, line.taken < line.branches, "branch")):
            if is_missing and has[i] < had[i] and has[i + 1] > had[i + 1]:
                lost.append(f"{line.path}:{line.number}: {what} no longer covered: {line.text}")
    print("\n".join(lost) or "everything that was covered still is")
    return bool(lost)


def load(path):
    with open(path, encoding="utf-8") as file:
        return [Line(*row) for row in json.load(file)]


def main():
    parser = argparse.ArgumentParser(prog="tools/coverage", usage="%(prog)s [--json FILE] [TARGET|NAME]... | compare OLD NEW")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("chosen", nargs="*", metavar="TARGET|NAME")
    given = parser.parse_args()
    if given.chosen[:1] == ["compare"]:
        if len(given.chosen) != 3:
            parser.error("compare takes two files")
        _, old, new = given.chosen
        return compare(load(old), load(new))
    if "GCOVR" not in os.environ:
        sys.exit("tools/coverage: gcovr could not be installed")
    targets = [name for name in given.chosen if name.startswith("//")]
    names = [name for name in given.chosen if not name.startswith("//")]
    usual = next(i for i in interpreters.find() if not i.reason and i.ordinary)
    cases, lines = [], []
    with tempfile.TemporaryDirectory(prefix="typedcall-") as scratch:
        compile_headers(scratch)
        if targets or not names:
            cases += with_bazel(usual, targets or ["//tests/..."], scratch)
        if names or not targets:
            cases += with_package(usual, names, scratch)
        checked(os.environ["GCOVR"], "--filter", "core/", "--filter", "typedcall/", "--merge-lines",
                "--exclude-throw-branches", "--exclude-unreachable-branches", "--gcov-ignore-errors=all",
                "--gcov-ignore-parse-errors=all", "--merge-mode-functions=separate", "-j", str(os.cpu_count()),
                "--lcov", scratch + "/c.info", scratch)
        for path in glob.glob(scratch + "/*.info"):
            lines += read(path)
    for case in cases:
        if case.outcome in (FAILED, UNAVAILABLE):
            print(case.outcome, case.name, case.message)
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump(lines, file)
    show_all(lines)
    # The headers' lines are listed even if no test has run.
    return not any(line.is_covered for line in lines)


if __name__ == "__main__":
    sys.exit(main())
