"""Compiles and imports bench/adapter_callees.cc against the installed package's headers."""

import importlib.machinery
import importlib.util
import os
import pathlib
import shlex
import subprocess
import sys
import sysconfig
import tempfile

import typedcall


def load():
    source = pathlib.Path(__file__).resolve().with_name("adapter_callees.cc")
    folder = tempfile.mkdtemp(prefix="typedcall-bench-")
    made = os.path.join(folder, "adapter_callees" + sysconfig.get_config_var("EXT_SUFFIX"))
    subprocess.run(
        [
            *shlex.split(os.environ.get("CXX", "c++")),
            "-std=c++17",
            "-O2",
            "-shared",
            "-fPIC",
            "-fvisibility=hidden",
            "-I" + sysconfig.get_path("include"),
            "-I" + typedcall.get_include(),
            str(source),
            "-o",
            made,
        ],
        check=True,
    )
    loader = importlib.machinery.ExtensionFileLoader("adapter_callees", made)
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_file_location("adapter_callees", made, loader=loader)
    )
    sys.modules["adapter_callees"] = module
    loader.exec_module(module)
    return module
