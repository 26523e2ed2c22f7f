"""Simulates a two-dimensional Lennard-Jones gas in plain Python and the C extension `forces`. The
same file runs on CPython, under Numba and on PyPy.

    python simulation.py MODE STEPS PARTICLES [--profile]      MODE: boxed, numba, accelerated

Prints the energies, the histogram and the time in seconds as JSON.
"""
import json
import sys
import time

import forces

BOX, STEP, CUTOFF, BINS = 14.0, 0.002, 9.0, 24


def place(count, x, y, vx, vy):
    """Places the particles on a grid with random velocities."""
    side = 1
    while side * side < count:
        side += 1
    for i in range(count):
        x[i] = (i % side + 0.5) * BOX / side
        y[i] = (i // side + 0.5) * BOX / side
        vx[i] = forces.noise(2 * i)
        vy[i] = forces.noise(2 * i + 1)


def interact(count, x, y, fx, fy):
    """Computes the forces, and returns the potential energy."""
    for i in range(count):
        fx[i] = 0.0
        fy[i] = 0.0
    potential = 0.0
    for i in range(count):
        for j in range(i):
            dx = forces.nearest(x[i] - x[j], BOX)
            dy = forces.nearest(y[i] - y[j], BOX)
            squared = dx * dx + dy * dy
            if squared < CUTOFF:
                strength = forces.force(squared)
                potential += forces.energy(squared)
                fx[i] += strength * dx
                fy[i] += strength * dy
                fx[j] -= strength * dx
                fy[j] -= strength * dy
    return potential


def advance(count, x, y, vx, vy, fx, fy):
    """Makes one step of velocity Verlet integration, and returns the potential and kinetic
    energy."""
    for i in range(count):
        vx[i] += 0.5 * STEP * fx[i]
        vy[i] += 0.5 * STEP * fy[i]
        x[i] = forces.inside(x[i] + STEP * vx[i], BOX)
        y[i] = forces.inside(y[i] + STEP * vy[i], BOX)
    potential = interact(count, x, y, fx, fy)
    kinetic = 0.0
    for i in range(count):
        vx[i] += 0.5 * STEP * fx[i]
        vy[i] += 0.5 * STEP * fy[i]
        kinetic += 0.5 * (vx[i] * vx[i] + vy[i] * vy[i])
    return potential, kinetic


def measure(count, x, y, histogram):
    """Adds all distances to the histogram."""
    for i in range(count):
        for j in range(i):
            dx = forces.nearest(x[i] - x[j], BOX)
            dy = forces.nearest(y[i] - y[j], BOX)
            histogram[forces.bin(dx * dx + dy * dy, CUTOFF / BINS, BINS)] += 1


def run(steps, count, x, y, vx, vy, fx, fy, histogram):
    """Runs the whole simulation, and returns the last potential and kinetic energy."""
    place(count, x, y, vx, vy)
    potential, kinetic = interact(count, x, y, fx, fy), 0.0
    for step in range(steps):
        potential, kinetic = advance(count, x, y, vx, vy, fx, fy)
        if step % 10 == 0:
            measure(count, x, y, histogram)
    return potential, kinetic


def arrays(mode, count):
    """Returns seven sequences of zeros. They are NumPy arrays for Numba, and lists otherwise."""
    if mode != "numba":
        return [[0.0] * count for _ in range(6)] + [[0] * BINS]
    import numpy
    return [numpy.zeros(count) for _ in range(6)] + [numpy.zeros(BINS, dtype=numpy.int64)]


def main(mode, steps, count, profiled):
    global place, interact, advance, measure, run
    compiling = time.perf_counter()
    if mode == "numba":
        import numba
        place, interact, advance, measure = map(numba.njit, (place, interact, advance, measure))
        run = numba.njit(run)
    elif mode == "accelerated":
        import typedcall
        done = typedcall.accelerate(forces)
        if done.refused:
            sys.exit(str(done))
    # Warm up:
    run(10, count, *arrays(mode, count))
    compiling = time.perf_counter() - compiling
    data = arrays(mode, count)
    if profiled:
        import cProfile
        profiler = cProfile.Profile()
        profiler.enable()
    begin = time.perf_counter()
    potential, kinetic = run(steps, count, *data)
    seconds = time.perf_counter() - begin
    if profiled:
        profiler.disable()
        import pstats
        pstats.Stats(profiler, stream=sys.stderr).sort_stats("tottime").print_stats(10)
    print(json.dumps({"potential": potential, "kinetic": kinetic, "seconds": seconds,
                      "warm_up": compiling, "histogram": [int(n) for n in data[-1]]}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), "--profile" in sys.argv)
