"""A random program of property_attack.py. It makes and tags callables, and deletes them in any order, even from
`__del__` and `__eq__`."""
import copy
import ctypes
import gc
import operator
import pickle
import random
import threading
import types
import warnings
import weakref

import typedcall
from attack_callables import Callables
from attack_meanings import ALLOWED, Thing, Wrong, _letters
from typedcall import Flags
from typedcall.record import codes


class Program(Callables):
    """Runs the steps of a program. Each step has its own random seed, so any step can be left out."""

    def __init__(self, seed, number, known, with_threads=True, note=lambda step, text: None,
                 left_out=(), verbose=False):
        self.seed, self.number = seed, number
        self.random = random.Random("%s/%s" % (seed, number))
        # With few meanings, callables often share defs and tags.
        self.meanings = self.random.sample(known, self.random.choice((1, 2, 4, len(known))))
        self.pool, self.holds, self.made = [], [], []
        self.depth, self.step, self.calls, self.asked = 0, 0, 0, 0
        self.with_threads = with_threads and self.random.random() < 0.2
        self.note, self.lock, self.threads_run = note, threading.RLock(), False
        self.alive = weakref.WeakSet()
        self.failure, self.left_out, self.verbose = None, left_out, verbose

    def trace(self, text, *values):
        if self.verbose:
            print("  " * self.depth + text % values, flush=True)

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
        typedcall.tag(thing.obj, thing.meaning.offered, native, flags=int(thing.meaning.flags))

    def tag_new(self):
        """Tags a new callable and often resolves it."""
        self.make_callable()
        with self.lock:
            thing = self.pool[-1]
        typedcall.tag(thing.obj, thing.meaning.offered, self.native(thing.meaning),
                      flags=int(thing.meaning.flags))
        if self.random.random() < 0.6:
            self.add(Thing(typedcall.resolve(thing.obj, thing.meaning.signature, capabilities=0x1FF),
                           thing.meaning, "resolved"))

    def native_as_callable(self):
        meaning = self.random.choice(self.meanings)
        made = self.native(meaning)
        # A native function that falls back also takes a pointer to the result, so the meaning's arguments do not fit.
        if callable(made) and not meaning.falls_back:
            self.add(Thing(made, meaning, "native"))

    def untag(self):
        typedcall.untag(self.pick().obj)

    def adopt(self):
        thing = self.pick()
        typedcall.publish(thing.obj)
        self.asked += 1

    def ask(self):
        thing = self.pick()
        for entry in typedcall.entries(thing.obj):
            if entry.signature != thing.meaning.offered:
                if thing.kind == "low_level_callable":
                    continue  # SciPy's callable offers several doubles as an array
                raise Wrong("%s offers %r" % (thing.kind, entry))
            self.hold((entry, thing.meaning))
        self.asked += 1

    def resolve(self):
        thing = self.pick()
        made = typedcall.resolve(thing.obj, thing.meaning.signature, capabilities=0x1FF,
                                 casting=self.random.choice(codes.CASTINGS))
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
                           "l": lambda: self.random.randrange(-10**11, 10**11),
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
            function = typedcall.resolve(function, meaning.signature, capabilities=0x1FF)
        if not callable(function):
            return
        if self.threads_run and getattr(function, "_b_base_", None) is not None:
            # Another thread may overwrite a ctypes field. ctypes then frees the old function even while it is running.
            return
        if meaning.falls_back and not has_result(meaning, values):
            self.calls += 1
            try:
                got = function(*values)
            except ALLOWED:
                return
            raise Wrong("%s '%s'%r gave %r and not an exception"
                        % (thing.kind, meaning.signature, tuple(values), got))
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
        """Calls the address of an entry that is held."""
        held = [each for each in self.holds if isinstance(each, tuple)
                and isinstance(each[0], typedcall.Entry)]
        if not held:
            return
        entry, meaning = held[self.random.randrange(len(held))]
        if entry.flags & (Flags.TAKES_SELF | Flags.FALLS_BACK):
            return
        values = self.arguments(meaning)
        arguments, result = meaning.signature.split("->")
        needs_gil = entry.flags & Flags.NEEDS_THREAD
        factory = ctypes.PYFUNCTYPE if needs_gil else ctypes.CFUNCTYPE
        function = factory(_letters(result), *map(_letters, arguments))(entry.address)
        got = function(*values)
        self.check(Thing(function, meaning, "address of %s" % entry.place), values, got)

    def overwrite(self):
        """Replaces a function in a struct or an array with an equivalent one. A function that was resolved earlier
        still calls the old one."""
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
        """Makes a callable hold an object that may refer back to it."""
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
        self.threads_run = True
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.threads_run = False

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
        """Runs the steps. Raises Wrong if a result is wrong."""
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
        """Drops everything. Only objects that untag() has released may remain."""
        self.depth = 10  # stops reenter()
        for meaning in self.meanings:  # the next program must not find these tags
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


def has_result(meaning, values):
    try:
        meaning.python(*values)
    except ValueError:
        return False
    return True


# Each name in STEPS must be a method.
assert all(map(operator.attrgetter(*Program.STEPS), [Program]))
