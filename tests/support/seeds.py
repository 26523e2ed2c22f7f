"""The seed of a Python test's random numbers: the same in every run, unless TYPEDCALL_SEED sets it. seed.h does the
same for C++."""
import os
import sys


def seed(usual):
    """Returns the test's own seed, or TYPEDCALL_SEED. Prints it, so that it appears above a failure."""
    used = int(os.environ.get("TYPEDCALL_SEED", usual))
    print("TYPEDCALL_SEED=%d" % used, file=sys.stderr, flush=True)
    return used
