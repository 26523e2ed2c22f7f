"""Tests examples/rust: a provider and a reader in Rust, written from docs/ABI.md."""
import sys
import unittest

import support

support.module_only_if(not support.IS_PYPY, "it is for CPython")
import test_conformance  # noqa: E402
from test_conformance import conformance  # noqa: E402

if conformance.RUSTC is None:
    raise unittest.SkipTest("rustc is not installed")
if sys.version_info[:2] != (3, 11):
    support.module_only_if(False, "one version is enough: it takes what differs from the running one")


class Rust(test_conformance.Members):
    members = ("rust",)
    others = ("c", "ctypes")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        conformance.prepare_members(cls.folder, cls.others)

    def test_with_all_others(self):
        self.check_pairs(self.others, ["member_rust_consumer"])
        self.check_pairs(self.members, [f"member_{name}_consumer" for name in self.others])


# Otherwise pytest would collect the cases of test_conformance here too.
del test_conformance
