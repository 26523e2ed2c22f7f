# Checks that the tests in this folder call every public function. Exceptions are listed below with
# reasons.
import glob
import os
import re
import unittest

# These headers do not include Python.h.
WITHOUT_ALLOCATOR = ("native_type.h", "overload_choice.h", "signature.h", "type_codes.h")
HERE = os.path.dirname(os.path.abspath(__file__))
ALLOCATES_NOTHING = "reads, compares or frees: takes no memory"
LIMITED = "for the limited API: the same code as for the full API, with C's own allocator"
PYPY = "reads PyPy's struct into the caller's memory"
CHECKS = "PyTypedMethod_TagDef, which is swept, calls it"
PEP697 = "calls the same function in core/type_data.h"

NOT_SWEPT = {
    "GetTypedSignature": ALLOCATES_NOTHING,
    "PyCustomSlots_Check": ALLOCATES_NOTHING + " once a class is settled: types_test's first look",
    "PyCustomSlots_Count": ALLOCATES_NOTHING + " once a class is settled: types_test's first look",
    "PyCustomSlots_Table": ALLOCATES_NOTHING + " once a class is settled: types_test's first look",
    "PyCustomSlots_LimitedCheck": LIMITED,
    "PyCustomSlots_LimitedCount": LIMITED,
    "PyCustomSlots_LimitedFind": LIMITED,
    "PyCustomSlots_LimitedFindDetached": LIMITED,
    "PyCustomSlots_LimitedImport": LIMITED,
    "PyCustomSlots_LimitedTable": LIMITED,
    "PyCustomSlot_IsAllocatedID": ALLOCATES_NOTHING,
    "PyCustomSlot_IsValidID": ALLOCATES_NOTHING,
    "PyForeignSlots_Find": "PyCustomSlots_FindAny calls it",
    "PyNativeCallableTables_Init": ALLOCATES_NOTHING,
    "PyNativeCallableTables_SlotAt": ALLOCATES_NOTHING,
    "PyNativeCallable_CheckEntries": CHECKS,
    "PyNativeCallable_CheckEntry": CHECKS,
    "PyNativeCallable_CheckTable": CHECKS,
    "PyNativeCallable_EntriesAreEqual": ALLOCATES_NOTHING,
    "PyNativeCallable_FlagsAreUsable": ALLOCATES_NOTHING,
    "PyNativeCallable_InstanceTable": ALLOCATES_NOTHING,
    "PyNativeCallable_IsWellFormed": ALLOCATES_NOTHING,
    "PyNativeCallable_TablesAreEqual": ALLOCATES_NOTHING,
    "PyNativeCheck_Of": ALLOCATES_NOTHING,
    "PyNativeView_Of": ALLOCATES_NOTHING,
    "PyObject_GetItemData": PEP697,
    "PyObject_GetTypeData": PEP697,
    "PyType_FromMetaclass": PEP697,
    "PyType_GetTypeDataSize": PEP697,
    "PyTypeData_Get": ALLOCATES_NOTHING,
    "PyTypeData_HasItemsAtEnd": ALLOCATES_NOTHING,
    "PyTypeData_Items": ALLOCATES_NOTHING,
    "PyTypeData_Size": ALLOCATES_NOTHING,
    "PyTypedMethod_IsFunction": ALLOCATES_NOTHING,
    "PyTypedMethod_IsUnbound": ALLOCATES_NOTHING,
    "PyTypedMethod_Metadata": ALLOCATES_NOTHING,
    "PyTypedMethod_ReadOneArg": PYPY,
    "PyTypedMethod_ReadPyPy": PYPY,
    "PyTypedMethod_SiblingTable": "asks the dynamic linker",
    "PyTypedMethod_Table": ALLOCATES_NOTHING,
    "PyTypedcall_Installed": "it calls PyTypedcall_Peek, which is swept",
    "PyTypedcall_IsAttached": ALLOCATES_NOTHING,
    "PyTypedcall_IsUsable": ALLOCATES_NOTHING,
    "PyTypedcall_RestoreError": ALLOCATES_NOTHING,
    "PyTypedcall_SaveError": ALLOCATES_NOTHING,
    "is_error_value": ALLOCATES_NOTHING,
    "method_table": "not a function, but a deduction guide",
    "require_tags": "PyTypedcall_Import, which is swept",
    "run_python": ALLOCATES_NOTHING,
    "state_of": ALLOCATES_NOTHING + " before it throws",
    "type_method_table": "not a function, but a deduction guide",
    "def_falling_back": "pybind11 and nanobind define the function; PyTypedMethod_TagDef tags it",
}


def without_internal(text):
    """Removes the contents of namespaces `internal`."""
    return re.sub(r"^namespace internal \{$.*?^\}  // namespace internal$", "", text,
                  flags=re.MULTILINE | re.DOTALL)


def public_functions(text):
    text = re.sub(r"//[^\n]*|/\*.*?\*/|^#.*?(?<!\\)$", "", without_internal(text),
                  flags=re.MULTILINE | re.DOTALL)
    text = text.replace("decltype(auto)", "auto")
    text = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", "", text)
    found = set()
    # The name of a function is directly before the first parenthesis of a declaration.
    for start in re.finditer(r"^[A-Za-z_][^;{}=#()]*?\b([A-Za-z_]\w*)\s*\(", text, re.MULTILINE):
        words = start.group(0).split()
        name = start.group(1)
        if words[0] in ("namespace", "class", "struct", "typedef", "union", "enum", "using",
                        "extern", "static_assert", "return"):
            continue
        if len(words) < 2 or name.startswith("PyTC_") or "_Internal_" in name or name.endswith(("_", "_STATIC_ASSERT")):
            continue
        if name.isupper() or "constexpr" in words:
            continue
        found.add(name)
    return found


def headers():
    root = os.path.dirname(os.path.dirname(HERE))
    found = [path for folder in ("core", "typedcall", "typedcall/base", "typedcall/signature", "typedcall/tag")
             for path in glob.glob(os.path.join(root, folder, "*.h"))]
    assert len(found) > 20, found
    return found


class EveryPublicFunction(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.public = {}
        for header in headers():
            with open(header, encoding="utf-8") as file:
                text = file.read()
            if os.path.basename(header) in WITHOUT_ALLOCATOR:
                self.assertIsNone(re.search(r"#include.*(Python|stdlib)", text), header)
                continue
            for name in public_functions(text):
                self.public[name] = os.path.basename(header)
        swept = []
        helpers = [os.path.join(os.path.dirname(HERE), "core", name)
                   for name in ("extensible.h", "rows.h")]
        for path in glob.glob(os.path.join(HERE, "*_test.cc")) + helpers:
            with open(path, encoding="utf-8") as file:
                swept.append(re.sub(r"//[^\n]*", "", file.read()))
        self.swept = set(re.findall(r"\b[A-Za-z_]\w*(?=\s*[<(])", "\n".join(swept)))
        # These functions are called through the interface.
        self.swept |= set(re.findall(r"interface_->(\w+)", "\n".join(swept)))

    def test_the_headers_are_read(self):
        for name in ("PyTypedcall_Import", "PyTypedcall_Peek", "PyExtensibleType_FromSpec",
                     "PyTypedMethod_AddTags", "PyTypedMethod_TagArray", "boxed_call",
                     "resolve", "for_each_entry", "PyCustomSlots_FindAny"):
            self.assertIn(name, self.public)
        text = "static inline int PyTypedcall_New(int x) {\n  return Other(x);\n}\n"
        self.assertEqual(public_functions(text), {"PyTypedcall_New"})

    def test_each_is_swept_or_has_a_reason(self):
        missing = {name: header for name, header in self.public.items()
                   if name not in self.swept and name not in NOT_SWEPT}
        self.assertEqual(missing, {}, "neither swept nor in NOT_SWEPT")

    def test_no_reason_is_out_of_date(self):
        self.assertEqual(sorted(set(NOT_SWEPT) - set(self.public)), [])
