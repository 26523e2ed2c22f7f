"""Python functions of the matrix, tagged with C functions of modules/."""
import support
import typedcall

_default, = (each for each in typedcall.entries(support.build("default_functions").half_by_position)
             if each.signature == "ddd->d")
_root, = typedcall.entries(support.build("fallback_functions").root)
try:
    import numpy
except ImportError:
    _ROOT_OF_TWO = 2**0.5
else:
    _ROOT_OF_TWO = numpy.sqrt(2)
#: The next result of given().
results = []


def half_by_position(x, y, z):
    return support.build("default_functions").half_by_position(float(x), float(y), float(z))


def by_name_only(x, *, y=2.0, z):
    return half_by_position(x, y, z)


def tagged_with_parameters(*args, **keywords):
    """Behaves like a C function without a text signature."""
    def meant(x, /, y, z=3.0):
        return half_by_position(x, y, z)

    return meant(*args, **keywords)


def tagged_with_defaults(x, y, z=4.5):
    return half_by_position(x, y, z)


def tagged_with_numpy(x, y, z=_ROOT_OF_TWO):
    return half_by_position(x, y, z)


def given(x):
    """Returns the first of `results` if x is negative. The C function then falls back."""
    return results[0] if x < 0 else x**0.5


typedcall.tag(by_name_only, _default.signature, _default.address, flags=_default.flags)
typedcall.tag(tagged_with_parameters, _default.signature, _default.address, flags=_default.flags,
              parameters="(x, /, y, z=3.0)")
typedcall.tag(tagged_with_defaults, _default.signature, _default.address, flags=_default.flags, defaults=(4.5,))
typedcall.tag(tagged_with_numpy, _default.signature, _default.address, flags=_default.flags)
typedcall.tag(given, _root.signature, _root.address, flags=_root.flags)
