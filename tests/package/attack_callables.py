"""The callables and native functions that attack_program.py uses. Some of them misbehave."""
import ctypes
import functools
import sys
import types

import typedcall
from attack_meanings import ALLOWED, IS_CPYTHON, Thing, Wrong, _of_cffi, prototype


class Callables:
    """The part of Program that makes callables."""

    # --- Misbehaving objects -----------------------------------------------------------------

    def reenter(self):
        """Runs another random step. Called from a `__del__`, an `__eq__` or a callback."""
        if self.depth > 2 or self.failure is not None:
            return
        self.depth += 1
        try:
            self.one(self.random.choice(self.INSIDE))
        except ALLOWED:
            pass
        except Wrong as error:
            self.failure = error
        finally:
            self.depth -= 1

    def bomb(self):
        """Returns an object that runs a random step when it is destroyed."""
        program = self

        class Bomb:
            def __del__(self):
                program.reenter()

        made = Bomb()
        self.alive.add(made)
        return made

    def hostile(self, meaning):
        """Returns a callable whose special methods may misbehave."""
        program, random_ = self, self.random
        body = {"__call__": lambda self, *args: meaning.python(*args)}

        def strange(self, *unused):
            program.reenter()
            if random_.random() < 0.5:
                raise random_.choice((ValueError, AttributeError, TypeError))("hostile")
            return random_.choice((None, 5, "text", True))

        for name in ("__eq__", "__hash__", "__getattr__", "__bool__", "__repr__", "__len__"):
            if random_.random() < 0.4:
                body[name] = strange
        if "__eq__" in body and "__hash__" not in body:
            body["__hash__"] = lambda self: 1
        if random_.random() < 0.3:
            body["__del__"] = lambda self: program.reenter()
        if random_.random() < 0.2:
            body["__class__"] = property(lambda self: random_.choice((int, types.MethodType, type)))
        if random_.random() < 0.2:
            body["__slots__"] = ("__weakref__",) if random_.random() < 0.5 else ()
        bases = (random_.choice((object, object, list, Exception)),)
        meta = self.extensible_metaclass() if random_.random() < 0.3 else type
        if meta is not type and bases[0] is object and "__slots__" not in body:
            body["__customslots__"] = {0x01000001 | random_.randrange(1 << 8, 1 << 12, 2) << 8: 1}
        try:
            return meta("Hostile", bases, body)()
        except ALLOWED:
            return types.SimpleNamespace(__call__=None) and (lambda *args: meaning.python(*args))

    def extensible_metaclass(self):
        module = sys.modules.get("_extensibletype")
        if module is None or not hasattr(module, "combined_metaclass"):
            return type
        return module.combined_metaclass(type)

    # --- Objects to tag ----------------------------------------------------------------------

    def make_callable(self):
        meaning = self.random.choice(self.meanings)
        kind = self.random.choice(("function", "instance", "static", "bound", "partial",
                                   *["builtin"] * (7 if meaning.builtins else 0)))
        python = meaning.python
        if kind == "builtin":
            made = self.random.choice(meaning.builtins)()
        elif kind == "instance":
            made = self.hostile(meaning)
        elif kind == "static":
            made = type("C", (), {"f": staticmethod(lambda *args: python(*args))}).f
        elif kind == "bound":
            owner = type("C", (), {"f": lambda self, *args: python(*args)})()
            made = owner.f
        elif kind == "partial":
            made = type("P", (functools.partial,), {})(lambda *args: python(*args))
        else:
            def made(*args, bomb=self.bomb()):
                return python(*args)
        self.add(Thing(made, meaning, kind))

    def callback(self, meaning):
        """Returns a ctypes callback, which may run other steps before it returns."""
        program, python, inner = self, meaning.python, self.random.random() < 0.3

        def run(*args, bomb=self.bomb()):
            if inner:
                program.reenter()
            if not meaning.falls_back:
                return python(*args)
            # A function that falls back must not change its arguments or the result.
            limit = ctypes.c_long if meaning.signature == "l->l" else ctypes.c_double
            try:
                result = python(*args[:-1])
            except ValueError:
                return 1
            if limit(result).value != result:
                return 1
            args[-1][0] = result
            return 0

        return prototype(meaning.offered)(run)

    def native(self, meaning):
        """Returns an object that holds the address of a C function with this meaning."""
        made = self.native_of(meaning)
        self.trace("  native %s %#x", type(made).__name__, id(made))
        return made

    def native_of(self, meaning):
        kind = self.random.choice(("callback", "callback", "field", "element", "cast", "address",
                                   "library", "known", "entry", "contents", "cffi", "capsule"))
        if kind in ("address", "library", "capsule") and meaning.addresses:
            address = self.random.choice(meaning.addresses)
            if kind == "address":
                return address
            if kind == "capsule" and IS_CPYTHON:
                return typedcall.record.capsules.make_capsule(address, "%d" % (self.number % 5))
            return prototype(meaning.offered)(address)
        if kind == "known":
            same = [thing for thing in self.pool if thing.meaning is meaning]
            if same:
                return self.random.choice(same).obj
        if kind == "entry":
            same = [t for t in self.pool if t.meaning is meaning and t.kind == "resolved"]
            if same:
                return self.random.choice(same).obj
        made = self.callback(meaning)
        if kind == "field":
            struct = type("S", (ctypes.Structure,), {"_fields_": [("a", ctypes.c_int),
                                                                  ("f", type(made))]})()
            struct.f = made
            self.hold((struct, "f", meaning))
            return struct.f
        if kind == "element":
            array = (type(made) * 3)()
            array[1] = made
            self.hold((array, 1, meaning))
            return array[1]
        if kind == "contents":
            return ctypes.pointer(made).contents
        if kind == "cast":
            return ctypes.cast(made, type(made))
        if kind == "cffi" and "cffi" in sys.modules and not set("O&") & set(meaning.offered):
            ffi, ctype = _of_cffi(meaning.signature)
            return ffi.callback(ctype, meaning.python)
        return made
