#!/usr/bin/env python3
"""Measures topics, writes the results, the pictures and the page, and reports changes. Run by tools/figures."""

import argparse
import importlib.util
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "peers")]
import calls  # noqa: E402
import compare  # noqa: E402
import draw  # noqa: E402
import engines  # noqa: E402
import growth  # noqa: E402
import machine  # noqa: E402
import modules  # noqa: E402
import newest  # noqa: E402
import page  # noqa: E402
import results  # noqa: E402

DOCS = machine.ROOT / "docs"
TOPICS = {"calls": calls.SOURCES + newest.pypy_sources() + engines.SOURCES, "modules": modules.SOURCES,
          "start_up": modules.START_UP, "growth": growth.SOURCES + modules.GROWTH, "threads": calls.THREADS,
          **{python: newest.sources(python) for python in newest.PYTHONS}}


def measure(topic, bench, command, only=()):
    """Measures a topic, and returns the results."""
    if topic in newest.PYTHONS and not bench.is_for(topic):
        return newest.in_their_root(topic, bench, only)
    file = {"schema": results.SCHEMA, "topic": topic, "command": command, "date": bench.now(),
            "quick": bench.quick, "machine": bench.describe(), "versions": {}, "comparisons": []}
    for source in TOPICS[topic]:
        if only and source.name not in only:
            continue
        begin = time.monotonic()
        found = results.collect(source, bench)
        file["comparisons"] += found
        print(f"{topic}: {source.name}: {time.monotonic() - begin:.0f} s", flush=True)
        for each in found:
            for label, reason in each["missing"].items():
                print(f"  {each['name']}: not here: {label}: {reason}", flush=True)
    file["versions"] = bench.versions()
    return file


def all_results(folder):
    return {path.stem: results.read(path) for path in sorted(folder.glob("*.json"))}


def write_page(folder):
    """Draws all results in the folder. If it is the project's own folder, also writes the page."""
    if importlib.util.find_spec("matplotlib") is None:
        sys.exit("no pictures are drawn and no page is made: matplotlib is not installed")
    files = all_results(folder)
    for topic, file in files.items():
        found = {each["name"]: each for each in file["comparisons"]}
        for source in TOPICS[topic]:
            for comparison in source.comparisons:
                if found.get(comparison.name, {}).get("rows"):
                    text = draw.draw(comparison, found[comparison.name])
                    (folder / f"{comparison.name}.svg").write_text(text, encoding="utf-8")
    path = DOCS / "figures.md"
    if folder == DOCS / "figures":
        text = path.read_text(encoding="utf-8")
        path.write_text(page.replaced(text, page.made(files, TOPICS)), encoding="utf-8")


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="tools/figures", description="Measures what the pages state, and draws it.",
        epilog="tools/figures compare OLD NEW says what changed between two results, files or folders; "
        "tools/figures draw redraws the pictures and rewrites the page.")
    parser.add_argument("topics", nargs="*", metavar="TOPIC", help="one of: " + ", ".join(TOPICS))
    parser.add_argument("--quick", action="store_true", help="few rounds, and less work")
    parser.add_argument("--only", nargs="+", default=[], metavar="SOURCE",
                        help="some sources of the topics; the other results stay")
    parser.add_argument("--output", type=pathlib.Path, default=DOCS / "figures", metavar="FOLDER",
                        help="where the results go (default: docs/figures)")
    parser.add_argument("--pypy", help=argparse.SUPPRESS)
    parser.add_argument("--cpython", default=sys.executable, help=argparse.SUPPRESS)
    parser.add_argument("--programs", help=argparse.SUPPRESS)
    parser.add_argument("--newest", help=argparse.SUPPRESS)
    parser.add_argument("--free-threaded", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    unknown = [topic for topic in options.topics if topic not in TOPICS]
    if unknown:
        parser.error(f"no topic '{unknown[0]}'; there are: {' '.join(TOPICS)}")
    sources = {source.name for topic in options.topics or TOPICS for source in TOPICS[topic]}
    wrong = [name for name in options.only if name not in sources]
    if wrong:
        parser.error(f"no source '{wrong[0]}'; there are: {' '.join(sorted(sources))}")
    return options


def main(arguments):
    if arguments[:1] == ["compare"]:
        if len(arguments) != 3:
            sys.exit("tools/figures compare OLD NEW")
        compare.compare_paths(*map(pathlib.Path, arguments[1:]))
        return
    options = parse([each for each in arguments if each != "draw"])
    folder = options.output.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if arguments[:1] != ["draw"]:
        before = all_results(folder)
        shown = [each for each in options.topics]
        command = " ".join(["tools/figures", *shown, *["--quick"] * options.quick])
        bench = machine.Bench(options.quick, options.pypy or None, options.cpython, options.programs,
                              newest=options.newest or None, free_threaded=options.free_threaded or None)
        for topic in options.topics or TOPICS:
            why = options.only and topic in before and results.cannot_merge(before[topic], bench.describe(), options.quick)
            if why:
                sys.exit(f"--only {' '.join(options.only)}: {why}")
            try:
                file = measure(topic, bench, command, options.only)
            except results.NotHere as error:
                print(f"{topic}: not here: {error}", flush=True)
                continue
            if not file["comparisons"]:  # none of the sources is in this topic
                continue
            if options.only and topic in before:
                file = results.merged(before[topic], file)
            results.write(folder / f"{topic}.json", file)
            if topic in before:
                compare.report(before[topic], file)
    write_page(folder)


if __name__ == "__main__":
    main(sys.argv[1:])
