"""Extension modules for CPython's limited API: one binary for 3.12 and everything after it."""

load("@python//:version.bzl", "PYTHON_GIL_DISABLED", "PYTHON_MINOR")
load("//bazel:defs.bzl", "C_COPTS", "standards_test")

LIMITED_API = "-DPy_LIMITED_API=0x030C0000"

# Free-threaded builds have no limited API.
_HAS_LIMITED_API = PYTHON_MINOR >= 12 and not PYTHON_GIL_DISABLED

def abi3_module(name, srcs, deps = [], testonly = False, **kwargs):
    """The shared object <name>.abi3.so, which `import <name>` loads under 3.12 and later.

    For an older PYTHON_BIN, or a free-threaded one, there is nothing: PEP 697 came with 3.12. Tests
    skip themselves then.

    Args:
      name: the module's name.
      srcs: sources, all C.
      deps: libraries besides the Python headers.
      testonly: as everywhere.
      **kwargs: for cc_binary.
    """
    file = name + ".abi3.so"
    if not _HAS_LIMITED_API:
        # Not nothing: whoever needs the module asks for the path of one file.
        file = name + ".needs_3_12"
        native.genrule(
            name = file + "_",
            outs = [file],
            cmd = "touch $@",
        )
    else:
        native.cc_binary(
            name = file,
            srcs = srcs,
            copts = C_COPTS + ["-fvisibility=hidden", LIMITED_API],
            linkshared = True,
            testonly = testonly,
            deps = deps + ["@python//:headers"],
            **kwargs
        )
    native.filegroup(
        name = name,
        srcs = [file],
        testonly = testonly,
        visibility = kwargs.get("visibility"),
    )

def abi3_library(name, srcs, hdrs = [], deps = [], **kwargs):
    """C code compiled for the limited API, to link into a test program of PYTHON_BIN.

    For an older PYTHON_BIN there is no such target: use with_abi3() for what depends on it.

    Args:
      name: the target's name.
      srcs: sources, all C.
      hdrs: headers; what they declare is the same with the full API.
      deps: libraries besides the Python headers.
      **kwargs: for cc_library.
    """
    if _HAS_LIMITED_API:
        native.cc_library(
            name = name,
            srcs = srcs,
            hdrs = hdrs,
            copts = C_COPTS + [LIMITED_API],
            deps = deps + ["@python//:headers"],
            **kwargs
        )

def with_abi3(names):
    """`names` where PYTHON_BIN has the limited API of 3.12, else nothing."""
    return names if _HAS_LIMITED_API else []

def abi3_standards_test(name, c_src, cxx_src, deps):
    """standards_test with the limited API, where PYTHON_BIN has it."""
    if _HAS_LIMITED_API:
        standards_test(
            name = name,
            c_src = c_src,
            cxx_src = cxx_src,
            copts = [LIMITED_API],
            deps = deps,
        )
