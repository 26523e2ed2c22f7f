"""The seed of a Python test's random numbers: the same in every run, unless TYPEDCALL_SEED says which.
seed.h is the same for C++."""
import os
import sys


def seed(usual):
    """The test's own seed, or TYPEDCALL_SEED's. It is printed, so that it stands above a failure."""
    used = int(os.environ.get("TYPEDCALL_SEED", usual))
    print("TYPEDCALL_SEED=%d" % used, file=sys.stderr, flush=True)
    return used
