"""Uses a list and an array with C data, and a Python subclass."""
import states


class Named(states.SubList):
    """Instances of this subclass also have a __dict__, but the C data stay in place."""


numbers = Named([1, 2])
numbers.name = "primes"
numbers.append(numbers.bump().bump().state)
print(numbers, numbers.name, "state", numbers.state)

lengths = states.UnitArray("d", [1.0, 2.5])
lengths.unit = 0.3048
lengths.append(4.0)
print("%d feet are %.4f metres" % (lengths[2], lengths[2] * lengths.unit))
