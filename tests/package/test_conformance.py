"""Tests the package's readers with the records of tests/conformance."""
import atexit
import collections
import functools
import pathlib
import sys
import tempfile
import unittest

import adapter_support
import support
import typedcall

CONFORMANCE = pathlib.Path(__file__).resolve().parents[1] / "conformance"
sys.path += [str(CONFORMANCE), str(CONFORMANCE / "members")]
import conformance  # noqa: E402
import members  # noqa: E402
import mutations  # noqa: E402
import records  # noqa: E402

CORPUS = records.corpus()


@functools.lru_cache()
def folder_of_records():
    """Builds the module with all records once, and returns its folder."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    records.build(CORPUS, folder.name, compiler=" ".join(support.compiler("c")))
    return folder.name


@functools.lru_cache()
def prepare(reader):
    conformance.prepare(reader, folder_of_records())


class Corpus(unittest.TestCase):
    """Tests the records themselves."""

    def test_each_has_what_it_needs(self):
        known = set(records.rules())
        for record in CORPUS:
            with self.subTest(id=record["id"]):
                self.assertIn(record["layer"], records.LAYERS)
                self.assertIn(record["verdict"], records.VERDICTS)
                self.assertEqual([rule for rule in record["rules"] if rule not in known], [])
                self.assertTrue(record["rules"])

    def test_what_cannot_be_run_is_said_of_each_that_it_would_read(self):
        for record in CORPUS:
            with self.subTest(id=record["id"]):
                self.assertEqual(record.get("pypy_branch") in ("typed", "boxed", "crash"), record["layer"] == "name")
                self.assertEqual(record.get("sep200_header") in ("nothing", "wild"), record["layer"] == "type")

    def test_names_are_unique(self):
        counts = collections.Counter(record["id"] for record in CORPUS)
        self.assertEqual([id_ for id_, count in counts.items() if count > 1], [])

    def test_each_rule_has_a_record_or_a_reason(self):
        rules, reasons = records.rules(), records.reasons()
        with_record = {rule for record in CORPUS for rule in record["rules"]}
        self.assertEqual([rule for rule in rules if (rule in with_record) == (rule in reasons)], [])
        self.assertEqual([rule for rule in reasons if rule.partition(": ")[0] not in rules], [])

    def test_rules_are_numbered_in_order(self):
        numbers = [tuple(map(int, rule.split("."))) for rule in records.rules()]
        self.assertGreater(len(numbers), 80)
        self.assertEqual(numbers, sorted(set(numbers)))
        for section, at in numbers:
            if at > 1:
                self.assertIn((section, at - 1), numbers)

    def test_mutations_are_of_what_is_there(self):
        for mutation in mutations.every_mutation():
            with self.subTest(target=mutation.target, name=mutation.name):
                self.assertIn(mutation.rule, records.rules())
                text = (pathlib.Path(mutations.folder_of(mutation.target)) / mutation.file).read_text(encoding="utf-8")
                self.assertEqual(text.count(mutation.old), 1)
                self.assertNotEqual(mutation.old, mutation.new)

    def test_mutations_are_named(self):
        counts = collections.Counter((mutation.target, mutation.name) for mutation in mutations.every_mutation())
        self.assertEqual([name for name, count in counts.items() if count > 1], [])

    def test_each_rule_has_a_mutation_or_a_reason(self):
        mutated = {mutation.rule for mutation in mutations.every_mutation() if mutation.target != mutations.HEADERS}
        reasons = mutations.NO_MUTATION
        self.assertEqual([rule for rule in records.rules() if rule not in mutated and rule not in reasons
                          and rule not in records.reasons()], [])
        self.assertEqual([rule for rule in reasons if rule in mutated or rule not in records.rules()], [])

    def test_expected_failures_are_records(self):
        ids = {record["id"] for record in CORPUS}
        for reader, listed in conformance.load_expected().items():
            self.assertEqual([id_ for id_ in listed if id_ not in ids], [], reader)


class Readers(unittest.TestCase):
    def check(self, reader, at_least, every=1):
        asked = [record for record in CORPUS if record["verdict"] != "trusted"][::every]
        prepare(reader)
        answers = conformance.run(reader, asked, folder_of_records())
        bad, unexpected = conformance.judge(reader, answers, conformance.load_expected())
        self.assertEqual([f"{answer.id} ({answer.place}): {answer.outcome}: {answer.seen}" for answer in bad], [])
        self.assertEqual(unexpected, [], "listed in expected_failures.json, and right")
        self.assertGreaterEqual(sum(answer.outcome == conformance.RIGHT for answer in answers), at_least)

    @support.ON_CPYTHON
    def test_the_c_headers(self):
        self.check("reader_c_headers", 1650)

    @support.ON_CPYTHON
    def test_resolve_in_cpp(self):
        self.check("reader_cpp_resolve", 1650)

    def test_the_python_package(self):
        self.check("reader_python_package", 400 if support.IS_PYPY else 1650)

    @support.ON_CPYTHON
    def test_the_providers_wrapper(self):
        self.check("reader_provider", 45)

    @support.only_if(not support.IS_PYPY and sys.version_info >= (3, 12)
                     and not support.sysconfig.get_config_var("Py_GIL_DISABLED"))
    def test_the_limited_api(self):
        self.check("reader_limited_api", 30)

    @support.ON_CPYTHON
    def test_numba(self):
        # Numba compiles a function for each record, so this test uses a sample. test_conformance_numba.py covers all
        # records.
        adapter_support.library("numba")
        self.check("reader_numba", 20, every=8)

    @support.ON_CPYTHON
    def test_sqlite(self):
        adapter_support.library("apsw")
        self.check("reader_sqlite", 10)


# The reader and the provider in Python need the GIL.
@support.only_if(not support.IS_PYPY and not support.sysconfig.get_config_var("Py_GIL_DISABLED"))
class Members(unittest.TestCase):
    """Tests independent implementations of the specification against each other."""

    @classmethod
    def setUpClass(cls):
        cls.folder = folder_of_records()
        for reader in cls.readers:
            prepare(reader)
        conformance.prepare_members(cls.folder, [*cls.members, "headers"])

    members = ("c", "ctypes")
    readers = ("reader_c_headers", "reader_cpp_resolve", "reader_python_package")

    def check_records(self, name, at_least):
        asked = [record for record in CORPUS if record["verdict"] != "trusted"]
        answers = conformance.run(f"member_{name}_consumer", asked, self.folder)
        bad, _ = conformance.judge(name, answers, {})
        self.assertEqual([f"{answer.id} ({answer.place}): {answer.outcome}: {answer.seen}" for answer in bad], [])
        self.assertGreaterEqual(sum(answer.outcome == conformance.RIGHT for answer in answers), at_least)

    def check_pairs(self, providers, readers):
        for provider in providers:
            for reader in readers:
                with self.subTest(provider=provider, reader=reader):
                    rows = conformance.pair(f"member_{provider}_provider", reader, self.folder)
                    self.assertEqual([row for row in rows if row[2]], [])
                    left_out = {"ctypes": ["sibling"]}.get(provider, [])
                    self.assertEqual(sorted(tuple(row[:2]) for row in rows),
                                     sorted((way, name) for way, names in members.WAYS.items()
                                            for name in names if way not in left_out))

    def test_all_pairs(self):
        self.check_pairs([*self.members, "headers"], [*self.readers, *(f"member_{name}_consumer" for name in self.members)])

    def test_the_records(self):
        for name in self.members:
            with self.subTest(member=name):
                self.check_records(name, 1650)


class Tagging(unittest.TestCase):
    """Tests that providers follow the same rules as readers."""

    def test_tag_refuses_what_readers_must_not_take(self):
        counts = collections.Counter()
        for record in CORPUS:
            if record["layer"] != "entry" or "count" in record or record.get("ask", {}).get("can") is not None:
                continue
            signature, flags, function = record["entries"][0]
            if signature is None or len(record["entries"]) > 1:
                continue

            def callable_(*arguments):
                return arguments

            with self.subTest(id=record["id"]):
                address = 4711 if function else 0
                counts[record["verdict"]] += 1
                if record["verdict"] == "accept":
                    typedcall.tag(callable_, signature, address, flags=records.number(flags))
                    self.assertEqual(typedcall.signatures(callable_), [signature])
                else:
                    with self.assertRaises((ValueError, OverflowError)):
                        typedcall.tag(callable_, signature, address, flags=records.number(flags))
                    self.assertEqual(typedcall.signatures(callable_), [])
        self.assertGreater(counts["accept"], 80)
        self.assertGreater(counts["reject"], 100)
