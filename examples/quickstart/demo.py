"""The demo: calls Python functions boxed and unboxed, and compares the results and the times. Run
it with tools/demo. --quick compares fewer arguments."""

import argparse
import math
import platform
import sys
import time

import quickstart_c
import quickstart_functions
import quickstart_integrate
import quickstart_libm
import quickstart_measure

MAY_RAISE, DIFFERS, FALLS_BACK = 0x0004, 0x0080, 0x0100


def functions():
    """Yields (name, function) for every tagged function, and for one that is not tagged."""
    for module in (quickstart_functions, quickstart_c):
        for name, value in vars(module).items():
            if callable(value) and not name.startswith("__"):
                yield f"{module.__name__}.{name}", value
    for name in quickstart_libm.tagged:
        yield f"math.{name}", getattr(math, name)


def remark(flags, result):
    words = []
    if flags & DIFFERS:
        words.append("DIFFERS")
    if flags & MAY_RAISE:
        words.append("may raise")
    if flags & FALLS_BACK:
        words.append("falls back")
    if result["only_python_raises"]:
        words.append(f"{result['only_python_raises']} x only Python raises")
    if result["only_native_raises"]:
        words.append(f"{result['only_native_raises']} x only native raises")
    if result["both_raise"]:
        words.append(f"{result['both_raise']} x both raise")
    return ", ".join(words)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="compare 20,000 arguments, not a million")
    options = parser.parse_args()
    count = 20_000 if options.quick else 1_000_000

    print(f"{platform.python_implementation()} {platform.python_version()}, {platform.machine()}")
    print()
    print("Every tagged function: its native signature, where a consumer finds it, ns per call")
    print("(median and half the distance between the quartiles; the ways take turns), and the largest")
    print(f"difference between boxed and native results over {count:,} random arguments with edges.")
    print()
    header = (
        f"{'function':26} {'signature':9} {'found in':27} "
        f"{'boxed':>13} {'libffi':>13} {'direct':>13} {'speed-up':>9}  {'difference':14} remarks"
    )
    print(header)
    print("-" * len(header))
    surprises, examples = [], []
    for name, function in functions():
        for signature, flags, where in quickstart_measure.entries(function):
            ns = quickstart_measure.measure(function, signature)
            result = quickstart_measure.compare(function, signature, count, 2026)
            columns = [f"{ns[way][0]:7.2f} ±{ns[way][1]:4.2f}" for way in ("boxed", "ffi", "direct")]
            speed_up = ns["boxed"][0] / ns["direct"][0]
            ulps = result["largest_ulps"]
            difference = "none" if not ulps else f"{ulps} ulp" if ulps < 2**63 else "nan v number"
            print(
                f"{name:26} {signature:9} {where:27} {columns[0]:>13} {columns[1]:>13} "
                f"{columns[2]:>13} {speed_up:8.1f}x  {difference:14} {remark(flags, result)}",
                flush=True,
            )
            disagrees = result["different"] or result["only_python_raises"] or result["only_native_raises"]
            if disagrees and not flags & DIFFERS:
                surprises.append(f"{name} {signature}: {result}")
            if flags & DIFFERS and result["first_raise"] and len(examples) < 4:
                examples.append(f"{name}{result['first_raise']}")
            if flags & DIFFERS and 0 < ulps and result["worst"]:
                examples.append(f"{name}{result['worst']}")
    print()
    print("An entry that falls back reports when the Python function must be called instead, "
          "for example where it raises.")
    print("DIFFERS says that a consumer gets such an entry only when it asks for it. The differences:")
    for example in examples:
        print(f"  {example}")

    print()
    print("A consumer: adaptive quadrature in C++ over any Python callable.")
    print()
    integrands = [
        ("math.sin", math.sin, 0.0, math.pi),
        ("math.exp", math.exp, 0.0, 1.0),
        ("quickstart_functions.abs", quickstart_functions.abs, -1.0, math.e),
        ("lambda: 1 / (1 + x * x)", lambda x: 1 / (1 + x * x), 0.0, 1.0),
    ]
    for name, function, lower, upper in integrands:
        seconds, found = [], {}
        for boxed in (False, True):
            best = math.inf
            for _ in range(5):
                start = time.perf_counter()
                value, evaluations, how = quickstart_integrate.integrate(function, lower, upper, 1e-13, boxed)
                best = min(best, time.perf_counter() - start)
            seconds.append(best)
            found[boxed] = (value, evaluations, how)
        assert found[False][:2] == found[True][:2], found
        value, evaluations, how = found[False]
        print(
            f"  {name:26} = {value:.12f} in {evaluations:6} evaluations, {how}: {seconds[0] * 1e6:8.1f} us, "
            f"boxed {seconds[1] * 1e6:8.1f} us ({seconds[1] / seconds[0]:.1f}x)"
        )
    for name, function, lower, upper in [("math.sqrt", math.sqrt, -1.0, 1.0), ("5", 5, 0.0, 1.0)]:
        try:
            quickstart_integrate.integrate(function, lower, upper)
            surprises.append(f"integrate({name}) did not raise")
        except (TypeError, ValueError) as error:
            print(f"  {name:26} from {lower} to {upper}: {type(error).__name__}: {error}")

    if surprises:
        print("\nThese entries promise to agree with Python and do not:", *surprises, sep="\n  ")
        return 1
    print("\nEvery entry without DIFFERS agreed with Python on every argument.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
