"""Builds a module from its PyPI source package and a patch in this folder. Needs pip, setuptools
and wheel."""

import atexit
import glob
import os
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


def import_from(requirement, patch=None):
    """Builds `requirement`, such as "noise==1.2.2", with the file `patch`, and adds the result to
    sys.path. Exits if the build fails."""
    scratch = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    _run(*pip, "download", "--no-deps", "--no-binary", ":all:", "--no-build-isolation",
         "-d", scratch, requirement)
    archive, = glob.glob(os.path.join(scratch, "*"))
    shutil.unpack_archive(archive, scratch)
    source, = (path for path in glob.glob(os.path.join(scratch, "*")) if os.path.isdir(path))
    if patch is not None:
        _run("patch", "-p1", "-i", os.path.join(HERE, patch), cwd=source)
    installed = os.path.join(scratch, "installed")
    _run(*pip, "install", "--no-deps", "--no-build-isolation", "--target", installed, source,
         env=dict(os.environ, CPPFLAGS="-I" + typedcall.get_include()))
    sys.path.insert(0, installed)
