"""Shared by the tests of pickles and clusters: several versions of packages that tag functions, and processes that
read another process's pickles."""

import pickle

import support

functions = support.build("typed_functions")
FOLDER = support.module_folder("typed_functions")
READ = """
import pickle, sys
found = pickle.loads(bytes.fromhex(sys.argv[1]))
try:
    print(eval(sys.argv[2]))
except Exception as error:
    print(type(error).__name__ + ":", error)
"""


class Processes(support.InAFolder):
    """A test that pickles objects in this process and unpickles them in separate ones."""

    def read(self, obj, expression, paths=None):
        """Evaluates `expression` in a process that has unpickled the object under the name `found`. Returns the text
        of its value or exception."""
        data = obj if isinstance(obj, bytes) else pickle.dumps(obj)
        return support.printed(
            "-c", READ, data.hex(), expression,
            paths=[FOLDER, self.folder] if paths is None else paths)

    def run_script(self, text, paths=()):
        """Returns the lines that a script prints."""
        self.write("script.py", text)
        return support.printed(self.folder / "script.py", paths=[*paths, support.MODULES.parent]).splitlines()
