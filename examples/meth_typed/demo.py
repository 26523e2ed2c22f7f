"""Prints the type information of the module and the time of the loop. On PyPy, also prints the time
with typedcall.accelerate()."""
import pathlib
import runpy
import time

import clockmod
import typedcall

LOOP = pathlib.Path(__file__).with_name("loop.py")


def milliseconds():
    start = time.perf_counter()
    runpy.run_path(str(LOOP), run_name="__main__")
    return (time.perf_counter() - start) * 1000


print("clockmod.tick offers", *typedcall.signatures(clockmod.tick))
print("the loop: %.0f ms" % milliseconds())
# The module has no flags, so the caller must declare that tick may run without the GIL.
done = typedcall.accelerate(clockmod, trust=["tick"])
if done:
    print("accelerated: %.0f ms" % milliseconds())
else:
    tick = typedcall.resolve(clockmod.tick, "l->l")
    print("a consumer in C calls", hex(tick.address), "instead")
