"""A scalar function of an extension module becomes a ufunc whose loop calls the C function."""

import pickle

import numpy as np
import typedcall

import curves

blend = typedcall.ufunc(curves.blend)
clamp = typedcall.ufunc(curves.clamp)
print(blend, blend.types, clamp, clamp.types)

table = blend([[0.0], [10.0]], [1.0, 2.0, 3.0])  # broadcasting
assert table.tolist() == [[0.5, 1.0, 1.5], [5.5, 6.0, 6.5]]
assert blend.reduce([8.0, 4.0, 2.0]) == 4.0
out = np.full(3, -1.0)
clamp([-1.0, 2.0, 3.0], out=out, where=[True, True, False])
assert out.tolist() == [0.0, 2.0, -1.0]
assert clamp(np.float32([1])).dtype == np.float32  # the float overload is called
assert pickle.loads(pickle.dumps(blend)) is blend
print(table)
