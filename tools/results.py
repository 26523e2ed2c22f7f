# Test cases and their outcomes. Reads Bazel's build events and JUnit files, and prints the summary.
import json
import os
import re
import urllib.parse
from xml.etree import ElementTree

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
# The outcome of a case that failed, and passed when it was run again alone.
FLAKY = "flaky"
# The outcome of a part that cannot be set up on this machine, because a mirror, a package or an interpreter is
# missing.
UNAVAILABLE = "unavailable"

# Bazel's exit codes; the last one means that no test has the requested tags.
BUILD_FAILED, TESTS_FAILED, NO_TESTS = 1, 3, 4
# A case with one of these failures is not run again.
FINAL = re.compile(
    r"(?:Address|Leak|Thread|UndefinedBehavior)Sanitizer|runtime error: |^leak: |AssertionError: leak: "
    r"|\bSIG(?:SEGV|ABRT|BUS|FPE|ILL|KILL|TRAP)\b|Segmentation fault|Fatal Python error|TIMEOUT|Timeout \(?>"
    r"|timed out|took too long|has not ended after|exit(?:ed)? with (?:signal|error code 1[3-9]\d)"
    r"|exit status 1[3-9]\d|core dumped|terminate called|-(?:4|6|7|8|11) != 0|0 != -(?:4|6|7|8|11)\b", re.MULTILINE)
# If there are more failures than this, they are not a coincidence.
MOST_AGAIN = 10


class Case:
    """A test case with its outcome, its reason or message, if any, and its output.

    Running `target` repeats the case, unless it is final."""

    def __init__(self, name, outcome, message="", log="", target="", is_final=False):
        self.name = name
        self.outcome = outcome
        # The message becomes a single line, because GoogleTest puts file and line above the reason.
        self.message = " ".join(message.split())[:240]
        self.log = log
        self.target = target
        self.is_final = is_final or bool(FINAL.search(message) or FINAL.search(log))


def cases_of_xml(path, target):
    """Returns the cases of one test.xml, written by GoogleTest, pytest, run_unittest.py or Bazel itself."""
    cases = []
    for element in ElementTree.parse(path).iter("testcase"):
        group, name = element.get("classname"), element.get("name")
        full_name = "{} {}".format(target, ".".join(part for part in (group, name) if part))
        bad = element.find("failure")
        if bad is None:
            bad = element.find("error")
        skipped = element.find("skipped")
        if bad is not None:
            message, text = bad.get("message") or "", bad.text or ""
            cases.append(Case(full_name, FAILED, message or text, text or message, target))
        elif skipped is not None:
            # If pytest could not import a file, the text contains the reason.
            message = skipped.get("message") or ""
            why = re.search(r"(?:Skipped|SkipTest): (.*?)['\"]?\)?$", skipped.text or "", re.DOTALL)
            cases.append(Case(full_name, SKIPPED, why[1] if why and message == "collection skipped" else message))
        elif element.get("status") == "notrun":
            cases.append(Case(full_name, SKIPPED, "disabled"))
        else:
            cases.append(Case(full_name, PASSED))
    return cases


def _local_path(output):
    return urllib.parse.unquote(urllib.parse.urlparse(output.get("uri", "")).path)


def cases_of_target(label, result):
    """Returns the cases of one of Bazel's testResult events."""
    cases, log = [], ""
    for output in result.get("testActionOutput", []):
        path = _local_path(output)
        if output["name"] == "test.xml" and os.path.exists(path):
            try:
                cases = cases_of_xml(path, label)
            except ElementTree.ParseError:
                cases = [Case(label, FAILED, "its test.xml cannot be read", is_final=True)]
        elif output["name"] == "test.log" and os.path.exists(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                log = file.read()
    if result.get("status") == "PASSED":
        return cases
    failed = [case for case in cases if case.outcome == FAILED]
    own_case = label + " " + label[2:].replace(":", "/")
    if not failed or failed[0].name == own_case:
        # No case has the reason if the test crashed, or if a fault was found when it ended. If Bazel itself wrote
        # test.xml, a script may simply have failed.
        is_script = bool(failed) and failed[0].message == "exited with error code 1"
        cases = [case for case in cases if case.outcome != FAILED]
        message = result.get("status", "no status") + ": " + (log.strip().splitlines() or ["no log"])[-1]
        cases.append(Case(label, FAILED, message, log, label, is_final=not is_script or bool(cases)))
    elif FINAL.search(log):
        for case in failed:
            case.log, case.is_final = log, True
    return cases


def cases_of_events(path, exit_code):
    """Returns all cases of a `bazel test --build_event_json_file=path`."""
    results, unbuilt = {}, set()
    with open(path, encoding="utf-8") as file:
        for line in file:
            event = json.loads(line)
            identity = event["id"]
            if "testResult" in event:
                # A repeated attempt replaces the previous one.
                results[identity["testResult"]["label"]] = event["testResult"]
            elif "targetCompleted" in identity:
                if not event.get("completed", {}).get("success"):
                    unbuilt.add(identity["targetCompleted"]["label"])
    cases = [Case(label, FAILED, "did not build", is_final=True) for label in sorted(unbuilt)]
    for label in sorted(results):
        cases += cases_of_target(label, results[label])
    has_failed = any(case.outcome == FAILED for case in cases)
    explained = {0: True, NO_TESTS: True, BUILD_FAILED: bool(unbuilt), TESTS_FAILED: has_failed}
    if not explained.get(exit_code):
        cases.append(Case("bazel", FAILED, f"ended with exit code {exit_code}", is_final=True))
    return cases


def _key(case):
    # A failing subtest is a separate case, with its parameters in parentheses.
    return case.name.partition(" (")[0]


def run_again(cases, again):
    """Runs each failed case again, alone, through again(case), which returns the cases of that run. A case that passes
    the second time is FLAKY. Final failures, and all failures if there are many, are not run again."""
    failed = [case for case in cases if case.outcome == FAILED and case.target and not case.is_final]
    if len(failed) > MOST_AGAIN:
        return
    for case in failed:
        ran = again(case)
        second = [found for found in ran if _key(found) == _key(case)]
        # A fault that is found when the test ends is a case with another name.
        second += [found for found in ran if found not in second and found.outcome == FAILED and found.is_final]
        log = "\n".join(found.log or found.message for found in second) or "the case was not run"
        case.log += "\n\n== again, alone ==\n" + (log if any(
            found.outcome == FAILED for found in second) or not second else "passed\n" + log)
        if second and all(found.outcome == PASSED for found in second):
            case.outcome = FLAKY


class Run:
    """The result of one part of a run: its name, its cases and its wall-clock time."""

    def __init__(self, name, cases, seconds, is_kept=False):
        self.name = name
        self.cases = cases
        self.seconds = seconds
        # True if the result is from an earlier run on the same tree.
        self.is_kept = is_kept

    def count(self, outcome):
        return sum(case.outcome == outcome for case in self.cases)

    def log(self):
        """Returns the part's log as text."""
        lines = [f"{self.name}: {self.seconds:.0f} s"]
        for case in self.cases:
            lines.append(f"{case.outcome} {case.name}" + (f": {case.message}" if case.message else ""))
            if case.log:
                lines.append(case.log)
        return "\n".join(lines) + "\n"


def _listed(title, runs, outcome):
    found = {}
    for run in runs:
        for case in run.cases:
            if case.outcome == outcome:
                found.setdefault((case.name, case.message), []).append(run.name)
    if found:
        print("\n" + title)
    for (name, message), names in sorted(found.items()):
        where = "; ".join(names) if len(names) < 4 else f"{len(names)} parts"
        print(f"  {name}: {message} [{where}]")


def summary(runs, interpreters, not_run, seconds, log_folder):
    """Prints the tables, whose last lines are the totals and the parts that were left out."""
    print("\nInterpreters of this machine")
    for interpreter in interpreters:
        print(f"  {interpreter.label:28} {interpreter.executable}"
              + (f" (not used: {interpreter.reason})" if interpreter.reason else ""))
    _listed("Skipped cases, and failures, as expected", runs, SKIPPED)
    _listed("Unavailable", runs, UNAVAILABLE)
    _listed("Failed cases", runs, FAILED)

    width = max(len(run.name) for run in runs)
    print(f"\n{'part':{width}}  passed  failed  skipped  seconds")
    for run in runs:
        counts = [run.count(outcome) for outcome in (PASSED, FAILED, SKIPPED)]
        notes = [f"{run.count(outcome)} {outcome}" for outcome in (FLAKY, UNAVAILABLE) if run.count(outcome)]
        notes += ["kept"] if run.is_kept else []
        print(f"{run.name:{width}}  {counts[0]:6}  {counts[1]:6}  {counts[2]:7}  {run.seconds:7.0f}"
              + "".join("  " + note for note in notes))
    print(f"{'all':{width}}  {seconds:33.0f}\n")
    print("Logs: " + log_folder)
    for run in runs:
        for case in run.cases:
            if case.outcome == FLAKY:
                print(f"FLAKY {case.name} [{run.name}]: both logs are in {log_of(log_folder, run.name)}")
            if case.outcome == PASSED:
                # The case is a script that contains another run.
                for line in case.log.splitlines():
                    if line.startswith(("FLAKY ", "Not run: ")):
                        print(f"{line} [{run.name}]")
    total = {outcome: sum(run.count(outcome) for run in runs)
             for outcome in (PASSED, FAILED, SKIPPED, FLAKY, UNAVAILABLE)}
    # A flaky case has passed at the second attempt.
    total[PASSED] += total.pop(FLAKY)
    if not total[UNAVAILABLE]:
        del total[UNAVAILABLE]
    print(", ".join(f"{count} {outcome}" for outcome, count in total.items()))
    if not_run:
        print("Not run: " + "; ".join(not_run))


def log_of(folder, name):
    """Returns the path of a part's log."""
    return os.path.join(folder, re.sub(r"[^\w.]+", "_", name).strip("_") + ".log")
