"""One random program of property_attack.py: callables, correct tags and everything that the package
makes of them, deleted and collected in any order, with `__del__` and `__eq__` that do the same."""
import copy
import ctypes
import ctypes.util
import functools
import gc
import importlib
import math
import operator
import pickle
import random
import sys
import threading
import types
import warnings
import weakref

import typedcall
from typedcall import Flags

IS_CPYTHON = sys.implementation.name == "cpython"
#: What the documentation says that functions of the package raise, and what hostile objects do.
ALLOWED = (TypeError, ValueError, OverflowError, RuntimeError, ImportError, AttributeError,
           LookupError, pickle.PicklingError)
KEEPS = Flags.NEEDS_THREAD | Flags.MAY_RAISE


class Wrong(Exception):
    """The oracle's: a typed call gave something else than the boxed one."""


class Meaning:
    """What a callable does. All its tags say the same, so all of them are correct."""

    def __init__(self, signature, python, *addresses, flags=0, made=()):
        self.signature = signature
        self.python = python
        #: Addresses of C functions that live for ever, and a function that makes Python callables.
        self.addresses = addresses
        self.flags = flags
        self.builtins = made


def _letters(letter):
    return {"d": ctypes.c_double, "l": ctypes.c_long, "O": ctypes.py_object, "v": None,
            "i": ctypes.c_int}[letter]


def prototype(signature):
    """The ctypes type of a function."""
    arguments, result = signature.split("->")
    # A function of objects must not be called without the GIL, nor after ctypes let it go.
    factory = ctypes.PYFUNCTYPE if "O" in signature else ctypes.CFUNCTYPE
    return factory(_letters(result), *map(_letters, arguments))


@functools.lru_cache(maxsize=None)
def _of_cffi(signature):
    """(FFI, type). cffi parses under a lock that no `__del__` may meet, so once."""
    import cffi

    arguments, result = signature.split("->")
    names = {"d": "double", "l": "long"}
    ffi = cffi.FFI()
    text = "%s(*)(%s)" % (names[result], ", ".join(names[each] for each in arguments))
    return ffi, ffi.typeof(text)


class _List(list):
    clear = reverse = copy = None


class _Dict(dict):
    clear = copy = None


def _method(kind, plain, name):
    """Makes bound methods of the same def, of other owners."""
    return lambda: getattr(super(kind, kind()), name) if kind is not plain else getattr(plain(), name)


def _import_again(name, attribute):
    """Makes a function of a module that is imported once more: the defs are the same."""
    def make():
        known = sys.modules.pop(name, None)
        try:
            return getattr(importlib.import_module(name), attribute)
        finally:
            if known is not None:
                sys.modules[name] = known
    return make


def meanings(plain, typed):
    """`plain` and `typed`: the modules of tests/package/modules, or None."""
    libm = ctypes.CDLL(ctypes.util.find_library("m"))
    address = lambda name: ctypes.cast(getattr(libm, name), ctypes.c_void_p).value
    own = plain.addresses if plain is not None else {}
    of = lambda *pairs: tuple(getattr(module, name) for module, name in pairs if module is not None)
    made = [
        Meaning("d->d", lambda x: x / 2, *filter(None, [own.get("half")]),
                made=[lambda f=f: f for f in of((plain, "half"), (typed, "half"))]),
        Meaning("d->d", math.fabs, address("fabs"),
                made=[lambda: math.fabs, _import_again("math", "fabs")]),
        Meaning("d->d", math.atan, address("atan"), made=[lambda: math.atan]),
        Meaning("dd->d", lambda a, b: a + b, *filter(None, [own.get("add")]),
                made=[lambda f=f: f for f in of((plain, "add"), (typed, "add"))]),
        Meaning("dd->d", math.copysign, address("copysign"),
                made=[_import_again("math", "copysign"), lambda: math.copysign]),
        Meaning("l->l", lambda x: x + 1, *filter(None, [own.get("inc")]),
                made=[lambda f=f: f for f in of((plain, "inc"), (typed, "inc"))]),
        Meaning("O->O", lambda x: x, flags=KEEPS),
        # Of empty containers; all of them share one def.
        Meaning("->O", list, flags=KEEPS, made=[_method(list, list, "copy"), _method(_List, list, "copy")]),
        Meaning("->O", dict, flags=KEEPS, made=[_method(dict, dict, "copy"), _method(_Dict, dict, "copy")]),
        Meaning("->O", lambda: None, flags=KEEPS,
                made=[_method(list, list, "clear"), _method(_List, list, "clear"),
                      _method(_List, list, "reverse"), _method(list, list, "reverse")]),
    ]
    if "cffi" in sys.modules:
        for meaning in made:
            if "O" not in meaning.signature:
                _of_cffi(meaning.signature)
    if plain is not None:
        made[0].builtins.append(_import_again("plain_functions", "half"))
    return made


class Thing:
    """Something in the pool that can be called, and what it means."""

    def __init__(self, obj, meaning, kind):
        self.obj, self.meaning, self.kind = obj, meaning, kind


class Program:
    """Runs steps; each is drawn by its own number, so that some can be left out."""

    def __init__(self, seed, number, known, with_threads=True, note=lambda step, text: None,
                 left_out=(), verbose=False):
        self.seed, self.number = seed, number
        self.random = random.Random("%s/%s" % (seed, number))
        # A few, so that callables share defs, tags and natives.
        self.meanings = self.random.sample(known, self.random.choice((1, 2, 4, len(known))))
        self.pool, self.holds, self.made = [], [], []
        self.depth, self.step, self.calls, self.asked = 0, 0, 0, 0
        self.with_threads = with_threads and self.random.random() < 0.2
        self.note, self.lock = note, threading.RLock()
        self.alive = weakref.WeakSet()
        self.failure, self.left_out, self.verbose = None, left_out, verbose

    def trace(self, text, *values):
        if self.verbose:
            print("  " * self.depth + text % values, flush=True)

    # --- What misbehaves ---------------------------------------------------------------------

    def reenter(self):
        """From a `__del__`, an `__eq__` or a callback: whatever else can be done, not too deep."""
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
        """An object that does something when it goes."""
        program = self

        class Bomb:
            def __del__(self):
                program.reenter()

        made = Bomb()
        self.alive.add(made)
        return made

    def hostile(self, meaning):
        """An instance that can be called, of a class that answers nothing as it should."""
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

    # --- What is tagged ----------------------------------------------------------------------

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
        """A ctypes function of a Python function, which does more than it should."""
        program, python, inner = self, meaning.python, self.random.random() < 0.3

        def run(*args, bomb=self.bomb()):
            if inner:
                program.reenter()
            return python(*args)

        return prototype(meaning.signature)(run)

    def native(self, meaning):
        """Something that holds the address of a C function that does what is meant."""
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
                return typedcall._capsules.make_capsule(address, "%d" % (self.number % 5))
            return prototype(meaning.signature)(address)
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
        if kind == "cffi" and "cffi" in sys.modules and "O" not in meaning.signature:
            ffi, ctype = _of_cffi(meaning.signature)
            return ffi.callback(ctype, meaning.python)
        return made

    # --- Steps -------------------------------------------------------------------------------

    def add(self, thing):
        self.trace("  new %s %#x '%s'", thing.kind, id(thing.obj), thing.meaning.signature)
        with self.lock:
            if len(self.pool) > 40:
                self.pool[self.random.randrange(len(self.pool))] = thing
            else:
                self.pool.append(thing)

    def hold(self, obj):
        with self.lock:
            if len(self.holds) > 20:
                self.holds[self.random.randrange(len(self.holds))] = obj
            else:
                self.holds.append(obj)

    def pick(self):
        pool = self.pool
        if not pool:
            raise LookupError("an empty pool")
        thing = pool[self.random.randrange(len(pool))]
        self.trace("  %s %#x '%s'", thing.kind, id(thing.obj), thing.meaning.signature)
        return thing

    def tag(self):
        thing = self.pick()
        native = self.native(thing.meaning)
        typedcall.tag(thing.obj, thing.meaning.signature, native, flags=int(thing.meaning.flags))

    def tag_new(self):
        """What is found most often: a callable that is tagged and then used."""
        self.make_callable()
        with self.lock:
            thing = self.pool[-1]
        typedcall.tag(thing.obj, thing.meaning.signature, self.native(thing.meaning),
                      flags=int(thing.meaning.flags))
        if self.random.random() < 0.6:
            self.add(Thing(typedcall.resolve(thing.obj, thing.meaning.signature, honours=0xFF),
                           thing.meaning, "resolved"))

    def native_as_callable(self):
        meaning = self.random.choice(self.meanings)
        made = self.native(meaning)
        if callable(made):
            self.add(Thing(made, meaning, "native"))

    def untag(self):
        typedcall.untag(self.pick().obj)

    def adopt(self):
        thing = self.pick()
        typedcall.adopt(thing.obj)
        self.asked += 1

    def ask(self):
        thing = self.pick()
        for entry in typedcall.entries(thing.obj):
            if entry.signature != thing.meaning.signature:
                if thing.kind == "low_level_callable":
                    continue  # of several doubles, as a function of an array
                raise Wrong("%s offers %r" % (thing.kind, entry))
            self.hold((entry, thing.meaning))
        self.asked += 1

    def resolve(self):
        thing = self.pick()
        made = typedcall.resolve(thing.obj, thing.meaning.signature, honours=0xFF,
                                 casting=self.random.choice(("exact", "equivalent", "safe")))
        self.add(Thing(made, thing.meaning, "resolved"))

    def convert(self):
        thing = self.pick()
        make = self.random.choice((typedcall.ctypes_function, typedcall.cffi_function,
                                   typedcall.low_level_callable, typedcall.ufunc))
        if make is typedcall.cffi_function:
            made = make(thing.obj, thing_signature(thing), thread_safe_only=False)
        elif make is typedcall.ufunc:
            made = make(thing.obj, self.random.choice((None, "name")))
        else:
            made = make(thing.obj, thing_signature(thing))
        self.add(Thing(made, thing.meaning, make.__name__))

    def export(self):
        module = types.ModuleType("exporting%d" % self.random.randrange(5))
        thing = self.pick()
        vars(module)["f"] = thing.obj
        if typedcall.export_to_cython(module):
            self.add(Thing(module.__pyx_capi__["f"], thing.meaning, "capsule"))

    def copies(self):
        thing = self.pick()
        if thing.kind != "resolved":
            return
        how = self.random.randrange(3)
        if how == 0:
            made = copy.copy(thing.obj)
        elif how == 1:
            made = copy.deepcopy(thing.obj)
        else:
            made = pickle.loads(pickle.dumps(thing.obj))
        self.add(Thing(made, thing.meaning, "resolved"))

    def arguments(self, meaning):
        values = []
        for letter in meaning.signature.split("->")[0]:
            values.append({"d": lambda: self.random.uniform(-100, 100),
                           "l": lambda: self.random.randrange(-10**9, 10**9),
                           "O": lambda: self.random.choice((None, "text", self.pool))}[letter]())
        return values

    def call(self):
        thing = self.pick()
        meaning, values = thing.meaning, self.arguments(thing.meaning)
        function = thing.obj
        if thing.kind == "low_level_callable" and self.random.random() < 0.2:
            self.integrate(thing)
            return
        if thing.kind == "low_level_callable" or thing.kind == "capsule":
            function = typedcall.resolve(function, meaning.signature, honours=0xFF)
        if not callable(function):
            return
        got = function(*values)
        self.check(thing, values, got)

    def integrate(self, thing):
        from scipy.integrate import quad

        more = thing.meaning.signature.count("d") - 2
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got = quad(thing.obj, 1, 2, args=(3.0,) * more)[0]
            wanted = quad(thing.meaning.python, 1, 2, args=(3.0,) * more)[0]
        self.calls += 1
        if abs(got - wanted) > 1e-9:
            raise Wrong("the integral of '%s' is %r and not %r"
                        % (thing.meaning.signature, got, wanted))

    def check(self, thing, values, got):
        self.calls += 1
        wanted = thing.meaning.python(*values)
        if got is wanted or (type(got) is type(wanted) and got == wanted):
            return
        is_number = type(got).__module__ == "numpy" and got == wanted
        if not is_number:
            raise Wrong("%s '%s'%r gave %r and not %r"
                        % (thing.kind, thing.meaning.signature, tuple(values), got, wanted))

    def call_address(self):
        """An Entry's address, as long as it is held."""
        held = [each for each in self.holds if isinstance(each, tuple)
                and isinstance(each[0], typedcall.Entry)]
        if not held:
            return
        entry, meaning = held[self.random.randrange(len(held))]
        if entry.flags & Flags.TAKES_SELF:
            return
        values = self.arguments(meaning)
        arguments, result = meaning.signature.split("->")
        needs_gil = entry.flags & Flags.NEEDS_THREAD
        factory = ctypes.PYFUNCTYPE if needs_gil else ctypes.CFUNCTYPE
        function = factory(_letters(result), *map(_letters, arguments))(entry.address)
        got = function(*values)
        self.check(Thing(function, meaning, "address of %s" % entry.place), values, got)

    def overwrite(self):
        """What a struct or an array held is replaced, by a function that does the same: what was read
        from it calls the new one, and what was resolved of that the old one."""
        held = [each for each in self.holds if isinstance(each, tuple) and len(each) == 3]
        if not held:
            return
        owner, place, meaning = held[self.random.randrange(len(held))]
        value = self.callback(meaning)
        if isinstance(place, str):
            setattr(owner, place, value)
        else:
            owner[place] = value

    def drop(self):
        with self.lock:
            if not self.pool:
                return
            dropped = self.pool.pop(self.random.randrange(len(self.pool)))
        del dropped

    def drop_many(self):
        with self.lock:
            dropped = self.pool[::2]
            self.pool[::2] = []
        del dropped

    def let_go(self):
        with self.lock:
            dropped = self.holds[:]
            self.holds[:] = []
        del dropped

    def cycle(self):
        """A callable that holds what was made of it."""
        thing, other = self.pick(), self.pick()
        vars(thing.obj)["held%d" % self.random.randrange(3)] = (other.obj, self.bomb())

    def reassign_class(self):
        thing = self.pick()
        if type(thing.obj).__name__ == "Hostile":
            thing.obj.__class__ = type("Other", type(thing.obj).__mro__[1:2] or (object,), dict(
                __call__=type(thing.obj).__call__))

    def collect(self):
        gc.collect(self.random.randrange(3))

    def look(self):
        thing = self.pick()
        if thing.kind == "resolved":
            repr(thing.obj), thing.obj.address, thing.obj.callable, hash(thing.obj), thing.obj == 5
            weakref.ref(thing.obj)
        typedcall.signatures(thing.obj)

    def in_threads(self):
        if not self.with_threads or threading.current_thread() is not threading.main_thread():
            return
        choices = ("ask", "resolve", "call", "tag", "untag", "adopt", "drop", "tag_new", "collect",
                   "call_address", "native_as_callable")

        def work(seed):
            mine = random.Random(seed)
            for _ in range(15):
                try:
                    self.one(mine.choice(choices))
                except ALLOWED:
                    pass
                except Wrong as error:
                    self.failure = error

        seeds = [self.random.random() for _ in range(3)]
        threads = [threading.Thread(target=work, args=(seed,)) for seed in seeds]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    STEPS = {"make_callable": 6, "tag": 8, "tag_new": 8, "native_as_callable": 5, "untag": 3,
             "adopt": 3, "ask": 5, "resolve": 10, "convert": 6, "export": 2, "copies": 3, "call": 20,
             "call_address": 6, "overwrite": 5, "drop": 9, "drop_many": 1, "let_go": 2, "cycle": 3,
             "reassign_class": 1, "collect": 4, "look": 3, "in_threads": 1}
    INSIDE = ("tag", "untag", "ask", "resolve", "call", "drop", "collect", "adopt", "overwrite",
              "let_go", "tag_new", "call_address")

    def one(self, name):
        if self.depth:
            self.trace("within: %s", name)
        if name not in self.left_out:
            getattr(self, name)()

    def run(self, steps, skipped=frozenset()):
        """Raises Wrong where the oracle disagrees."""
        wanted = {name: weight for name, weight in self.STEPS.items() if name not in self.left_out}
        names, weights = zip(*wanted.items())
        gc.set_threshold(self.random.choice((700, 100, 20, 5)))
        drawn = random.Random("%s/%s/steps" % (self.seed, self.number))
        for step in range(steps):
            name = drawn.choices(names, weights)[0]
            self.random = random.Random("%s/%s/%s" % (self.seed, self.number, step))
            if step in skipped:
                continue
            self.step = step
            self.note(step, name)
            self.trace("step %d: %s", step, name)
            try:
                self.one(name)
            except ALLOWED as error:
                self.trace("  raised %s", type(error).__name__)
            if self.failure is not None:
                raise self.failure
        self.note(steps, "end")
        self.finish()
        if self.failure is not None:
            raise self.failure

    def finish(self):
        """Nothing stays but what untag() has let out of its hands."""
        self.depth = 10  # what goes now does nothing more
        for meaning in self.meanings:  # their tags would be the next program's
            for make in meaning.builtins:
                typedcall.untag(make())
        for thing in self.pool:
            try:
                typedcall.untag(thing.obj)
            except ALLOWED:
                pass
            thing = None
        self.pool, self.holds = [], []
        gc.set_threshold(700)
        gc.collect()


def thing_signature(thing):
    return thing.meaning.signature


# Called by name only; what no program uses is a mistake in the list above.
assert all(map(operator.attrgetter(*Program.STEPS), [Program]))
