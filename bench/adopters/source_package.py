"""Builds modules of others from their PyPI source packages. Needs pip, setuptools and wheel."""

import atexit
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import typedcall

HERE = os.path.dirname(os.path.abspath(__file__))


def _run(*command, **options):
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           check=False, **options)
    if ended.returncode:
        sys.exit("SKIPPED: %s\n%s" % (" ".join(command), ended.stdout[-2000:]))


def _scratch():
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def compile_library(name):
    """Compiles a C file of this folder, and returns the path of the shared library."""
    path = os.path.join(_scratch(), name + ".so")
    _run(os.environ.get("CC", "cc"), "-O2", "-ffp-contract=off", "-Wall", "-shared", "-fPIC", os.path.join(HERE, name),
         "-o", path)
    return path


def edit(path, *places):
    """Changes a source file. Each place is (regular expression, replacement, number of matches). Exits if a place has
    another number of matches."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for pattern, replacement, expected in places:
        text, count = re.subn(pattern, replacement, text, flags=re.MULTILINE)
        if count != expected:
            sys.exit("%s: %r matches %d times instead of %d" % (os.path.basename(path), pattern, count, expected))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def import_from(requirement, change=None):
    """Builds `requirement`, such as "noise==1.2.2", and adds the result to sys.path. First calls `change`, if given,
    with the folder of the sources. Exits if the build fails."""
    scratch = _scratch()
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    _run(*pip, "download", "--no-deps", "--no-binary", ":all:", "--no-build-isolation",
         "-d", scratch, requirement)
    archive, = glob.glob(os.path.join(scratch, "*"))
    shutil.unpack_archive(archive, scratch)
    source, = (path for path in glob.glob(os.path.join(scratch, "*")) if os.path.isdir(path))
    if change is not None:
        change(source)
    installed = os.path.join(scratch, "installed")
    _run(*pip, "install", "--no-deps", "--no-build-isolation", "--target", installed, source,
         env=dict(os.environ, CPPFLAGS="-I" + typedcall.get_include()))
    sys.path.insert(0, installed)
