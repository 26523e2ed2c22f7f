# Loads the modules that peers.py builds. This file must import little, because bench/figures/start_up.py measures it.
import importlib.util


def module(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def of_cffi(name, path):
    return module(name, path).lib


def of_ctypes(name, path):
    del name  # a library has no module name
    import ctypes
    library = ctypes.CDLL(path)
    integer, real = ctypes.c_long, ctypes.c_double
    library.inc.argtypes, library.inc.restype = [integer], integer
    library.add.argtypes, library.add.restype = [real, real], real
    library.mix.argtypes, library.mix.restype = [real, integer, real, integer], real
    return library


def of_tvm_ffi(name, path):
    del name
    import tvm_ffi
    return tvm_ffi.load_module(path)


SPECIAL = {"cffi": of_cffi, "ctypes": of_ctypes, "tvm_ffi": of_tvm_ffi}


def load(peer, path, name=None):
    return SPECIAL.get(peer, module)(name or "peer_" + peer, path)
