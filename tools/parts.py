# The parts of a run: those of the gate, those that --full adds, and those for other interpreters.
import os

import address_sanitizer
import checks
import figures
import package_tests
from bazel_tests import bazel_test, fuzz_all, query
from results import PASSED, UNAVAILABLE, Case

# Tests that call the compiler themselves. Neither Bazel's flags nor another build of the same Python version affects
# them.
NOT_AGAIN = "-compiles,-compiles-once,-preflight,-programs"
# tools/preflight runs the tests with the first tag. The others depend on the clock or on other programs, and --full
# runs them.
NOT_IN_GATE = "-preflight,-timing,-programs"
# Tags of the tests that differ from one interpreter to the next.
PER_INTERPRETER = "python,headers"
# The tests that take longest to build. They do not depend on Python's version, so the gate runs them only under the
# sanitizers' interpreter, if there is one.
BY_SANITIZERS = ["//tests/exactness/...", "//tests/loop/..."]
# GCC compiles these tests for the usual interpreter, and Clang compiles them for the sanitizers' interpreter. So other
# interpreters need not run them.
SEEN_BEFORE = [*BY_SANITIZERS, "//tests/invoker/..."]
# Tests of code with branches for old versions.
PROVIDER = "//tests/provider/..."
# Only the layouts in core differ between versions, so one sanitizer run of the code above core is enough.
CORE = [f"//tests/{room}/..." for room in (
    "class_data", "class_slots", "core", "foreign_slots", "inheritance", "instance_table", "static_types",
    "type_data", "type_from_metaclass")] + ["//tests/memory:core_test"]
# Tests of code that reads CPython's own structs, which differ between versions.
RECORDS = CORE + [f"//tests/{room}/..." for room in (
    "abi", "abi3", "c_provider", "rendezvous", "tag", "typed_method")] + ["//tests/resolve:interpreters_test"]
# Tests whose results may depend on threads.
FREE_THREADED = CORE + [f"//tests/{room}/..." for room in (
    "abi", "abi3", "c_provider", "memory", "provider", "rendezvous", "resolve", "threads")]
# The run reports which of these versions are not available. 3.15 has abi3t.
NEWEST_FREE_THREADED = ((3, 14), (3, 15))
# Tests of code that the optimiser changes: assembly, casts, inlined functions.
OPTIMISED = [f"//tests/{room}/..." for room in ("exactness", "ffi", "invoker", "loop", "provider", "resolve")]
# Tests of features that the usual CPython may lack: the limited API of 3.12, and an sqlite3 that loads extensions.
ABI3 = dict(libraries=["setuptools"], chosen={"test_examples_abi3"})
SQLITE = dict(libraries=["apsw"], chosen={
    "test_sql", "test_sql_connections", "test_adapters_interpreters", "test_matrix::Sqlite3",
    "test_matrix_processes::Sqlite3", "test_examples_run::Examples::test_sql",
    "test_no_memory_adapters::WithoutMemory::test_sqlite3"})
# The newest debug build runs only the tests that differ between versions.
NEWEST_DEBUG = "tools/newest_pythons tools/test --python /usr/bin/python3.15-dbg --clang --only debug"
# Tests of code that calls Python functions in loops, or that Python calls in loops.
RUN_WITH_JIT = ["//tests/resolve/...", "//tests/provider/...", "//tests/c_provider/..."]
# Tests that use random numbers (tests/support/seed.h and seeds.py).
RANDOM = [f"//tests/{test}" for test in (
    "core:readers_test", "core:side_table_test", "inheritance:test_random_hierarchies", "instance_table:publication_test",
    "instance_table:readers_test", "invoker/...", "loop:random_test", "resolve:call_site_random_test",
    "resolve:casting_test")]
# Headers for consumers, which stop with #error on PyPy.
NOT_FOR_PYPY = [f"typedcall/{header}.h" for header in (
    "call_site", "callback", "fallback", "loop", "resolve",
    "resolve/diagnostics", "resolve/function", "resolve/inline_cache", "resolve/places")]
# Targets that need the C++ library, which musl-gcc lacks.
WITH_CXX_LIBRARY = ("//:README.md //bazel:fuzz_replay_main.cc //bazel/system:all //bench:class_data_designs.so "
                    "//examples/class_data:units_cpp.so //typedcall:base")


class Part:
    """A part of a run: a name, and a function that returns its cases. Parts in the lane `bazel` run one after the
    other. Parts in `package` run at the same time. Parts in `quiet` run while no other part runs. A part that has
    passed is not run again if only files that match `ignores` have changed."""

    def __init__(self, name, function, *arguments, lane="bazel", is_random=False, ignores=(), **options):
        self.name = name
        self.lane = lane
        self.ignores = ignores
        # True if the part uses a seed, which is new in each run.
        self.is_random = is_random
        self._call = function, arguments, options

    def cases(self):
        function, arguments, options = self._call
        return function(*arguments, **options)


def missing(name, reason, lane="package"):
    return Part(name, lambda: [Case(name, UNAVAILABLE, reason)], lane=lane)


def _only(*tags):
    """Selects the tests that have one of these tags and none of the tags with a minus."""
    return ["--build_tests_only", "--test_tag_filters=" + ",".join(tags)]


def _package(title, interpreter, lane="package", left_out=package_tests.SLOW, **options):
    if options.get("libraries") == ():
        title += " alone"
    return Part(f"{title}, {interpreter.label}", package_tests.cases_of, interpreter, lane=lane, left_out=left_out,
                **options)


def _usual(interpreter, debug):
    """Returns a part that runs Bazel's tests under the usual interpreter, with the libraries of its environment."""
    folder, reason = package_tests.environment_of(interpreter)
    libraries = package_tests.site_packages(folder) if folder else ""
    flags = ["--test_tag_filters=" + NOT_IN_GATE, "--test_env=TYPEDCALL_LIBRARIES=" + libraries]
    cases = bazel_test(interpreter, flags, BY_SANITIZERS if debug else ())
    return cases + ([Case("libraries", UNAVAILABLE, reason)] if reason else [])


class Machine:
    """The interpreters that a run uses."""

    def __init__(self, found, usual):
        self.found, self.usual = found, usual
        # This list has one interpreter of each version and kind, beginning with the usual one.
        usable = {}
        for each in [usual, *found]:
            if not each.reason:
                usable.setdefault(each.flavour, each)
        self.cpythons = [usable[flavour] for flavour in sorted(usable)]
        ordinary = [each for each in self.cpythons if each.ordinary]
        self.oldest, self.newest = ordinary[0], ordinary[-1]
        self.debug = next((each for each in self.cpythons if each.debug and not each.info["gil_disabled"]), None)
        self.free_threaded = [each for each in self.cpythons if each.info["gil_disabled"] and not each.debug]
        # Returns an interpreter whose sqlite3 loads extensions, preferably the usual one.
        self.sqlite = next((each for each in [usual, *found]
                            if each.ordinary and not each.reason and each.info["sqlite"]), None)
        self.pypy = next((each for each in found if each.info["implementation"] == "PyPy" and each.runs_package), None)


def gate(machine, demanded):
    """Returns (the gate's parts, texts about what is not run on this machine). `demanded` are required CPython
    versions."""
    usual, not_run = machine.usual, []
    parts = [Part("preflight", checks.preflight, lane="package"), Part(usual.label, _usual, usual, machine.debug)]
    if machine.debug:
        parts.append(Part("asan and ubsan, " + machine.debug.label, bazel_test, machine.debug,
                          ["--config=asan_ubsan", *_only(NOT_AGAIN, "-timing")]))
    else:
        parts.append(missing("asan and ubsan", "no debug build of CPython (Debian: python3-dbg)"))
    for version in demanded:
        if version not in [each.version[:2] for each in machine.cpythons if each.ordinary]:
            name = "CPython {}.{}".format(*version)
            parts.append(missing(name, "none with headers and a shared libpython was found"))
    for interpreter in (machine.oldest, machine.newest):
        if interpreter is not usual:
            parts.append(Part("records, " + interpreter.label, bazel_test, interpreter,
                              _only(PER_INTERPRETER, NOT_AGAIN, "-timing"), (), RECORDS))
    if machine.oldest is machine.newest:
        not_run.append(f"another CPython than {usual.label}, as there is none")
    if machine.free_threaded:
        interpreter = machine.free_threaded[0]
        parts.append(Part("threads, " + interpreter.label, bazel_test, interpreter,
                          _only(PER_INTERPRETER, NOT_AGAIN, "-timing"), (), ["//tests/threads/..."]))
    else:
        not_run.append("a free-threaded CPython (tools/free_threaded builds one)")
    parts.append(_package("package", usual, marks="not timing"))
    # These parts test features that the usual interpreter lacks.
    if machine.newest.version < (3, 12):
        not_run.append("wheels for the limited API, which a CPython from 3.12 on has")
    elif machine.newest is not usual:
        parts.append(_package("abi3 wheels", machine.newest, **ABI3))
    if not machine.sqlite:
        not_run.append("sqlite3's own connections, as no CPython's load extensions")
    elif machine.sqlite is not usual:
        parts.append(_package("sqlite3", machine.sqlite, marks="not timing", **SQLITE))
    if machine.pypy:
        parts.append(_package("package", machine.pypy, libraries=(), marks="not timing", ignores=NOT_FOR_PYPY))
    else:
        parts.append(missing("package, PyPy", "no PyPy with headers (Debian: pypy3, pypy3-dev, pypy3-venv)"))
    return parts, not_run


def full(machine, seconds, seed, thread_sanitizer):
    """Yields the parts that --full adds to the gate."""
    usual = machine.usual
    yield _package("other programs", usual, left_out=(), chosen=package_tests.SLOW)
    yield _package("package, newest libraries", usual, marks="not timing", newest=True)
    yield Part("the newest CPythons", checks.scripts, "tools/newest_pythons", NEWEST_DEBUG, lane="package")
    yield Part("package, asan and ubsan, " + usual.label, address_sanitizer.cases_of, usual, lane="package")
    yield Part("package, a newer PyPy", checks.scripts, "tools/pypy_newer", lane="package")
    yield Part("platforms", checks.platforms_check, lane="package")
    yield Part("musl", checks.scripts, "tools/musl python3 tools/run_tests.py --arch musl --only gcc")
    yield Part("Bazel as a dependency, " + usual.label, bazel_test, usual, _only("programs"))
    yield Part("random, " + usual.label, random_seeds, usual, seconds, seed, is_random=True)
    yield Part("fuzz, " + usual.label, fuzz_all, usual, seconds, seed, is_random=True)
    yield Part("optimised, " + usual.label, bazel_test, usual,
               ["--compilation_mode=opt", *_only(NOT_AGAIN, "-timing")], (), OPTIMISED)
    yield Part("tsan, clang, " + usual.label, bazel_test, usual, ["--config=tsan", "--config=clang"])
    if machine.newest is not usual:
        yield Part("asan and ubsan, " + machine.newest.label, bazel_test, machine.newest,
                   ["--config=asan_ubsan", *_only(PER_INTERPRETER, NOT_AGAIN, "-timing")], (), CORE)
    for interpreter in machine.cpythons:
        yield from _others(machine, interpreter)
    if not machine.free_threaded:
        yield missing("free-threaded", "no free-threaded CPython was found; tools/free_threaded builds one")
    newest = max((each.version for each in machine.free_threaded), default=(0,))
    for version in NEWEST_FREE_THREADED:
        if newest < version:
            # This part reports why tools/setup has not built the interpreter.
            name = "python{}.{}".format(*version)
            yield Part(name + " free-threaded", checks.scripts, "tools/free_threaded " + name, lane="package")
    yield from _timing(machine)
    yield Part("instructions, " + usual.label, figures.instructions, usual, lane="quiet")
    if thread_sanitizer:
        yield Part("thread sanitizer", checks.scripts, "tools/thread_sanitizer", lane="quiet")


def _others(machine, interpreter):
    """Yields the parts that --full adds for one CPython."""
    is_newest = interpreter is machine.newest
    flags, without, folders = _only(PER_INTERPRETER, NOT_AGAIN, "-timing"), (), RECORDS
    if interpreter is machine.oldest:
        without, folders = SEEN_BEFORE, ["//..."]
    elif interpreter.info["gil_disabled"]:
        folders = FREE_THREADED
    if interpreter not in (machine.usual, machine.debug) and not is_newest:
        # See _command in bazel_tests.py: beside another part, a free-threaded 3.13 needs up to 60 times as long.
        lane = "quiet" if interpreter.info["gil_disabled"] else "bazel"
        yield Part(interpreter.label, bazel_test, interpreter, flags, without, folders, lane=lane)
    if interpreter.info["jit"] and not interpreter.debug:
        # The test programs are the same as without the JIT.
        yield Part(interpreter.label + " with its JIT", bazel_test, interpreter,
                   [*flags, "--test_env=PYTHON_JIT=1"], (), RUN_WITH_JIT)
    if interpreter is not machine.usual and not interpreter.debug:
        has_libraries = is_newest or interpreter.info["gil_disabled"]
        yield _package("package", interpreter, libraries=package_tests.ALL if has_libraries else (),
                       marks="not timing")


def _timing(machine):
    """Yields the parts with tests that measure time or resident memory, or whose threads must overlap. They run
    alone."""
    for interpreter in machine.cpythons:
        config = ["--config=asan_ubsan"] if interpreter is machine.debug else []
        yield Part("timing, " + interpreter.label, bazel_test, interpreter, config + _only("timing", NOT_AGAIN),
                   lane="quiet")
    yield _package("package, timing", machine.usual, lane="quiet", marks="timing")
    if machine.pypy:
        yield _package("package, timing", machine.pypy, lane="quiet", libraries=(), marks="timing")
    if machine.sqlite not in (None, machine.usual):
        yield _package("sqlite3, timing", machine.sqlite, lane="quiet", marks="timing", **SQLITE)


def random_seeds(usual, seconds, seed):
    """Runs the random tests with a new seed, which is in the log."""
    cases = [Case(f"random seed {seed}", PASSED)]
    cases += bazel_test(usual, ["--build_tests_only", f"--test_env=TYPEDCALL_SEED={seed}"], (), RANDOM)
    environment = {"TYPEDCALL_SEED": str(seed), "TYPEDCALL_ATTACK_SECONDS": str(seconds)}
    return cases + package_tests.cases_of(usual, chosen=package_tests.RANDOM, environment=environment)


def by_name(machine, required, with_clang):
    """Yields the parts for requested interpreters. The first interpreter runs all tests. Other interpreters and debug
    builds run the tests that differ between versions. PyPy runs the package's tests."""
    for interpreter in required:
        is_first = interpreter is required[0] and not interpreter.debug
        label, flags = interpreter.label, ["--test_tag_filters=-preflight"]
        without = SEEN_BEFORE if len(required) > 1 else ()
        if not is_first:
            flags, without = _only(PER_INTERPRETER, NOT_AGAIN), [*SEEN_BEFORE, PROVIDER]
            if with_clang:
                label, flags = label + ", clang", [*flags, "--config=clang"]
        folders = FREE_THREADED if interpreter.info["gil_disabled"] else ["//..."]
        yield Part(label, bazel_test, interpreter, flags, without, folders)
        if interpreter.info["jit"] and not interpreter.debug:
            # The test programs are the same as without the JIT.
            yield Part(label + " with its JIT", bazel_test, interpreter,
                       [*flags, "--test_env=PYTHON_JIT=1"], without, RUN_WITH_JIT)
        if not interpreter.debug:
            yield _package("package", interpreter, libraries=package_tests.ALL if is_first else ())
    if machine.pypy:
        yield _package("package", machine.pypy, libraries=())


def cross(interpreter):
    """Yields the parts for another processor, in the environment of tools/cross."""
    flags = ["--run_under=" + os.environ["TYPEDCALL_RUN_UNDER"], "--test_env=PATH", "--test_env=TYPEDCALL_RUN_UNDER",
             # Emulation takes about ten times as long.
             "--test_timeout=600,1800,3600,7200"]
    yield Part(interpreter.label, bazel_test, interpreter, ["--test_tag_filters=-preflight", *flags])
    yield _package("package alone", interpreter, libraries=["cffi", "pycparser"])


def musl(interpreter):
    """Yields the parts for musl, in the environment of tools/musl."""
    flags = _only(NOT_AGAIN)
    in_c = query(f"tests(//tests/...) except rdeps(//tests/..., set({WITH_CXX_LIBRARY})) "
                 "except attr(tags, 'compiles', //tests/...)")
    yield Part("musl-gcc, " + interpreter.label, bazel_test, interpreter, flags, (), in_c)
    label, cxx = "clang for musl, " + interpreter.label, os.environ["TYPEDCALL_MUSL_CXX"]
    if not cxx:
        yield missing(label, "no ziglang (tools/setup musl), or no sources of GoogleTest")
        return
    path = os.pathsep.join([os.path.dirname(cxx), os.environ["PATH"]])
    yield Part(label, bazel_test, interpreter, [*flags, "--repo_env=CC=" + cxx, "--test_env=PATH=" + path], in_c,
               ("//tests/...",))
