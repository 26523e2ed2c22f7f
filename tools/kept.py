# Caches the results of parts by tree and machine. A part that has passed need not run again on the same tree.
import contextlib
import fnmatch
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import time

import results


def cache():
    return os.path.dirname(os.environ["TYPEDCALL_DISK_CACHE"])


def is_used(folder):
    """Marks a folder of the cache as used, and removes its siblings that have not been used for a month."""
    os.utime(folder)
    for neighbour in os.scandir(os.path.dirname(folder)):
        with contextlib.suppress(FileNotFoundError):  # another thread has removed the folder
            if neighbour.stat(follow_symlinks=False).st_mtime < time.time() - 30 * 86400:
                shutil.rmtree(neighbour.path, ignore_errors=True)


def _git(*arguments, **options):
    # In a container the checkout often belongs to another user.
    return subprocess.run(["git", "-c", "safe.directory=*", *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=True, **options).stdout.strip()


def tree():
    """Returns git's name for the working tree, including uncommitted changes, or "" without git."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            environment = dict(os.environ, GIT_INDEX_FILE=os.path.join(folder, "index"))
            _git("read-tree", "HEAD", env=environment)
            _git("add", "--all", env=environment)
            return _git("write-tree", env=environment)
    except (OSError, subprocess.CalledProcessError):
        return ""


def without(name, patterns):
    """Returns a name for the tree without the files that match a pattern, or the tree's own name if there are no
    patterns."""
    if not name or not patterns:
        return name
    lines = [line for line in _git("ls-tree", "-r", name).splitlines()
             if not any(fnmatch.fnmatchcase(line.partition("\t")[2], pattern) for pattern in patterns)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:40]


def machine(interpreters):
    """Returns a digest of the compilers, libraries and interpreters."""
    state = [os.environ.get("TYPEDCALL_MACHINE", ""), *sorted(each.state for each in interpreters)]
    return hashlib.sha256("\n".join(state).encode()).hexdigest()[:16]


class Kept:
    """The results for one tree on one machine. The gate and a full run share them. A run of another `kind` has only
    logs."""

    def __init__(self, interpreters, kind=""):
        self.tree = tree()
        self._rest = f"-{machine(interpreters)}{kind}"
        self.is_useful = bool(self.tree) and not kind
        self.folder = self._folder(self.tree)

    def _folder(self, name):
        folder = os.path.join(cache(), "results", (name or "no-tree") + self._rest)
        os.makedirs(folder, exist_ok=True)
        is_used(folder)
        return folder

    def _path(self, part, ignores):
        folder = self._folder(without(self.tree, ignores))
        return results.log_of(folder, part)[:-len(".log")] + ".json"

    def load(self, part, ignores=()):
        """Returns the Run of a part that has passed on the same tree, or None. Files that match a pattern in `ignores`
        may differ."""
        try:
            with open(self._path(part, ignores), encoding="utf-8") as file:
                seconds, cases = json.load(file)
        except (FileNotFoundError, ValueError):
            return None
        return results.Run(part, [results.Case(*case) for case in cases], seconds, is_kept=True)

    def store(self, run, ignores=()):
        """Writes the log. Also writes the result if all cases passed the first time."""
        with open(results.log_of(self.folder, run.name), "w", encoding="utf-8") as file:
            file.write(run.log())
        path = self._path(run.name, ignores)
        good = {results.PASSED, results.SKIPPED}
        if self.is_useful and run.cases and {case.outcome for case in run.cases} <= good:
            with open(path + ".new", "w", encoding="utf-8") as file:
                json.dump([run.seconds, [[c.name, c.outcome, c.message] for c in run.cases]], file)
            os.replace(path + ".new", path)
        elif os.path.exists(path):
            os.unlink(path)
