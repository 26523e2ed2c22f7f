"""Builds a separate project that depends on typedcall through MODULE.bazel or WORKSPACE, and runs its module."""
import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

import processes

#: The folder in the repository. Bazel's links lead there.
PROJECT = pathlib.Path(__file__).resolve().parent / "project"
BAZEL = shutil.which("bazel")
#: Bazel finds the system's compiler through PATH.
ENVIRONMENT = {"USER": os.environ.get("USER", "nobody")}


def version():
    """Returns Bazel's major version, or 0 if there is no Bazel."""
    if not BAZEL:
        return 0
    found = re.search(r"\d+", processes.run([BAZEL, "--version"], check=False).out)
    # Debian 12's Bazel 4.2.3 reports "no_version".
    return int(found.group()) if found else 4


class TestDependency(unittest.TestCase):
    def build(self, *flags):
        """Builds and runs the modules, and returns their output."""
        with tempfile.TemporaryDirectory() as output:
            # Bazel 4 always leaves a link in the project's folder.
            project = shutil.copytree(PROJECT, os.path.join(output, "project"))
            for name in ("MODULE.bazel", "WORKSPACE"):
                file = pathlib.Path(project, name)
                file.write_text(file.read_text(encoding="utf-8").replace(
                    '"../../..', '"%s' % PROJECT.parents[2]), encoding="utf-8")
            processes.run(
                [BAZEL, "--batch", "--output_user_root=" + output, "--nohome_rc", "build",
                 "--symlink_prefix=" + os.path.join(output, "links-"), "--noshow_progress",
                 "--spawn_strategy=local", "--repo_env=PYTHON_BIN=" + sys.executable, *flags,
                 "//:tiny.so", "//:compiled_once/tiny.so"],
                cwd=project, environment=ENVIRONMENT)
            return "".join(processes.python(code="import tiny; print(tiny.half(3.0))",
                                            paths=[os.path.join(output, "links-bin", folder)]).out
                           for folder in ("", "compiled_once"))

    @unittest.skipUnless(version() >= 7, "no Bazel 7, which reads MODULE.bazel")
    def test_by_bazel_dep(self):
        self.assertEqual(self.build("--lockfile_mode=off"), "1.5\n1.5\n")

    @unittest.skipUnless(version(), "no Bazel")
    def test_by_workspace(self):
        modules_off = ["--noenable_bzlmod"] if version() >= 7 else []
        self.assertEqual(self.build(*modules_off), "1.5\n1.5\n")
