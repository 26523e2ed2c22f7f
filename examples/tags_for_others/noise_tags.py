"""Tags for noise 1.2.2, whose authors do not know typedcall: its C functions of float."""

import typedcall
from typedcall import Flags


def tag(simplex):
    # The module's own file exports them under the names of the Python functions.
    typedcall.tag_module(
        simplex,
        {"noise2": "ff->f", "noise3": "fff->f", "noise4": "ffff->f"},
        flags=Flags.PURE | Flags.THREAD_SAFE,
    )
