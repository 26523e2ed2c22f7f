"""headers: a library's headers as files, for tests that run a compiler themselves."""

def _headers_impl(ctx):
    files = ctx.attr.dep[CcInfo].compilation_context.headers
    return [DefaultInfo(files = files, runfiles = ctx.runfiles(transitive_files = files))]

headers = rule(
    implementation = _headers_impl,
    attrs = {"dep": attr.label(mandatory = True, providers = [CcInfo])},
)
