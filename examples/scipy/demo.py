"""SciPy integrates and filters with functions of an extension module, without calling Python."""

import math

import numpy
import typedcall
from scipy import integrate, ndimage

import well

bell = typedcall.low_level_callable(well.bell)
print("SciPy's signature of well.bell:", bell.signature)
by_c, _ = integrate.quad(bell, -6, 6)
by_python, _ = integrate.quad(well.bell, -6, 6)
assert abs(by_c - math.sqrt(math.pi)) < 1e-9 and by_c == by_python
print("quad:", by_c)

volume, _ = integrate.nquad(typedcall.low_level_callable(well.bump), [(-4, 4), (-4, 4)])
assert abs(volume - math.pi) < 1e-6
print("nquad:", volume)

image = numpy.arange(25.0).reshape(5, 5) ** 2
filtered = ndimage.generic_filter(image, typedcall.low_level_callable(well.spread), size=3)
assert numpy.array_equal(
    filtered, ndimage.maximum_filter(image, 3) - ndimage.minimum_filter(image, 3)
)
print("generic_filter:", filtered[2])
