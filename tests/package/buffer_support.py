"""What the tests of buffers share: functions of a C module, tagged from outside, and arguments."""

import array

import support
import typedcall
from typedcall import Flags

module = support.build("buffer_functions")

_SAFE = Flags.THREAD_SAFE
_RAISES = Flags.NEEDS_THREAD
#: Signature and flags by name.
FUNCTIONS = {
    "norm": ("*kd->d", _SAFE),
    "dot": ("*kd*kd->d", _SAFE),
    "power": ("*kdd->d", _SAFE),
    "times": ("*kdi->d", _SAFE),
    "twice": ("*kd*d->v", _SAFE),
    "normalise": ("*d->d", _SAFE),
    "negate": ("*i->v", _SAFE),
    "hash": ("*kB->L", _SAFE),
    "total": ("*kl->l", _SAFE),
    "largest": ("*kf->f", _SAFE),
    "mean": ("*kd->d", _RAISES | Flags.MAY_RAISE),
    "mean_or_status": ("*kd&d->i", _RAISES | Flags.RETURNS_STATUS),
    "mean_or_fall_back": ("*kd&d->i", Flags.THREAD_SAFE | Flags.FALLS_BACK),
    "utf8_length": ("*s->n", _SAFE),
}
for _name, (_signature, _flags) in FUNCTIONS.items():
    typedcall.tag(getattr(module, _name), _signature, module.addresses[_name], flags=int(_flags))
#: The same with generated wrappers.
provider = support.build("buffer_provider")
MODULES = [module, provider]

DOUBLES = [[], [3.0], [3.0, 4.0], [-0.0, 1e300], [0.5] * 100]


def doubles(*values):
    return array.array("d", values)


def exporters():
    """Makers of what one may pass for a buffer: each call needs its own, for it may be written to."""
    made = [lambda values=values: array.array("d", values) for values in DOUBLES]
    for code in "bBhHiIlLqQf":
        made.append(lambda code=code: array.array(code, [1, 2, 3]))
        made.append(lambda code=code: array.array(code))
    plain = doubles(1.0, 2.0, 3.0, 4.0)
    made += [
        lambda: b"", lambda: b"abc", lambda: bytes(16), lambda: bytearray(b"abc"), bytearray,
        lambda: memoryview(b"abc"), lambda: memoryview(bytearray(24)),
        lambda: memoryview(bytearray(24)).cast("d"), lambda: memoryview(bytes(24)).cast("d"),
        lambda: memoryview(bytearray(24)).cast("i"), lambda: memoryview(bytearray(4)).cast("?"),
        lambda: memoryview(bytearray(4)).cast("c"), lambda: memoryview(bytearray(4)).cast("b"),
        lambda: memoryview(array.array("d", plain))[1:3], lambda: memoryview(plain)[:0],
        lambda: memoryview(bytearray(32)).cast("d", (2, 2)),
        lambda: memoryview(bytearray(17))[1:].cast("d"),
        lambda: "text", lambda: "", lambda: "\xe4\u20ac", lambda: "\udc00", lambda: "a\0b",
        lambda: 1, lambda: 1.5, lambda: None, lambda: [1.0], lambda: (), object,
    ]
    if not support.IS_PYPY:
        # PyPy's C API gives C code such memory as if it had no gaps.
        made += [lambda: memoryview(plain)[::2], lambda: memoryview(plain)[::-1]]
    return made


def numpy_exporters(numpy):
    """The same as arrays of NumPy's, and what only these can be."""
    made = [lambda values=values: numpy.array(values) for values in DOUBLES]
    for code in "bBhHiIlLqQfd?FD":
        made.append(lambda code=code: numpy.ones(3, code))

    def read_only():
        array_ = numpy.ones(3)
        array_.flags.writeable = False
        return array_

    return made + [
        read_only, lambda: numpy.ones(3, ">f8"), lambda: numpy.ones((2, 2)),
        lambda: numpy.ones(6)[::2], lambda: numpy.ones(3)[:0], lambda: numpy.float64(1.5),
        lambda: numpy.zeros(3, "u1"), lambda: numpy.array(1.0),
        lambda: numpy.zeros(17, "u1")[1:].view("f8"),
    ]


def contents(value):
    """What is in an exporter, to compare."""
    try:
        return memoryview(value).tobytes()
    except (TypeError, ValueError, BufferError):
        return None
