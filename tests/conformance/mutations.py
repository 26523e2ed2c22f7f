"""Tests the records with mutated readers: those that use our headers, and the one in members/c.
Exits with status 1 unless the records detect every mutation, except those that change nothing.

    mutations.py [TEXT]    only the mutations whose line contains the text
"""
import collections
import concurrent.futures
import json
import os
import shutil
import sys
import tempfile

import conformance
import records

CALLABLE, TYPE, METHOD = "typedcall/native_callable.h", "typedcall/signature/native_type.h", "typedcall/typed_method.h"
SIGNATURE, SIBLING, REQUEST = "typedcall/signature.h", "typedcall/sibling_symbol.h", "typedcall/resolve/request.h"
#: The mutations of our headers: (rule, file, text in the file, replacement).
MUTATIONS = [
    ("3.8", CALLABLE, "if (flags > UINT32_MAX || (flags", "if ((flags"),
    ("3.8", CALLABLE, "(flags & PyNativeCallable_ABI_MASK) != 0) return 0;", "0) return 0;"),
    ("3.8", CALLABLE, "PyNativeCallable_MANDATORY_MASK & ~PyNativeCallable_KNOWN_MASK", "0"),
    ("3.11", CALLABLE, "return (flags & PyNativeCallable_NEEDS_THREAD) != 0;", "return 1;"),
    ("3.11", CALLABLE, "return (flags & fails) == 0;", "return 1;"),
    ("3.11", CALLABLE, "(flags & raises) != PyNativeCallable_MAY_RAISE", "0"),
    ("3.11", CALLABLE, "return result.code == PyNativeType_DOUBLE && !result.pointer_flags;", "return 1;"),
    ("3.12", CALLABLE, "PyNativeKind_HasErrorValue(PyNativeType_Kind(result));", "1;"),
    ("3.13", CALLABLE, "return PyNativeType_Equivalent(result, status);", "return 1;"),
    ("1.21", CALLABLE, "own != NULL && own == found && owner->tp_call == type->tp_call;", "1;"),
    ("1.21", CALLABLE, "own != NULL && own == found && owner", "owner"),
    ("8.2", TYPE, "PyNativeCode_Kind(b.code) == kind &&", "1 &&"),
    ("8.2", TYPE, "PyNativeCode_Size(a.code) == PyNativeCode_Size(b.code);", "1;"),
    ("8.3", TYPE, "PyNativeType_IsConst(from) <= PyNativeType_IsConst(to);", "1;"),
    ("8.3", TYPE, "!PyNativeType_IsBuffer(type) && !PyNativeType_IsConst(type);", "!PyNativeType_IsBuffer(type);"),
    ("3.4", SIGNATURE, "#define PyNativeSignature_MAX_ARGS 127", "#define PyNativeSignature_MAX_ARGS 128"),
    ("3.3", SIGNATURE, "else if (!reason && type.code == PyNativeType_VOID)", "else if (0)"),
    ("3.3", SIGNATURE, "if (*position < length && text[*position] == '*') {", "if (0) {"),
    ("4.2", METHOD, "if (metadata->magic != PyTypedMethod_MAGIC) return NULL;", ""),
    ("4.2", METHOD, "if (metadata->abi_major != PyTypedMethod_ABI_MAJOR) return NULL;", ""),
    ("4.2", METHOD, "return metadata->size >= PyTypedMethod_SIZE_1_0 ? metadata : NULL;", "return metadata;"),
    ("4.5", METHOD, "METH_VARARGS | METH_KEYWORDS | METH_NOARGS", "METH_VARARGS | METH_NOARGS"),
    ("4.6", METHOD, "if (nargs == most) return 0;", ""),
    ("4.6", METHOD, "if (signature[nargs] == '\\0') return 0;", "if (signature[nargs] == '\\0') break;"),
    ("4.7", METHOD, "if (metadata->arg_type == -1) return 0;", ""),
    ("4.7", METHOD, "return PyTypedMethod_Internal_Telling(def) > 0 &&", "return 1 &&"),
    ("4.10", SIBLING, "if (sibling == NULL || sibling->def != def) return NULL;", "if (sibling == NULL) return NULL;"),
    ("4.10", SIBLING, "symbol->st_size == size &&", "1 &&"),
    ("4.11", SIBLING, "if (length == limit || entry->funcptr == NULL) return 0;", "if (length == limit) return 0;"),
    ("5.2", "core/interface.h", "interface->abi_major == PyTypedcall_ABI_MAJOR &&", "1 &&"),
    ("5.2", "core/interface.h", "interface->size >= PyTypedcall_INTERFACE_SIZE_1_0;", "1;"),
    ("1.2", "core/custom_slots.h", "return PyTC_HasData(type) &&", "return 1 &&"),
    ("1.5", "core/custom_slots.h", "if (data == NULL || id <= PyCustomSlot_ID_SKIP) return NULL;",
     "if (data == NULL) return NULL;"),
    ("3.10", REQUEST, "(entry.flags & PyNativeCallable_MANDATORY_MASK & ~handled) == 0;", "true;"),
    ("3.12", REQUEST, "return (entry.flags & PyNativeCallable_Internal_OUTCOME_MASK) == 0 || goes_with_result(entry);", "return true;"),
    ("8.3", REQUEST, "return (entry.flags & PyNativeCallable_Internal_STATUS_MASK) == 0 || has_same_place(entry, asked);", "return true;"),
    ("8.3", REQUEST, "if (before == '*' && b == 's') return false;  // \"*s\" has no \"k\"", ""),
    ("8.6", "typedcall/resolve.h", "if (!asked.unbound) return false;", ""),
    ("3.16", "typedcall/resolve.h", "without_self.capabilities &= ~PyNativeCallable_TAKES_SELF;",
     "return false;"),
]


HEADERS, WITHOUT_HEADERS = "headers", "members/c"
#: The readers of each target.
READERS = {HEADERS: ("reader_c_headers", "reader_cpp_resolve"), WITHOUT_HEADERS: ("member_c_consumer",)}


#: A mutation of either target. `file` is relative to the target's folder; `equivalent` says why nothing changes, or is "".
Mutation = collections.namedtuple("Mutation", "target name rule file old new equivalent", defaults=[""])
with open(os.path.join(records.HERE, "reader_mutations.json"), encoding="utf-8") as _file:
    _OF_A_READER = json.load(_file)
#: The rules that have a record and no mutation, and why.
NO_MUTATION = _OF_A_READER["no_mutation"]


def every_mutation():
    """Returns the mutations of both targets."""
    return [Mutation(HEADERS, old, rule, path, old, new) for rule, path, old, new in MUTATIONS] + [
        Mutation(WITHOUT_HEADERS, **fields) for fields in _OF_A_READER["mutations"]]


def folder_of(target):
    """Returns the folder with the files that the mutations of this target change."""
    return records.headers() if target == HEADERS else os.path.join(records.HERE, "members", "c")


def mutate(folder, path, old, new):
    """Replaces text that must occur exactly once in a file in `folder`."""
    path = os.path.join(folder, path)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if text.count(old) != 1:
        raise ValueError(f"{path}: {old!r} is there {text.count(old)} times")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(old, new))


def compile_reader(reader, folder, source):
    """Compiles a reader from the changed files in `source`."""
    if reader.startswith("reader_"):
        conformance.prepare(reader, folder, headers=source)
    else:
        records.compile_module([os.path.join(source, "consumer.c")], reader, folder, flags=["-w", "-O0"], own=source)


def first_fault(reader, mutation, asked, folder):
    """Returns the first wrong answer that is found, or None. The records of the rule come first."""
    # Each record of an interface needs a process of its own.
    may_change = [record for record in asked if record["layer"] != "interface" or mutation.rule[0] in "56"]
    here, rest = ([record for record in may_change if (mutation.rule in record["rules"]) == is_here]
                  for is_here in (True, False))
    for part in filter(None, (here, rest)):
        shared = [record["id"] for record in part if record["layer"] != "interface"]
        alone = [[record["id"]] for record in part if record["layer"] == "interface"]
        for batch in filter(None, (shared, *alone)):
            answers, pending, status, errors = conformance.ask(reader, batch, folder, sys.executable)
            bad, _ = conformance.judge(reader, answers, {})
            if bad:
                return f"{bad[0].id} ({len(bad)} of {len(answers)})"
            if status == conformance.TOO_LATE:  # Not a fault of the reader, but of a busy machine.
                raise RuntimeError(f"{mutation.name!r}: {status}, after {len(answers)} of {len(batch)} records")
            if pending is not None:
                return f"{pending[0]} (status {status})"
            if status != 0:
                return f"the end (status {status}: {errors[-300:]})"
    return None


def noticed_by(mutation, module_folder, asked):
    """Returns a text that names the first record that detects the mutation, or ""."""
    with tempfile.TemporaryDirectory() as scratch:
        source = os.path.join(scratch, "source")
        shutil.copytree(folder_of(mutation.target), source, ignore=shutil.ignore_patterns("python"))
        mutate(source, mutation.file, mutation.old, mutation.new)
        for name in os.listdir(module_folder):
            os.symlink(os.path.join(module_folder, name), os.path.join(scratch, name))
        for reader in READERS[mutation.target]:
            compile_reader(reader, scratch, source)
            found = first_fault(reader, mutation, asked, scratch)
            if found:
                return f"{reader}: {found}"
    return ""


def main():
    found = records.corpus()
    asked = [record for record in found if record["verdict"] != "trusted"]
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        records.build(found, folder)
        # The records must not fail without a mutation.
        unchanged = [Mutation(HEADERS, "", "5.1", CALLABLE, "#endif  // TYPEDCALL_NATIVE_CALLABLE_H_", "#endif"),
                     Mutation(WITHOUT_HEADERS, "", "5.1", "consumer.c", "// ---- The module ----", "")]
        for noticed in pool.map(lambda mutation: noticed_by(mutation, folder, asked), unchanged):
            if noticed:
                sys.exit(f"without a mutation: {noticed}")
        wanted = [mutation for mutation in every_mutation() if all(text in " ".join(mutation) for text in sys.argv[1:])]
        for mutation, noticed in zip(wanted, pool.map(lambda one: noticed_by(one, folder, asked), wanted)):
            said = ("NOT EQUIVALENT" if noticed else "equivalent") if mutation.equivalent else (
                "noticed" if noticed else "MISSED")
            counts[said] += 1
            print(f"{said} {mutation.target} {mutation.rule} {mutation.name!r} ({noticed or mutation.equivalent})", flush=True)
    print(", ".join(f"{count} {said}" for said, count in counts.items()))
    return int(counts["MISSED"] + counts["NOT EQUIVALENT"] > 0)


if __name__ == "__main__":
    sys.exit(main())
