# Builds the same module from hand-written C, with typedcall, and with each other installed tool.
import contextlib
import hashlib
import importlib
import io
import os
import platform
import shutil
import subprocess
import sys
import sysconfig

import loaders

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

SHAPES = ["l->l", "dd->d", "dldl->d"]
FUNCTIONS = {"l->l": "inc", "dd->d": "add", "dldl->d": "mix"}

COMMON = ["-O2", "-DNDEBUG", "-fPIC", "-fvisibility=hidden"]
# The flags of nanobind's own CMake rules.
NANOBIND_LIBRARY = ["-DNDEBUG", "-DNB_COMPACT_ASSERTIONS", "-fPIC", "-fvisibility=hidden",
                    "-std=c++17", "-fno-strict-aliasing", "-ffunction-sections", "-fdata-sections",
                    "-fno-stack-protector"]


class Unavailable(Exception):
    """Raised if a tool is not available."""


def compiler(path):
    return os.environ.get("CC", "cc") if path.endswith(".c") else os.environ.get("CXX", "c++")


def package(name):
    """Imports an installed package, or raises Unavailable."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Unavailable("%s is not installed (%s)" % (name, error)) from error


def versions():
    """Returns the installed tools with their versions."""
    found = []
    for name in ("cffi", "Cython", "nanobind", "numba", "pybind11", "tvm_ffi"):
        try:
            found.append("%s %s" % (name.replace("_", "-"), package(name).__version__))
        except Unavailable:
            pass
    return found


def run(command, **options):
    """Runs a command and returns its output. Raises Unavailable if the command fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **options)
    if done.returncode != 0:
        raise Unavailable("%s\n%s" % (" ".join(command), done.stdout[-2000:]))
    return done.stdout


def python_include():
    return "-I" + sysconfig.get_paths()["include"]


def nanobind_includes():
    nanobind = package("nanobind")
    robin_map = os.path.join(os.path.dirname(nanobind.source_dir()), "ext/robin_map/include")
    return ["-I" + nanobind.include_dir(), "-I" + robin_map]


def tvm_ffi_includes():
    return ["-I" + path for path in package("tvm_ffi.libinfo").include_paths()]


def tvm_ffi_library():
    return package("tvm_ffi.libinfo").find_libtvm_ffi()


class Workshop:
    """A folder of built modules. A module is not rebuilt if its inputs are the same."""

    def __init__(self, folder, typedcall_root=ROOT):
        self.folder = os.path.join(folder, sys.implementation.cache_tag)
        self.typedcall_root = os.path.abspath(typedcall_root)
        os.makedirs(self.folder, exist_ok=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def make(self, output, command, inputs):
        """Runs `command`, unless `output` was already made from identical inputs."""
        digest = hashlib.sha256("\0".join(command + [sys.version]).encode())
        for path in inputs:
            with open(path, "rb") as text:
                digest.update(text.read())
        note = output + ".made_from"
        if os.path.exists(output) and os.path.exists(note):
            with open(note, encoding="ascii") as text:
                if text.read() == digest.hexdigest():
                    return
        # If the build fails, no old output must be left.
        for stale in (output, note):
            if os.path.exists(stale):
                os.remove(stale)
        run(command)
        with open(note, "w", encoding="ascii") as text:
            text.write(digest.hexdigest())

    def headers(self):
        """Returns the project's headers that a module may include."""
        found = [os.path.join(HERE, "native.h")]
        for folder in ("core", "typedcall"):
            inside = os.path.join(self.typedcall_root, folder)
            found += sorted(os.path.join(inside, name) for name in os.listdir(inside)
                            if name.endswith(".h"))
        return found

    def module(self, name, source, flags=(), objects=(), link=()):
        """Compiles the extension module `name`, and returns its path."""
        output = self.path(name + sysconfig.get_config_var("EXT_SUFFIX"))
        # The other checkout's headers come first.
        includes = ["-I" + self.typedcall_root, "-I" + ROOT, python_include()]
        command = [compiler(source), "-shared", "-DMODULE_NAME=" + name] + COMMON + list(flags)
        command += includes + [source] + list(objects) + ["-o", output] + list(link)
        self.make(output, command, [source] + list(objects) + self.headers())
        return output

    def nanobind_library(self, name, flags):
        source = os.path.join(package("nanobind").source_dir(), "nb_combined.cpp")
        output = self.path(name + ".o")
        command = [compiler(source), "-c", python_include()] + nanobind_includes()
        command += NANOBIND_LIBRARY + list(flags) + [source, "-o", output]
        self.make(output, command, [source])
        return output


def source(name):
    return os.path.join(HERE, name)


def cythonized(shop, name, pyx, directives=()):
    """Returns the C that Cython generates from `pyx` for a module called `name`."""
    package("Cython")
    own = shop.path(name + ".pyx")
    shutil.copyfile(pyx, own)
    output = shop.path(name + ".c")
    command = [sys.executable, "-m", "cython", "-3"]
    for directive in directives:
        command += ["-X", directive]
    shop.make(output, command + [own, "-o", output], [own])
    return output


def by_hand(shop, name):
    return shop.module(name, source("by_hand.c"), ["-std=c99"])


def like_clinic(shop, name):
    return shop.module(name, source("by_hand.c"), ["-std=c99", "-DLIKE_CLINIC"])


def typedcall(shop, name):
    return shop.module(name, source("with_typedcall.cc"), ["-std=c++17"])


def typedcall_may_throw(shop, name):
    return shop.module(name, source("with_typedcall.cc"), ["-std=c++17", "-DNATIVE_MAY_THROW"])


def cython(shop, name):
    return shop.module(name, cythonized(shop, name, source("with_cython.pyx"), ["binding=True"]))


def cython_without_binding(shop, name):
    return shop.module(name, cythonized(shop, name, source("with_cython.pyx"), ["binding=False"]))


def cython_cpdef(shop, name):
    return shop.module(name, cythonized(shop, name, source("with_cython_cpdef.pyx")))


def nanobind(shop, name):
    library = shop.nanobind_library("nanobind_O2", ["-O2"])
    return shop.module(name, source("with_nanobind.cc"),
                       ["-std=c++17", "-DNB_DOMAIN=" + name] + nanobind_includes(), [library],
                       ["-Wl,--gc-sections"])


def nanobind_recommended(shop, name):
    tls = ["-mtls-dialect=gnu2"] if platform.machine() == "x86_64" else []
    library = shop.nanobind_library("nanobind_O3", ["-O3"] + tls)
    return shop.module(name, source("with_nanobind.cc"),
                       ["-Os", "-std=c++17", "-DNB_COMPACT_ASSERTIONS", "-ffunction-sections",
                        "-fdata-sections", "-fno-stack-protector", "-DNB_DOMAIN=" + name]
                       + nanobind_includes(), [library], ["-Wl,-s", "-Wl,--gc-sections"])


def pybind11(shop, name):
    return shop.module(name, source("with_pybind11.cc"),
                       ["-std=c++17", "-I" + package("pybind11").get_include()])


def pybind11_recommended(shop, name):
    return shop.module(name, source("with_pybind11.cc"),
                       ["-O3", "-flto=auto", "-fno-fat-lto-objects", "-std=c++17",
                        "-I" + package("pybind11").get_include()], link=["-Wl,-s"])


def cffi(shop, name):
    ffi = package("cffi").FFI()
    ffi.cdef("long inc(long); double add(double, double); double mix(double, long, double, long);")
    ffi.set_source(name, '#include "bench/peers/native.h"')
    written = shop.path(name + ".c")
    with contextlib.redirect_stdout(io.StringIO()):
        ffi.emit_c_code(written)
    return shop.module(name, written)


def ctypes(shop, name):
    return shop.module(name, source("exported.c"), ["-std=c99"])


def tvm_ffi(shop, name):
    library = tvm_ffi_library()
    # tvm-ffi does not support noexcept function types.
    return shop.module(name, source("with_tvm_ffi.cc"),
                       ["-std=c++17", "-DNATIVE_MAY_THROW"] + tvm_ffi_includes(), [library],
                       ["-Wl,-rpath," + os.path.dirname(library)])


def numba(shop, name):
    del shop, name
    package("numba")
    return source("with_numba.py")


# For each way, the label in the tables and the function that builds the module. The two
# hand-written modules are identical, so any difference between them is noise.
PEERS = {
    "by_hand": ("by hand", by_hand),
    "by_hand_again": ("by hand, again", by_hand),
    "like_clinic": ("by hand, like Argument Clinic", like_clinic),
    "typedcall": ("typedcall", typedcall),
    "typedcall_may_throw": ("typedcall, may throw", typedcall_may_throw),
    "cython": ("Cython, binding=True", cython),
    "cython_without_binding": ("Cython, binding=False", cython_without_binding),
    "cython_cpdef": ("Cython, cpdef", cython_cpdef),
    "nanobind": ("nanobind, -O2", nanobind),
    "nanobind_recommended": ("nanobind, its own flags", nanobind_recommended),
    "pybind11": ("pybind11, -O2", pybind11),
    "pybind11_recommended": ("pybind11, its own flags", pybind11_recommended),
    "cffi": ("cffi, API module", cffi),
    "ctypes": ("ctypes", ctypes),
    "tvm_ffi": ("tvm-ffi", tvm_ffi),
    "numba": ("Numba, its own function", numba),
}
OWN = ("by_hand", "by_hand_again", "like_clinic", "typedcall", "typedcall_may_throw")


def build(shop, names):
    """Returns the modules by name, and the reasons why the rest are unavailable. Exits if one of the project's own
    modules does not build."""
    modules, skipped = {}, {}
    for name in names:
        try:
            modules[name] = loaders.load(name, PEERS[name][1](shop, "peer_" + name))
        except (Unavailable, ImportError) as error:
            if name in OWN:
                raise SystemExit(str(error)) from error
            skipped[name] = str(error)
    return modules, skipped


def cache_folder():
    return os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")),
                        "typedcall", "peers", "built")
