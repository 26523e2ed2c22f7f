"""C functions that read elements of their inputs after they have written to their outputs."""
import ctypes

import typedcall
from typedcall import Flags


def rows(count):
    """Returns the prototype of a C function that takes this many rows of doubles."""
    return ctypes.CFUNCTYPE(None, *[ctypes.POINTER(ctypes.c_double), ctypes.c_ssize_t] * count)


@rows(2)
def reverse(x, count, y, _):
    for i in range(count):
        y[i] = x[count - 1 - i]


@rows(3)
def sums_and_reverse(x, count, y, _, z, __):
    for i in range(count):
        y[i] = x[i] + (y[i - 1] if i else 0)
        z[i] = x[count - 1 - i]


@rows(3)
def add_reversed(x, count, y, _, z, __):
    for i in range(count):
        z[i] = x[i] + 100 * y[count - 1 - i]


@rows(2)
def add_to(x, count, y, _):
    for i in range(count):
        y[i] = y[i] + 100 * x[count - 1 - i]


@ctypes.CFUNCTYPE(ctypes.c_long, *[ctypes.POINTER(ctypes.c_long), ctypes.c_ssize_t] * 2)
def of_ints(x, count, y, _):
    for i in range(count):
        y[i] = x[count - 1 - i] + 1000
    return x[0] if count else -1


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_double), ctypes.c_ssize_t, ctypes.POINTER(ctypes.c_double),
                  ctypes.c_ssize_t)
def reverse_or_fall_back(x, count, y, _):
    if count and x[0] % 2:
        return 1
    for i in range(count):
        y[i] = x[count - 1 - i]
    return 0


def reversed_in_python(x, y):
    y[:] = x[::-1]


def tagged(function, signature, python=None, flags=Flags.ACQUIRES_GIL):
    """Returns a Python function that is tagged with this C function."""
    made = python or (lambda *given: None)
    typedcall.tag(made, signature, ctypes.cast(function, ctypes.c_void_p), flags=int(flags))
    return made


#: The function, the ufunc's signature, and the results for rows that do not overlap.
FUNCTIONS = {
    "reverse": (tagged(reverse, "*kd*d->v"), "(n)->(n)", lambda x: x[..., ::-1]),
    "two outputs": (tagged(sums_and_reverse, "*kd*d*d->v"), "(n)->(n),(n)", lambda x: (x.cumsum(-1), x[..., ::-1])),
    "two inputs": (tagged(add_reversed, "*kd*kd*d->v"), "(n),(n)->(n)", lambda x, y: x + 100 * y[..., ::-1]),
    "an input that is written to": (tagged(add_to, "*kd*d->v"), "(n),(n)->(n)", lambda x, y: y + 100 * x[..., ::-1]),
    "ints": (tagged(of_ints, "*kl*l->l"), "(n)->(n),()", lambda x: (x[..., ::-1] + 1000, x[..., 0])),
    "falling back": (tagged(reverse_or_fall_back, "*kd*d->i", reversed_in_python, Flags.ACQUIRES_GIL | Flags.FALLS_BACK),
                     "(n)->(n)", lambda x: x[..., ::-1]),
}
