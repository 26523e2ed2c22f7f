"""Temporary folders, and a base for test cases with their own folder."""
import pathlib
import tempfile
import textwrap
import unittest


def temporary(add_cleanup):
    """Returns a new folder, which a cleanup removes."""
    folder = tempfile.TemporaryDirectory(prefix="typedcall-")
    add_cleanup(folder.cleanup)
    return pathlib.Path(folder.name)


class InAFolder(unittest.TestCase):
    def setUp(self):
        self.folder = temporary(self.addCleanup)

    def path(self, *names):
        return str(self.folder.joinpath(*names))

    def write(self, name, text):
        """Writes a file and returns its path. The text may be indented."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return str(path)
