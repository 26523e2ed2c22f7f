"""The module extension of MODULE.bazel: the repositories that are made from this machine."""

load(":cython.bzl", "cython_configure")
load(":python.bzl", "python_configure")

def _local_impl(_ctx):
    python_configure(name = "python")
    cython_configure(name = "cython")

local = module_extension(
    implementation = _local_impl,
    doc = "@python and @cython: see python.bzl and cython.bzl.",
)
