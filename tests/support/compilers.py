"""Finds and runs compilers, and checks that code does or does not compile."""
import glob
import os
import re
import shutil
import sysconfig

import folders
import processes

WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Werror"]
PYTHON_HEADERS = ["-isystem", sysconfig.get_paths()["include"]]


def of_this_build():
    return shutil.which(os.environ["CC"])


def installed(name):
    """Returns the paths of the installed programs `name` and `name-VERSION`."""
    paths = {}
    for folder in ("/usr/bin", "/usr/local/bin"):
        for path in sorted(glob.glob(os.path.join(folder, name + "*"))):
            if re.fullmatch(re.escape(name) + r"(-\d+)?", os.path.basename(path)):
                paths.setdefault(os.path.realpath(path), path)
    return list(paths.values())


def run(compiler, *arguments, text=""):
    """Runs a compiler with the input `text`. The compiler may fail."""
    return processes.run([compiler, *arguments], environment=processes.UNSANITIZED, input=text, check=False)


def check(language, standard, *arguments, text=""):
    """Runs the compiler of this build with all warnings. Writes no output file."""
    return run(of_this_build(), "-fsyntax-only", *WARNINGS, "-x", language, "-std=" + standard, "-I.", *PYTHON_HEADERS,
               *arguments, text=text)


def hello(name="hello"):
    """Returns the README's module."""
    with open("README.md", encoding="utf-8") as file:
        module = re.search(r"<!-- test: file hello.cc -->\n```cpp\n(.*?)```", file.read(), re.DOTALL).group(1)
    return module.replace("TYPEDCALL_MODULE(hello,", "TYPEDCALL_MODULE(%s," % name)


class Compiling(folders.InAFolder):
    def check_compiles(self, ended):
        self.assertEqual((ended.status, ended.out, ended.err), (0, "", ""))

    def check_refused(self, ended, words):
        self.assertNotEqual(ended.status, 0)
        self.assertIn(words, ended.err)
