"""Sinks of the matrix in C++."""
import support
import typedcall
from matrix_c_sinks import CSink
from matrix_c_types import asked
from matrix_sink import Refused, Sink, counts, signature_of

_AS_IT_IS = typedcall.Flags.RETURNS_STATUS | typedcall.Flags.FALLS_BACK


class CppSite(CSink):
    """A call site in modules/matrix_probe.cc."""

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
        """Raises Refused if the sink cannot call the entry."""
        if entry.flags & _AS_IT_IS:
            raise Refused("a call site returns the C function unchanged")

    def refusal(self, signature):
        """Returns the reason why the signature is not supported."""
        return f"modules/matrix_probe.cc has no caller for '{signature}'"


class CppFallback(CppSite):
    name = "fallback"

    def check(self, entry):
        if entry.flags & typedcall.Flags.RETURNS_STATUS:
            raise Refused("it only calls functions that fall back, and plain ones")

    def refusal(self, signature):
        is_text = signature.endswith("->s")
        return "Python's text would be freed before C++ reads it" if is_text else super().refusal(signature)

    def held(self, function):
        return support.build("matrix_held", ["-lffi"]).Held(self.name, function)

    def many(self, function, values):
        held = self.held(function)
        return lambda: held(*values)


class CppLoop(CppSite):
    name = "loop"

    def check(self, entry):
        """A loop can call any entry."""

    def letting_go(self):
        """A loop releases the GIL."""

    def refusal(self, signature):
        return f"a loop goes over arrays of numbers, and has one for the result: not '{signature}'"

    held, many = CppFallback.held, CppFallback.many


class CppCallback(CppFallback):
    """A callback made with typedcall/callback.h, called with the GIL."""

    name = "C++ callback"

    def refusal(self, signature):
        return "its arrays contain numbers, not text" if "s" in signature else super().refusal(signature)


class CppNarrowing(Sink):
    """A fallback_function in C++ code that passes bools, 64-bit ints and doubles to narrower parameters."""

    name, has_typed_results = "narrowing", True

    def setUp(self):
        self.probe = support.build("matrix_narrowing")

    def made(self, function):
        def call(*arguments):
            if len(set(counts(function))) < len(counts(function)):
                raise Refused("among overloads C++ names a signature")
            entry = asked(function, arguments)
            if entry.flags & typedcall.Flags.RETURNS_STATUS:
                raise Refused("it only calls functions that fall back, and plain ones")
            try:
                result = self.probe.call(signature_of(entry), function, arguments)
            except LookupError:
                raise Refused(f"modules/matrix_narrowing.cc has no caller for '{signature_of(entry)}'") from None
            if result is NotImplemented:
                raise Refused("a double for an int, or a number for a bool, does not compile")
            return result

        return call

    def crossing(self, value):
        if type(value) not in (bool, int, float) or type(value) is int and not -2**63 <= value < 2**64:
            raise Refused("C++ has no such number")

    def letting_go(self):
        raise Refused("the C++ caller decides whether to hold the GIL")
