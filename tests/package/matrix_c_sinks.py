"""Sinks of the matrix in which a C caller chooses a signature: callbacks, SciPy, ctypes, cffi, Cython and tvm-ffi."""
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
from matrix_c_types import TYPES, asked, check_values, contents, ctypes_array, ctypes_of, declaration_of, flat, usual_letters
from matrix_sink import Refused, Sink, counts, signature_of
from matrix_value_sinks import TvmFfi, closure_of


class CSink(Sink):
    """A caller in C, which calls the address of an entry with values of the entry's types."""

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

    def held(self, function):
        return self.caller(function, *typedcall.entries(function))

    def caller(self, function, entry):
        """Returns a callable for values of the entry's types, or raises Refused."""
        raise NotImplementedError

    def passing(self, value, letters):
        super().passing(value, letters)
        if letters[-1] == "?" and not set(contents(value)) <= {0, 1}:
            raise Refused("C defines only the bools 0 and 1")

    def letting_go(self):
        raise Refused("the C caller decides whether to hold the GIL")

    def result(self, value, wanted):
        return value.decode() if isinstance(value, bytes) else value


class Callback(CSink):
    """typedcall.callback(), called with the GIL and a data pointer."""

    name, prototype, with_data = "callback", staticmethod(ctypes.PYFUNCTYPE), True
    # A callback returns at once while an exception from an earlier call is pending.
    threads_share = False

    def caller(self, function, entry):
        return self.called_with(function, *entry.python_types())

    def called_with(self, function, letters, result):
        """Returns a function that calls a callback with these C types."""
        returned, types = ctypes_of(letters, result)
        try:
            made = typedcall.callback(function, declaration_of(letters, result, self.with_data))
        except TypeError as error:
            raise Refused(str(error)) from None
        pointer = self.prototype(returned, *types, *([ctypes.c_void_p] if self.with_data else []))(made.address)

        def call(*arguments):
            found = pointer(*flat(letters, arguments, ctypes_array), *([made.data] if self.with_data else []))
            made.check()
            return found

        return call

    def passing(self, value, letters):
        """Libraries may pass any pointer."""

    def letting_go(self):
        """The callback releases the GIL."""


class FreeCallback(Callback):
    """A callback without a data pointer, called without the GIL."""

    name, prototype, with_data = "free callback", staticmethod(ctypes.CFUNCTYPE), False

    def letting_go(self):
        raise Refused("the C caller does not hold the GIL")


class ConvertingCallback(Callback):
    """A callback for a library that always passes ints and doubles."""

    name = "converting callback"

    def made(self, function):
        if len(set(counts(function))) < len(counts(function)):
            raise Refused("among overloads C's own types come first, whatever the value")

        def call(*arguments):
            letters = [usual_letters(value) for value in arguments]
            if not all(letters):
                raise Refused("no number of C's")
            return self.called_with(function, letters, asked(function, arguments).python_types()[1])(*arguments)

        return call


class ClosurePointer(CSink):
    """The C function that typedcall.tvm_ffi.typed_function() makes from a tvm-ffi function."""

    name, library = "closure pointer", "tvm_ffi"

    def caller(self, function, entry):
        from typedcall.tvm_ffi import function as of_tvm_ffi

        made = closure_of(of_tvm_ffi(function), signature_of(entry), 0)
        return Ctypes.caller(self, made, typedcall.entries(made)[0])

    def crossing(self, value):
        if isinstance(value, int) and 2**63 <= value < 2**64:
            raise Refused("tvm-ffi has no such int")

    def giving(self, value):
        TvmFfi.giving(self, value)

    def kind_of(self, error):
        return TvmFfi.kind_of(self, error)


class LowLevelCallable(CSink):
    """The C function in SciPy's capsule, called with the GIL held."""

    name, library = "LowLevelCallable", "scipy"

    def setUp(self):
        super().setUp()
        api = ctypes.pythonapi
        self.pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
            ("PyCapsule_GetPointer", api))
        self.data_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(("PyCapsule_GetContext", api))

    def caller(self, function, entry):
        try:
            made = typedcall.low_level_callable(function, signature_of(entry))
        except (TypeError, ValueError) as error:
            raise Refused(str(error)) from None
        capsule = tuple.__getitem__(made, 0)
        address = self.pointer_of(capsule, made.signature.encode())
        number, numbers, pointer = ctypes.c_double, ctypes.POINTER(ctypes.c_double), ctypes.c_void_p
        if made.signature == "double (double)":
            of_number = ctypes.PYFUNCTYPE(number, number)(address)
            return lambda x, kept=made: of_number(x)
        if made.signature == "double (int, double *, void *)":
            of_numbers = ctypes.PYFUNCTYPE(number, ctypes.c_int, numbers, pointer)(address)
            return lambda *x, kept=made: of_numbers(len(x), (number * len(x))(*x), self.data_of(capsule))
        if made.signature == "int (double *, intptr_t, double *, void *)":
            letters, = entry.python_types()[0]
            of_filter = ctypes.PYFUNCTYPE(ctypes.c_int, numbers, ctypes.c_ssize_t, numbers, pointer)(address)

            def call(x, kept=made):
                result = number()
                is_done = of_filter(ctypes_array(x, letters), len(x), result, self.data_of(capsule))
                return result.value if is_done else None

            return call
        raise Refused(f"SciPy's '{made.signature}' has no value as a result")


class Ctypes(CSink):
    name = "ctypes"

    def caller(self, function, entry):
        if entry.flags & typedcall.Flags.RETURNS_STATUS:
            raise Refused("ctypes gets the C function unchanged, with its status")
        try:
            made = typedcall.ctypes_function(function, entry.signature)
        except (TypeError, ValueError) as error:
            raise Refused(str(error)) from None
        return lambda *arguments: made(*flat(entry.python_types()[0], arguments, ctypes_array))

    def letting_go(self):
        """ctypes releases the GIL."""


class Cffi(CSink):
    name, library = "cffi", "cffi"

    def setUp(self):
        super().setUp()
        self.ffi = importlib.import_module("cffi").FFI()

    def caller(self, function, entry):
        try:
            made = typedcall.cffi_function(function, entry.signature)
        except (TypeError, ValueError) as error:
            raise Refused(str(error)) from None
        return lambda *arguments: made(*flat(entry.python_types()[0], arguments, self.array_of))

    def array_of(self, value, letters):
        return self.ffi.from_buffer(f"{TYPES[letters[-1]][0]}[]", value, require_writable=letters[1] != "k")

    def letting_go(self):
        """cffi releases the GIL."""

    def result(self, value, wanted):
        return self.ffi.string(value).decode() if isinstance(value, self.ffi.CData) else value


class Cython(CSink):
    """Cython code that imports the C functions of a module."""

    name, library = "cython", "Cython"

    def setUp(self):
        super().setUp()
        self.folder, self.callers = tempfile.mkdtemp(prefix="typedcall-"), {}

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def caller(self, function, entry):
        module = sys.modules[function.__module__]
        if getattr(module, function.__name__, None) is not function:
            raise Refused("Cython imports a module's functions by name")
        if module not in self.callers:
            self.callers[module] = self.compiled(module)
        caller = getattr(self.callers[module], f"{function.__name__}__{_word(_types_in_cython(entry))}", None)
        if caller is None:
            raise Refused(f"a cdef function has one signature, no bool and no status: not '{entry.signature}'")
        return lambda *arguments: caller(*flat(entry.python_types()[0], arguments, lambda value, letters: value))

    def compiled(self, module):
        """Compiles a def function for each C function that the module exports."""
        names, text = typedcall.export_to_cython(module), typedcall.cython_declarations(module)
        lines = [f"cimport {module.__name__} as typed"]
        for name, types in re.findall(r"(?m)^cdef .*?(\w+)\(([^)]*)\)", text):
            types = types.split(", ") if types else []
            assert name in names
            if set(types) <= _IN_CYTHON:
                lines += _definition(name, types, is_void=f"cdef void {name}(" in text)
        folder = pathlib.Path(self.folder)
        source = folder / f"matrix_of_{module.__name__}.pyx"
        source.write_text("\n".join(lines) + "\n", encoding="utf-8")
        (folder / f"{module.__name__}.pxd").write_text(text, encoding="utf-8")
        return support.load(source.stem, adapter_support.compile_pyx(source, self.folder))


_IN_CYTHON = {*(name for name, _ in TYPES.values()), "Py_ssize_t",
              *(f"{const}{TYPES[letter][0]} *" for letter in "bBhHiIlLfd" for const in ("", "const "))}


def _types_in_cython(entry):
    """Returns the C function's parameter types in Cython's syntax."""
    made = []
    for each in typedcall.parse_signature(entry.signature)[0]:
        of = "const char *" if each == "*s" else TYPES.get(each[-1], (each,))[0]
        const = "const " if each.startswith("*k") else ""
        made += [f"{const}{of} *" if each[0] in "*&" and each != "*s" else of]
        made += ["Py_ssize_t"] if each.startswith("*") else []
    return made


def _word(types):
    """Returns the types as text that can be part of a name."""
    return "_".join(each.replace(" ", "_").replace("*", "p") for each in types)


def _definition(name, types, is_void):
    """Returns the source lines of a def function. It takes a memoryview for each pointer to numbers."""
    parameters, passed = [], []
    for at, of in enumerate(types):
        is_pointer = of.endswith("*") and of != "const char *"
        parameters.append(f"{of[:-2]}[::1] a{at}" if is_pointer else f"{of} a{at}")
        passed.append(f"&a{at}[0] if a{at}.shape[0] else NULL" if is_pointer else f"a{at}")
    return [f"def {name}__{_word(types)}({', '.join(parameters)}):",
            f"    {'' if is_void else 'return '}typed.{name}({', '.join(passed)})"]
