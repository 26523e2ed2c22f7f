"""Tests examples/tags_for_others, a package with tags for the package noise."""

import shutil

import adapter_support
import support

EXAMPLE = adapter_support.EXAMPLES / "tags_for_others"


class TheExample(support.InAFolder):
    def install(self, *what):
        return support.python("-m", "pip", "-q", "--disable-pip-version-check", "install", "--no-deps",
                              "--target", self.folder, *what, together=True)

    def test_noise_has_tags(self):
        support.compiler("c")
        ended = self.install("noise==1.2.2")
        if ended.status:
            self.skipTest("noise cannot be installed: " + ended.out.strip()[-200:])
        source = self.folder / "source"
        shutil.copytree(EXAMPLE, source)  # a build writes into the source folder
        ended = self.install(source)
        self.assertEqual(ended.status, 0, ended.out)
        status, printed, errors = support.python(EXAMPLE / "demo.py", paths=[self.folder])
        self.assertEqual((status, errors), (0, ""), printed)
        self.assertIn("tags for noise._simplex\n", printed)
        self.assertIn("offers ff->f\n", printed)
        status, printed, errors = support.python(
            "-m", "typedcall", "verify", "--count", "300", "--ranges=-1000:1000", "noise._simplex",
            paths=[self.folder])
        self.assertEqual((status, errors), (0, ""), printed)
