"""One counter of what is left behind: blocks, references and memory before and after many calls. What is
lost each time is lost in every round, whereas caches fill up in some and empty in others."""
import gc
import os
import sys

COUNTS_REFERENCES = hasattr(sys, "gettotalrefcount")  # in debug builds of CPython
IS_PYPY = sys.implementation.name == "pypy"


def resident():
    """What the process has of the machine's memory now, in kilobytes: with that of all allocators."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def peak():
    """The most that it has had, in kilobytes."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def collect():
    # Without the GIL memory comes back some collections later; on PyPy finalizers run after one.
    for _ in range(5):
        gc.collect()


def check(function, times, *, warm_up, blocks=None, references=None, objects=None, kilobytes=None,
          unchanged=(), rounds=3, both_ways=False, takes_count=False, kilobytes_of=resident):
    """AssertionError, "leak: ...", if `times` calls of `function` leave as much as a limit says, after
    `warm_up` calls that may leave anything, and in each of the rounds. What grows in some rounds only is
    not found: `rounds=1` is for that. With `takes_count` there is one call, which is told how often to
    do it.

    The limits, of which None is none: `blocks` of Python's allocators (0 for a sanitizer's, which
    `objects`, those that the collector knows, are for), `references` to all objects, which debug builds
    count, and `kilobytes`. References to each object of `unchanged` are as many as before. `both_ways`:
    what is given back is no more than the limit, either, as when there is one reference too few."""
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

    measured()  # which leaves something itself the first time
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
