"""Tests tools/figures."""
import contextlib
import dataclasses
import importlib.util
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from xml.etree import ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
for _folder in ("bench/peers", "bench", "bench/figures"):
    sys.path.insert(0, str(ROOT / _folder))
import compare  # noqa: E402
import draw  # noqa: E402
import instructions  # noqa: E402
import machine  # noqa: E402
import main  # noqa: E402
import newest  # noqa: E402
import page  # noqa: E402
import results  # noqa: E402

HAS_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None

CALLS = results.Comparison(
    "a_call", "A call", "ours takes {ours} times, theirs {theirs / ours} times ours", "ns", "by hand",
    {"by hand": "hand", "ours": "tagged", "theirs": "boxed", "nobody's": "gone"},
    {"l->l": "one", "d->d": "two"}, "Called & <counted>.", ours=("ours",))
GROWS = results.Comparison("grown", "As it grows", "At most {ours}", "bytes", "by hand",
                           {"by hand": "hand", "ours": "tagged"}, {"": "bytes"}, x="functions")


def groups(factor=1.0):
    hand = [10.0, 11.0, 12.0, 13.0, 14.0]
    samples = {"hand": hand, "tagged": [factor * each * (1 + at / 100) for at, each in enumerate(hand)],
               "boxed": [30 * each for each in hand]}
    return [results.Group("one", samples, {"gone": "no wheel in /some/where/else.whl\nmore"}),
            results.Group("two", samples)]


def grown():
    return [results.Group("bytes", {"hand": [100.0 * x], "tagged": [150.0 * x]}, {}, x)
            for x in (1, 10, 1000)]


def source(comparison, measure):
    return results.Source("source", "tools/bench something", measure, [comparison])


def a_file(factor=1.0, **more):
    file = {"schema": results.SCHEMA, "topic": "calls", "command": "tools/figures calls",
            "date": "2026-11-23 01:00 UTC", "quick": False,
            "machine": {"processor": "p", "cores": 2, "system": "s", "load before the run": 0.1,
                        "busy": False}, "versions": {"CPython": "3.11.7"},
            "comparisons": results.collect(source(CALLS, lambda bench: groups(factor)), None)
            + results.collect(source(GROWS, lambda bench: grown()), None)}
    file.update(more)
    return file


class Programs(unittest.TestCase):
    def test_what_is_measured_is_built(self):
        measured = re.findall(r'by_program\("(\w+)"', (ROOT / "bench/figures/calls.py").read_text(encoding="utf-8"))
        self.assertIn("slots_sep200", measured)
        self.assertLessEqual(set(measured), self.built("PROGRAMS"))

    def test_what_is_counted_is_built(self):
        self.assertLessEqual({*instructions.PROGRAMS, *instructions.wrapper_cost.WRAPPERS.values()},
                             self.built("COUNTED"))

    def built(self, name):
        text = (ROOT / "tools/figures.py").read_text(encoding="utf-8")
        return set(re.findall(r'"(\w+)"', text.partition(name + " = (")[2].partition(")")[0]))


class Results(unittest.TestCase):
    def test_ratios_are_of_a_round(self):
        rows, missing = results.rows_of(CALLS, groups())
        ours, = (row for row in rows if (row["label"], row["series"]) == ("ours", "d->d"))
        self.assertEqual(ours["ratio"], [1.01, 1.02, 1.03])
        self.assertEqual(ours["rounds"], 5)
        self.assertEqual(missing, {"nobody's": "no wheel in else.whl"})

    def test_what_fails_is_named(self):
        def fails(bench):
            raise results.NotHere("no compiler\nat /some/where")
        found, = results.collect(source(CALLS, fails), None)
        self.assertEqual(found["rows"], [])
        self.assertEqual(found["missing"], dict.fromkeys(CALLS.rows, "no compiler"))
        one, = results.collect(source(CALLS, lambda bench: groups()[:1]), None)
        self.assertEqual(one["missing"]["d->d"], "not measured")
        without = results.Group("one", {"hand": [1.0], "tagged": [2.0]}, {"two": "no such engine"})
        one, = results.collect(source(CALLS, lambda bench: [without]), None)
        self.assertEqual(one["missing"]["d->d"], "no such engine")

    def test_a_wrong_file_is_refused(self):
        self.assertEqual(results.check(a_file()), [])
        for change, said in [
                (lambda file: file.pop("machine"), "machine is missing"),
                (lambda file: file.update(more=1), "more is unknown"),
                (lambda file: file.update(schema=99), "schema 99"),
                (lambda file: file.update(quick="no"), "quick is of another type"),
                (lambda file: file["comparisons"][0].pop("unit"), "unit is missing"),
                (lambda file: file["comparisons"][0].update(more=1), "more is unknown"),
                (lambda file: file["comparisons"][0].update(measured=1), "measured is of another type"),
                (lambda file: file["comparisons"][0]["rows"][1].update(x="1"), "x is of another type"),
                (lambda file: file["comparisons"][0]["rows"][1].update(ratio=[3, 2, 1]), "quartiles"),
                (lambda file: file["comparisons"][0]["rows"].append(
                    file["comparisons"][0]["rows"][0]), "twice"),
                (lambda file: file["comparisons"][0]["missing"].update(x=""), "without a reason")]:
            with self.subTest(said):
                file = a_file()
                change(file)
                self.assertIn(said, " ".join(results.check(file)))
                with self.assertRaises(ValueError), tempfile.TemporaryDirectory() as folder:
                    results.write(pathlib.Path(folder) / "calls.json", file)

    def test_what_is_written_is_read(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "calls.json"
            results.write(path, a_file())
            self.assertEqual(results.read(path), a_file())
            self.assertTrue(any(line.startswith('    {"label": "ours"')
                                for line in path.read_text(encoding="utf-8").splitlines()))

    def test_later_results_replace_those_of_the_same_names(self):
        old = a_file(versions={"typedcall": "1111111", "numpy": "2"})
        later = a_file(2.0, date="2026-11-24 01:00 UTC", versions={"typedcall": "2222222", "numpy": "2"})
        later["machine"]["busy"] = True
        another = {**later["comparisons"][1], "name": "new"}
        later["comparisons"] = [later["comparisons"][0], {**later["comparisons"][1], "rows": []}, another]
        made = results.merged(old, later)
        self.assertEqual(results.check(made), [])
        self.assertEqual({**made, "comparisons": 0}, {**old, "comparisons": 0})
        measured = "2026-11-24 01:00 UTC, on a busy machine, typedcall 2222222"
        self.assertEqual(made["comparisons"], [{**later["comparisons"][0], "measured": measured}, old["comparisons"][1],
                                               {**another, "measured": measured}])
        text = page.made({"calls": made}, {"calls": [source(CALLS, None)]})
        self.assertIn(f"`tools/bench something`. {CALLS.note} Measured apart, under the usual CPython: {measured}.", text)
        again = dataclasses.replace(CALLS, name="new", version="CPython 3.14", of=CALLS.name)
        both = results.Source("source", "tools/bench something", None, [CALLS, again])
        self.assertIn(f"Measured apart, CPython 3.14: {measured}.", page.made({"calls": made}, {"calls": [both]}))

    def test_results_of_another_machine_are_not_merged(self):
        old = a_file()
        self.assertEqual(results.cannot_merge(old, old["machine"], quick=False), "")
        self.assertIn("without --quick; omit it", results.cannot_merge(old, old["machine"], quick=True))
        self.assertIn("with another cores: 2 instead of 4;", results.cannot_merge(old, {**old["machine"], "cores": 4}, quick=False))

    def test_the_finding_has_the_numbers(self):
        found, = results.collect(source(CALLS, lambda bench: groups()), None)
        self.assertEqual(results.finding(CALLS.finding, found), "ours takes 1.02 times, theirs 29 times ours")
        self.assertEqual(results.finding("{ours: d->d}", found), "1.02")
        self.assertIsNone(results.finding("{nobody's}", found))
        self.assertIsNone(results.finding("{ours: O->O}", found))
        found, = results.collect(source(GROWS, lambda bench: grown()), None)
        self.assertEqual(results.finding(GROWS.finding, found), "At most 1.50")

    def test_the_work_of_others_is_seen(self):
        with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
            try:
                self.assertGreater(machine.work_of_others(2), 0.5)
            finally:
                other.kill()

    def test_a_version_is_measured_where_it_is(self):
        version = "python%d.%d" % sys.version_info[:2]
        here = machine.Bench(quick=True)
        self.assertTrue(here.is_for(version))
        self.assertFalse(here.is_for("python3.1"))
        here.more_versions["PyPy of Debian sid"] = "8.0.1"
        self.assertEqual(here.versions()["PyPy of Debian sid"], "8.0.1")
        for python in newest.PYTHONS:
            names = {source.name for source in newest.sources(python)}
            self.assertLessEqual({*newest.SHOWN, "tag_cost_jit", "cinderx"}, names)

    def test_google_benchmark_is_read(self):
        runs = [{"run_name": "call/dd_d/pointer", "run_type": "iteration", "repetition_index": at,
                 "cpu_time": time, "time_unit": "ns"} for at, time in ((1, 3.0), (0, 2.0))]
        runs.append({"run_name": "call/dd_d/boxed", "run_type": "aggregate", "cpu_time": 1.0,
                     "time_unit": "ns"})
        found, = machine.read_google({"benchmarks": runs})
        self.assertEqual((found.name, found.samples), ("call/dd_d", {"pointer": [2.0, 3.0]}))


class Compare(unittest.TestCase):
    def test_the_same_is_nothing(self):
        self.assertEqual(compare.compare(a_file(), a_file()), [])

    def test_inside_the_spread_is_nothing(self):
        self.assertEqual(compare.compare(a_file(), a_file(1.01)), [])

    def test_outside_is_said_with_both(self):
        said = compare.compare(a_file(), a_file(1.5))
        self.assertEqual(len(said), 2, said)
        self.assertIn("a_call: ours, l->l: more: 1.02 (1.01 to 1.03) -> 1.53", said[0])
        self.assertIn("less", compare.compare(a_file(1.5), a_file())[0])

    def test_quartiles_that_touch_are_no_change(self):
        def row(*ratio, rounds=9):
            return {"ratio": list(ratio), "rounds": rounds}
        self.assertTrue(compare.is_changed(row(1, 1.1, 1.2), row(1.21, 1.3, 1.4), "ns"))
        self.assertFalse(compare.is_changed(row(1, 1.1, 1.2), row(1.2, 1.3, 1.4), "ns"))
        self.assertFalse(compare.is_changed(row(1, 1, 1), row(1.01, 1.01, 1.01), "ns"))
        # A single sample of a time is not reliable. Sizes are exact.
        self.assertFalse(compare.is_changed(row(1, 1, 1, rounds=1), row(1.2, 1.2, 1.2, rounds=1), "s"))
        self.assertTrue(compare.is_changed(row(1, 1, 1, rounds=1), row(1.2, 1.2, 1.2, rounds=1), "bytes"))

    def test_what_is_new_and_gone(self):
        new = a_file()
        dropped = new["comparisons"][0]["rows"].pop()
        new["comparisons"][0]["missing"][dropped["label"]] = "no wheel"
        new["comparisons"].pop()
        new["versions"]["CPython"] = "3.12.1"
        self.assertEqual(compare.compare(a_file(), new), [
            "CPython: 3.11.7 -> 3.12.1", "a_call: theirs, d->d: gone: no wheel", "grown: gone"])
        self.assertIn("a_call: theirs, d->d: new", compare.compare(new, a_file()))

    def test_files_and_folders(self):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
            results.write(pathlib.Path(one) / "calls.json", a_file())
            results.write(pathlib.Path(two) / "calls.json", a_file(1.5))
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                main.main(["compare", one, str(pathlib.Path(two) / "calls.json")])
            self.assertIn("2 changes beyond the spread", said.getvalue())


class Instructions(unittest.TestCase):
    def outcomes(self, counts, baseline):
        return {name: (outcome, text) for outcome, name, text in instructions.compared(counts, baseline)}

    def test_only_what_is_worse_fails(self):
        found = self.outcomes({"same": 10.1, "better": 8.0, "worse": 10.3}, dict.fromkeys(("same", "better", "worse"), 10.0))
        self.assertEqual(found, {
            "same": ("passed", "10.1 instructions"),
            "better": ("passed", "8.0 instructions, 10.0 before"),
            "worse": ("failed", "10.3 instructions, 10.0 before")})

    def test_a_row_that_is_not_counted_fails(self):
        self.assertEqual(self.outcomes({}, {"gone": 10.0}),
                         {"gone": ("failed", "not counted, 10.0 instructions before")})

    def test_without_a_baseline_nothing_fails(self):
        for baseline in (None, {}):
            self.assertEqual(self.outcomes({"new": 10.0}, baseline),
                             {"new": ("passed", "10.0 instructions, new")})

    def test_each_key_has_its_baseline(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "instructions.json"
            self.assertIsNone(instructions.baseline("one", path))
            instructions.record("one", {"a": 10.0}, path)
            instructions.record("two", {"a": 11.004}, path)
            self.assertEqual(instructions.baseline("one", path), {"a": 10.0})
            self.assertEqual(instructions.baseline("two", path), {"a": 11.0})
            self.assertIsNone(instructions.baseline("three", path))

    def test_the_key_names_what_counts_depend_on(self):
        with unittest.mock.patch.dict(os.environ, CXX="c++ -pipe"):
            key = instructions.key()
        for part in (machine.first_line(["c++", "--version"]), "%d.%d.%d" % sys.version_info[:3]):
            self.assertIn(part, key)


@unittest.skipUnless(HAS_MATPLOTLIB, "matplotlib is not installed")
class Drawing(unittest.TestCase):
    def drawn(self, at):
        comparison = (CALLS, GROWS)[at]
        return draw.draw(comparison, a_file()["comparisons"][at])

    def test_texts_are_texts(self):
        root = ElementTree.fromstring(self.drawn(0))
        texts = {"".join(each.itertext()).strip() for each in root.iter("{http://www.w3.org/2000/svg}text")}
        for text in ("ours", "theirs", "by hand", "l->l", "d->d", "not here: nobody's: no wheel in else.whl"):
            self.assertIn(text, texts)
        self.assertEqual(root.find("{http://www.w3.org/2000/svg}title").text,
                         "ours takes 1.02 times, theirs 29 times ours")

    def test_every_colour_has_one_for_dark_pages(self):
        for at in range(2):
            text = re.sub(r"(?s)<style>.*?</style>", "", self.drawn(at))
            # A '#' that does not follow a colon is a reference.
            used = set(re.findall(r": (#[0-9a-f]{3,6})\b", text))
            self.assertGreater(len(used), 5)
            self.assertEqual(used - set(draw.DARK), set())
            self.assertIn("prefers-color-scheme: dark", self.drawn(at))

    def test_colours_can_be_read(self):
        def light(color):
            parts = [int(color[at:at + 2], 16) / 255 for at in (1, 3, 5)]
            linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
                      for part in parts]
            return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05

        for name in (draw.INK, draw.SOFT, *draw.SERIES):
            with self.subTest(name):
                # WCAG requires a contrast of 4.5 for text, and of 3 for graphics.
                least = 3 if name in draw.SERIES else 4.5
                self.assertGreater(light(draw.PAPER) / light(name), least)
                self.assertGreater(light(draw.DARK[name]) / light(draw.DARK[draw.PAPER]), 4.5)
        self.assertEqual(len(set(draw.DARK.values())), len(draw.DARK))

    def test_drawn_again_it_is_the_same(self):
        self.assertEqual(self.drawn(1), self.drawn(1))


class Page(unittest.TestCase):
    """The project's own pages and results."""

    @classmethod
    def setUpClass(cls):
        cls.files = main.all_results(ROOT / "docs" / "figures")
        cls.text = (ROOT / "docs" / "figures.md").read_text(encoding="utf-8")
        cls.comparisons = [(topic, source, comparison) for topic, sources in main.TOPICS.items()
                           for source in sources for comparison in source.comparisons]

    def test_the_page_is_what_the_results_make(self):
        self.assertIn("calls", self.files)
        self.assertLessEqual(set(self.files), set(main.TOPICS))
        self.assertEqual(page.replaced(self.text, page.made(self.files, main.TOPICS)), self.text)

    def test_every_picture_is_there_with_its_finding(self):
        shown = dict(re.findall(r"!\[([^]]*)\]\(figures/(\w+)\.svg\)", self.text))
        for finding, name in shown.items():
            path = ROOT / "docs" / "figures" / (name + ".svg")
            title = ElementTree.fromstring(path.read_text(encoding="utf-8"))[0].text
            self.assertEqual(title, finding)

    def test_every_figure_names_a_command_that_is_there(self):
        commands = {comparison["command"] for file in self.files.values()
                    for comparison in file["comparisons"]}
        for command in commands | {source.command for _, source, _ in self.comparisons}:
            with self.subTest(command):
                script, *names = command.split()
                self.assertTrue((ROOT / script).exists())
                text = (ROOT / script).read_text(encoding="utf-8")
                for name in names:
                    self.assertIn(name, text)

    def test_names_are_told_apart(self):
        names = [comparison.name for *_, comparison in self.comparisons]
        self.assertEqual(len(set(names)), len(names))
        for *_, comparison in self.comparisons:
            with self.subTest(comparison.name):
                self.assertIn(comparison.reference, comparison.rows)
                self.assertLessEqual(len(comparison.series), len(draw.MARKERS))
                for label in re.findall(r"\{([^{}]+)\}", comparison.finding):
                    label, _, series = label.partition(": ")
                    self.assertLessEqual(set(label.split(" / ")), set(comparison.rows))
                    self.assertIn(series, ["", *comparison.series])
                if any(label in comparison.rows for label in ("typedcall", "typedcall.ufunc")):
                    self.assertLessEqual(set(comparison.ours), set(comparison.rows))

    def test_longer_runs_name_commands(self):
        for part in self.text.partition("\n## Longer runs")[2].split("\n## ")[1:]:
            self.assertRegex(part, r"`(tools/|bench/|python|bazel)", part.splitlines()[0])
