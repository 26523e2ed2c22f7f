"""The README's example, word for word: it compiles, and prints what its comment says."""

import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
import unittest


class Readme(unittest.TestCase):
    def test_the_example_works_as_written(self):
        with open("README.md", encoding="utf-8") as file:
            text = file.read()
        code = re.search(r"```cpp\n(.*?)```", text, re.DOTALL).group(1)
        commands = re.search(r"```sh\n(.*?)```", text, re.DOTALL).group(1).splitlines()
        self.assertLessEqual(len([line for line in code.splitlines() if line.strip()]), 15)
        self.assertEqual(len(commands), 2)

        # The commands name the usual interpreter; here it is the one under test.
        include = sysconfig.get_path("include"), sysconfig.get_path("platinclude")
        build = commands[0].replace(
            "$(python3-config --includes)", " ".join("-I" + shlex.quote(path) for path in include)
        ).replace("-I.", "-I" + shlex.quote(os.getcwd()))
        run, expected = commands[1].split("#")
        run = run.replace("python3", shlex.quote(sys.executable))
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "hello.cc"), "w", encoding="utf-8") as file:
                file.write(code)
            environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
            subprocess.run(build, shell=True, check=True, cwd=folder, env=environment)
            printed = subprocess.run(
                run, shell=True, check=True, cwd=folder, stdout=subprocess.PIPE, text=True, env=environment
            ).stdout
        self.assertEqual(printed.strip(), expected.strip())


if __name__ == "__main__":
    unittest.main()
