"""Calls the functions of an extension module on PyPy, boxed and accelerated. The same program runs
on CPython, where accelerate() does nothing."""
import time

import pendulum
import typedcall


def swing(steps):
    """Returns the angle and the energy after that many steps."""
    angle, speed, total = 1.0, 0.0, 0.0
    for _ in range(steps):
        speed += 0.001 * pendulum.acceleration(angle, speed, 0.1)
        angle += 0.001 * speed
        total += pendulum.energy(angle, speed)
    return angle, total / steps


def timed(steps):
    swing(20000)  # warm up the just-in-time compiler
    start = time.perf_counter()
    result = swing(steps)
    return result, (time.perf_counter() - start) / steps * 1e9


boxed, boxed_time = timed(200000)
original = pendulum.energy
done = typedcall.accelerate(pendulum)
print(done)

result, accelerated_time = timed(200000)
assert result == boxed
assert pendulum.energy.__wrapped__ is original if done else pendulum.energy is original
print("%.0f ns a step boxed, %.0f ns now" % (boxed_time, accelerated_time))

# Arguments of other types take the usual path, errors included.
assert pendulum.energy(0, True) == original(0, True)
assert pendulum.acceleration(1.0, speed=0.5) == pendulum.acceleration(1.0, 0.5, 0.1)
for call in (pendulum.period, pendulum.energy):
    try:
        call("long")
    except TypeError as error:
        print("%s: %s" % (call.__name__, error))

typedcall.restore(pendulum)
assert pendulum.energy is original
