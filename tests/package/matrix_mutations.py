"""Tests the matrix with mutated headers of the engine, and mutated sinks of the made-up runtime. Exits with status 1 unless
the matrix notices every mutation, except those that change nothing.

    matrix_mutations.py [TEXT]    only the mutations whose line contains the text
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import support

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHOOSE, CALL, VALUE, ENTRY = (f"typedcall/calling/{name}.h" for name in ("choose", "call", "argument_value", "entry"))
TYPE, TABLE, VIEW = "typedcall/calling/value_type.h", "typedcall/overload_choice.h", "typedcall/entry_view.h"
ACCESS, LOOP = "typedcall/python/typedcall/calling/python_access.h", "typedcall/loop.h"
VALUES, ARRAYS = "made_up_values.cc", "made_up_arrays.cc"
#: The mutations: (class, file, text in the file, replacement), and for some the reason why nothing changes.
MUTATIONS = [
    ("order", TABLE, "if (one[i] > other[i]) return 0;", ""),
    ("order", TABLE, "if (worst[other] == equal &&", "if (worst[other] > PyNativeRank_NONE &&"),
    ("order", CHOOSE, "is_best = rank < how;", "is_best = true;"),
    ("order", CHOOSE, "if (rank < how) best = &each, how = rank;", "if (rank <= how) best = &each, how = rank;"),
    ("order", CHOOSE, "if (type.is_buffer && !type.is_text) return nullptr;", "",
     "the first overload for an array is then one with an object, which the engine does not pass"),
    ("order", TABLE, "X(BOOL, EXACT, NEAR,", "X(BOOL, EXACT, EXACT,"),
    ("order", TABLE, "X(FLOAT, NONE, NONE, EXACT, NEAR,", "X(FLOAT, NONE, NONE, EXACT, EXACT,"),
    ("8.9", CHOOSE, "if ((*too_large)[i] && one.parameters[i].loses_digits) return converted::out_of_range;", ""),
    ("8.9", CHOOSE, "all_of_them = found, (*too_large)[i] = true;", "return (*too_large)[i] = true, found;"),
    ("8.9", TABLE, "return kind == PyNativeKind_FLOATING || kind", "return kind"),
    ("8.10", CHOOSE, "return how == converted::out_of_range;", "return true;"),
    ("range", VALUE, "wanted.holds(static_cast<std::int64_t>(value.bits));", "true;"),
    ("range", TYPE, "is_in_range(number, kind == PyNativeKind_SIGNED, size)", "is_in_range(number, true, size)"),
    ("fall back", ENTRY, "return outcome::none;", "return outcome::value;"),
    ("fall back", CALL, "    return run_held(*chosen, callable, where, count, values, sink);\n  }\n"
                        "  if (!sink.settles(count)) sink.fall_back(count);",
     "    return run_held(*chosen, callable, where, count, values, sink);\n  }\n"),
    ("fall back", VALUES, "bool settles(std::size_t) const { return false; }", "bool settles(std::size_t) const { return true; }"),
    ("fall back", LOOP, "if (!made.back_.set(made.callable_.get(), made.types_.parameters.size())) return std::nullopt;", ""),
    ("exception", ENTRY, "PyErr_Occurred() != nullptr ? outcome::raised : outcome::value;", "outcome::raised;"),
    ("exception", ENTRY, "PyErr_Occurred() != nullptr ? outcome::raised : outcome::value;", "outcome::value;"),
    ("exception", ACCESS, "const PyTypedcall_SavedError pending = PyTypedcall_SaveError();\n      body();\n"
                        "      PyTypedcall_RestoreError(pending);", "body();"),
    ("exception", ACCESS, "PyTypedcall_RestoreError(pending);", ""),
    ("exception", ARRAYS, "    typedcall::internal::clear_exception();\n", ""),
    ("thread", CALL, "  without_gil(run);\n", "  run();\n"),
    ("thread", VIEW, "? PyNativeThreadState_ANY\n                                                     "
                     ": PyNativeThreadState_ATTACHED;", "? PyNativeThreadState_ANY : PyNativeThreadState_ANY;"),
    ("thread", VIEW, "if ((flags & PyNativeCallable_NEEDS_THREAD) != 0) return PyNativeThreadState_ATTACHED;", ""),
    ("thread", LOOP, "    if (PyNativeView_Internal_IsDetached(thread_state()))\n"
                     "      return run_without_gil(args, dimensions[0], steps, done);\n", ""),
    ("thread", ARRAYS, "if (self.loop.may_detach() && !self.loop.may_fall_back())", "if (!self.loop.needs_thread())"),
    ("None", VALUES, "if (from.is == made_up::kind::nothing) return object_ref::borrow(Py_None);", ""),
    ("None", VALUES, "return argument_value::nothing();", "return argument_value::integer(0);"),
    ("buffers", VALUE, "!(may_write && value.is_const);", "true;"),
    ("buffers", VALUE, "value.element == wanted.element &&", ""),
    ("buffers", VALUE, "return are_right ? converted::yes : converted::no;", "return converted::yes;"),
    ("buffers", ENTRY, "internal::make_bools(values[0].get<void *>(), values[1].get<std::size_t>());", ""),
    ("texts", TYPE, "(is_buffer || std::memchr(text, 0, length) == nullptr);", "true;"),
    ("texts", VALUE, "if (wanted.is_text != (value.kind == PyNativeArgumentKind_STR)) return converted::no;",
     "if (wanted.is_text && value.kind != PyNativeArgumentKind_STR) return converted::no;",
     "a text has no elements, which are compared below"),
    ("texts", VALUE, "if (wanted.is_buffer) out[1] = native_value::of(value.size);",
     "if (wanted.is_buffer) out[1] = native_value::of(value.size + 1);"),
    ("texts", CALL, "PyUnicode_DecodeUTF8(value.utf8(), static_cast<Py_ssize_t>(value.size), nullptr));",
     "PyUnicode_FromString(value.utf8()));"),
    ("refusals", VALUES, "if (is_too_large) detached(", "detached("),
]
#: What is asked of each sink: names of properties, and "sets".
ASKED = {"made-up values": "choice raising states status falling_back texts equality buffers native defaults threads sets "
                           "holding interrupts",
         "made-up arrays": "raising states status falling_back choice equality threads native holding interrupts",
         "long made-up arrays": "falling_back equality"}
Mutation = collections.namedtuple("Mutation", "group file old new equivalent", defaults=[""])


def every_mutation():
    return [Mutation(*each) for each in MUTATIONS]


def faults(name):
    """Yields a text for each fault that the matrix finds in a sink."""
    import matrix_properties
    import matrix_sets
    import matrix_sinks
    from test_matrix import EXPECTED, refusals

    with open(EXPECTED, encoding="utf-8") as file:
        expected = json.load(file)["refused"][name]
    sink = matrix_sinks.SINKS[name]()
    sink.setUp()
    for asked in ASKED[name].split():
        if asked == "sets":
            kind = matrix_sets.MadeUp
            sets = [*matrix_sets.grids(kind.types), *[*matrix_sets.pairs(kind.types)][::40], *matrix_sets.drawn(
                kind.types, 200), *matrix_sets.drawn(kind.types, 100, codes=["b", "l", "d", "O", "s", *matrix_sets.BUFFERS])]
            found = matrix_sets.cells(kind(), sets)
            yield from (f"sets: {one.overloads} {call}: {what}" for one, call, outcome, what in found
                        if outcome.endswith(("wrong", "wrongly")))
            continue
        outcomes = collections.defaultdict(set)
        for cell, outcome, what in matrix_properties.PROPERTIES[asked](sink):
            outcomes[cell.partition("(")[0]].add(outcome)
            if outcome in ("wrong", "by value"):
                yield f"{asked}: {cell}: {what}"
        if refusals(outcomes) != expected.get(asked, ""):
            yield f"{asked}: refused: {refusals(outcomes)}"


def ask(names):
    """Prints the first fault of these sinks, if there is one."""
    for name in names:
        for fault in faults(name):
            print(f"{name}: {' '.join(fault.split())[:160]}")
            sys.stdout.flush()
            os._exit(0)
    print("no fault", flush=True)
    os._exit(0)


def mutated(mutation, folder):
    """Returns the path of the file in `folder`, and its changed text. The old text must be there exactly once."""
    path = folder / mutation.file
    text = path.read_text(encoding="utf-8")
    if text.count(mutation.old) != 1:
        raise ValueError(f"{mutation.file}: {mutation.old!r} is there {text.count(mutation.old)} times")
    return path, text.replace(mutation.old, mutation.new)


def copied(folder):
    """Copies the headers, and the sinks, to a folder."""
    for room in ("core", "typedcall"):
        shutil.copytree(ROOT / room, folder / room, ignore=lambda where, names: [
            name for name in names if not name.endswith((".h", ".hpp")) and not os.path.isdir(os.path.join(where, name))])
    for path in support.MODULES.glob("made_up_*"):
        shutil.copy(path, folder)


def noticed_by(mutation):
    """Returns a text that says which cell of the matrix notices the mutation, or ""."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        copied(folder)
        if mutation is not None:
            path, text = mutated(mutation, folder)
            path.write_text(text, encoding="utf-8")
        for source in (VALUES, ARRAYS) if mutation is None or mutation.file not in (LOOP, ARRAYS) else (ARRAYS,):
            support.compile_module(folder / source, folder, include=str(folder), flags=[
                f"-I{folder / 'typedcall/python/typedcall'}", "-w", "-lffi"])
            found = first_fault([name for name in ASKED if ("arrays" in name) == (source == ARRAYS)], folder)
            if found:
                return found
    return ""


def first_fault(names, folder):
    """Asks the sinks whose modules are in `folder`, in a process of their own."""
    code = (f"import sys; sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r}); "
            f"import matrix_mutations; matrix_mutations.ask({names!r})")
    try:
        ended = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=300,
                               env={**os.environ, "TYPEDCALL_MADE_UP": str(folder)})
    except subprocess.TimeoutExpired:
        return "the calls do not end"
    if ended.returncode != 0:
        return f"status {ended.returncode}: {' '.join(ended.stderr.split())[-200:]}"
    said = ended.stdout.splitlines()[-1]
    return "" if said == "no fault" else said


def main():
    wanted = [one for one in every_mutation() if all(text in " ".join(one) for text in sys.argv[1:])]
    counts = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        # The matrix must not find a fault without a mutation.
        for noticed in pool.map(noticed_by, [None]):
            if noticed:
                sys.exit(f"without a mutation: {noticed}")
        for mutation, noticed in zip(wanted, pool.map(noticed_by, wanted)):
            said = "noticed" if noticed else "MISSED"
            if mutation.equivalent:
                said = "NOT EQUIVALENT" if noticed else "equivalent"
            counts[said] += 1
            reason = noticed or mutation.equivalent
            print(f"{said} {mutation.group} {mutation.file} {' '.join(mutation.old.split())!r} ({reason})", flush=True)
    print(", ".join(f"{count} {said}" for said, count in counts.items()))
    return int(counts["MISSED"] + counts["NOT EQUIVALENT"] > 0)


if __name__ == "__main__":
    sys.exit(main())
