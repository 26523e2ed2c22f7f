"""headers: a library's headers as files, for tests that run a compiler themselves."""

def _headers_impl(ctx):
    """The Python headers are the interpreter's own, where its sysconfig says."""
    headers = ctx.attr.dep[CcInfo].compilation_context.headers.to_list()
    files = depset([header for header in headers if not header.owner.workspace_name])
    return [DefaultInfo(files = files, runfiles = ctx.runfiles(transitive_files = files))]

headers = rule(
    implementation = _headers_impl,
    attrs = {"dep": attr.label(mandatory = True, providers = [CcInfo])},
)
