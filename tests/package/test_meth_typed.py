"""Tests examples/meth_typed: a module with the names of the post that introduced METH_TYPED."""

import adapter_support
import support
import typedcall

EXAMPLE = adapter_support.EXAMPLES / "meth_typed"
HEADERS = ('#include "typedcall/meth_typed.h"\n', '#include "typedcall/typed_method.h"\n')


class TheExample(adapter_support.Example):
    def test_it_runs(self):
        support.compile_module(EXAMPLE / "clockmod.c", self.folder, flags=["-Wall", "-Werror"])
        printed = self.run_example("meth_typed")
        self.assertIn("clockmod.tick offers l->l\n", printed)
        self.assertRegex(printed, r"the loop: \d+ ms\n")
        self.assertRegex(printed, r"accelerated: \d+ ms\n" if support.IS_PYPY else "a consumer in C calls 0x")

    def test_what_tick_does(self):
        module = support.load("clockmod", support.compile_module(EXAMPLE / "clockmod.c", self.folder))
        entry, = typedcall.entries(module.tick)
        # The post's PyPy holds the GIL during a call, so the function may rely on this.
        self.assertEqual((entry.signature, entry.flags), ("l->l", typedcall.Flags.NEEDS_THREAD))
        self.assertEqual(module.tick(41), 42)
        if not support.IS_PYPY:
            self.assertEqual(typedcall.resolve(module.tick, "l->l")(41), 42)
        with self.assertRaises(TypeError):
            module.tick("41")
        # The post's struct cannot declare that tick works without the GIL.
        self.assertEqual(list(typedcall.accelerate(module).accelerated), [])
        done = typedcall.accelerate(module, trust=["tick"])
        self.addCleanup(typedcall.restore, module)
        self.assertEqual(list(done.accelerated), ["tick"] if support.IS_PYPY else [])
        self.assertEqual(module.tick(41), 42)


class TheHeader(support.InAFolder):
    def test_it_does_not_go_with_the_other_one(self):
        # Both headers define PyPyTypedMethodMetadata, and the second one reports an error.
        for number, order in enumerate((HEADERS, HEADERS[::-1])):
            with self.subTest(order=order):
                with self.assertRaisesRegex(AssertionError, '#error "typedcall/meth_typed.h: its PyPyTyped'):
                    self._compile(number, *order)
        self._compile(2, HEADERS[0])
        self._compile(3, HEADERS[1])

    def _compile(self, number, *lines):
        source = self.path("unit%d.c" % number)
        with open(source, "w", encoding="utf-8") as file:
            file.write("#include <Python.h>\n" + "".join(lines))
        return support.compile_module(source, self.folder)
