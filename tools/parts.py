# The parts of a run: what the gate consists of, what --full adds, and what runs under interpreters that are
# asked for by name. A part has a name and a function that gives its cases.
import os

import address_sanitizer
import checks
import package_tests
from bazel_tests import bazel_test, fuzz_all, query
from results import PASSED, UNAVAILABLE, Case

# Tests that call the compiler themselves: neither its flags nor a second interpreter of the same
# version make a difference to them. The slowest one is the same for all versions, too.
NOT_AGAIN = "-compiles,-compiles-once,-preflight,-programs"
# Run by tools/preflight; of time, of resident memory, of threads that must overlap; of other programs.
NOT_IN_GATE = "-preflight,-timing,-programs"
# Tags of the tests that differ from one interpreter to the next.
PER_INTERPRETER = "python,headers"
# The slowest to build. What they test is C++ that no version of Python changes, so the sanitizers'
# interpreter stands for all, where there is one.
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
RECORDS = CORE + [f"//tests/{room}/..." for room in (
    "abi", "abi3", "c_provider", "rendezvous", "tag", "typed_method")] + ["//tests/resolve:interpreters_test"]
# What threads make a difference to.
FREE_THREADED = CORE + [f"//tests/{room}/..." for room in (
    "abi", "abi3", "c_provider", "memory", "provider", "rendezvous", "resolve", "threads")]
# Where they cannot be had, the run says so. 3.15 has abi3t.
NEWEST_FREE_THREADED = ((3, 14), (3, 15))
# What the optimiser may make something else of: assembly, casts, what is inlined.
OPTIMISED = [f"//tests/{room}/..." for room in ("exactness", "ffi", "invoker", "loop", "provider", "resolve")]
# Of the newest debug build what differs between versions. The other runs of tools/newest_pythons have the rest.
NEWEST_DEBUG = "tools/newest_pythons tools/test --python /usr/bin/python3.15-dbg --clang --only debug"
# What calls Python functions in loops, or is called in them.
RUN_WITH_JIT = ["//tests/resolve/...", "//tests/provider/...", "//tests/c_provider/..."]
# What has random numbers: tests/support/seed.h and seeds.py.
RANDOM = [f"//tests/{test}" for test in (
    "core:readers_test", "core:side_table_test", "inheritance:test_random_hierarchies", "instance_table:publication_test",
    "instance_table:readers_test", "invoker/...", "loop:random_test", "resolve:call_site_random_test",
    "resolve:casting_test")]
# What includes the C++ library, which musl-gcc has not got. The rest is C99, which C++ reads, too.
WITH_CXX_LIBRARY = ("//:README.md //bazel:fuzz_replay_main.cc //bazel/system:all //bench:class_data_designs.so "
                    "//examples/class_data:greetings_cpp.so //typedcall:namespace")


class Part:
    """A name, and what gives its cases. The lane `bazel` has parts that Bazel runs, one after the other;
    `package` others, which run beside them; `quiet` those that run when nothing else does."""

    def __init__(self, name, function, *arguments, lane="bazel", **options):
        self.name = name
        self.lane = lane
        self._call = function, arguments, options

    def cases(self):
        function, arguments, options = self._call
        return function(*arguments, **options)


def missing(name, reason, lane="package"):
    return Part(name, lambda: [Case(name, UNAVAILABLE, reason)], lane=lane)


def _tags(*tags):
    return ["--build_tests_only", "--test_tag_filters=" + ",".join(tags)]


def _usual(interpreter, debug, site_packages):
    """Bazel's tests under the usual one, beside the libraries of its environment."""
    flags = ["--test_tag_filters=" + NOT_IN_GATE, "--test_env=TYPEDCALL_LIBRARIES=" + site_packages]
    return bazel_test(interpreter, flags, BY_SANITIZERS if debug else ())


def _libraries_of(interpreter):
    folder, _ = package_tests.environment_of(interpreter)
    return package_tests.site_packages(folder) if folder else ""


class Machine:
    """The interpreters that a run has to do with."""

    def __init__(self, found, usual):
        self.found, self.usual = found, usual
        usable = [each for each in found if not each.reason]
        ordinary = sorted((each for each in usable if each.ordinary), key=lambda each: each.version)
        self.oldest, self.newest = ordinary[0], ordinary[-1]
        self.debug = next((each for each in usable if each.debug and not each.info["gil_disabled"]), None)
        # One whose sqlite3 loads extensions, the usual one if it does.
        self.sqlite = next((each for each in [usual, *ordinary] if each.info["sqlite"]), None)
        self.free_threaded = [each for each in usable if each.info["gil_disabled"] and not each.debug]
        self.pypy = next((each for each in found if each.info["implementation"] == "PyPy" and each.runs_package), None)


def gate(machine, demanded):
    """What decides: (parts, what is left out on this machine). `demanded` are versions of CPython that must be
    there."""
    usual, not_run = machine.usual, []
    parts = [Part("preflight", checks.preflight, lane="package"),
             Part(usual.label, lambda: _usual(usual, machine.debug, _libraries_of(usual)))]
    if machine.debug:
        parts.append(Part("asan and ubsan, " + machine.debug.label, bazel_test, machine.debug,
                          ["--config=asan_ubsan", *_tags(NOT_AGAIN, "-timing")]))
    else:
        parts.append(missing("asan and ubsan", "no debug build of CPython (Debian: python3-dbg)"))
    for version in demanded:
        if not any(each.ordinary and not each.reason and each.version[:2] == version for each in machine.found):
            name = "CPython {}.{}".format(*version)
            parts.append(missing(name, "none with headers and a shared libpython was found"))
    for interpreter in sorted({machine.oldest, machine.newest} - {usual}, key=lambda each: each.version):
        parts.append(Part("records, " + interpreter.label, bazel_test, interpreter,
                          _tags(PER_INTERPRETER, NOT_AGAIN, "-timing"), (), RECORDS))
    if machine.oldest is machine.newest:
        not_run.append(f"another CPython than {usual.label}, as there is none")
    if machine.free_threaded:
        interpreter = machine.free_threaded[0]
        parts.append(Part("threads, " + interpreter.label, bazel_test, interpreter,
                          _tags(PER_INTERPRETER, NOT_AGAIN, "-timing"), (), ["//tests/threads/..."]))
    else:
        not_run.append("a free-threaded CPython (tools/free_threaded builds one)")
    parts.append(Part("package, " + usual.label, package_tests.cases_of, usual, lane="package",
                      left_out=package_tests.SLOW, marks="not timing"))
    # What the usual one has not got.
    if machine.newest is not usual and machine.newest.version >= (3, 12):
        parts.append(Part("abi3 wheels, " + machine.newest.label, package_tests.cases_of, machine.newest,
                          lane="package", libraries=["setuptools"], chosen=package_tests.ABI3, marks="not timing"))
    if machine.sqlite not in (None, usual):
        parts.append(Part("sqlite3, " + machine.sqlite.label, package_tests.cases_of, machine.sqlite,
                          lane="package", libraries=["apsw"], chosen=package_tests.SQLITE, marks="not timing"))
    if machine.pypy:
        parts.append(Part("package, " + machine.pypy.label, package_tests.cases_of, machine.pypy, lane="package",
                          libraries=(), left_out=package_tests.SLOW, marks="not timing"))
    else:
        parts.append(missing("package, PyPy", "no PyPy with headers (Debian: pypy3, pypy3-dev, pypy3-venv)"))
    return parts, not_run


def full(machine, seconds, seed, thread_sanitizer):
    """What --full adds to the gate."""
    usual = machine.usual
    yield Part("other programs, " + usual.label, package_tests.cases_of, usual, lane="package",
               chosen=package_tests.SLOW)
    yield Part("Bazel as a dependency, " + usual.label, bazel_test, usual, _tags("programs"))
    yield Part("timing, " + usual.label, bazel_test, usual, _tags("timing"), lane="quiet")
    if machine.debug:
        yield Part("timing, asan and ubsan, " + machine.debug.label, bazel_test, machine.debug,
                   ["--config=asan_ubsan", *_tags("timing", NOT_AGAIN)], lane="quiet")
    if machine.newest is not usual:
        yield Part("timing, " + machine.newest.label, bazel_test, machine.newest, _tags("timing", NOT_AGAIN), (),
                   RECORDS, lane="quiet")
    yield Part("package, timing, " + usual.label, package_tests.cases_of, usual, left_out=package_tests.SLOW,
               marks="timing", lane="quiet")
    yield Part("package, newest libraries, " + usual.label, package_tests.cases_of, usual, lane="package",
               left_out=package_tests.SLOW, marks="not timing", newest=True)
    yield Part("package, asan and ubsan, " + usual.label, address_sanitizer.cases_of, usual, lane="package")
    # Its summary has the skips of a second machine.
    yield Part("the newest CPythons", checks.script, "tools/newest_pythons", lane="package")
    yield Part("the newest CPython, debug", checks.script, NEWEST_DEBUG, lane="package")
    yield Part("package, a newer PyPy", checks.script, "tools/pypy_newer", lane="package")
    yield Part("platforms", checks.platforms_check, lane="package")
    yield Part("optimised, " + usual.label, bazel_test, usual,
               ["--compilation_mode=opt", *_tags(NOT_AGAIN)], (), OPTIMISED)
    yield Part("tsan, clang, " + usual.label, bazel_test, usual, ["--config=tsan", "--config=clang"])
    yield Part("random, " + usual.label, random_seeds, usual, seconds, seed)
    yield Part("fuzz, " + usual.label, fuzz_all, usual, seconds, seed)
    yield Part("musl", checks.script, "tools/musl python3 tools/run_tests.py --arch musl --only gcc")
    yield from _free_threaded(machine)
    for interpreter in _one_of_each(machine):
        without = SEEN_BEFORE if interpreter is machine.oldest else ()
        folders = ("//...",) if interpreter is machine.oldest else RECORDS
        if interpreter not in (usual, machine.newest):
            yield Part(interpreter.label, bazel_test, interpreter, _tags(PER_INTERPRETER, NOT_AGAIN), without, folders)
        if interpreter is not usual:
            yield Part("package, " + interpreter.label, package_tests.cases_of, interpreter, lane="package",
                       libraries=package_tests.ALL if interpreter is machine.newest else (), left_out=package_tests.SLOW)
    if machine.newest is not usual:
        yield Part("asan and ubsan, " + machine.newest.label, bazel_test, machine.newest,
                   ["--config=asan_ubsan", *_tags(PER_INTERPRETER, NOT_AGAIN)], (), CORE)
    if thread_sanitizer:
        yield Part("thread sanitizer", checks.script, "tools/thread_sanitizer", lane="quiet")


def _one_of_each(machine):
    """The ordinary CPythons, one of each version, with the usual, the oldest and the newest one."""
    chosen = {each.version[:2]: each for each in (machine.oldest, machine.newest, machine.usual)}
    for each in machine.found:
        if each.ordinary and not each.reason:
            chosen.setdefault(each.version[:2], each)
    return [chosen[version] for version in sorted(chosen)]


def _free_threaded(machine):
    for interpreter in machine.free_threaded:
        yield Part(interpreter.label, bazel_test, interpreter, _tags(PER_INTERPRETER, NOT_AGAIN), (), FREE_THREADED)
        yield Part("package, " + interpreter.label, package_tests.cases_of, interpreter, lane="package",
                   left_out=package_tests.SLOW)
    if not machine.free_threaded:
        yield missing("free-threaded", "no free-threaded CPython was found; tools/free_threaded builds one")
    newest = max((each.version for each in machine.free_threaded), default=(0,))
    for version in NEWEST_FREE_THREADED:
        if newest < version:
            # Says why tools/setup has not built it.
            name = "python{}.{}".format(*version)
            yield Part(name + " free-threaded", checks.script, "tools/free_threaded " + name)


def random_seeds(usual, seconds, seed):
    """What is random, by a seed that is new each time: the log has it."""
    cases = [Case(f"random seed {seed}", PASSED)]
    cases += bazel_test(usual, ["--build_tests_only", f"--test_env=TYPEDCALL_SEED={seed}"], (), RANDOM)
    environment = {"TYPEDCALL_SEED": str(seed), "TYPEDCALL_ATTACK_SECONDS": str(seconds)}
    return cases + package_tests.cases_of(usual, chosen=package_tests.RANDOM, environment=environment)


def by_name(machine, required, with_clang):
    """Under interpreters that are asked for: the first has all tests that Bazel builds, and the package with its
    libraries; others and debug builds what differs between versions; PyPy the package."""
    for interpreter in required:
        is_first = interpreter is required[0] and not interpreter.debug
        label, flags = interpreter.label, ["--test_tag_filters=-preflight"]
        without = SEEN_BEFORE if len(required) > 1 else ()
        if not is_first:
            flags, without = _tags(PER_INTERPRETER, NOT_AGAIN), [*SEEN_BEFORE, PROVIDER]
            if with_clang:
                label, flags = label + ", clang", [*flags, "--config=clang"]
        folders = FREE_THREADED if interpreter.info["gil_disabled"] else ("//...",)
        yield Part(label, bazel_test, interpreter, flags, without, folders)
        if interpreter.info["jit"] and not interpreter.debug:
            # The programs are the same.
            yield Part(label + " with its JIT", bazel_test, interpreter,
                       [*flags, "--test_env=PYTHON_JIT=1"], without, RUN_WITH_JIT)
        if not interpreter.debug:
            yield Part("package, " + interpreter.label, package_tests.cases_of, interpreter, lane="package",
                       libraries=package_tests.ALL if is_first else (), left_out=package_tests.SLOW)
    if machine.pypy:
        yield Part("package, " + machine.pypy.label, package_tests.cases_of, machine.pypy, lane="package",
                   libraries=(), left_out=package_tests.SLOW)


def cross(interpreter):
    """On another processor, in the environment of tools/cross."""
    flags = ["--run_under=" + os.environ["TYPEDCALL_RUN_UNDER"], "--test_env=PATH", "--test_env=TYPEDCALL_RUN_UNDER",
             # Emulation takes about ten times as long.
             "--test_timeout=600,1800,3600,7200"]
    yield Part(interpreter.label, bazel_test, interpreter, flags)
    yield Part("package, " + interpreter.label, package_tests.cases_of, interpreter, libraries=(),
               left_out=package_tests.SLOW)


def musl(interpreter):
    """With musl, in the environment of tools/musl."""
    flags = _tags(NOT_AGAIN)
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
