"""A library for each header, with what it is made of; and headers as files."""

def header_library(name, folder = None, without = [], hdrs = [], srcs = [], deps = [], **kwargs):
    """The header <name>.h if there is one, with a folder and others that it includes.

    A library for each header keeps tests in the cache that do not include what changed. tests/layout
    checks that deps are what the headers include, and hdrs what other targets do; it reads the literals
    of the call.

    Args:
      name: the target's name.
      folder: whose headers belong to it.
      without: names of headers in the folder that have another target.
      hdrs: headers besides <name>.h that other targets include.
      srcs: headers outside the folder that only this target includes.
      deps: the targets of what the headers include.
      **kwargs: for cc_library.
    """
    inside = native.glob(
        [folder + "/*.h"],
        exclude = hdrs + ["%s/%s" % (folder, file) for file in without],
    ) if folder else []
    native.cc_library(
        name = name,
        srcs = srcs + inside,
        hdrs = hdrs + native.glob([name + ".h"], allow_empty = True),
        deps = deps,
        **kwargs
    )

def _headers_impl(ctx):
    """The Python headers are the interpreter's own, where its sysconfig says."""
    files = depset([
        header
        for dep in ctx.attr.deps
        for header in dep[CcInfo].compilation_context.headers.to_list()
        if header.owner.workspace_name == ctx.label.workspace_name
    ])
    return [DefaultInfo(files = files, runfiles = ctx.runfiles(transitive_files = files))]

headers = rule(
    implementation = _headers_impl,
    attrs = {"deps": attr.label_list(mandatory = True, providers = [CcInfo])},
    doc = "Libraries' headers as files, for tests that run a compiler themselves.",
)
