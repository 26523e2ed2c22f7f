"""Finds the installed compilers."""
import glob
import os
import re
import shutil


def of_this_build():
    return shutil.which(os.environ["CC"])


def installed(name):
    """Returns the paths of `name` and of `name-VERSION`, each program once."""
    paths = {}
    for folder in ("/usr/bin", "/usr/local/bin"):
        for path in sorted(glob.glob(os.path.join(folder, name + "*"))):
            if re.fullmatch(re.escape(name) + r"(-\d+)?", os.path.basename(path)):
                paths.setdefault(os.path.realpath(path), path)
    return list(paths.values())
