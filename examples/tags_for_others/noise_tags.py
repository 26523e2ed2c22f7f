"""Tags the C functions of noise 1.2.2."""

import typedcall
from typedcall import Flags


def tag(simplex):
    # The extension module's own file exports the C functions under the names of the Python
    # functions.
    typedcall.tag_module(
        simplex,
        {"noise2": "ff->f", "noise3": "fff->f", "noise4": "ffff->f"},
        flags=Flags.PURE | Flags.THREAD_SAFE,
    )
