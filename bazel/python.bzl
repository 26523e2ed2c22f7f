"""python_configure: the repository @python, made from the interpreter that PYTHON_BIN names.

    @python//:headers      Python.h, as a system include
    @python//:embed        headers, the shared libpython, and typedcall_python_config.h
    @python//:version.bzl  PYTHON_BIN, PYTHON_VERSION, PYTHON_MINOR, PYTHON_DEBUG,
                           PYTHON_GIL_DISABLED
"""

_OLDEST_MINOR = 9

_BUILD = """\
package(default_visibility = ["//visibility:public"])

cc_library(
    name = "headers",
    hdrs = glob(["include/**/*.h"]),
    # A system include, because we cannot fix warnings in Python.h.
    includes = ["include"],
)

{config_header}
cc_library(
    name = "embed",
    hdrs = ["config/typedcall_python_config.h"],
    includes = ["config"],
    linkopts = {linkopts},
    deps = [":headers"],
)
"""

# Only embedded tests need libpython; without it, everything else still builds.
_NO_LIBRARY = """\
genrule(
    name = "no_libpython",
    outs = ["config/typedcall_python_config.h"],
    cmd = "echo '{python} has no shared libpython: it cannot be embedded. " +
          "Choose another PYTHON_BIN.' >&2; exit 1",
)
"""

_CONFIG_HEADER = """\
/* Where the embedded interpreter finds its standard library: for PyConfig. */
#ifndef TYPEDCALL_PYTHON_CONFIG_H_
#define TYPEDCALL_PYTHON_CONFIG_H_

#include <Python.h>

#define TYPEDCALL_PYTHON_HOME "{home}"
#define TYPEDCALL_PYTHON_EXECUTABLE "{executable}"

/* Starts the interpreter that PYTHON_BIN names, and clears the configuration. */
static inline PyStatus typedcall_python_start(PyConfig *config) {{
  PyStatus status = PyConfig_SetBytesString(config, &config->home, TYPEDCALL_PYTHON_HOME);
  if (!PyStatus_Exception(status)) {{
    status = PyConfig_SetBytesString(config, &config->executable, TYPEDCALL_PYTHON_EXECUTABLE);
  }}
  if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(config);
  PyConfig_Clear(config);
  return status;
}}

#endif /* TYPEDCALL_PYTHON_CONFIG_H_ */
"""

_VERSION = """\
PYTHON_BIN = "{executable}"
PYTHON_VERSION = "{version}"
PYTHON_MINOR = {minor}
PYTHON_DEBUG = {debug}
PYTHON_GIL_DISABLED = {gil_disabled}
"""

def _interpreter(ctx):
    name = ctx.os.environ.get("PYTHON_BIN", "python3")
    path = ctx.path(name) if name.startswith("/") else ctx.which(name)
    if not path or not path.exists:
        fail("PYTHON_BIN names no interpreter: " + name)

    # Isolates the interpreter from the user's settings, but not from a virtual environment.
    result = ctx.execute([path, "-E", "-s", ctx.path(Label("//bazel:python_info.py"))])
    if result.return_code != 0:
        fail("%s could not describe itself: %s" % (name, result.stderr))
    info = json.decode(result.stdout)

    described = "%s (%s %s)" % (name, info["implementation"], info["version"])
    if info["implementation"] != "CPython":
        fail("PYTHON_BIN must be CPython, not " + described)
    if info["major"] != 3 or info["minor"] < _OLDEST_MINOR:
        fail("PYTHON_BIN must be at least 3.%d, not %s" % (_OLDEST_MINOR, described))
    if not info["include"]:
        fail(described + " has no Python.h: install its development package")
    return info

def _python_configure_impl(ctx):
    python = _interpreter(ctx)

    # Debian's pyconfig.h includes the architecture's own pyconfig.h from /usr/include, which the
    # compiler searches anyway, so this one folder is enough.
    ctx.symlink(python["include"], "include")

    if python["library"]:
        folder, _, file = python["library"].rpartition("/")
        linkopts = [
            "-L" + folder,
            "-l" + file[len("lib"):-len(".so")],
            "-Wl,-rpath," + folder,
        ]
        config_header = ""
        ctx.file("config/typedcall_python_config.h", _CONFIG_HEADER.format(
            home = python["home"],
            executable = python["executable"],
        ))
    else:
        linkopts = []
        config_header = _NO_LIBRARY.format(python = python["executable"])

    ctx.file("BUILD", _BUILD.format(config_header = config_header, linkopts = repr(linkopts)))
    ctx.file("version.bzl", _VERSION.format(
        executable = python["executable"],
        version = python["version"],
        minor = python["minor"],
        debug = python["debug"],
        gil_disabled = python["gil_disabled"],
    ))

python_configure = repository_rule(
    implementation = _python_configure_impl,
    doc = "Makes a repository of the CPython that PYTHON_BIN names (default: python3).",
    # PATH and PYENV_VERSION decide which interpreter a bare name refers to.
    environ = [
        "PATH",
        "PYENV_VERSION",
        "PYTHON_BIN",
    ],
    configure = True,
    # Every new Bazel server searches again, because the interpreter may have been upgraded.
    local = True,
)
