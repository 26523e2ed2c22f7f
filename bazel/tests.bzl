"""Macros for each kind of test. They derive file names from the target's name.

A target's libraries, or the modules of a Python test, follow its name, so that most targets are one line.
"""

load("@python//:version.bzl", "PYTHON_BIN", "PYTHON_DEBUG", "PYTHON_GIL_DISABLED")
load(":defs.bzl", "CXX_COPTS", "WARNINGS", "extension_module")
load(":headers.bzl", "headers")

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

def _sanitized(env, **asan_env):
    """Adds the variables that a process with an interpreter needs, also under AddressSanitizer."""
    if PYTHON_GIL_DISABLED:
        # Otherwise a module that does not declare that it runs without the GIL would re-enable the
        # GIL.
        env = dict(env, PYTHON_GIL = "0")
    return select({
        # CPython leaks memory at exit by design. CPython's own allocator hides faults from the
        # sanitizer; a debug build also checks that memory is freed by the allocator that it came
        # from, with the GIL held.
        "//bazel:asan": dict(
            env,
            ASAN_OPTIONS = "detect_leaks=0",
            PYTHONMALLOC = "malloc_debug" if PYTHON_DEBUG else "malloc",
            **asan_env
        ),
        "//conditions:default": env,
    })

def test_header(name, *more, deps = [], **kwargs):
    """Makes a library of a header that tests share: <stem>.h for the names <stem> and <stem>_h."""
    stem = name[:-len("_h")] if name.endswith("_h") else name
    native.cc_library(name = name, testonly = True, hdrs = [stem + ".h"], deps = list(more) + deps, **kwargs)

def test_module(name, *deps, src = None, srcs = [], **kwargs):
    """Makes an extension_module for tests from src, by default <name>.c or <name>.cc, and from srcs."""
    extension_module(
        name = name,
        srcs = ([src] if src else native.glob([name + ".c", name + ".cc"], allow_empty = True)) + srcs,
        testonly = True,
        deps = list(deps) + ["//tests/support:c_module"],
        **kwargs
    )

def module_variants(src, *deps, name_macro = "NAME", variants = {}):
    """Compiles one source as several modules. `variants` has the copts of each name; `name_macro` becomes the name."""
    for name, copts in variants.items():
        define = "-D%s=%s" % (name_macro, name)
        test_module(name, src = src, copts = [define] + copts, *deps)

def python_test(name, *more, src = None, modules = [], imports = [], data = [], env = {}, size = "small", tags = [], **kwargs):
    """Runs the unittest cases of one Python file under the interpreter PYTHON_BIN.

    Cases and skips, with their reasons, go to Bazel's test.xml, where tools/test counts them. The
    modules of //tests/support:python can be imported.

    Args:
      name: the test's name.
      *more: the same as modules.
      src: the Python file, by default test_x.py for the names test_x, x_test and x. Modules in its
        folder can be imported.
      modules: extension modules. Modules in their folders can be imported.
      imports: folders to import from, from the root of the project; "." is the root.
      data: files that the test opens or imports.
      env: environment variables; $(rootpath ...) is relative to the working folder.
      size: the test's size.
      tags: besides "python".
      **kwargs: passed to sh_test.
    """
    modules = list(more) + modules
    if not src:
        stem = name[:-len("_test")] if name.endswith("_test") else name
        src = (stem if stem.startswith("test_") else "test_" + stem) + ".py"
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
            # The interpreter is not instrumented, so the sanitizer's runtime must be loaded before
            # it, together with the C++ library, which the runtime needs to see exceptions.
            TYPEDCALL_PRELOAD = "libasan.so libstdc++.so.6",
        ),
        size = size,
        tags = tags + ["python"],
        **kwargs
    )

def header_files(name, *deps):
    """Collects the headers of libraries as files, for tests that run a compiler themselves."""
    headers(name = name, testonly = True, deps = list(deps))

def compiler_test(name, *more, env = {}, **kwargs):
    """Makes a python_test that runs the compiler of the build, $CC."""
    python_test(
        name,
        env = dict(env, CC = "$(CC)"),
        toolchains = ["@bazel_tools//tools/cpp:current_cc_toolchain"],
        *more,
        **kwargs
    )

def repository_test(name, **kwargs):
    """Makes a python_test that reads undeclared files of the repository. tools/preflight runs it."""
    tags = ["compiles-once", "external", "preflight"]
    python_test(name, tags = tags, **kwargs)

def plain_cc_test(name, *deps, srcs = [], **kwargs):
    """Makes a GoogleTest program without an interpreter from <name>.cc and srcs. --config=tsan also runs it."""
    native.cc_test(
        name = name,
        size = "small",
        srcs = [name + ".cc"] + srcs,
        copts = CXX_COPTS,
        deps = list(deps) + ["//bazel/system:gtest_main"],
        **kwargs
    )

def embedded_cc_test(name, *more, src = None, srcs = [], deps = [], copts = [], env = {}, size = "small", tags = [], **kwargs):
    """Makes a GoogleTest program that contains the interpreter PYTHON_BIN.

    main() of //tests/support:embedded_main starts it, and finds the standard library through
    typedcall_python_config.h.

    Args:
      name: the test's name.
      *more: the same as deps.
      src: the source, by default <name>.cc.
      srcs: more sources, all C++.
      deps: libraries besides main(), GoogleTest and Python.
      copts: options after CXX_COPTS.
      env: environment variables.
      size: the test's size.
      tags: besides "python".
      **kwargs: passed to cc_test.
    """

    # Clang refuses a header precompiled for another language standard; GCC reads the headers again.
    first = ["-include", "$(GTEST_FIRST)"]
    if [option for option in copts if option.startswith("-std=")]:
        first = []
    native.cc_test(
        name = name,
        srcs = [src or name + ".cc"] + srcs,
        copts = CXX_COPTS + copts + first,
        env = _sanitized(env),
        size = size,
        tags = tags + ["python"],
        toolchains = ["//bazel:gtest_first"],
        deps = list(more) + deps + [
            "//bazel:precompiled_gtest",
            "//bazel/system:gtest",
            "//tests/support:embedded_main",
            "@python//:embed",
        ],
        **kwargs
    )

def standards_test(name, *more, src = None, deps = [], copts = [], size = "small", tags = [], **kwargs):
    """Makes a program for each language standard, <name>_c99 ... <name>_cxx20, and the suite <name>.

    <src>.c and <src>.cc have a main() each, which returns 0 on success. C++ is compiled without
    exceptions and RTTI: headers that pass can be vendored anywhere.

    Args:
      name: the suite's name.
      *more: the same as deps.
      src: the sources' name, by default the suite's.
      deps: libraries besides the Python headers; @python//:embed if functions of CPython
        are called.
      copts: options after those of the standard.
      size: the test's size.
      tags: besides "headers", or "python" with @python//:embed.
      **kwargs: passed to each cc_test.
    """
    deps = list(more) + deps
    embedded = "@python//:embed" in deps
    variants = [(".c", standard, []) for standard in _C_STANDARDS]
    variants += [
        (".cc", standard, ["-fno-exceptions", "-fno-rtti"])
        for standard in _CXX_STANDARDS
    ]
    tests = []
    for suffix, standard, language_copts in variants:
        test = name + "_" + standard.replace("++", "xx")
        native.cc_test(
            name = test,
            srcs = [(src or name) + suffix],
            copts = WARNINGS + ["-std=" + standard] + language_copts + copts,
            env = _sanitized({}) if embedded else {},
            size = size,
            tags = tags + (["python"] if embedded else ["headers"]),
            deps = deps + ["@python//:headers"],
            **kwargs
        )
        tests.append(test)
    native.test_suite(name = name, tests = tests)

def fuzz_target(name, *deps, tags = []):
    """Makes a test and a fuzzer from LLVMFuzzerTestOneInput in fuzz/<name>_fuzz.cc.

    The test <name> runs each file of corpus/ once. <name>_fuzz is the fuzzer; it needs --config=fuzz,
    and tools/test --full runs it for a limited time.

    Args:
      name: the test's name.
      *deps: libraries.
      tags: "python" if the target contains an interpreter.
    """
    srcs = ["fuzz/%s_fuzz.cc" % name]
    native.filegroup(
        name = name + "_corpus",
        srcs = native.glob(["corpus/*"]),
    )
    native.cc_test(
        name = name,
        srcs = srcs + ["//bazel:fuzz_replay_main.cc"],
        args = ["$(rootpaths :%s_corpus)" % name],
        copts = CXX_COPTS,
        data = [":%s_corpus" % name],
        env = _sanitized({}) if "python" in tags else {},
        size = "small",
        tags = tags,
        deps = list(deps),
    )
    native.cc_binary(
        name = name + "_fuzz",
        testonly = True,
        srcs = srcs,
        copts = CXX_COPTS,
        linkopts = ["-fsanitize=fuzzer"],
        # Excluded from wildcards, because gcc has no libFuzzer.
        tags = tags + [
            "fuzz",
            "manual",
        ],
        deps = list(deps),
    )
