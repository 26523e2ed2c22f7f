"""Cython code calls typed functions, and its cpdef functions become typed functions."""

import typedcall

import shapes

# Call this before the Cython module is imported, because the import resolves its cimports first.
typedcall.export_to_cython(shapes)

import ripple  # noqa: E402

print(typedcall.cython_declarations(shapes), end="")
assert ripple.total(1000) == sum(0.5 * i for i in range(1000))
assert ripple.diagonal(3, 4) == 5
try:
    ripple.checked(-1)
except ValueError as error:
    print("raised through Cython:", error)

print("tagged in ripple.pyx:", ripple.tagged, typedcall.entries(ripple.wave))
assert typedcall.resolve(ripple.wave, "d->d")(0.25) == ripple.wave(0.25)
try:
    typedcall.resolve(ripple.half, "l->l")(3)
except ValueError as error:
    print("raised through the C function:", error)
