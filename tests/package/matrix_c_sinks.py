"""Sinks of the matrix that ask for one signature and have values of its C types: C++ call sites, loops and callbacks,
callbacks for libraries in C, SciPy's LowLevelCallable, and the C pointers that ctypes, cffi and Cython get."""
import ctypes
import importlib
import pathlib
import re
import shutil
import sys
import tempfile

import adapter_support
import support
import typedcall
from matrix_c_types import TYPES, asked, check_values, ctypes_array, ctypes_of, declaration_of, flat, usual_letters
from matrix_sink import Refused, Sink, counts, signature_of

_AS_IT_IS = typedcall.Flags.RETURNS_STATUS | typedcall.Flags.FALLS_BACK


class CSink(Sink):
    """A caller in C: it names an entry, has values of its types, and calls its address."""

    has_typed_results = True

    def made(self, function):
        callers = {}

        def call(*arguments):
            entry = asked(function, arguments)
            check_values(entry, arguments)
            if entry.signature not in callers:
                callers[entry.signature] = self.caller(function, entry)
            return callers[entry.signature](*arguments)

        return call

    def caller(self, function, entry):
        """Returns a callable for values of the entry's types, or raises Refused."""
        raise NotImplementedError

    def letting_go(self):
        raise Refused("the caller in C says whether it keeps the GIL")

    def result(self, value, wanted):
        return value.decode() if isinstance(value, bytes) else value


class CppSite(CSink):
    """C++ asks for one signature, and has values of its types: modules/matrix_probe.cc."""

    name = "call site"

    def setUp(self):
        self.probe = support.build("matrix_probe", ["-lffi"])
        self.signatures = self.probe.signatures(self.name)

    def caller(self, function, entry):
        signature = signature_of(entry)
        self.check(entry)
        if signature not in self.signatures:
            raise Refused(self.refusal(signature))
        return lambda *arguments: self.probe.call(self.name, signature, function, arguments)

    def check(self, entry):
        """Raises Refused for an entry that asks more of its caller."""
        if entry.flags & _AS_IT_IS:
            raise Refused("a call site gives the C function as it is")

    def refusal(self, signature):
        """Says why C++ does not ask for the signature."""
        return f"modules/matrix_probe.cc has no caller for '{signature}'"


class CppFallback(CppSite):
    name = "fallback"

    def check(self, entry):
        if entry.flags & typedcall.Flags.RETURNS_STATUS:
            raise Refused("it calls what falls back, and plain functions")

    def refusal(self, signature):
        is_text = signature.endswith("->s")
        return "a text that Python gives would be gone when C++ reads it" if is_text else super().refusal(signature)


class CppLoop(CppSite):
    name = "loop"

    def check(self, entry):
        """Does nothing: a loop handles statuses and calls Python."""

    def refusal(self, signature):
        return f"a loop goes over arrays of numbers, and has one for the result: not '{signature}'"


class CppCallback(CppFallback):
    """typedcall/callback.h, called with the GIL."""

    name = "C++ callback"

    def refusal(self, signature):
        return "its arrays are of numbers, not a text's" if "s" in signature else super().refusal(signature)
