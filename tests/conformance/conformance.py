"""Checks whether readers follow docs/ABI.md. README.md describes the protocol."""
import argparse
import collections
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile

import records

READERS = os.path.join(records.HERE, "readers")
EXPECTED = os.path.join(records.HERE, "expected_failures.json")
#: Our readers that run on every CPython.
OURS = ["reader_c_headers", "reader_cpp_resolve", "reader_python_package", "reader_provider"]
#: Our readers that need a library. None stands for CPython 3.12 or later.
MORE = {"reader_numba": "numba", "reader_sqlite": "apsw", "reader_limited_api": None}
#: The Rust example must compile with Debian's rustc.
RUSTC = shutil.which("rustc", path=os.defpath) or shutil.which("rustc")
RIGHT, WRONG, CRASHED, NOT_ASKED = "right", "wrong", "crashed", "not asked"
#: The time limit for one batch of records, in seconds.
LIMIT = 900
TOO_LATE = "no answer in time"
Answer = collections.namedtuple("Answer", "id place seen outcome")


def prepare(reader, folder, headers=None):
    """Compiles a C or C++ reader with these headers, or the module that reader_provider needs."""
    for suffix in (".c", ".cc"):
        source = os.path.join(READERS, reader + suffix)
        if os.path.exists(source):
            records.compile_module([source], reader, folder, compiler="gcc" if suffix == ".c" else "g++",
                                   own=headers)
    if reader == "reader_provider":
        path = os.path.join(folder, "conformance_wrappers.cc")
        with open(path, "w", encoding="utf-8") as file:
            file.write(records.provider_source(records.corpus()))
        records.compile_module([path], "conformance_wrappers", folder, compiler="g++")


def prepare_members(folder, names=("c", "ctypes", "headers")):
    """Compiles or copies the modules of the members."""
    for name in names:
        source = os.path.join(records.HERE, "members", name)
        if name in ("c", "headers"):
            for part in ("provider", "consumer") if name == "c" else ("provider",):
                records.compile_module([os.path.join(source, part + ".c")], f"member_{name}_{part}", folder,
                                       flags=("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror"),
                                       own=source if name == "c" else None)
        elif name == "rust":
            source = os.path.join(records.ROOT, "examples", "rust")
            for part in ("provider", "consumer"):
                subprocess.run([RUSTC, "--edition", "2021", "-O", "--crate-type", "cdylib", "--crate-name", part, "-o",
                                os.path.join(folder, f"member_rust_{part}.so"), part + ".rs"], cwd=source, check=True)
        else:
            for file in os.listdir(source):
                shutil.copy(os.path.join(source, file), folder)


def pair(provider, reader, folder, python=sys.executable):
    """Calls each function of the provider through the reader, in a separate process. Returns [way,
    name, fault] for each."""
    done = subprocess.run([python, os.path.join(records.HERE, "members", "members.py"), provider, reader], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment_of(folder))
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return rows if done.returncode == 0 else [*rows, ["", "", f"status {done.returncode}: {done.stderr[-500:]}"]]


def environment_of(folder):
    return dict(os.environ, PYTHONPATH=os.pathsep.join(
        [folder, records.HERE, READERS, *filter(None, [os.environ.get("PYTHONPATH")])]))


def ask(reader, ids, folder, python):
    """Runs the reader on these records in a separate process. Returns (answers, the question that was
    pending at the end or None, status, error output)."""
    try:
        done = subprocess.run([python, os.path.join(records.HERE, "worker.py"), folder, reader], text=True, errors="replace",
                              input="\n".join(ids), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment_of(folder), timeout=LIMIT)
        status, output, errors = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as error:
        status, output, errors = TOO_LATE, error.stdout or "", ""
        output = output if isinstance(output, str) else output.decode(errors="replace")
    answers, pending, is_done = [], None, False
    for line in output.splitlines():
        id_, place, seen, right = json.loads(line)
        if seen == "asked":
            pending = id_, place
        elif id_ == "done":
            is_done = True
        else:
            pending = None
            answers.append(Answer(id_, place, seen, NOT_ASKED if right is None else RIGHT if right else WRONG))
    return answers, pending, status if status or is_done else "it ended early", errors


def run(reader, found, folder, python=sys.executable):
    """Returns every answer of a reader. After a crash, the answer is CRASHED, and a new process
    continues with the next record."""
    answers = []
    # PyPy has no interface.
    batches = [[record["id"]] for record in found
               if record["layer"] == "interface" and sys.implementation.name == "cpython"]
    batches.insert(0, [record["id"] for record in found if record["layer"] != "interface"])
    for batch in batches:
        while batch:
            got, pending, status, errors = ask(reader, batch, folder, python)
            answers += got
            if status == 0:
                break
            if pending is None and not got:
                raise RuntimeError(f"{reader} cannot be asked: {errors[-2000:]}")
            # The process died between two records.
            crashed = pending or (got[-1].id, None)
            answers.append(Answer(*crashed, f"status {status}: {errors[-300:]}", CRASHED))
            batch = batch[batch.index(crashed[0]) + 1:]
    return answers


def load_expected(path=EXPECTED):
    """Returns {reader: {id: reason}} for the records that our readers do not satisfy yet."""
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def judge(reader, answers, expected):
    """Returns (unexpected wrong answers, right answers that are listed as wrong)."""
    listed = expected.get(reader, {})
    bad = [answer for answer in answers if answer.outcome in (WRONG, CRASHED)
           and (answer.outcome == CRASHED or answer.id not in listed)]
    asked = {answer.id for answer in answers if answer.outcome != NOT_ASKED}
    failed = {answer.id for answer in answers if answer.outcome in (WRONG, CRASHED)}
    return bad, sorted(id_ for id_ in listed if id_ in asked and id_ not in failed)


def report(found, results, expected):
    """Returns a Markdown page: counts by verdict, by rule, and by reader."""
    lines = ["# Conformance", "", "| layer | " + " | ".join(sorted(records.VERDICTS)) + " |",
             "|---|" + "---|" * len(records.VERDICTS)]
    for layer in sorted(records.LAYERS):
        counts = collections.Counter(record["verdict"] for record in found if record["layer"] == layer)
        lines.append(f"| {layer} | " + " | ".join(str(counts[v]) for v in sorted(records.VERDICTS)) + " |")
    lines += ["", "| reader | right | wrong | of these expected | crashed | not asked |", "|---|---|---|---|---|---|"]
    for reader, answers in results.items():
        counts = collections.Counter(answer.outcome for answer in answers)
        known = sum(answer.outcome == WRONG and answer.id in expected.get(reader, {}) for answer in answers)
        lines.append(f"| {reader} | {counts[RIGHT]} | {counts[WRONG]} | {known} | {counts[CRASHED]} | {counts[NOT_ASKED]} |")
    lines += ["", "| not run, by its source | of records | does |", "|---|---|---|"]
    for field in ("pypy_branch", "sep200_header"):
        counts = collections.Counter(record[field] for record in found if field in record)
        lines.append(f"| {field} | {sum(counts.values())} | " + ", ".join(
            f"{name} {count}" for name, count in sorted(counts.items())) + " |")
    lines += ["", "| rule | records | or why there is none |", "|---|---|---|"]
    by_rule = collections.Counter(rule for record in found for rule in record["rules"])
    why = collections.defaultdict(list)
    for of, reason in records.reasons().items():
        rule, _, part = of.partition(": ")
        why[rule].append(f"({part}) {reason}" if part else reason)
    lines += [f"| {rule} | {by_rule[rule]} | {'; '.join(why[rule])} |" for rule in records.rules()]
    lines += ["", "| reader | record | place | what was seen |", "|---|---|---|---|"]
    lines += [f"| {reader} | {answer.id} | {answer.place} | {answer.outcome}: {answer.seen} |".replace("\n", " ")
              for reader, answers in results.items() for answer in answers if answer.outcome in (WRONG, CRASHED)]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reader", action="append", default=[], metavar="MODULE",
                        help="an importable module, or one of ours by its name (repeatable; default: ours)")
    parser.add_argument("--records", default="", metavar="TEXT", help="only records whose id contains this")
    parser.add_argument("--report", metavar="FILE", help="write a page with the counts")
    options = parser.parse_args()
    found = records.corpus()
    asked = [record for record in found if record["verdict"] != "trusted" and options.records in record["id"]]
    expected, results, status = load_expected(), {}, 0
    with tempfile.TemporaryDirectory() as folder:
        records.build(found, folder)
        more = [reader for reader, library in MORE.items() if (
            importlib.util.find_spec(library) if library else sys.version_info >= (3, 12))]
        for reader in options.reader or OURS + more:
            prepare(reader, folder)
            answers = results[reader] = run(reader, asked, folder)
            bad, unexpected = judge(reader, answers, expected)
            for answer in bad:
                print(f"{reader}: {answer.id} ({answer.place}): {answer.outcome}: {answer.seen}")
            for id_ in unexpected:
                print(f"{reader}: {id_} is right, and listed in expected_failures.json")
            counts = collections.Counter(answer.outcome for answer in answers)
            print(f"{reader}: " + ", ".join(f"{counts[name]} {name}" for name in (RIGHT, WRONG, CRASHED, NOT_ASKED)))
            status |= bool(bad or unexpected)
    if options.report:
        with open(options.report, "w", encoding="utf-8") as file:
            file.write(report(found, results, expected))
    return status


if __name__ == "__main__":
    sys.exit(main())
