"""Shared by the tests of the command line."""
import json
import re

import support

MODULES = [support.module_folder("typed_functions"), support.module_folder("plain_functions")]
try:
    import rich
except ImportError:
    rich = None


class CommandLine(support.InAFolder):
    def run_it(self, *arguments):
        return support.python("-m", "typedcall", *arguments, paths=[*MODULES, self.folder],
                              cwd=self.folder)

    def output(self, *arguments, status=0):
        ended, output, errors = self.run_it(*arguments)
        # QEMU reports signals on standard error.
        errors = re.sub(r"(?m)^qemu: uncaught target signal .*\n", "", errors)
        self.assertEqual((ended, errors), (status, ""), output)
        return output

    def json(self, *arguments, status=0):
        return json.loads(self.output(*arguments, "--json", status=status))

    def error(self, *arguments, status=2):
        """Runs a command that must fail, and returns its error, which must be one line."""
        ended, output, errors = self.run_it(*arguments)
        self.assertEqual((ended, output), (status, ""))
        self.assertRegex(errors, r"\Atypedcall: [^\n]+\n\Z")
        return errors

    def module(self, name, source):
        self.write(name + ".py", source)
