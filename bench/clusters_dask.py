"""Compares a typed function with numpy.vectorize over a large array, on Dask clusters of one and of
two processes. Reports wall-clock time and the workers' processor time. Usage: python
bench/clusters_dask.py [--rounds N]"""

import os
import pathlib
import statistics
import sys
import tempfile
import time

import build_module
import interleaved

CHUNK = 2_000_000
#: 2 GB in total. A worker holds only one chunk at a time.
CHUNKS = 128
#: Slow functions get fewer chunks.
BOXED_CHUNKS = 8


def boxed(chunk):
    """Applies the worker's callable to a chunk."""
    import adapter_callees
    import numpy

    return numpy.vectorize(adapter_callees.curve, otypes=[float])(chunk)


def main():
    rounds = interleaved.rounds(__doc__, 5)
    folder = tempfile.mkdtemp(prefix="typedcall-bench-")
    build_module.build("adapter_callees.cc", folder)
    # The workers inherit sys.path and these variables.
    sys.path[:0] = [folder]
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
    try:
        import distributed
    except ImportError:
        print("Dask's distributed is not installed")
        return 0
    import adapter_callees
    import dask.array
    import typedcall

    curve = typedcall.ufunc(adapter_callees.curve)
    counts = {}
    # Processor seconds per element.
    work = {}
    contestants = {}

    def add(name, client, function, chunks):
        array = dask.array.linspace(0, 4, chunks * CHUNK, chunks=CHUNK)
        graph = (array if function is None else array.map_blocks(function, dtype=float)).sum()

        def run():
            before = sum(client.run(time.process_time).values())
            result = client.compute(graph).result()
            after = sum(client.run(time.process_time).values())
            work.setdefault(name, []).append((after - before) / counts[name])
            return result

        contestants[name], counts[name] = run, chunks * CHUNK

    clusters = [
        distributed.LocalCluster(
            n_workers=count, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", memory_limit=0
        )
        for count in (1, 2)
    ]
    clients = [distributed.Client(each) for each in clusters]
    for count, client in enumerate(clients, 1):
        client.wait_for_workers(count)
        if len(client.nthreads()) != count:
            raise SystemExit("%d workers instead of %d" % (len(client.nthreads()), count))
        on = " on %d" % count
        add("sum alone" + on, client, None, CHUNKS)
        add("typed" + on, client, curve, CHUNKS)
        add("boxed" + on, client, boxed, BOXED_CHUNKS)
        add("short" + on, client, curve, BOXED_CHUNKS)
        one, other = contestants["boxed" + on](), contestants.pop("short" + on)()
        if abs(one - other) > 1e-9 * abs(one):
            raise SystemExit("the sums differ: %r and %r" % (one, other))
    taken = interleaved.measure(contestants, rounds, time.perf_counter)
    each = {name: [spent / counts[name] for spent in times] for name, times in taken.items()}
    for count, group in ((1, "one process"), (2, "two processes")):
        interleaved.keep(group, "ns", {
            name: [spent * 1e9 for spent in each["%s on %d" % (name, count)]]
            for name in ("sum alone", "typed", "boxed")})
    print("%d elements (%.1f GB) typed, %d boxed, %d rounds"
          % (CHUNKS * CHUNK, CHUNKS * CHUNK * 8 / 1e9, BOXED_CHUNKS * CHUNK, rounds))
    for name, times in each.items():
        print("%-14s %8.2f ns an element (%.2f s), processors %.2f ns"
              % (name, statistics.median(times) * 1e9, statistics.median(taken[name]),
                 statistics.median(work[name][-rounds:]) * 1e9))
    held = True
    for name, other, least in (("boxed on 1", "typed on 1", 10), ("boxed on 2", "typed on 2", 10),
                               ("typed on 1", "typed on 2", None), ("boxed on 1", "boxed on 2", None)):
        middle, low, high = interleaved.ratio(each, name, other)
        print("%s / %s: %.2f (quartiles %.2f to %.2f)%s"
              % (name, other, middle, low, high,
                 "" if least is None else ", at least %d: %s" % (least, "holds" if middle >= least else "MISSED")))
        held = held and (least is None or middle >= least)
    last = {name: times[-rounds:] for name, times in work.items()}
    for name, other in (("typed on 1", "typed on 2"), ("boxed on 1", "boxed on 2"),
                        ("boxed on 1", "typed on 1"), ("boxed on 2", "typed on 2")):
        print("%s / %s, processors: %.2f (quartiles %.2f to %.2f)"
              % (name, other, *interleaved.ratio(last, name, other)))
    for every in (*clients, *clusters):
        every.close()
    return 0 if held else 1


if __name__ == "__main__":
    # The workers import modules from this folder.
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(pathlib.Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    sys.exit(main())
