"""Tests that the flags and type codes in Python are the same as in the C headers."""
import itertools
import pathlib
import re
import typing
import unittest

import typedcall
from typedcall.record import codes
from typedcall import Flags
from typedcall.record import records
from typedcall.record.c_text import c_text


def header(name):
    return pathlib.Path(typedcall.get_include(), "typedcall", name).read_text(encoding="utf-8")


class Lists(unittest.TestCase):
    def test_flags_are_those_of_the_header(self):
        listed = {name: bit for name, bit, _ in codes.FLAGS}
        self.assertEqual({flag.name: flag.value for flag in Flags}, listed)
        defined = re.findall(r"#define PyNativeCallable_([A-Z_]+) \(\(uintptr_t\)(0x\w+)\)", header("native_callable.h"))
        self.assertEqual({name: int(bit, 16) for name, bit in defined if not name.endswith("_MASK")},
                         listed)

    def test_views_are_those_of_the_header(self):
        flags = [sum(bits) for bits in itertools.product(*((0, bit) for _, bit, _ in codes.FLAGS))] + [0x200]
        views = [records.View(*codes.describe(signature, each)) for signature in ("d->d", "d&d->i") for each in flags]
        names = re.findall(r"(?m)^  PyNativeThreadState_(\w+),", header("entry_view.h"))
        self.assertEqual(list(typing.get_args(records.ThreadState)), names)
        self.assertEqual({each.thread_state for each in views}, set(names))
        facts = {(each.reports, each.may_raise, each.may_fall_back) for each in views if each.is_usable}
        # No protocol, MAY_RAISE, STATUS and FALLS_BACK.
        self.assertEqual(facts, {(False, False, False), (False, True, False), (True, True, False), (True, False, True)})
        self.assertIs(records.View(*codes.describe("d->d", Flags.FALLS_BACK)).is_usable, False)

    def test_facts_of_flags_are_those_of_the_view(self):
        for bits in itertools.product(*((0, bit) for _, bit, _ in codes.FLAGS)):
            for signature in ("d->d", "d&d->i"):
                view = records.View(*codes.describe(signature, sum(bits)))
                if view.is_usable:
                    flags = Flags(sum(bits))
                    self.assertEqual((flags.may_raise, flags.may_fall_back), (view.may_raise, view.may_fall_back), flags)
                    self.assertEqual(view.reports, view.result != "i" and signature == "d&d->i", flags)

    def test_cython_has_them_all(self):
        text = (pathlib.Path(typedcall.__file__).parent / "__init__.pxd").read_text(encoding="utf-8")
        self.assertEqual(re.findall(r"const uintptr_t PyNativeCallable_(\w+)", text),
                         [name for name, _, _ in codes.FLAGS])

    def test_what_a_flag_asks_is_in_the_words_of_the_list(self):
        for name, bit, words in codes.FLAGS:
            is_mandatory = bit & codes.MANDATORY_MASK
            self.assertEqual(Flags[name].requirements(), words if is_mandatory else "", name)
            self.assertEqual(Flags[name].requirements(bit), "")
            self.assertEqual(Flags[name].is_plain, not is_mandatory)
        self.assertEqual(Flags(0x0201).requirements(), "needs the GIL, flags not understood")
        self.assertEqual(Flags(0x01000000).requirements(), "flags not understood")

    def test_types_have_the_names_that_c_gives_them(self):
        own = [code.c_type for code in codes.CODES.values() if "PyNative" in code.c_type]
        self.assertEqual(own, [])

    def test_error_values_by_class(self):
        without = [letters for letters in codes.CODES if not codes.has_error_value(letters)]
        self.assertEqual(without, ["v", "?", "Zf", "Zd", "Zg"])
        self.assertTrue(codes.has_error_value("&?"))

    def test_pointers_and_buffers(self):
        for letters, kind, code, const, place in (
            ("d", "floating", "d", False, False), ("&d", "pointer", "d", False, True),
            ("&kZd", "pointer", "Zd", True, False), ("*B", "buffer", "B", False, False),
            ("*kB", "buffer", "B", True, False), ("*s", "buffer", "s", True, False),
            ("s", "string", "s", False, False), ("P", "pointer", "P", False, False),
        ):
            self.assertEqual(codes.kind_of(letters), kind, letters)
            self.assertEqual(codes.pointee(letters), code, letters)
            self.assertEqual(codes.is_const(letters), const, letters)
            self.assertEqual(codes.is_place(letters), place, letters)
            self.assertEqual(codes.is_buffer(letters), kind == "buffer", letters)

    def test_const_answers_what_is_not(self):
        for offered, asked in (("*kd->d", "*d->d"), ("&kl->v", "&q->v"), ("->&d", "->&kd"),
                               ("d->d", "d->d")):
            self.assertTrue(codes.answers(offered, asked), (offered, asked))
            if offered != asked:
                self.assertFalse(codes.answers(asked, offered), (offered, asked))
                self.assertFalse(codes.are_equivalent(asked, offered), (offered, asked))

    def test_buffers_in_c(self):
        self.assertEqual(c_text("*kB->L"), "unsigned long (const unsigned char *, intptr_t)")
        self.assertEqual(c_text("d*Zd&kO->&ks"), "const char * const *(double, double _Complex *, "
                         "intptr_t, PyObject * const *)")
        self.assertEqual(c_text("*s->i", {"n": "Py_ssize_t"}), "int (const char *, Py_ssize_t)")

    def test_equivalent_signatures(self):
        for one, other in (("d->d", "d->d"), ("l->&l", "q->&q"), ("nL->v", "lN->v")):
            self.assertTrue(codes.are_equivalent(one, other), (one, other))
        for one, other in (("l->l", "L->l"), ("l->l", "i->l"), ("?->v", "B->v"), ("&l->v", "P->v"),
                           ("f->f", "d->f"), ("d->d", "dd->d"), ("x", "x"), ("", "")):
            self.assertFalse(codes.are_equivalent(one, other), (one, other))
        with self.assertRaises(TypeError):
            codes.are_equivalent("d->d", None)
