"""cython_configure: the repository @cython, made from the Cython of this machine, if it has one.

    @cython//:cython.bzl  CYTHON (a program, or ""), CYTHON_VERSION, NO_CYTHON (why there is none)

Without it everything else builds as before: cython_module makes a target without files, and the
tests that would import the module skip and say why.
"""

_OLDEST_MAJOR = 3

def _version(ctx, program):
    """The major version and all of it as a string; (0, "") when it does not run."""
    result = ctx.execute([program, "--version"])
    # Cython prints "Cython version 3.1.0" to standard error, to standard output, or to both.
    words = (result.stdout + result.stderr).split("\n")[0].split(" ")
    if result.return_code != 0 or len(words) < 3:
        return 0, ""
    major = words[2].split(".")[0]
    return int(major) if major.isdigit() else 0, words[2]

def _candidates(ctx):
    environment = ctx.os.environ
    if environment.get("CYTHON"):
        return [environment["CYTHON"]]  # no other Cython is tried
    cache = environment.get("XDG_CACHE_HOME") or environment.get("HOME", "") + "/.cache"
    # First the Cython that tools/setup installs, then the user's.
    return [cache + "/typedcall/tools/bin/cython", "cython", "cython3"]

def _cython_configure_impl(ctx):
    found, found_version, refused = "", "", ""
    for name in _candidates(ctx):
        program = ctx.path(name) if name.startswith("/") else ctx.which(name)
        if found or not program or not program.exists:
            continue
        major, version = _version(ctx, program)
        if major >= _OLDEST_MAJOR:
            found, found_version = str(program), version
        else:
            refused = " (%s is %s)" % (name, version or "not one")
    reason = "" if found else "there is no Cython %d or later%s: tools/setup test installs one" % (
        _OLDEST_MAJOR,
        refused,
    )
    ctx.file("BUILD", "")
    ctx.file("cython.bzl", "CYTHON = %r\nCYTHON_VERSION = %r\nNO_CYTHON = %r\n" % (
        found,
        found_version,
        reason,
    ))

cython_configure = repository_rule(
    implementation = _cython_configure_impl,
    doc = "Makes a repository of the Cython that CYTHON names (default: see _candidates).",
    environ = [
        "CYTHON",
        "HOME",
        "PATH",
        "XDG_CACHE_HOME",
    ],
    configure = True,
    # Every new Bazel server searches again, because Cython may have been installed in the meantime.
    local = True,
)
