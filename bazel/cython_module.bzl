"""Extension modules written in Cython, on machines that have it (see cython.bzl)."""

load("@cython//:cython.bzl", "CYTHON", "CYTHON_VERSION", "NO_CYTHON")

# Cython's own -Wextra checks the .pyx file; gcc's warnings about the generated C code are not
# useful.
_COPTS = ["-fvisibility=hidden", "-w"]

def cython_module(name, src, srcs = [], pxds = [], deps = [], visibility = None, testonly = False):
    """The module <name>.so, which `import <name>` loads; without Cython, nothing of that name.

    Args:
      name: the module's name.
      src: the .pyx.
      srcs: C sources to compile in.
      pxds: what the .pyx cimports, searched for from the project's root.
      deps: libraries besides the Python headers.
      visibility: as everywhere.
      testonly: as everywhere.
    """
    if CYTHON:
        native.genrule(
            name = name + "_c",
            srcs = [src] + pxds,
            outs = [name + ".c"],
            # The version is part of the command, so that the code is generated again when it
            # changes.
            cmd = ": %s; %s -3 -Wextra -Werror -I . --module-name %s -o $@ $(location %s)" % (
                CYTHON_VERSION,
                CYTHON,
                name,
                src,
            ),
            testonly = testonly,
        )
        native.cc_binary(
            name = name + ".so",
            srcs = [name + ".c"] + srcs,
            copts = _COPTS,
            linkshared = True,
            deps = deps + ["@python//:headers"],
            visibility = visibility,
            testonly = testonly,
        )
    else:
        native.filegroup(
            name = name + ".so",
            srcs = [],
            visibility = visibility,
            testonly = testonly,
        )

def with_cython(modules):
    """`modules` where there is a Cython, else nothing: for the `modules` of a python_test."""
    return modules if CYTHON else []

# For the `env` of a python_test, which is skipped if TYPEDCALL_NO_CYTHON gives a reason.
CYTHON_ENV = {
    "TYPEDCALL_CYTHON": CYTHON,
    "TYPEDCALL_NO_CYTHON": NO_CYTHON,
}
