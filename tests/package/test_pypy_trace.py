"""Tests that PyPy's JIT compiles a call to an accelerated function to one call at a constant address."""
import collections
import pathlib
import re
import tempfile
import unittest

import support
from accelerated import ON_PYPY

LOOP = '''
import sys, typedcall
import {module} as module

original = module.{name}
assert typedcall.accelerate(module)
resolved = typedcall.resolve(original, {signature!r})
calls = dict(shim=module.{name}, resolved=resolved, pointer=resolved.pointer)

text = """
def loop_to_look_at(n):
    x = {start}
    for i in range(n):
        x = call({argument})
    return x
"""
for _ in range(6):  # compiled each time anew
    module = type(sys)("with_a_loop")
    module.call = calls[{way!r}]
    exec(text, vars(module))
    assert module.loop_to_look_at(5000) == {expected}
'''
CALL = re.compile(r"call_release_gil_\w\(\d+, (\w+)")


def operations(log):
    """Returns the operations in the loop. If there are several loops, the shortest is used, because a trace may include
    a thread switch or a signal."""
    found = []
    for loop in re.findall(r"# Loop \d+ \(loop_to_look_at.*?--end of the loop--", log, re.DOTALL):
        lines = loop.splitlines()
        labels = [i for i, line in enumerate(lines) if ": label(" in line]
        found.append([line for line in lines[labels[-1] + 1:] if line.startswith("+") and "--end" not in line])
    return min(found, key=len)


@ON_PYPY
class Trace(unittest.TestCase):
    def trace(self, way, module="typed_functions", name="inc", signature="l->l", start="0", expected="5000",
              argument="x"):
        code = LOOP.format(way=way, module=module, name=name, signature=signature, start=start, expected=expected,
                           argument=argument)
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder, "log")
            status, output, errors = support.python(
                "-c", code, paths=[support.module_folder(module)],
                environment={"PYPYLOG": "jit-log-opt:%s" % log})
            self.assertEqual(status, 0, output + errors)
            found = operations(log.read_text(encoding="utf-8", errors="replace"))
        names = re.findall(r"(?:= |: )([a-z]\w+)\(", "\n".join(found))
        return collections.Counter(names), "\n".join(found)

    def check(self, way, frames, **function):
        """Checks that the loop makes one C call and creates `frames` objects."""
        names, text = self.trace(way, **function)
        (address,) = CALL.findall(text)
        self.assertRegex(address, r"^\d+$", text)  # not a variable such as "i42"
        self.assertEqual([name for name in names if name.startswith("call_") and "release_gil" not in name], [], text)
        self.assertEqual(sum(count for name, count in names.items() if name.startswith("new")), frames, text)
        self.assertNotIn("Cell.inst_w_value", text)
        return names, text

    def test_the_pointer_is_a_call(self):
        self.check("pointer", 0)

    def test_of_a_shim_its_frame_is_left(self):
        of_shim, text = self.check("shim", 1)
        of_pointer, _ = self.check("pointer", 0)
        self.assertIn("JitVirtualRef", text)
        # The checks of types, counts and exceptions add no guards.
        self.assertEqual({name: count for name, count in of_shim.items() if "guard" in name},
                         {name: count for name, count in of_pointer.items() if "guard" in name})

    def test_a_resolved_function_converts_an_int(self):
        self.check("resolved", 1, name="half", signature="d->d", argument="i", expected="2499.5")

    def test_what_falls_back(self):
        _, text = self.check("shim", 1, module="fallback_functions", name="root", signature="d->d", start="2.0",
                             expected="1.0")
        self.assertIn("raw", text)  # the loop reads the value
