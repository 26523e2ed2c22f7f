"""Counts blocks, references and memory before and after many calls. A leak increases the counts in
every round, but caches do not."""
import gc
import os
import sys

COUNTS_REFERENCES = hasattr(sys, "gettotalrefcount")  # only in debug builds of CPython
IS_PYPY = sys.implementation.name == "pypy"
# CPython's type cache keeps the names that it has looked up. sys._clear_internal_caches() is new in 3.13.
clear_caches = getattr(sys, "_clear_internal_caches", getattr(sys, "_clear_type_cache", lambda: None))


def resident():
    """Returns the resident memory of the process in kilobytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def peak():
    """Returns the highest resident memory so far, in kilobytes."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def collect():
    # Free-threaded builds free some memory only after several collections, and PyPy runs finalizers
    # after a collection.
    for _ in range(5):
        gc.collect()
    clear_caches()


def check(function, times, *, warm_up, blocks=None, references=None, objects=None, kilobytes=None,
          unchanged=(), rounds=3, both_ways=False, takes_count=False, kilobytes_of=resident):
    """Raises AssertionError, "leak: ...", if in every round `times` calls of `function` reach a limit.
    The `warm_up` calls are not counted. With `takes_count`, `function` is called once in each round,
    with the number of repetitions.

    The limits: `blocks` of Python's allocators, `objects` that the garbage collector tracks,
    `references` in debug builds, and `kilobytes`. None means no limit. Sanitizers count no blocks.
    The reference count of each object in `unchanged` must stay the same. With `both_ways`,
    decreases must also stay below the limit."""
    found = [(name, limit, count) for name, limit, count in (
        ("blocks", None if IS_PYPY else blocks, lambda: sys.getallocatedblocks()),
        ("references", references if COUNTS_REFERENCES else None, lambda: sys.gettotalrefcount()),
        ("objects", objects, lambda: len(gc.get_objects())),
        ("kilobytes", kilobytes, kilobytes_of)) if limit is not None]
    found += [("references to %.60r" % (each,), 1, lambda each=each: sys.getrefcount(each))
              for each in unchanged]
    exact = len(found) - len(unchanged)

    def run(count):
        if takes_count:
            function(count)
        else:
            for _ in range(count):
                function()

    def measured():
        collect()
        return [count() for _, _, count in found]

    def is_lost(index, change):
        return (abs(change) if both_ways or index >= exact else change) >= found[index][1]

    measured()  # the first measurement also allocates memory
    run(warm_up)
    lost = []
    before = measured()
    while len(lost) < rounds:
        run(times)
        after = measured()
        lost.append([later - earlier for earlier, later in zip(before, after)])
        if not any(is_lost(*each) for each in enumerate(lost[-1])):
            return
        before = after
    raise AssertionError("leak: of %d calls are left, round by round: %s" % (times, "; ".join(
        "%s %s (limit %d)" % (found[index][0], ", ".join("%+d" % each[index] for each in lost),
                              found[index][1])
        for index in range(len(found)) if any(is_lost(index, each[index]) for each in lost))))
