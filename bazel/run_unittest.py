"""Runs the unittest cases in one file, and writes their results to $XML_OUTPUT_FILE (JUnit). A file
has no cases if tests/support/collected.py excludes them."""
import faulthandler
import os
import signal
import sys
import time
import unittest
from xml.etree import ElementTree


class RecordingResult(unittest.TextTestResult):
    """Also keeps one XML element per case, with the reason for a skip or a failure."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.cases = []
        self._current = None

    def startTest(self, test):
        super().startTest(test)
        self._begin(test)

    def stopTest(self, test):
        if self._current is test:
            self.cases[-1].set("time", "%.3f" % (time.monotonic() - self._started))
        super().stopTest(test)

    def _begin(self, test):
        self._current = test
        self._started = time.monotonic()
        group, _, name = test.id().rpartition(".") if hasattr(test, "_testMethodName") else (
            "", "", test.id())
        self.cases.append(ElementTree.Element("testcase", classname=group, name=name))

    def _note(self, test, kind, message):
        owner = getattr(test, "test_case", test)
        # No case has started if setting up a class or module failed or, in 3.12.1, if a case is
        # skipped.
        if owner is not self._current:
            self._begin(owner)
        last_line = message.strip().splitlines()[-1]
        element = ElementTree.SubElement(self.cases[-1], kind, message=last_line)
        element.text = message

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._note(test, "skipped", reason or "no reason given")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._note(test, "failure", self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self._note(test, "error", self.errors[-1][1])

    def addSubTest(self, test, subtest, err):
        known = len(self.failures), len(self.errors)
        super().addSubTest(test, subtest, err)
        if len(self.failures) > known[0]:
            self._note(subtest, "failure", self.failures[-1][1])
        if len(self.errors) > known[1]:
            self._note(subtest, "error", self.errors[-1][1])

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self._note(test, "failure", "unexpected success")


def write_xml(path, name, cases):
    """Writes the cases as one suite, without totals, because readers count the elements."""
    suites = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(suites, "testsuite", name=name)
    suite.extend(cases)
    ElementTree.ElementTree(suites).write(path, encoding="utf-8", xml_declaration=True)


def main(test_file):
    # Tests must not import from the runner's own folder.
    sys.path.pop(0)
    # Bazel sends SIGTERM at the time limit. The stacks show where the test hangs.
    faulthandler.register(signal.SIGTERM, chain=True)
    name = os.path.splitext(os.path.basename(test_file))[0]
    # Bazel's --test_filter selects one case by its name, module.Class.method.
    chosen = os.environ.get("TESTBRIDGE_TEST_ONLY") or name
    print("%s under %s" % (test_file, sys.version), file=sys.stderr)
    try:
        suite = unittest.defaultTestLoader.loadTestsFromName(chosen)
    except unittest.SkipTest as reason:
        # Importing the file raised SkipTest, because the whole file is skipped or has no cases
        # here.
        cases = []
        if isinstance(reason, getattr(sys.modules.get("collected"), "NotCollected", ())):
            print("no cases here: %s" % reason, file=sys.stderr)
        else:
            print("skipped: %s" % reason, file=sys.stderr)
            cases.append(ElementTree.Element("testcase", classname=name, name="all"))
            ElementTree.SubElement(cases[0], "skipped", message=str(reason))
        if os.environ.get("XML_OUTPUT_FILE"):
            write_xml(os.environ["XML_OUTPUT_FILE"], name, cases)
        return 0
    result = unittest.TextTestRunner(verbosity=2, resultclass=RecordingResult).run(suite)
    if os.environ.get("XML_OUTPUT_FILE"):
        write_xml(os.environ["XML_OUTPUT_FILE"], name, result.cases)
    if not result.cases and name in getattr(sys.modules.get("collected"), "LEFT_OUT", ()):
        print("all cases of %s are for other interpreters" % test_file, file=sys.stderr)
    elif not result.cases:
        print("no test case in %s" % test_file, file=sys.stderr)
        return 1
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
