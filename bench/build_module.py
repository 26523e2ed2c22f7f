"""Compiles and imports a benchmark's extension module."""

import importlib.machinery
import importlib.util
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
_ASK = """import sysconfig
print(sysconfig.get_path("include"), sysconfig.get_config_var("EXT_SUFFIX"), sep="\\n")"""


def ask(python, code):
    """Returns the output of `python -c code`."""
    return subprocess.run([python, "-c", code], check=True, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.DEVNULL).stdout.strip()


def build(source, folder, python=sys.executable, options=()):
    """Compiles `source` from bench/ into `folder`, and returns the module's path."""
    source = HERE / source
    include, suffix = ask(python, _ASK).splitlines()
    made = os.path.join(str(folder), source.stem + suffix)
    command = [*shlex.split(os.environ.get("CXX", "c++")), "-std=c++17", "-O2", "-shared", "-fPIC",
               "-fvisibility=hidden", "-I" + include, "-I" + str(HERE.parent), str(source),
               "-o", made, *options]
    if subprocess.run(command, check=False).returncode != 0:
        sys.exit("cannot compile for %s: %s" % (python, shlex.join(command)))
    return made


def load_file(name, path):
    """Imports the extension module at `path`, even if another binary of that name is loaded."""
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_file_location(name, path, loader=loader)
    )
    sys.modules[name] = module
    loader.exec_module(module)
    return module


def load(source, options=()):
    """Builds and imports a module. The file is not deleted."""
    made = build(source, tempfile.mkdtemp(prefix="typedcall-bench-"), options=options)
    return load_file(pathlib.Path(source).stem, made)
