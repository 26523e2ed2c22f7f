"""Calls tagged pybind11 functions from Python, and as C functions."""

import gc

import typedcall

import heat

print(heat.celsius, "offers", typedcall.signatures(heat.celsius))
celsius = typedcall.resolve(heat.celsius, "d->d")
assert celsius(212.0) == heat.celsius(212.0) == 100.0
assert heat.steps(start=1, to=5) == typedcall.resolve(heat.steps, "ll->l")(1, 5) == 4
assert typedcall.signatures(heat.untagged) == []

# A function that throws falls back to the Python function, which raises pybind11's exception.
checked = typedcall.resolve(heat.checked_celsius, "d->d")
assert checked(212.0) == 100.0
for function in (heat.checked_celsius, checked):
    try:
        function(-1000.0)
    except ValueError as error:
        print("raises:", error)
    else:
        raise AssertionError("no exception")

# pybind11 frees the PyMethodDef of a dead function, and the next function gets the same address. A stale
# tag would describe the wrong function.
for at in range(2000):
    whole = at % 3 == 0
    function = heat.make(whole)
    expected = "ll->l" if whole else "d->d"
    assert typedcall.signatures(function) == [expected], (at, typedcall.signatures(function))
    del function
gc.collect()
print("2000 functions that lived and died: each had its own tag")
