"""Tests that the package reads the same types in random C texts as the C compiler."""

import os
import random
import types
import unittest

import adapter_support
import c_text_generator
import support
import typedcall

# --full sets this variable and tests more functions.
IS_FULL = "TYPEDCALL_ATTACK_SECONDS" in os.environ
TEXTS, HEADERS = (6000, 400) if IS_FULL else (300, 20)
AT_ONCE, IN_HEADER = 300, 10


class Library:
    """A library that contains every function."""

    def __getattr__(self, name):
        return 4096


def module_of(names):
    made = types.ModuleType("declared")
    for name in names:
        setattr(made, name, lambda *arguments: None)
    return made


def compiled(program):
    """Compiles the program, and returns the types that the compiler reports."""
    command = [*support.compiler("c"), "-std=gnu11", "-O0", "-S", "-x", "c", "-", "-o", "-",
               "-Werror=missing-prototypes" if "H_H" in program else "-w"]
    return c_text_generator.said(support.processes.run(command, input=program).out)


class Random(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.seed = support.seeds.seed(25)
        said = compiled(c_text_generator.CHOICES)
        cls.pointer_sized = str.maketrans({"n": said[-1, 0], "N": said[-1, 1]})
        cls.char = said[-1, 2]

    def setUp(self):
        self.random = random.Random(self.seed)

    def expected(self, at, function, said):
        """Returns the compiler's types as a signature, or None if there is no signature."""
        letters = [said[at, i] for i in range(len(function.names))] + [said[at, -1]]
        if function.is_refused or None in letters:
            return None
        letters = ["s" if each == "&kc" else each.replace("c", self.char) for each in letters]
        for at in reversed(function.buffers):
            letters[at : at + 2] = ["*s" if letters[at] == "s" else letters[at].replace("&", "*")]
        return "".join(letters[:-1]) + "->" + letters[-1]

    def found(self, text):
        """Returns the signature that the package reads, or None and the error. tag() and tag_module() must agree."""
        def function(*arguments):
            raise NotImplementedError

        module = module_of(["f"])
        try:
            typedcall.tag(function, text, 4096)
        except ValueError as error:
            with self.assertRaises(ValueError):
                typedcall.tag_module(module, {"f": text}, library=Library())
            return None, str(error)
        typedcall.tag_module(module, {"f": text}, library=Library())
        self.assertEqual(typedcall.signatures(module.f), typedcall.signatures(function))
        return typedcall.signatures(function)[0].translate(self.pointer_sized), ""

    def test_texts(self):
        differences, refused, buffers = [], 0, 0
        for first in range(0, TEXTS, AT_ONCE):
            generator = c_text_generator.Generator(self.random)
            functions = [generator.function("f%d" % (first + i)) for i in range(AT_ONCE)]
            said = compiled(c_text_generator.program(functions))
            for at, function in enumerate(functions):
                text = generator.spell(function.tokens)
                expected, (found, why) = self.expected(at, function, said), self.found(text)
                refused += expected is None
                buffers += len(function.buffers)
                if found != expected:
                    differences.append((text, expected, found, why))
        self.assertEqual(differences[:5], [])
        self.assertGreater(min(refused, buffers, TEXTS // 2 - refused), TEXTS // 100)

    def test_prototypes_of_cffi(self):
        if support.IS_PYPY:
            import cffi
        else:
            cffi = adapter_support.library("cffi")
        ffi = cffi.FFI()
        ffi.cdef(c_text_generator.FOR_CFFI)
        generator = c_text_generator.Generator(self.random)
        # cffi does not support array lengths that are parameters, and reads "()" as "(void)".
        functions = [generator.function("f%d" % i, is_in_header=True) for i in range(TEXTS // 2)]
        said = compiled(c_text_generator.program(functions))
        differences, compared = [], 0
        for at, function in enumerate(functions):
            try:
                pointer = ffi.cast(function.pointer(), 4096)
            except (cffi.CDefError, cffi.FFIError, NotImplementedError):
                continue
            if ffi.typeof(pointer).ellipsis:
                continue  # libffi cannot pass complex numbers
            expected = self.expected(at, function, said)
            # cffi's types have no const and no objects.
            plain = (expected or "").replace("&k", "&").replace("s", "&" + self.char).replace("O", "P")
            found = [each.translate(self.pointer_sized) for each in typedcall.signatures(pointer)]
            compared += 1
            if found != ([] if expected is None else [plain]):
                differences.append((function.pointer(), plain, found))
        self.assertEqual(differences[:5], [])
        self.assertGreater(compared, TEXTS // 20)

    def test_headers(self):
        differences, count = [], 0
        for _ in range(HEADERS):
            names = ["f%d" % i for i in range(IN_HEADER)]
            text, functions, hidden = c_text_generator.Generator(self.random).header(names)
            said = compiled(c_text_generator.program(functions, text, hidden))
            expected = {function.name: self.expected(at, function, said) for at, function in enumerate(functions)
                        if function.name in names}
            module = module_of(names + hidden)
            try:
                done = typedcall.tag_module(module, text, library=Library())
                found = {name: typedcall.signatures(getattr(module, name))[0].translate(self.pointer_sized)
                         for name in done}
            except (TypeError, ValueError) as error:
                found = str(error)
            count += len(expected)
            if found != expected:
                differences.append((text, expected, found))
        self.assertEqual(differences[:2], [])
        self.assertGreater(count, HEADERS * IN_HEADER // 2)
