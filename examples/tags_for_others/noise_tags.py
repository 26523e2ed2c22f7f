"""Tags for noise 1.2.2, whose authors do not know typedcall: its C functions of floats."""

import typedcall
from typedcall import Flags


def tag(simplex):
    # They are exported by the module's own file, under the names of the Python functions.
    typedcall.tag_module(
        simplex,
        {"noise2": "ff->f", "noise3": "fff->f", "noise4": "ffff->f"},
        flags=Flags.PURE | Flags.THREAD_SAFE,
    )
