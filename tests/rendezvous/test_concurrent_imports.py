# Many threads import both providers at the same time. There must be only one metaclass. Every few
# allocations trigger a garbage collection, which releases the GIL.
import os
import sys
import unittest

from fresh_process import run

TIMES = int(os.environ.get("TYPEDCALL_CONCURRENT_TIMES", 12))

CODE ="""
import gc, importlib.util, os, sys, threading, time
SEED = %d
sys.setswitchinterval(1e-6)
THREADS = 8
barrier = threading.Barrier(THREADS)
results, errors, pauses = [], [], []
specs = [importlib.util.find_spec(name) for name in ("provider_a", "provider_b", "abi_probe")]

def pause(phase, info):
    # Pauses only while a thread makes the interface, before it exists, so that the others catch up.
    module = sys.modules.get("_extensibletype")
    if module is not None and not hasattr(module, "typedcall_v2"):
        pauses.append(phase)
        time.sleep(0.001)

def work(number):
    try:
        order = specs[:2] if (number + SEED) %% 2 else specs[1::-1]
        # Not by `import`, whose lock would keep the threads apart.
        modules = [importlib.util.module_from_spec(spec) for spec in order]
        barrier.wait()
        for spec, module in zip(order, modules):
            spec.loader.exec_module(module)
        class Both(modules[0].Type, modules[1].Type): pass
        obj = Both()
        found = sorted(module.find(obj, idea) for module in modules for idea in (1, 2))
        results.append((modules[0].metaclass(), modules[1].metaclass(), type(Both),
                        modules[0].interface(), modules[1].interface(), found, modules))
    except BaseException as error:
        errors.append(error)

threads = [threading.Thread(target=work, args=(n,)) for n in range(THREADS)]
gc.callbacks.append(pause)
gc.set_threshold(1 + SEED %% 4, 1, 1)
for thread in threads: thread.start()
for thread in threads: thread.join()
gc.callbacks.clear()
gc.set_threshold(700, 10, 10)
assert not errors, errors
assert len(results) == THREADS
assert len({r[0] for r in results} | {r[1] for r in results} | {r[2] for r in results}) == 1
assert len({r[3] for r in results} | {r[4] for r in results}) == 1
assert all(r[5] == [11, 11, 22, 22] for r in results), results
# Each thread executed the modules again: one row each, removed with the last of them.
a, b = (next(m for r in results for m in r[6] if m.__name__ == n)
        for n in ("provider_a", "provider_b"))
assert a.row(b.key) == 2 and b.row(a.key) == 1
assert sys.modules["_extensibletype"].extensibletype_v2 is a.metaclass()
del results[:], a, b
gc.collect()
metaclasses = [t for t in type.__subclasses__(type) if t.__name__ == "extensibletype_v2"]
# Without the GIL, 3.13 keeps every class alive once a second thread has run.
if getattr(sys, "_is_gil_enabled", lambda: True)():
    assert len(metaclasses) == 1, "those that lost are gone"
print(len(pauses))
"""


class ConcurrentImports(unittest.TestCase):
    def test_threads(self):
        pauses = sum(int(run(CODE % seed)) for seed in range(TIMES))
        # From 3.12 on, collections wait until a C function has returned.
        if sys.version_info < (3, 12):
            self.assertGreater(pauses, 0, "the threads never met")
