"""Temporary folders, and test cases that each have their own folder."""
import pathlib
import tempfile
import textwrap
import unittest


def temporary(add_cleanup):
    """Returns a new folder; a cleanup removes it."""
    folder = tempfile.TemporaryDirectory(prefix="typedcall-")
    add_cleanup(folder.cleanup)
    return pathlib.Path(folder.name)


class InAFolder(unittest.TestCase):
    def setUp(self):
        self.folder = temporary(self.addCleanup)

    def path(self, *names):
        return str(self.folder.joinpath(*names))

    def write(self, name, text):
        """Writes a file into the folder and returns its path. The text may be indented."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return str(path)
