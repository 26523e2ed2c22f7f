"""Extension modules for CPython's limited API: one binary for 3.12 and everything after it."""

load("@python//:version.bzl", "PYTHON_GIL_DISABLED", "PYTHON_MINOR")
load("//bazel:defs.bzl", "C_COPTS")
load("//bazel:tests.bzl", "standards_test")

# The limited API of 3.12, which free-threaded builds lack, and abi3t (PEP 803), for 3.15 and later,
# with or without the GIL.
_OPTIONS = {
    "abi3": "-DPy_LIMITED_API=0x030C0000",
    "abi3t": "-DPy_TARGET_ABI3T=0x030F0000",
}
_IS_THERE = {
    "abi3": PYTHON_MINOR >= 12 and not PYTHON_GIL_DISABLED,
    "abi3t": PYTHON_MINOR >= 15,
}

def abi3_module(name, srcs, deps = [], abi = "abi3", testonly = False, **kwargs):
    """The shared object <name>.<abi>.so, which `import <name>` loads under 3.12 (3.15) and later.

    For a PYTHON_BIN without this ABI there is nothing. Tests skip themselves then.

    Args:
      name: the module's name.
      srcs: sources, all C.
      deps: libraries besides the Python headers.
      abi: "abi3" or "abi3t".
      testonly: as everywhere.
      **kwargs: for cc_binary.
    """
    file = "%s.%s.so" % (name, abi)
    if not _IS_THERE[abi]:
        # Make an empty file, because targets that depend on the module need the path of a file.
        file = name + ".needs_" + abi
        native.genrule(
            name = file + "_",
            outs = [file],
            cmd = "touch $@",
        )
    else:
        native.cc_binary(
            name = file,
            srcs = srcs,
            copts = C_COPTS + ["-fvisibility=hidden", _OPTIONS[abi]],
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

def abi3_library(name, srcs, hdrs = [], deps = [], abi = "abi3", **kwargs):
    """C code compiled for the limited API, to link into a test program of PYTHON_BIN.

    For a PYTHON_BIN without this ABI there is no such target: use with_abi3() for what depends on
    it.

    Args:
      name: the target's name.
      srcs: sources, all C.
      hdrs: headers; what they declare is the same with the full API.
      deps: libraries besides the Python headers.
      abi: "abi3" or "abi3t".
      **kwargs: for cc_library.
    """
    if _IS_THERE[abi]:
        native.cc_library(
            name = name,
            srcs = srcs,
            hdrs = hdrs,
            copts = C_COPTS + [_OPTIONS[abi]],
            deps = deps + ["@python//:headers"],
            **kwargs
        )

def with_abi3(names, abi = "abi3"):
    """`names` where PYTHON_BIN has this ABI, else nothing."""
    return names if _IS_THERE[abi] else []

def abi3_standards_test(name, src, deps, abi = "abi3"):
    """standards_test with the limited API, where PYTHON_BIN has it."""
    if _IS_THERE[abi]:
        standards_test(
            name = name,
            src = src,
            copts = [_OPTIONS[abi]],
            deps = deps,
        )
