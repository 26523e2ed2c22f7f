"""Compares typedcall.jax with jax.pure_callback in JAX's jit. Usage: python
bench/jax_elementwise.py [--rounds N]"""

import os
import sys
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import build_module
import interleaved
import jax
import numpy
import typedcall
from typedcall.jax import elementwise

callees = build_module.load("adapter_callees.cc")


def callback(f):
    def call(x):
        return jax.pure_callback(f, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="broadcast_all")

    return call


def compare(size, rounds):
    x = jax.numpy.linspace(0.0, 1.0, size)
    by_hand = typedcall.ufunc(callees.curve)
    vectorized = numpy.vectorize(callees.curve, otypes=["float64"])
    functions = {
        "typedcall.jax": elementwise(callees.curve),
        "pure_callback, the typed ufunc": callback(lambda y: by_hand(numpy.asarray(y))),
        "pure_callback, numpy.vectorize": callback(lambda y: vectorized(numpy.asarray(y))),
        "the formula in jax.numpy": lambda y: y * y / 2 + 1 / (1 + y * y),
    }
    calls = max(1, 100 // size)
    contestants = {}
    for name, function in functions.items():
        program = jax.jit(function)
        if not numpy.allclose(program(x), by_hand(numpy.asarray(x)), rtol=1e-15):
            raise SystemExit("the results differ: " + name)

        def run(program=program):
            for _ in range(calls):
                program(x).block_until_ready()

        contestants[name] = run
    print("\n%d doubles, a call for each array" % size)
    # Measure wall-clock time, because XLA may use threads of its own.
    taken = interleaved.measure(contestants, rounds, time.perf_counter)
    return interleaved.report(
        taken, calls,
        [("typedcall.jax", "pure_callback, the typed ufunc", 1, "most"),
         ("pure_callback, numpy.vectorize", "typedcall.jax", 10 if size > 1000 else 2, "least")], f"{size} doubles")


def main():
    rounds = interleaved.rounds(__doc__, 51)
    jax.config.update("jax_enable_x64", True)
    print("JAX", jax.__version__)
    held = [compare(size, rounds) for size in (1, 1000, 100_000)]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
