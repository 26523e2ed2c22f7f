"""Prints the type information of the module and the time of the loop. On PyPy, also prints the time
with typedcall.accelerate()."""
import pathlib
import runpy
import time

import mytypedmod
import typedcall

BENCH = pathlib.Path(__file__).with_name("bench.py")


def milliseconds():
    start = time.perf_counter()
    runpy.run_path(str(BENCH), run_name="__main__")
    return (time.perf_counter() - start) * 1000


print("mytypedmod.inc offers", *typedcall.signatures(mytypedmod.inc))
print("the loop: %.0f ms" % milliseconds())
# The module has no flags, so the caller must declare that inc may run without the GIL.
done = typedcall.accelerate(mytypedmod, trust=["inc"])
if done:
    print("accelerated: %.0f ms" % milliseconds())
else:
    inc = typedcall.resolve(mytypedmod.inc, "l->l")
    print("a consumer in C calls", hex(inc.address), "instead")
