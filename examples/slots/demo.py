"""Combines every provider with every consumer."""
import extent
import ramp
import samples
import total


class Seconds(ramp.Ramp):
    """A Python subclass inherits the slots of its base."""


def show(name, numbers):
    for ask in (total.total, extent.extent):
        try:
            answer = ask(numbers)
        except TypeError as error:
            answer = "TypeError: %s" % error
        print("%s(%s):" % (ask.__name__, name), answer)


show("Ramp", ramp.Ramp(0.0, 0.5, 5))
show("Samples", samples.Samples([2, 3.5, -1]))
show("Seconds", Seconds(1.0, 1.0, 4))
show("list", [1.0, 2.0])
try:
    import numpy
except ImportError:
    print("NumPy is not installed")
else:
    import ndarray_slots
    array = numpy.array([4.0, 5.0, 6.0, 7.0])[::2]
    show("ndarray", array)
    show("Array", array.view(ndarray_slots.Array))
