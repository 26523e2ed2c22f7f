#!/usr/bin/env python3
# Measures the compile time and size of a module of 50 functions, made with each tool. See README.md.
import argparse
import collections
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import sysconfig
import tempfile

import module_text
import peers

SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
SIZED = ["-ffunction-sections", "-fdata-sections"]

# `source` writes the text. `library` names a library that is compiled once.
Way = collections.namedtuple("Way", "label source extension flags link library")


def cxx(include=()):
    return ["-std=c++17"] + list(include)


def available_ways():
    """Returns the available ways by name, and the reasons why the rest are not available."""
    ways = {
        "by_hand": Way("by hand, C", module_text.by_hand, ".c", ["-std=c99"], [], None),
        "typedcall": Way("typedcall", module_text.typedcall, ".cc", cxx(), [], None),
        "typedcall_once": Way("typedcall, compiled once", module_text.typedcall, ".cc",
                              cxx(["-DTYPEDCALL_SEPARATE"]) + SIZED, ["-Wl,--gc-sections"], "typedcall"),
    }
    skipped = {}

    def add(needed, make):
        try:
            peers.package(needed)
            ways.update(make())
        except peers.Unavailable as error:
            skipped[needed] = str(error)

    add("Cython", lambda: {"cython": Way("Cython", module_text.cython, ".pyx", [], [], None)})
    add("nanobind", lambda: {
        "nanobind": Way("nanobind, library linked in", module_text.nanobind, ".cc",
                        cxx(peers.nanobind_includes()) + SIZED, ["-Wl,--gc-sections"], "object"),
        "nanobind_shared": Way("nanobind, library shared", module_text.nanobind, ".cc",
                               cxx(peers.nanobind_includes()) + SIZED + ["-DNB_SHARED"],
                               ["-Wl,--gc-sections"], "shared"),
        "nanobind_small": Way("nanobind, its own flags", module_text.nanobind, ".cc",
                              cxx(peers.nanobind_includes()) + SIZED
                              + ["-Os", "-DNB_COMPACT_ASSERTIONS", "-fno-stack-protector"],
                              ["-Wl,--gc-sections"], "object"),
    })
    add("pybind11", lambda: {
        "pybind11": Way("pybind11", module_text.pybind11, ".cc",
                        cxx(["-I" + peers.package("pybind11").get_include()]), [], None),
        "pybind11_small": Way("pybind11, its own flags", module_text.pybind11, ".cc",
                              cxx(["-I" + peers.package("pybind11").get_include()])
                              + ["-O3", "-flto=auto", "-fno-fat-lto-objects"], [], None),
    })
    add("cffi", lambda: {"cffi": Way("cffi", module_text.cffi, ".c", [], [], None)})
    # tvm-ffi does not support noexcept function types.
    add("tvm_ffi", lambda: {"tvm_ffi": Way(
        "tvm-ffi", module_text.tvm_ffi, ".cc",
        cxx(peers.tvm_ffi_includes()) + ["-DNATIVE_MAY_THROW"], [], "tvm_ffi")})
    return ways, skipped


def processor_seconds(command, folder):
    """Returns the processor seconds of a command and its children."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, cwd=folder, stdout=said, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        if status != 0:
            said.seek(0)
            sys.exit("%s\n%s" % (" ".join(command), said.read().decode()[-3000:]))
    return usage.ru_utime + usage.ru_stime


class Bench:
    """Builds each module in its own folder. Every module is called `made`."""

    def __init__(self, folder, root):
        self.folder, self.root = folder, root
        self.libraries = {}
        self.library_seconds = None

    def place(self, name, count):
        folder = os.path.join(self.folder, "%s_%d" % (name, count))
        os.makedirs(folder, exist_ok=True)
        return folder

    def prepare(self, name, way, count):
        """Writes the sources. Returns the command that generates C (or None), and the command that compiles and
        links."""
        folder = self.place(name, count)
        made = module_text.functions(count)
        with open(os.path.join(folder, "natives.h"), "w", encoding="ascii") as text:
            text.write(module_text.natives(made))
        source = "made" + way.extension
        with open(os.path.join(folder, source), "w", encoding="ascii") as text:
            text.write(way.source(made, "made"))
        generate = None
        if way.extension == ".pyx":
            generate = [sys.executable, "-m", "cython", "-3", source, "-o", "made.c"]
            source = "made.c"
        command = [peers.compiler(source), "-shared"] + peers.COMMON + list(way.flags)
        command += ["-I.", "-I" + self.root, peers.python_include(), source]
        if way.library:
            library = (peers.tvm_ffi_library() if way.library == "tvm_ffi"
                       else self.typedcall_library() if way.library == "typedcall"
                       else self.nanobind_library(way.library))
            command += [library, "-Wl,-rpath," + os.path.dirname(library)]
        return generate, command + ["-o", "made" + SUFFIX] + list(way.link)

    def typedcall_library(self):
        """Compiles typedcall/separate.cc once."""
        if "typedcall" not in self.libraries:
            source = os.path.join(self.root, "typedcall", "separate.cc")
            self.libraries["typedcall"] = os.path.join(self.folder, "typedcall.o")
            processor_seconds([peers.compiler(source), "-c", *cxx(), *peers.COMMON, *SIZED, "-I" + self.root,
                               peers.python_include(), source, "-o", self.libraries["typedcall"]], self.folder)
        return self.libraries["typedcall"]

    def nanobind_library(self, kind):
        """Compiles nanobind's library once."""
        if kind not in self.libraries:
            source = os.path.join(peers.package("nanobind").source_dir(), "nb_combined.cpp")
            output, flag = {"object": ("nanobind.o", "-c"),
                            "shared": ("libnanobind.so", "-shared")}[kind]
            output = os.path.join(self.folder, output)
            command = [peers.compiler(source), flag, peers.python_include()]
            command += peers.nanobind_includes() + peers.NANOBIND_LIBRARY + ["-O2"]
            if kind == "shared":
                command += ["-DNB_SHARED", "-DNB_BUILD", "-Wl,--gc-sections"]
            seconds = processor_seconds(command + [source, "-o", output], self.folder)
            if kind == "object":
                self.library_seconds = seconds
            self.libraries[kind] = output
        return self.libraries[kind]


def stripped_size(path):
    copy = path + ".stripped"
    subprocess.run(["strip", "-o", copy, path], check=True)
    return os.path.getsize(copy)


def check_equal(bench, ways, count):
    """Checks that the functions of every module return the same values."""
    expected = None
    for name in ways:
        # All modules have the same name, so import each in a separate process.
        program = ("import sys; sys.path[:0] = sys.argv[1:2]\n"
                   "import loaders, module_text\n"
                   "made = loaders.load(sys.argv[2], sys.argv[3], 'made')\n"
                   "print([getattr(made, f.name)(*f.values())\n"
                   "       for f in module_text.functions(%d)])" % count)
        said = peers.run([sys.executable, "-c", program, peers.HERE, name,
                          os.path.join(bench.place(name, count), "made" + SUFFIX)])
        expected = expected or said
        if said != expected:
            sys.exit("%s computes something else:\n%s%s" % (name, said, expected))


def measure(bench, ways, count, rounds):
    """Returns two dicts of lists of processor seconds, keyed by name: one for compiling, one for
    generating C."""
    commands = {name: bench.prepare(name, way, count) for name, way in ways.items()}
    compiled, generated = {name: [] for name in ways}, {name: [] for name in ways}
    for _ in range(rounds):
        # A random order, because the machine may be slow for a while.
        for name in random.sample(list(ways), len(ways)):
            generate, compile_command = commands[name]
            folder = bench.place(name, count)
            if generate:
                generated[name].append(processor_seconds(generate, folder))
            compiled[name].append(processor_seconds(compile_command, folder))
    return compiled, generated


def measure_all(bench, ways, count, rounds):
    """Measures modules of `count` functions and of one function."""
    compiled, generated = measure(bench, ways, count, rounds)
    compiled_one, _ = measure(bench, ways, 1, rounds)
    check_equal(bench, ways, count)

    def sizes(functions):
        return {name: stripped_size(os.path.join(bench.place(name, functions), "made" + SUFFIX))
                for name in ways}

    found = {"python": platform.python_version(), "versions": peers.versions(),
             "functions": count, "rounds": rounds, "seconds": compiled,
             "seconds_of_one": compiled_one, "seconds_to_make_c": generated,
             "bytes": sizes(count), "bytes_of_one": sizes(1),
             "library_seconds": bench.library_seconds, "library_bytes": None}
    if "shared" in bench.libraries:
        found["library_bytes"] = stripped_size(bench.libraries["shared"])
    return found


def print_table(ways, found):
    count = found["functions"]
    print("\nA module of %d functions; processor seconds: medians of %d, and the range" % (
        count, found["rounds"]))
    print("%-28s %-24s %10s %10s %14s" % (
        "", "seconds to compile", "ms/funct.", "bytes", "bytes/funct."))
    for name, way in ways.items():
        seconds = found["seconds"][name]
        middle = statistics.median(seconds)
        each = (middle - statistics.median(found["seconds_of_one"][name])) / (count - 1)
        bytes_each = (found["bytes"][name] - found["bytes_of_one"][name]) / (count - 1)
        print("%-28s %-24s %10.1f %10d %14.0f" % (
            way.label, "%.2f (%.2f - %.2f)" % (middle, min(seconds), max(seconds)), 1e3 * each,
            found["bytes"][name], bytes_each))
    for name, seconds in found["seconds_to_make_c"].items():
        if seconds:
            print("%s makes the C before that: %.2f s" % (ways[name].label,
                                                         statistics.median(seconds)))
    if found["library_seconds"] is not None:
        print("nanobind's library before that: %.2f s" % found["library_seconds"])
    if found["library_bytes"] is not None:
        print("nanobind's library, when it is shared: %d bytes" % found["library_bytes"])


def parse():
    parser = argparse.ArgumentParser(
        description="Compile time and stripped size of a module, beside those of other tools.")
    parser.add_argument("--functions", type=int, default=50, help="in the module (default: 50)")
    parser.add_argument("--rounds", type=int, default=5, help="of everything (default: 5)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="some of them")
    parser.add_argument("--json", metavar="FILE", help="writes all samples there")
    parser.add_argument("--typedcall", metavar="FOLDER", default=peers.ROOT,
                        help="measure the headers of another checkout")
    options = parser.parse_args()
    if options.functions < 2 or options.rounds < 1:
        parser.error("at least 2 functions and 1 round")
    return options


def main():
    options = parse()
    ways, skipped = available_ways()
    if options.only:
        # Skipped tools are listed below.
        unknown = set(options.only) - set(ways) - {name.lower() for name in skipped}
        if unknown:
            sys.exit("no %s; there are: %s" % (", ".join(unknown), ", ".join(ways)))
        ways = {name: ways[name] for name in options.only if name in ways}
    print("%s %s, %s, -O2" % (platform.python_implementation(), platform.python_version(),
                              peers.run([peers.compiler("x.cc"), "--version"]).splitlines()[0]))
    print("with " + ", ".join(peers.versions()))
    for name, reason in skipped.items():
        print("SKIPPED %s: %s" % (name, reason))
    with tempfile.TemporaryDirectory() as folder:
        found = measure_all(Bench(folder, os.path.abspath(options.typedcall)), ways,
                            options.functions, options.rounds)
    found["skipped"] = skipped
    print_table(ways, found)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as output:
            json.dump(found, output)


if __name__ == "__main__":
    main()
