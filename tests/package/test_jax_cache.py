"""Tests typedcall.jax with JAX's persistent compilation cache. In another process, the functions have
different addresses or are missing."""

import os
import unittest

import adapter_support
import support

os.environ.setdefault("JAX_PLATFORMS", "cpu")
jax = adapter_support.library("jax")
if not hasattr(jax, "ffi"):
    raise unittest.SkipTest("jax.ffi came with JAX 0.5, this is %s" % jax.__version__)
support.build("typed_functions")


class Cache(support.InAFolder):
    def run_program(self, role):
        """Runs the program in this role, and returns the lines that it prints."""
        status, output, errors = support.python(
            "-X", "faulthandler", "-c", PROGRAM, str(support.MODULES.parent), role, self.folder)
        self.assertEqual(status, 0, errors[-3000:])
        return output.splitlines()

    def cached(self):
        return {path.name for path in (self.folder / "cache").iterdir()}

    def test_three_processes(self):
        first = self.run_program("first")
        self.assertEqual(first[1:], [
            "hits 0", "[0.5, 1.0, 1.5]", "[0.5, 1.0, 1.5]", "[1.5, 2.0, 2.5]", "[0.5, 1.0, 1.5]"])
        cached = self.cached()
        self.assertTrue(cached)

        second = self.run_program("second")
        self.assertNotEqual(second[0], first[0])  # the address of the provider's function
        # No program is compiled again. Names refer to the functions of this process, in which f squares its argument.
        self.assertEqual(second[1:], [
            "hits 4", "[0.5, 1.0, 1.5]", "[1.0, 4.0, 9.0]", "[1.5, 2.0, 2.5]", "[0.5, 1.0, 1.5]"])
        self.assertEqual(self.cached() - cached, set())

        without, another, traced, again = self.run_program("third")
        self.assertRegex(without, "Error.*typedcall_elementwise")
        self.assertNotIn("hits 0", another)  # the first process's program was used
        self.assertIn("another process, which had typed_functions.half d->d", another)
        self.assertEqual(traced, "[0.5, 1.0, 1.5]")
        self.assertIn("another process, which had typed_functions.half d->d", again)


PROGRAM = """
import sys
tests, role, folder = sys.argv[1:]
sys.path.insert(0, tests)
import mmap, os
os.environ["JAX_PLATFORMS"] = "cpu"
import jax, jax.monitoring, numpy, support, typedcall

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_compilation_cache_dir", folder + "/cache")
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
hits = []
jax.monitoring.register_event_listener(
    lambda event, **_: hits.append(event) if event.endswith("/compilation_cache/cache_hits") else None)
x = numpy.array([1.0, 2.0, 3.0])
if role == "second":
    room = mmap.mmap(-1, 1 << 26)  # moves what is loaded from now on
functions = support.build("typed_functions")

def show(call):
    try:
        print(jax.block_until_ready(call()).tolist())
    except Exception as error:
        print("hits", len(hits), type(error).__name__, str(error).replace("\\n", " "))

@jax.jit
def program(x):  # the program that the first process made of half, without elementwise()
    made = jax.ffi.ffi_call("typedcall_elementwise", jax.ShapeDtypeStruct(x.shape, x.dtype))
    return made(x, index=numpy.int64(0), name="typed_functions.half d->d")

if role == "third":
    show(lambda: program(x))  # no function has that name
    from typedcall.jax import elementwise
    elementwise(functions.square)
    show(lambda: program(x))  # another function is in its place
    half = elementwise(functions.half)
    show(lambda: jax.jit(half)(x))
    show(lambda: program(x))
    sys.exit()

from typedcall.jax import elementwise

def f(x):
    return x

of = functions.half if role == "first" else functions.square
entry = typedcall.entries(of)[0]
typedcall.tag(f, "d->d", entry.address, flags=entry.flags)
half, f = jax.jit(elementwise(functions.half)), jax.jit(elementwise(f))
add = elementwise(functions.add)
found = [half(x), f(x), jax.jit(lambda x: add(half(x), 1.0))(x), program(x)]
print(typedcall.entries(functions.half)[0].address)
print("hits", len(hits))
for each in found:
    show(lambda: each)
"""
