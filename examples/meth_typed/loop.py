"""Lets a clock tick ten million times."""
import clockmod

COUNT = 10_000_000


def run(count):
    second = 0
    for _ in range(count):
        second = clockmod.tick(second)
    return second


if __name__ == "__main__":
    run(COUNT)
