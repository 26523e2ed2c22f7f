"""A header that is compiled once: half the time of a test's compilation goes into GoogleTest's."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load(":defs.bzl", "CXX_COPTS")

def _precompiled_header_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    compiler = cc_common.get_tool_for_action(
        feature_configuration = features,
        action_name = "c++-compile",
    )
    # The file name depends on the compiler, so that no compiler replaces another's output.
    is_clang = "clang" in compiler
    is_zig = "/zig/" in compiler  # true for the Clang of tools/musl
    header = ctx.actions.declare_file(
        "%s_%s.h" % (ctx.label.name, "zig" if is_zig else "clang" if is_clang else "gcc"),
    )
    variable = platform_common.TemplateVariableInfo({ctx.label.name.upper(): header.path})
    ctx.actions.write(header, "".join(["#include <%s>\n" % name for name in ctx.attr.includes]))
    if is_zig:
        # Zig writes no precompiled headers, so the tests read the header itself.
        return [DefaultInfo(files = depset([header])), variable]
    compiled = ctx.actions.declare_file(header.basename + (".pch" if is_clang else ".gch"))

    # If Bazel's cache is used, the header may be older or newer than the compiled file. Clang reads
    # the header from standard input, because otherwise it would write the file's absolute path into
    # its output, which would be wrong in other checkouts that share the cache. GCC needs a file.
    untimed = ["-Xclang", "-fno-pch-timestamp"] if is_clang else []
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        source_file = "-" if is_clang else header.path,
        output_file = compiled.path,
        # Use the same option as the tests, because otherwise the compiler would ignore the compiled
        # file and read the header again.
        use_pic = ctx.var["COMPILATION_MODE"] != "opt",
        user_compile_flags = CXX_COPTS + ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts,
    )
    options = cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = "c++-compile",
        variables = variables,
    )
    ctx.actions.run_shell(
        command = 'header=$1; shift; exec "$@" <"$header"',
        arguments = [header.path, compiler, "-x", "c++-header"] + untimed + options,
        env = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = "c++-compile",
            variables = variables,
        ),
        inputs = depset([header], transitive = [toolchain.all_files]),
        outputs = [compiled],
        mnemonic = "PrecompiledHeader",
    )
    return [DefaultInfo(files = depset([header, compiled])), variable]

precompiled_header = rule(
    implementation = _precompiled_header_impl,
    attrs = {
        "includes": attr.string_list(mandatory = True, doc = "headers, as between < and >"),
        "_cc_toolchain": attr.label(default = Label("@bazel_tools//tools/cpp:current_cc_toolchain")),
    },
    doc = "A precompiled header whose path is $(NAME) for targets with it in `toolchains`.",
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
    incompatible_use_toolchain_transition = True,
)
