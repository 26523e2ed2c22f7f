"""Rules for libraries that consist of one header and its parts, and for headers as files."""

def header_library(name, folder = None, without = [], hdrs = [], srcs = [], deps = [], **kwargs):
    """Makes a library of the header <name>.h, if it exists, and of a folder and other headers that it includes.

    With one library for each header, a change only repeats tests that include the changed header.
    tests/layout reads the literal arguments of the call. It checks that deps are exactly the targets
    of the headers that these include, and that hdrs are those that other targets include.

    Args:
      name: the target's name.
      folder: the folder whose headers belong to the library.
      without: names of headers in the folder that have a target of their own.
      hdrs: headers besides <name>.h that other targets include.
      srcs: headers outside the folder that only this target includes.
      deps: the targets of what the headers include.
      **kwargs: passed to cc_library.
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
