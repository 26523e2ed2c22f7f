"""The project's compiler options, and macros for what a plain cc_* rule cannot say."""

load("@python//:version.bzl", "PYTHON_BIN", "PYTHON_DEBUG", "PYTHON_GIL_DISABLED")

_WARNINGS = [
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-Werror",
]

C_COPTS = _WARNINGS + ["-std=c99"]
CXX_COPTS = _WARNINGS + ["-std=c++17"]

_C_STANDARDS = [
    "c99",
    "c11",
]

_CXX_STANDARDS = [
    "c++11",
    "c++14",
    "c++17",
    "c++20",
]

def _language_copts(name, srcs):
    """C_COPTS or CXX_COPTS: Bazel gives all sources of a target the same options."""
    c = [src for src in srcs if src.endswith(".c")]
    cxx = [src for src in srcs if src.endswith((".cc", ".cpp"))]
    if c and cxx:
        fail("%s: C and C++ sources take different options; put one into a cc_library" % name)
    return C_COPTS if c else CXX_COPTS

def _sanitized(env, **asan_env):
    """env, and what a process that holds an interpreter needs, also under AddressSanitizer."""
    if PYTHON_GIL_DISABLED:
        # Otherwise a module that does not say that it needs no GIL brings it back.
        env = dict(env, PYTHON_GIL = "0")
    return select({
        # CPython leaks by design at exit; its own allocator hides faults from the sanitizer, and
        # a debug build's checks see what that does not: which allocator frees, and with the GIL.
        "//bazel:asan": dict(
            env,
            ASAN_OPTIONS = "detect_leaks=0",
            PYTHONMALLOC = "malloc_debug" if PYTHON_DEBUG else "malloc",
            **asan_env
        ),
        "//conditions:default": env,
    })

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
        # CPython says which parameters a function has, and in C99 all have names.
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

def python_test(name, src, modules = [], imports = [], data = [], env = {}, size = "small", tags = [], **kwargs):
    """Runs the unittest cases of one Python file under the interpreter PYTHON_BIN.

    Cases and skips, with their reasons, go to Bazel's test.xml, where tools/test counts them. The
    modules of //tests/support:python can be imported.

    Args:
      name: the test's name.
      src: the Python file. Its folder can be imported from.
      modules: extension_module targets; each one's folder can be imported from.
      imports: folders to import from, from the root of the project; "." is the root.
      data: files that the test opens or imports.
      env: environment variables; $(rootpath ...) is relative to the working folder.
      size: as everywhere.
      tags: besides "python".
      **kwargs: for sh_test.
    """
    native.sh_test(
        name = name,
        srcs = ["//bazel:run_unittest.sh"],
        args = [
            "$(rootpath //bazel:run_unittest.py)",
            "$(rootpath %s)" % src,
        ] + ["$(rootpath %s)" % module for module in modules],
        data = [
            "//bazel:run_unittest.py",
            "//tests/support:python",
            src,
        ] + modules + data,
        env = _sanitized(
            dict(env, PYTHON_BIN = PYTHON_BIN, TYPEDCALL_IMPORTS = ":".join(["tests/support"] + imports)),
            # The interpreter is not instrumented: the runtime must be loaded ahead of it,
            # and the C++ library with it, or the runtime cannot see exceptions.
            TYPEDCALL_PRELOAD = "libasan.so libstdc++.so.6",
        ),
        size = size,
        tags = tags + ["python"],
        **kwargs
    )

def embedded_cc_test(name, srcs, deps = [], copts = [], env = {}, size = "small", tags = [], **kwargs):
    """A GoogleTest program that holds the interpreter PYTHON_BIN.

    main() comes from srcs or deps: it says when Py_Initialize runs, and finds the standard
    library through typedcall_python_config.h.

    Args:
      name: the test's name.
      srcs: sources, all C++.
      deps: libraries besides GoogleTest and Python.
      copts: options after CXX_COPTS.
      env: environment variables.
      size: as everywhere.
      tags: besides "python".
      **kwargs: for cc_test.
    """

    # Clang refuses a precompiled header of another language; GCC reads the headers again.
    first = ["-include", "$(GTEST_FIRST)"]
    if [option for option in copts if option.startswith("-std=")]:
        first = []
    native.cc_test(
        name = name,
        srcs = srcs,
        copts = CXX_COPTS + copts + first,
        env = _sanitized(env),
        size = size,
        tags = tags + ["python"],
        toolchains = ["//bazel:gtest_first"],
        deps = deps + [
            "//bazel:precompiled_gtest",
            "//bazel/system:gtest",
            "@python//:embed",
        ],
        **kwargs
    )

def standards_test(name, c_src, cxx_src, deps = [], copts = [], size = "small", tags = [], **kwargs):
    """One program per language standard: <name>_c99 ... <name>_cxx20, and the suite <name>.

    Each source has its own main(), which returns 0 when all is well. C++ is compiled without
    exceptions and RTTI: headers that pass can be vendored anywhere.

    Args:
      name: the suite's name.
      c_src: the C source.
      cxx_src: the C++ source.
      deps: libraries besides the Python headers; @python//:embed if functions of CPython
        are called.
      copts: options after those of the standard.
      size: as everywhere.
      tags: besides "headers", or "python" with @python//:embed.
      **kwargs: for every cc_test.
    """
    embedded = "@python//:embed" in deps
    variants = [(c_src, standard, []) for standard in _C_STANDARDS]
    variants += [
        (cxx_src, standard, ["-fno-exceptions", "-fno-rtti"])
        for standard in _CXX_STANDARDS
    ]
    tests = []
    for src, standard, language_copts in variants:
        test = name + "_" + standard.replace("++", "xx")
        native.cc_test(
            name = test,
            srcs = [src],
            copts = _WARNINGS + ["-std=" + standard] + language_copts + copts,
            env = _sanitized({}) if embedded else {},
            size = size,
            tags = tags + (["python"] if embedded else ["headers"]),
            deps = deps + ["@python//:headers"],
            **kwargs
        )
        tests.append(test)
    native.test_suite(name = name, tests = tests)

def fuzz_target(name, srcs, corpus, deps = [], copts = [], tags = [], **kwargs):
    """LLVMFuzzerTestOneInput, replayed over the corpus as a test and fuzzed on request.

    <name> runs every file of the corpus once. <name>_fuzz is the fuzzer proper; it needs
    --config=fuzz, and tools/test --full runs it for a bounded time.

    Args:
      name: the test's name.
      srcs: C++ sources that define LLVMFuzzerTestOneInput.
      corpus: files to start from, at least one.
      deps: libraries.
      copts: options after CXX_COPTS.
      tags: "python" if the target holds an interpreter.
      **kwargs: for cc_test.
    """
    native.filegroup(
        name = name + "_corpus",
        srcs = corpus,
    )
    native.cc_test(
        name = name,
        srcs = srcs + ["//bazel:fuzz_replay_main.cc"],
        args = ["$(rootpaths :%s_corpus)" % name],
        copts = CXX_COPTS + copts,
        data = [":%s_corpus" % name],
        env = _sanitized({}) if "python" in tags else {},
        size = "small",
        tags = tags,
        deps = deps,
        **kwargs
    )
    native.cc_binary(
        name = name + "_fuzz",
        testonly = True,
        srcs = srcs,
        copts = CXX_COPTS + copts,
        linkopts = ["-fsanitize=fuzzer"],
        # Wildcards leave it out: gcc has no libFuzzer.
        tags = tags + [
            "fuzz",
            "manual",
        ],
        deps = deps,
    )
