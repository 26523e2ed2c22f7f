"""Compiles cold.cc together with nanobind's sources, without CMake."""

import os
import pathlib
import shlex
import subprocess
import sys
import sysconfig

import nanobind
import typedcall

here = pathlib.Path(__file__).resolve().parent
target = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else here)
runtime = pathlib.Path(nanobind.source_dir())
includes = [
    sysconfig.get_path("include"),
    nanobind.include_dir(),
    runtime.parent / "ext" / "robin_map" / "include",
    typedcall.get_include(),
]
command = shlex.split(os.environ.get("CXX", "c++")) + [
    "-std=c++17",
    "-O1",
    "-shared",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-strict-aliasing",
    *("-I%s" % folder for folder in includes),
    str(here / "cold.cc"),
    str(runtime / "nb_combined.cpp"),
    "-o",
    str(target / ("cold" + sysconfig.get_config_var("EXT_SUFFIX"))),
]
sys.exit(subprocess.call(command))
