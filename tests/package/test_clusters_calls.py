"""Tests calls to unpickled typed functions in worker processes."""

import ast
import concurrent.futures
import importlib
import pickle
import sys

import cluster_support
import support
import typedcall
from cluster_support import FOLDER, functions
from support import leaks

fallbacks = support.build("fallback_functions")
buffers = support.build("buffer_provider")
PATHS = [FOLDER, support.module_folder("fallback_functions"), support.module_folder("buffer_provider")]

# In PyPy 7.3.11, ProcessPoolExecutor calls a method that does not exist.
HAS_EXECUTOR = hasattr(concurrent.futures.ProcessPoolExecutor, "_adjust_process_count")
WITH_EXECUTOR = support.only_if(HAS_EXECUTOR)

# If the process hangs, it is killed together with its workers.
SCRIPT = """
import os, signal, sys, threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
import buffer_provider, fallback_functions, typed_functions, typedcall
{imports}
def outcome(call, *args):
    try:
        result = call(*args)
    except BaseException as error:
        return type(error).__name__, str(error)
    return type(result).__name__, repr(result)
def executor():
    # One worker: CPython may wait forever for another that starts while the pool breaks. It ignores the interrupt of
    # a shell's background job.
    return ProcessPoolExecutor(1, get_context("spawn"), signal.signal,
                               (signal.SIGINT, signal.default_int_handler))
if __name__ == "__main__":
    os.setsid()
    watchdog = threading.Timer(60, os.killpg, (0, signal.SIGKILL))
    watchdog.daemon = True
    watchdog.start()
    {work}
"""

# A module with a function that can end the worker if it falls back.
ENDING = """
import os, signal, typedcall, fallback_functions
def f(x):
    if x == -1:
        os._exit(3)
    if x == -2:
        raise KeyboardInterrupt("enough")
    if x == -3:
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(10**6):
            pass
    raise LookupError("no root of %r" % x)
entry = typedcall.entries(fallback_functions.root)[0]
typedcall.tag(f, entry.signature, entry.address, flags=entry.flags)
"""

#: Each row contains a module, a function, a signature, and the result for each list of arguments.
CALLS = [
    ("typed_functions", "half", "d->d", [
        ("(float('nan'),)", ("float", "nan")), ("(float('-inf'),)", ("float", "-inf")),
        ("(None,)", ("TypeError", "must be real number, not NoneType")),
        ("('x',)", ("TypeError", "must be real number, not str")),
        ("()", ("TypeError", "half() takes exactly 1 argument (0 given)")),
        ("(1.0, 2.0)", ("TypeError", "half() takes exactly 1 argument (2 given)"))]),
    ("typed_functions", "inc", "l->l", [
        ("(float('nan'),)", ("TypeError", "'float' object cannot be interpreted as an integer")),
        ("(2**63,)", ("OverflowError", "Python int does not fit a signed integer of 8 bytes"))]),
    ("typed_functions", "power", "dd->d", [
        ("(3.0,)", ("float", "9.0")), ("(-1.0, 0.5)", ("float", "nan"))]),
    ("typed_functions", "count", "->v", [("()", ("NoneType", "None"))]),
    ("fallback_functions", "root", "d->d", [
        ("(4.0,)", ("float", "2.0")), ("(float('nan'),)", ("float", "nan")),
        ("(-1.0,)", ("ValueError", "no result for these arguments"))]),
    ("fallback_functions", "half", "d->d", [("(-1.0,)", ("ValueError", "negative: -1.000000"))]),
    ("fallback_functions", "tenfold", "d->d", [
        ("(-2.0,)", ("float", "-20.0")), ("(-1001.0,)", ("IndexError", "far below"))]),
    ("fallback_functions", "square", "l->l", [("(1 << 32,)", ("int", "18446744073709551616"))]),
]

SURROGATE = ("UnicodeEncodeError",
             "'utf-8' codec can't encode character '\\ud800' in position 0: surrogates not allowed")
# PyPy can only make boxed calls to these functions.
OF_CPYTHON = [
    ("typed_functions", "div", "dd->d", [
        ("(1.0, 4.0)", ("float", "0.25")), ("(-1.0, 1.0)", ("float", "-1.0")),
        ("(1.0, 0.0)", ("ZeroDivisionError", "division by zero"))]),
    ("typed_functions", "check", "l->l", [("(12,)", ("int", "12")), ("(13,)", ("ValueError", "thirteen"))]),
    ("typed_functions", "same_object", "O->O", [("(None,)", ("NoneType", "None"))]),
    ("typed_functions", "same_pointer", "P->P", [("(None,)", ("NoneType", "None"))]),
    ("typed_functions", "first_of", "O->O", [
        ("([2.5],)", ("float", "2.5")), ("([],)", ("IndexError", "list index out of range"))]),
    ("typed_functions", "same_text", "s->s", [
        ("('h\\xe4',)", ("str", "'h\u00e4'")), ("(None,)", ("TypeError", "a str is needed, not 'NoneType'")),
        ("('a\\0b',)", ("ValueError", "embedded null character")), ("('\\ud800',)", SURROGATE)]),
    ("buffer_provider", "utf8_length", "*s->l", [
        ("('h\\xe4',)", ("int", "3")), ("('\\ud800',)", SURROGATE)]),
]


class Workers(cluster_support.Processes):
    def spawn(self, work, imports=""):
        """Runs a script with this `work`, and returns the lines that it prints."""
        text = SCRIPT.format(work="\n    ".join(work.strip().splitlines()), imports=imports)
        return self.run_script(text, [*PATHS, self.folder])

    def check_calls(self, calls):
        """Checks that `calls`, a list like CALLS, have the same results in this process and in worker processes."""
        rows = [(module, name, signature, [arguments for arguments, _ in cases])
                for module, name, signature, cases in calls]
        printed = self.spawn("""
with get_context("spawn").Pool(1) as pool, executor() as other:
    for module, name, signature, cases in %r:
        f = typedcall.resolve(getattr(sys.modules[module], name), signature)
        for each in cases:
            args = eval(each)
            # Not the texts themselves: a worker's output has the encoding of its locale.
            found = [outcome(f, *args), outcome(pool.apply, f, args)]
            if %r:
                found.append(outcome(lambda: other.submit(f, *args).result()))
            print(ascii(found))
""" % (rows, HAS_EXECUTOR))
        expected = [(name, arguments, found) for _, name, _, cases in calls for arguments, found in cases]
        self.assertEqual(len(printed), len(expected), printed)
        for line, (name, arguments, found) in zip(printed, expected):
            here, *there = ast.literal_eval(line)
            with self.subTest(name, arguments=arguments):
                if support.IS_PYPY and found[0] in ("TypeError", "OverflowError"):
                    self.assertEqual(here[0], found[0])  # PyPy's message differs
                else:
                    self.assertEqual(here, found)
                self.assertEqual(there, [here] * (1 + HAS_EXECUTOR))

    def test_calls(self):
        self.check_calls(CALLS)

    @support.ON_CPYTHON  # PyPy can only make boxed calls to these functions
    def test_calls_of_what_raises_and_of_texts(self):
        self.check_calls(OF_CPYTHON)

    def test_a_map_over_a_function_that_raises(self):
        name, bad, good, error = "typed_functions.check", 13, 2, "ValueError thirteen"
        if support.IS_PYPY:
            name, bad, good, error = "fallback_functions.half", -1.0, 2.0, "ValueError negative: -1.000000"
        printed = self.spawn("""
f = typedcall.resolve({name}, typedcall.signatures({name})[0])
with get_context("spawn").Pool(2) as pool:
    for chunk in (1, 3):
        print(*outcome(pool.map, f, [{good}, {bad}, {good}] * 4, chunk))
    results = pool.imap(f, [{good}, {bad}, {good}])
    print(next(results) == f({good}), *outcome(next, results))
    print(next(results) == f({good}))
    try:
        pool.apply(f, ({bad},))
    except ValueError as error:
        print(type(error.__cause__).__name__)
    print(pool.map(f, [{good}] * 4) == [f({good})] * 4)
""".format(name=name, bad=bad, good=good))
        self.assertEqual(printed, [error, error, "True " + error, "True", "RemoteTraceback", "True"])

    @WITH_EXECUTOR
    def test_a_worker_that_dies_in_the_middle(self):
        self.write("ending.py", ENDING)
        printed = self.spawn("""
f = typedcall.resolve(ending.f, "d->d")
with executor() as pool:
    print(list(pool.map(f, [4.0, 9.0], chunksize=2)))
    # The second call is no longer accepted, or its result never arrives.
    print(outcome(pool.submit(f, -1.0).result)[0], outcome(lambda: pool.submit(f, 4.0).result())[0])
with executor() as pool:
    print(outcome(lambda: list(pool.map(f, [4.0, -1.0, 9.0], chunksize=3)))[0])
with executor() as pool:
    print(list(pool.map(f, [16.0, 25.0])), *outcome(pool.submit(f, -9.0).result))
""", imports="import ending")
        broken = "BrokenProcessPool"
        self.assertEqual(printed, ["[2.0, 3.0]", broken + " " + broken, broken,
                                   "[4.0, 5.0] LookupError no root of -9.0"])

    def test_a_worker_of_a_pool_that_dies_is_replaced(self):
        # multiprocessing.Pool does not report that a worker has died.
        self.write("ending.py", ENDING)
        self.assertEqual(self.spawn("""
f = typedcall.resolve(ending.f, "d->d")
with get_context("spawn").Pool(1) as pool:
    lost = pool.apply_async(f, (-1.0,))
    print(pool.apply(f, (4.0,)), lost.ready())
""", imports="import ending"), ["2.0 False"])

    @WITH_EXECUTOR
    def test_an_interrupt_in_a_worker(self):
        self.write("ending.py", ENDING)
        printed = self.spawn("""
f = typedcall.resolve(ending.f, "d->d")
with executor() as pool:
    print(*outcome(pool.submit(f, -2.0).result))
    print(*outcome(pool.submit(f, -3.0).result))
    print(pool.submit(f, 4.0).result(), *outcome(pool.submit(f, -9.0).result))
""", imports="import ending")
        self.assertEqual([line.strip() for line in printed], [
            "KeyboardInterrupt enough", "KeyboardInterrupt", "2.0 LookupError no root of -9.0"])


@support.timing
@support.WHERE_FREED_MEMORY_GOES
class Memory(cluster_support.Processes):
    def check(self, run, count):
        """Checks that `run` leaks no objects and no memory."""
        if support.IS_PYPY:
            count //= 10  # pickling is slow on PyPy
        # PyPy's garbage collector and JIT compiler need some memory.
        leaks.check(run, count, warm_up=count // 5, takes_count=True, blocks=1000,
                    kilobytes=20000 if support.IS_PYPY else 2000)

    def test_hundred_thousand_pickles_leak_nothing(self):
        f = typedcall.resolve(functions.half, "d->d")

        def run(count):
            for i in range(count):
                again = pickle.loads(pickle.dumps(f))
            self.assertEqual(again(i), i / 2)

        self.check(run, 100_000)

    def test_pickles_of_what_falls_back_leak_nothing(self):
        f = typedcall.resolve(fallbacks.root, "d->d")

        def run(count):
            for _ in range(count):
                again = pickle.loads(pickle.dumps(f))
                try:
                    again(-4.0)
                except ValueError:
                    pass

        self.check(run, 20_000)

    def test_pickles_of_what_is_not_there_leak_nothing(self):
        self.write("absent.py", "import typed_functions, typedcall\ndef f(x): pass\n"
                                "typedcall.tag(f, 'd->d', typedcall.resolve(typed_functions.half, 'd->d'))")
        sys.path.insert(0, self.path())
        importlib.invalidate_caches()
        try:
            data = pickle.dumps(typedcall.resolve(importlib.import_module("absent").f, "d->d"))
        finally:
            sys.path.remove(self.path())
            sys.modules.pop("absent", None)

        def run(count):
            for _ in range(count):
                again = pickle.loads(pickle.dumps(pickle.loads(data)))
                with self.assertRaisesRegex(ImportError, "cannot import 'absent'"):
                    again(1.0)

        self.check(run, 1000)
