"""Shared by the tests of pickles and clusters."""

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
    """A base class for tests that unpickle objects in another process."""

    def read(self, obj, expression, paths=None):
        """Unpickles the object as `found` in another process, and evaluates `expression` there. Returns the result or
        exception as text."""
        data = obj if isinstance(obj, bytes) else pickle.dumps(obj)
        return support.printed(
            "-c", READ, data.hex(), expression,
            paths=[FOLDER, self.folder] if paths is None else paths)

    def run_script(self, text, paths=()):
        """Runs a script, and returns the lines that it prints."""
        self.write("script.py", text)
        return support.printed(self.folder / "script.py", paths=[*paths, support.MODULES.parent]).splitlines()
