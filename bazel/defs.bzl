"""The project's compiler options, and extension modules."""

WARNINGS = [
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-Werror",
]

C_COPTS = WARNINGS + ["-std=c99"]
CXX_COPTS = WARNINGS + ["-std=c++17"]

# Options for machine code as users get it: optimised, and without sanitizers.
OPTIMISED_COPTS = CXX_COPTS + [
    "-O2",
    "-DNDEBUG",
    "-fno-sanitize=all",
]

def _language_copts(name, srcs):
    """C_COPTS or CXX_COPTS: Bazel gives all sources of a target the same options."""
    c = [src for src in srcs if src.endswith(".c")]
    cxx = [src for src in srcs if src.endswith((".cc", ".cpp"))]
    if c and cxx:
        fail("%s: C and C++ sources take different options; put one into a cc_library" % name)
    return C_COPTS if c else CXX_COPTS

def extension_module(name, srcs, deps = [], copts = [], linkopts = [], testonly = False, **kwargs):
    """A Python extension module: the shared object <name>.so, which `import <name>` loads.

    It is not linked with libpython, as no extension module should be: the interpreter that
    loads it has the symbols.

    Args:
      name: the module's name; the target <name> is the file <name>.so.
      srcs: sources, all C or all C++.
      deps: libraries besides the Python headers.
      copts: options after those of the language.
      linkopts: linker options.
      testonly: as everywhere.
      **kwargs: for cc_binary.
    """
    language_copts = _language_copts(name, srcs)
    if testonly and language_copts == C_COPTS:
        # CPython prescribes the functions' parameters, and in C99 every parameter must have a name.
        language_copts = language_copts + ["-Wno-unused-parameter"]
    native.cc_binary(
        name = name + ".so",
        srcs = srcs,
        copts = language_copts + ["-fvisibility=hidden"] + copts,
        linkopts = linkopts,
        linkshared = True,
        testonly = testonly,
        deps = deps + ["@python//:headers"],
        **kwargs
    )
    native.filegroup(
        name = name,
        srcs = [name + ".so"],
        testonly = testonly,
        visibility = kwargs.get("visibility"),
    )
