"""The seed for random numbers in Python tests. seed.h does the same for C++."""
import os
import sys


def seed(usual):
    """Returns TYPEDCALL_SEED if it is set, otherwise `usual`. Prints the seed, so that it appears
    above a failure."""
    used = int(os.environ.get("TYPEDCALL_SEED", usual))
    print("TYPEDCALL_SEED=%d" % used, file=sys.stderr, flush=True)
    return used
