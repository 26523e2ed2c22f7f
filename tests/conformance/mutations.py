"""Tests the records with mutated headers. Exits with status 1 unless the records detect every
mutation."""
import os
import shutil
import sys
import tempfile

import conformance
import records

READERS = ("reader_c_headers", "reader_cpp_resolve")
CALLABLE, TYPE, METHOD = "typedcall/native_callable.h", "typedcall/signature/native_type.h", "typedcall/typed_method.h"
SIGNATURE, SIBLING, REQUEST = "typedcall/signature.h", "typedcall/sibling_symbol.h", "typedcall/resolve/request.h"
#: The mutations: (rule, file, text in the file, replacement).
MUTATIONS = [
    ("3.8", CALLABLE, "if (flags > UINT32_MAX || (flags", "if ((flags"),
    ("3.8", CALLABLE, "(flags & PyNativeCallable_ABI_MASK) != 0) return 0;", "0) return 0;"),
    ("3.8", CALLABLE, "PyNativeCallable_MANDATORY_MASK & ~PyNativeCallable_KNOWN_MASK", "0"),
    ("3.11", CALLABLE, "return (flags & PyNativeCallable_NEEDS_THREAD) != 0;", "return 1;"),
    ("3.11", CALLABLE, "return (flags & fails) == 0;", "return 1;"),
    ("3.11", CALLABLE, "(flags & raises) != PyNativeCallable_MAY_RAISE", "0"),
    ("3.11", CALLABLE, "return result.code == PyNativeType_DOUBLE && !result.is_pointer;", "return 1;"),
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
    ("3.10", REQUEST, "(entry.flags & PyNativeCallable_MANDATORY_MASK & ~can) == 0;", "true;"),
    ("3.12", REQUEST, "return (entry.flags & reports) == 0 || goes_with_result(entry);", "return true;"),
    ("8.3", REQUEST, "return (entry.flags & by_place) == 0 || has_same_place(entry, asked);", "return true;"),
    ("8.3", REQUEST, "if (before == '*' && b == 's') return false;  // \"*s\" has no \"k\"", ""),
    ("8.6", "typedcall/resolve.h", "if (!asked.unbound) return false;", ""),
    ("3.16", "typedcall/resolve.h", "without_self.can &= ~PyNativeCallable_TAKES_SELF;",
     "return false;"),
]


def mutate(folder, path, old, new):
    """Replaces text that must occur exactly once in a header in `folder`."""
    path = os.path.join(folder, path)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if text.count(old) != 1:
        raise ValueError(f"{path}: {old!r} is there {text.count(old)} times")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(old, new))


def noticed_by(mutation, module_folder, asked):
    """Returns {reader: text that names the first record that detects the mutation}."""
    _, path, old, new = mutation
    found = {}
    with tempfile.TemporaryDirectory() as scratch:
        headers = os.path.join(scratch, "include")
        for room in ("core", "typedcall"):
            shutil.copytree(os.path.join(records.headers(), room), os.path.join(headers, room),
                            ignore=shutil.ignore_patterns("python"))
        mutate(headers, path, old, new)
        for name in os.listdir(module_folder):
            os.symlink(os.path.join(module_folder, name), os.path.join(scratch, name))
        for reader in READERS:
            conformance.prepare(reader, scratch, headers=headers)
            answers = conformance.run(reader, asked, scratch)
            bad, _ = conformance.judge(reader, answers, {})
            if bad:
                found[reader] = f"{bad[0].id} and {len(bad) - 1} more"
    return found


def main():
    found = records.corpus()
    asked = [record for record in found if record["verdict"] != "trusted"]
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        records.build(found, folder)
        # The records must not fail without a mutation.
        unchanged = noticed_by(("", CALLABLE, "#endif  // TYPEDCALL_NATIVE_CALLABLE_H_", "#endif"), folder, asked)
        if unchanged:
            sys.exit(f"without a mutation: {unchanged}")
        for mutation in MUTATIONS:
            rule, path, old, _ = mutation
            noticed = noticed_by(mutation, folder, asked)
            missed += not noticed
            print(f"{'noticed' if noticed else 'MISSED'} {rule} {path}: {old} ({noticed})", flush=True)
    print(f"{len(MUTATIONS) - missed} of {len(MUTATIONS)} mutations noticed")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
