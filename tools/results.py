# Counts test cases, not targets: reads Bazel's build events and the test.xml files they name.
# A target that did not build, or ended badly without a failing case, counts as one failure.
import json
import os
import urllib.parse
from xml.etree import ElementTree

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"

# Bazel's exit code when no test has the tags asked for.
NO_TESTS = 4


class Case:
    """One test case: its outcome, and the reason or message where there is one."""

    def __init__(self, name, outcome, message=""):
        self.name = name
        self.outcome = outcome
        # One line: GoogleTest puts file and line above the reason.
        self.message = " ".join(message.split())[:240]


def cases_of_xml(path, target):
    """The cases of one test.xml, written by GoogleTest, run_unittest.py or Bazel itself."""
    cases = []
    for element in ElementTree.parse(path).iter("testcase"):
        group, name = element.get("classname"), element.get("name")
        full_name = "{} {}".format(target, ".".join(part for part in (group, name) if part))
        bad = element.find("failure")
        if bad is None:
            bad = element.find("error")
        skipped = element.find("skipped")
        if bad is not None:
            cases.append(Case(full_name, FAILED, bad.get("message") or bad.text or ""))
        elif skipped is not None:
            cases.append(Case(full_name, SKIPPED, skipped.get("message") or ""))
        elif element.get("status") == "notrun":
            cases.append(Case(full_name, SKIPPED, "disabled"))
        else:
            cases.append(Case(full_name, PASSED))
    return cases


def cases_of_target(label, result):
    """The cases of one testResult event."""
    cases = []
    for output in result.get("testActionOutput", []):
        path = urllib.parse.unquote(urllib.parse.urlparse(output.get("uri", "")).path)
        if output["name"] == "test.xml" and os.path.exists(path):
            try:
                cases = cases_of_xml(path, label)
            except ElementTree.ParseError:
                cases = [Case(label, FAILED, "its test.xml cannot be read")]
    if result.get("status") != "PASSED" and not any(c.outcome == FAILED for c in cases):
        cases.append(Case(label, FAILED, result.get("status", "no status")))
    return cases


def cases_of_events(path, exit_code):
    """All cases of one `bazel test --build_event_json_file=path`."""
    results, unbuilt = {}, set()
    with open(path, encoding="utf-8") as file:
        for line in file:
            event = json.loads(line)
            identity = event["id"]
            if "testResult" in event:
                # A repeated attempt replaces the one before.
                results[identity["testResult"]["label"]] = event["testResult"]
            elif "targetCompleted" in identity:
                if not event.get("completed", {}).get("success"):
                    unbuilt.add(identity["targetCompleted"]["label"])
    cases = [Case(label, FAILED, "did not build") for label in sorted(unbuilt)]
    for label in sorted(results):
        cases += cases_of_target(label, results[label])
    if exit_code not in (0, NO_TESTS) and not any(case.outcome == FAILED for case in cases):
        cases.append(Case("bazel", FAILED, f"ended with exit code {exit_code}"))
    return cases


class Run:
    """One line of the summary: a label, its cases and its wall time."""

    def __init__(self, label, cases, seconds):
        self.label = label
        self.cases = cases
        self.seconds = seconds

    def count(self, outcome):
        return sum(case.outcome == outcome for case in self.cases)


def summary(runs, interpreters, left_out, seconds):
    """Prints the tables; the last line is the sum, alone."""
    print("\nInterpreters run")
    for interpreter in interpreters:
        print(f"  {interpreter.label:28} {interpreter.executable}")
    if left_out:
        print("Interpreters not run")
        for interpreter, reason in left_out:
            print(f"  {interpreter.label:28} {interpreter.executable} ({reason})")

    skips = {}
    for run in runs:
        for case in run.cases:
            if case.outcome == SKIPPED:
                skips.setdefault((case.name, case.message), []).append(run.label)
    if skips:
        print("\nSkipped cases")
        for (name, message), labels in sorted(skips.items()):
            where = "; ".join(labels) if len(labels) < 4 else f"{len(labels)} runs"
            print(f"  {name}: {message} [{where}]")

    if any(run.count(FAILED) for run in runs):
        print("\nFailed cases")
        for run in runs:
            for case in run.cases:
                if case.outcome == FAILED:
                    print(f"  [{run.label}] {case.name}: {case.message}")

    width = max(len(run.label) for run in runs)
    print(f"\n{'run':{width}}  passed  failed  skipped  seconds")
    for run in runs:
        passed, failed, skipped = map(run.count, (PASSED, FAILED, SKIPPED))
        print(f"{run.label:{width}}  {passed:6}  {failed:6}  {skipped:7}  {run.seconds:7.0f}")
    print(f"{'all':{width}}  {seconds:33.0f}\n")
    print(", ".join(f"{sum(run.count(outcome) for run in runs)} {outcome}"
                    for outcome in (PASSED, FAILED, SKIPPED)))
