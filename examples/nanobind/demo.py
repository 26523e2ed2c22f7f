"""Calls tagged nanobind functions from Python, and as C functions."""

import typedcall

import cold

print(cold.kelvin, "offers", typedcall.signatures(cold.kelvin))
kelvin = typedcall.resolve(cold.kelvin, "d->d")
assert kelvin(26.85) == cold.kelvin(26.85) == 300.0
one, other = (typedcall.entries(each)[0].flags for each in (cold.kelvin, cold.to_kelvin))
print("promised: %s of kelvin, %d of to_kelvin" % (one.name, other))
assert cold.days(weeks=2) == typedcall.resolve(cold.days, "ll->l")(2, 0) == 14
assert typedcall.signatures(cold.untagged) == []

# A function that throws falls back to the Python function, which raises nanobind's exception.
checked = typedcall.resolve(cold.checked_kelvin, "d->d")
assert checked(26.85) == 300.0
for function in (cold.checked_kelvin, checked):
    try:
        function(-1000.0)
    except ValueError as error:
        print("raises:", error)
    else:
        raise AssertionError("no exception")

assert typedcall.entries(cold.kelvin)[0].place == "object row"
print("untagged:", typedcall.untag(cold.kelvin), typedcall.signatures(cold.kelvin))
