"""Shared by the tests of buffers. Tags the functions of a C module."""

import support
import typedcall
from typedcall import Flags

module = support.build("buffer_functions")

_SAFE = Flags.THREAD_SAFE
_RAISES = Flags.NEEDS_THREAD
#: The signature and flags of each function.
FUNCTIONS = {
    "norm": ("*kd->d", _SAFE),
    "dot": ("*kd*kd->d", _SAFE),
    "power": ("*kdd->d", _SAFE),
    "times": ("*kdi->d", _SAFE),
    "twice": ("*kd*d->v", _SAFE),
    "normalise": ("*d->d", _SAFE),
    "negate": ("*i->v", _SAFE),
    "hash": ("*kB->L", _SAFE),
    "total": ("*kl->l", _SAFE),
    "largest": ("*kf->f", _SAFE),
    "mean": ("*kd->d", _RAISES | Flags.MAY_RAISE),
    "mean_or_status": ("*kd&d->i", _RAISES | Flags.RETURNS_STATUS),
    "mean_or_fall_back": ("*kd&d->i", Flags.THREAD_SAFE | Flags.FALLS_BACK),
    "utf8_length": ("*s->n", _SAFE),
}
for _name, (_signature, _flags) in FUNCTIONS.items():
    typedcall.tag(getattr(module, _name), _signature, module.addresses[_name], flags=int(_flags))
#: The same functions, with generated wrappers.
provider = support.build("buffer_provider")
MODULES = [module, provider]
