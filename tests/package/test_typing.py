"""Tests the package with `mypy --strict`, and the types that user code sees."""
import importlib.util
import pathlib
import unittest

import support
import typedcall

PACKAGE = pathlib.Path(typedcall.__file__).parent


# The result must not depend on which libraries are installed.
CONFIGURATION = """\
[mypy]
strict = True
[mypy-numpy.*,scipy.*,numba.*,llvmlite.*,cffi.*,_cffi_backend,rich.*,tvm_ffi.*,jax.*]
ignore_missing_imports = True
"""


def mypy(*arguments, folder):
    """Runs mypy, and returns its status and output."""
    configuration = pathlib.Path(folder, "mypy.ini")
    configuration.write_text(CONFIGURATION)
    return support.python("-m", "mypy", "--no-error-summary", "--config-file", configuration, "--cache-dir",
                          pathlib.Path(folder, "cache"), *arguments, cwd=folder, together=True)[:2]


@unittest.skipIf(importlib.util.find_spec("mypy") is None, "mypy is not installed")
class Typing(support.InAFolder):
    def test_the_package_is_strict(self):
        self.assertEqual(mypy("--follow-imports=silent", "-p", "typedcall", folder=self.folder),
                         (0, ""))

    def check(self, source):
        return mypy(self.write("user.py", source), folder=self.folder)

    def test_correct_use(self):
        self.assertEqual(self.check("""
            from typing import Any, List
            import typedcall

            def use(f: Any) -> float:
                names: List[str] = typedcall.signatures(f)
                resolved: typedcall.TypedFunction = typedcall.resolve(
                    f, names[0], capabilities=typedcall.Flags.MAY_RAISE, casting="safe")
                address: int = resolved.address + typedcall.entries(f)[0].address
                typedcall.tag(f, "d->d", address, flags=typedcall.Flags.PURE)
                removed: bool = typedcall.untag(f)
                include: str = typedcall.get_include()
                return float(resolved(1.0)) if removed and include else 0.0

            def numbers(f: Any, signature: str) -> float:
                real: float = typedcall.resolve(f, "dd->d")(1, y=2.5)
                whole: int = typedcall.resolve(f, "i->i", capabilities=0)(True)
                truth: bool = typedcall.resolve(f, "?->?")("any object")
                kept: typedcall.TypedFunction = typedcall.resolve(f, "Zd->Zd")
                return abs(typedcall.resolve(f, "ZdZd->Zd")(real, 1j)) + whole + truth + kept.address

            def others(f: Any, signature: str) -> Any:
                text: str = typedcall.resolve(f, "s->s")("text")
                return typedcall.resolve(f, "*kd->d")([1.0]), typedcall.resolve(f, signature)(text, None)
            """), (0, ""))

    def test_wrong_use_is_found(self):
        status, output = self.check("""
            import typedcall
            typedcall.signatures()
            typedcall.resolve(len, 5)
            typedcall.resolve(len, "d->d").address = 3
            x: str = typedcall.entries(len)[0].address
            typedcall.nonsense
            y: str = typedcall.resolve(len, "d->d")(1.0)
            z: str = typedcall.resolve(len, "ll->l")(1, 2)
            typedcall.resolve(len, "d->d")("1.0")
            typedcall.resolve(len, "ii->i")(1, 2.5)
            typedcall.resolve(len, "Zd->Zd")(x=None)
            """)
        self.assertEqual(status, 1)
        for line in range(3, 13):
            self.assertIn("user.py:%d: error" % line, output)
