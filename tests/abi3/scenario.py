# The program that test_abi3.py runs in a separate process. Usage: scenario.py NAME[,NAME...], where
# each NAME is `limited`, `abi3t` or `full`. Imports the modules in this order and tests the first
# one that is not `full`.
import abc
import enum
import gc
import sys
import threading
import typing
import weakref

import leaks

MODULES = {"limited": "limited_slots", "abi3t": "abi3t_slots", "full": "slot_tools"}
A, B, C = 0x01000101, 0x01000201, 0x01000301
T = typing.TypeVar("T")  # shared by all repetitions, because typing caches each TypeVar


def check(what, expected):
    if what != expected:
        raise AssertionError("%r, not %r" % (what, expected))


def expect(exception, function, *arguments):
    try:
        function(*arguments)
    except exception as error:
        return str(error)
    raise AssertionError("no %s" % exception.__name__)


def of_one_module(m):
    Base = m.make({A: 11, B: 22})
    check(m.table(Base()), [(A, 11), (B, 22)])
    check([m.find(Base(), B, p) for p in (0, 1, -1, 99, sys.maxsize)], [22] * 5)
    check([m.find(Base(), i) for i in (0, 1, C)], [None] * 3)
    check([m.table(x) for x in (5, None, "a", Base, object())], [None] * 5)

    class Plain:
        pass

    class One(Base):
        pass

    class Two(Plain, One, typing.Generic[T]):
        __customslots__ = {A: 1, C: 3}

    check(m.table(One()), [(A, 11), (B, 22)])
    check(m.table(Two()), [(A, 1), (B, 22), (C, 3)])
    check(m.table(m.make({C: 33}, Two)()), [(A, 1), (B, 22), (C, 33)])
    check(m.table(type(Base)("X", (object,), {})()), [])

    class Forgets(m.Metaclass):
        def __init__(cls, *args):
            pass

    class Three(Base, metaclass=Forgets):
        __customslots__ = [(A, 5)]

    class Four(Three, metaclass=Forgets):
        pass

    check(m.table(Four()), [(A, 5), (B, 22)])
    new = type.__new__(m.Metaclass, "New", (Base,), {})
    check(m.table(new()), [(A, 11), (B, 22)])

    class Wanted(Base, abc.ABC, metaclass=m.combined(abc.ABCMeta)):
        @abc.abstractmethod
        def f(self):
            pass

    expect(TypeError, Wanted)
    check(m.table(type("Got", (Wanted,), {"f": 1})()), [(A, 11), (B, 22)])

    class Colour(Base, enum.Enum, metaclass=m.combined(enum.EnumMeta)):
        RED = 1

    check(m.find(Colour.RED, B), 22)
    check(m.id_by_name(b"some.name"), m.id_by_name(b"some.name"))


def refused(m):
    Base = m.make({A: 11})
    for wrong in (5, {A: None}, [(A, 1), (A, 2)], {0: 1}):
        expect((TypeError, ValueError), m.Metaclass, "X", (Base,), {"__customslots__": wrong})
    assert "custom slot 0 has the invalid ID 0x0" in expect(ValueError, m.make, {0: 1})
    expect(TypeError, m.make, {A: 1}, int.__add__)
    expect(TypeError, m.combined, int)
    expect(ValueError, m.id_by_name, b"")
    expect(TypeError, m.register, Base, {A: 1})
    expect(ValueError, m.register, type("Theirs", (), {}), {})


def during_creation(m):
    """Tests look-ups on unresolved classes, and with a pending exception."""
    Base, seen = m.make({A: 11}), []

    class Looks(Base):
        def __init_subclass__(cls):
            seen.append(m.table(cls.__new__(cls)))

    class X(Looks):
        __customslots__ = {B: 2}

    check(seen, [[(A, 11), (B, 2)]])
    late = type.__new__(m.Metaclass, "Late", (Base,), {"__customslots__": {A: 1}})
    faulty = type.__new__(m.Metaclass, "Faulty", (Base,), {"__customslots__": 5})
    check(m.find_under_error(late(), A), 1)
    check([m.find_under_error(x, A) for x in (faulty(), 5, X())], [None, None, 11])


def detached(m):
    Base = m.make({A: 11})

    class Derived(m.Metaclass):
        pass

    class D(Base, metaclass=Derived):
        pass

    unresolved = type.__new__(m.Metaclass, "U", (Base,), {})()
    check(m.find_detached(Base(), A), 11)
    check(m.find_detached(5, A), None)
    check(m.find_detached(D(), A), None)  # another thread may change the metaclass's MRO
    check(m.find_detached(unresolved, A), None)
    check((m.find(D(), A), m.find(unresolved, A)), (11, 11))
    check(m.find_detached(unresolved, A), 11)


def foreign(m):
    class Theirs:
        pass

    class Sub(Theirs):
        pass

    m.register(Theirs, {A: 7})
    m.register(Theirs, {B: 8})
    check([m.find_foreign(Sub(), i) for i in (A, B, C)], [7, 8, None])
    check(m.find(Sub(), A), None)
    assert "with other data" in expect(ValueError, m.register, Theirs, {A: 9})
    expect(TypeError, m.register, m.make({A: 1}), {A: 1})
    added, removed = m.counters()
    del Theirs, Sub
    gc.collect()
    check(m.counters(), (added, removed + 3))  # two registered rows, and Sub's inherited row


def foreign_bases(m):
    """The current MRO decides, although the limited API hides the version of a type."""
    left, right = (type("Base", (), {}) for _ in range(2))
    m.register(left, {A: 7, B: 8})
    m.register(right, {B: 9})
    cls = type("C", (left,), {})
    objects = cls(), type("Sub", (cls,), {})()
    for _ in range(2):
        for x in objects:
            check([m.find_foreign(x, i) for i in (A, B)], [7, 8])
        cls.__bases__ = right,
        for x in objects:
            check([m.find_foreign(x, i) for i in (A, B)], [None, 9])
        cls.__bases__ = left,
    del left, right, cls, objects, x
    gc.collect()  # before other scenarios count rows


def out_of_memory(m):
    """If an allocation fails, __init__ raises MemoryError, and the base keeps its slots."""
    try:
        import _testcapi
    except ImportError:
        return
    Base, failures = m.make({A: 1}), 0
    for start in range(1, 1000):
        # A class statement would leak, because CPython's type.__new__ leaks when memory runs out.
        late = type.__new__(m.Metaclass, "Late", (Base,), {"__customslots__": {B: 2}})
        X = type.__new__(m.Metaclass, "X", (late,), {"__customslots__": {C: 3}})
        arguments = X, "X", (late,), {}
        _testcapi.set_nomemory(start, start + 1)
        try:
            m.Metaclass.__init__(*arguments)
        except MemoryError:
            failures += 1
        else:
            start = 0
        finally:
            _testcapi.remove_mem_hooks()
        check(m.table(X()), [(A, 1), (B, 2), (C, 3)])
        if start == 0:
            break
    assert failures > 5, failures


def freed(m):
    Base = m.make({A: 11})
    gone = [weakref.ref(type("X", (Base,), {"__customslots__": {B: i}})) for i in range(200)]
    gone.append(weakref.ref(m.make({A: 1})))
    gc.collect()
    check([r for r in gone if r() is not None], [])


def nothing_leaks(m):
    """Repeating the same work allocates no more blocks, except in the caches of abc and typing."""
    def work():
        during_creation(m)
        foreign(m)
        foreign_bases(m)
        refused(m)

    # The caches may grow during the first three hundred calls.
    leaks.check(work, 20, warm_up=500, rounds=9, blocks=20)


def both(limited, full):
    check(limited.Metaclass, full.Metaclass)
    for maker in (limited, full):
        Base = maker.make({A: 11})
        Child = type("Child", (Base,), {"__customslots__": {B: 22}})
        late = type.__new__(maker.Metaclass, "Late", (Child,), {})
        for reader in (limited, full):
            check(reader.table(Child()), [(A, 11), (B, 22)])
        check(full.table(late()), [(A, 11), (B, 22)])
        check(limited.table(late()), [(A, 11), (B, 22)])
    mixed = type("Mixed", (limited.make({A: 1}), full.make({B: 2})), {})
    check([sorted(m.table(mixed())) for m in (limited, full)], [[(A, 1), (B, 2)]] * 2)
    check(limited.id_by_name(b"both"), full.id_by_name(b"both"))
    check(limited.combined(abc.ABCMeta), full.combined(abc.ABCMeta))


def in_other_interpreters(name):
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    code = ("import sys; sys.path[:] = %r\n"
            "import %s as m\n"
            "B = m.make({5 << 8 | 0x01000001: 5})\n"
            "class C(B): __customslots__ = {6 << 8 | 0x01000001: 6}\n"
            "assert [v for _, v in m.table(C())] == [5, 6]\n"
            "import _extensibletype\n"
            "assert id(_extensibletype.extensibletype_v2) != %d\n" % (
                sys.path, name, id(sys.modules["_extensibletype"].extensibletype_v2)))
    errors = []

    def several():
        for _ in range(3):
            other = interpreters.create()  # by default the interpreter has its own GIL
            try:
                error = interpreters.run_string(other, code)  # 3.12 raises the error, 3.13 returns it
            except Exception as raised:
                error = raised
            if error is not None:
                errors.append(error)
            interpreters.destroy(other)

    threads = [threading.Thread(target=several) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(errors, [])


def at_the_end(m):
    """Keeps an object whose __del__ uses slots while the interpreter finalizes."""
    Base = m.make({A: 11})

    class Late(Base):
        def __del__(self, m=m, A=A, Error=(RuntimeError, ImportError)):
            if m.find(self, A) not in (11, None):
                print("wrong at the end")
            try:
                m.make({A: 1})
            except Error:
                pass

    sys.kept = Late()


def main():
    names = sys.argv[1].split(",")
    modules = [__import__(MODULES[name]) for name in names]
    limited, *others = sorted(modules, key=lambda module: module.__name__ == MODULES["full"])
    check(limited.installed(), limited is modules[0])
    for _ in range(3):
        of_one_module(limited)
        refused(limited)
        during_creation(limited)
        detached(limited)
        foreign(limited)
        foreign_bases(limited)
        out_of_memory(limited)
        freed(limited)
        for other in others:
            both(limited, other)
    nothing_leaks(limited)
    in_other_interpreters(limited.__name__)
    at_the_end(limited)
    print("%s offset %d" % (",".join(names), limited.offset()))


main()
