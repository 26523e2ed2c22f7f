"""The matrix's properties for threads and signals."""
import _thread
import contextlib
import gc
import itertools
import signal
import threading
import time

import matrix_limits
import support
import typedcall
from matrix_sinks import Refused
from narrow_support import functions

#: Timeouts in milliseconds, for a thread that should not arrive and for one that should.
PATIENCE, GENEROUS = 100, 5000


def overlap(calls):
    """Makes each call in its own thread, and returns True if two calls overlapped."""
    results = support.at_once(lambda call: [call(PATIENCE) for _ in range(3)], [(call,) for call in calls])
    return any(itertools.chain(*results))


def two_at_once(sink, make):
    """Calls, in two threads, a function that is not THREAD_SAFE."""
    module = support.build("thread_functions")
    assert overlap([module.together] * 2), "the function does not see two threads"
    try:
        with sink.another() as other:
            made = [make(each)(module.alone) for each in (sink, other)]
            for call in made:
                call(1)  # some sinks compile code on the first call
            met = overlap([lambda x, call=call: sink.result(call(x), 0) for call in made])
    except Refused as error:
        return "refused", str(error)
    return "wrong" if met else "right", "in two threads at once" if met else "in one thread at a time"


def waiting_for_python(sink, flags):
    """Calls a function that waits for a thread that needs the GIL."""
    module = support.build("thread_functions")

    def waits(milliseconds):
        raise AssertionError("the C function is called")

    typedcall.tag(waits, "l->l", typedcall.entries(module.waits)[0].address,
                  flags=typedcall.Flags.ACQUIRES_GIL | flags)
    try:
        sink.letting_go()
        made = sink.made(waits)
        made(1)  # some sinks compile code on the first call
    except Refused as error:
        return "refused", str(error)
    is_over = threading.Event()

    def let_go():
        while not module.are_waiting() and not is_over.wait(0.001):
            pass
        module.let_go()

    other = threading.Thread(target=let_go)
    other.start()
    try:
        has_gone_on = sink.result(made(GENEROUS), 1) == 1
    finally:
        is_over.set()
        other.join()
    return "right" if has_gone_on else "wrong", "the other thread has %srun meanwhile" % ("" if has_gone_on else "not ")


def holding(sink):
    """A sink holds the GIL for functions that need it, and releases it for functions that acquire it themselves."""
    cases = {
        "a thread that needs the GIL": lambda: waiting_for_python(sink, typedcall.Flags.THREAD_SAFE),
        "a thread that needs the GIL, not THREAD_SAFE": lambda: waiting_for_python(sink, typedcall.Flags(0)),
        "two threads": lambda: two_at_once(sink, lambda each: each.made),
        "two threads without the GIL": lambda: two_at_once(sink, lambda each: each.detached),
    }
    for cell, case in cases.items():
        reason = matrix_limits.why_not(sink, "holding", cell)
        yield (cell, "limit", reason) if reason else (cell, *case())


def python_does(function, argument):
    try:
        return function(argument)
    except Exception as error:
        return type(error).__name__


def in_threads(sink, function, arguments):
    """Calls the function in four threads, and compares the results with Python's."""
    shared, wanted = sink.made(function), []
    for argument in arguments:
        wanted.append(python_does(function, argument))
        try:
            shared(argument)
        except Refused:
            raise
        except Exception as error:
            sink.kind_of(error)

    def call(each, made, argument, expected):
        try:
            return each.result(made(argument), expected)
        except Exception as error:
            return each.kind_of(error)

    def run(each, made):
        return [call(each, made, *pair) == pair[1] for _ in range(25) for pair in zip(arguments, wanted)]

    with contextlib.ExitStack() as others:
        each_one = [sink if sink.threads_share else others.enter_context(sink.another()) for _ in range(4)]
        found = [*itertools.chain(*support.at_once(
            run, [(each, shared if sink.threads_share else each.made(function)) for each in each_one]))]
    return "right" if found == [True] * 200 else "wrong", f"{found.count(True)} of 200 calls give {wanted}"


def threads(sink):
    """Calls in several threads have the same results and exceptions as in Python."""
    for name, module, arguments in (("same_d", functions, [2.5, -1.0]), ("checked_d", functions, [1.5, 13.0]),
                                    ("root", support.build("fallback_functions"), [16.0, -4.0]),
                                    ("status", functions, [5, 13])):
        try:
            yield (name, *in_threads(sink, getattr(module, name), arguments))
        except Refused as error:
            yield name, "refused", str(error)


def comes_out(sink, call):
    """Makes a call that is interrupted. Returns what happened, and whether an interrupt was reported."""
    said = ""
    try:
        try:
            given = call()
        except Exception as error:
            if sink.is_interrupt(error):
                return "the library's own error", True
            if "interrupt" not in f"{type(error).__name__} {error}".lower():
                return f"{type(error).__name__}, which does not name it: {error}", False
            said = f"{type(error).__name__}, then "
        else:
            return f"a result: {given!r}", False
        until = time.monotonic() + 5
        while time.monotonic() < until:
            time.sleep(0.001)  # lets Python check for signals
    except KeyboardInterrupt:
        return said + "KeyboardInterrupt", True
    return said + "nothing", False


def falling_back_to(function):
    """Tags the Python function with a C function that falls back for negative arguments."""
    entry, = typedcall.entries(support.build("fallback_functions").root)
    typedcall.tag(function, entry.signature, entry.address, flags=entry.flags)
    return function


def in_python_code():
    def interrupting(x):
        if x < 0:
            raise KeyboardInterrupt
        return x

    return falling_back_to(interrupting), lambda made: made(-1.0)


def in_a_c_function():
    functions.keep(KeyboardInterrupt())
    return functions.raises, lambda made: made(-1.0)


def by_a_signal():
    def signalling(x):
        if x < 0:
            signal.raise_signal(signal.SIGINT)
        return x

    return falling_back_to(signalling), lambda made: made(-1.0)


def among_many_calls():
    """Sends the signal from another thread while the main thread makes calls."""
    def native(x):
        return x

    def many(made):
        has_begun = threading.Event()

        def interrupt():
            if has_begun.wait(60):
                _thread.interrupt_main()

        other = threading.Thread(target=interrupt)
        other.start()
        # Python drops exceptions raised in gc.callbacks, so an interrupt during JAX's callback is lost.
        gc.disable()
        try:
            until = time.monotonic() + 60
            for i in itertools.count():
                made(4.0)
                if i == 100:
                    has_begun.set()
                assert time.monotonic() < until, "no interrupt"
        finally:
            gc.enable()
            has_begun.set()
            other.join()

    return falling_back_to(native), many


def among_values(sink):
    """Makes one call for a hundred values. The first interrupt must end the call."""
    called = []

    def interrupting(x):
        if x < 0:
            called.append(x)
            raise KeyboardInterrupt
        return x

    values = [4.0] * 100
    values[50:60:5] = -1.0, -2.0
    said, is_right = comes_out(sink, sink.many(falling_back_to(interrupting), values))
    return "right" if is_right and called == [-1.0] else "wrong", f"{said}, called for {called}"


CASES = {"in Python code": in_python_code, "in a C function": in_a_c_function, "by a signal in Python code": by_a_signal,
         "among many calls": among_many_calls}


def interrupts(sink):
    """An interrupted call raises KeyboardInterrupt or the library's own error. Later calls work."""
    before = signal.getsignal(signal.SIGINT)
    # SIGINT is ignored if the tests run as a shell's background job.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for cell, case in CASES.items():
            reason = matrix_limits.why_not(sink, "interrupts", cell)
            if reason:
                yield cell, "limit", reason
                continue
            function, call = case()
            try:
                made = sink.made(function)
                assert sink.result(made(4.0), 4.0) in (2.0, 4.0)
                said, is_right = comes_out(sink, lambda: call(made))
                goes_on = sink.result(made(4.0), 4.0) in (2.0, 4.0)
            except Refused as error:
                yield cell, "refused", str(error)
                continue
            yield cell, "right" if is_right and goes_on else "wrong", said
        try:
            yield ("among many values", *among_values(sink))
        except Refused as error:
            yield "among many values", "refused", str(error)
    finally:
        functions.keep(ValueError("thirteen"))
        signal.signal(signal.SIGINT, before)
