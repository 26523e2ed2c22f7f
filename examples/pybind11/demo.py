"""A function of pybind11 with a tag: the same for Python, and a C function for everyone else."""

import gc

import typedcall

import heat

print(heat.celsius, "offers", typedcall.signatures(heat.celsius))
celsius = typedcall.resolve(heat.celsius, "d->d")
assert celsius(212.0) == heat.celsius(212.0) == 100.0
assert heat.steps(start=1, to=5) == typedcall.resolve(heat.steps, "ll->l")(1, 5) == 4
assert typedcall.signatures(heat.untagged) == []

# A function that throws falls back to the Python one, which raises what pybind11 makes of it.
checked = typedcall.resolve(heat.checked_celsius, "d->d")
assert checked(212.0) == 100.0
for function in (heat.checked_celsius, checked):
    try:
        function(-1000.0)
    except ValueError as error:
        print("raises:", error)
    else:
        raise AssertionError("no exception")

# pybind11 frees the PyMethodDef of a function that dies, and the next one gets the same address. A
# tag that stayed would be another function's.
for at in range(2000):
    whole = at % 3 == 0
    function = heat.make(whole)
    expected = "ll->l" if whole else "d->d"
    assert typedcall.signatures(function) == [expected], (at, typedcall.signatures(function))
    del function
gc.collect()
print("2000 functions that lived and died: each had its own tag")
