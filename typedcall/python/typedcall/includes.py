"""Returns the paths in the package that compilers, CMake, pkg-config and Cython need."""
from __future__ import annotations

import pathlib
import sysconfig

__all__ = ["get_cmake_dir", "get_include", "get_pkgconfig_dir", "get_source", "include_flags"]

_HERE = pathlib.Path(__file__).resolve().parent
# In an editable installation, the headers are in the repository.
_INSTALLED, _REPOSITORY = _HERE / "include", _HERE.parents[2]


def get_include() -> str:
    """Returns the folder of the headers and .pxd files, for a compiler's include path."""
    for folder in (_INSTALLED, _REPOSITORY):
        if (folder / "typedcall" / "typed_method.h").is_file():
            return str(folder)
    raise RuntimeError(f"typedcall's headers are not installed beside {_HERE}")


def get_source() -> str:
    """Returns the path of the source file that projects with TYPEDCALL_SEPARATE must compile once."""
    return str(pathlib.Path(get_include(), "typedcall", "separate.cc"))


def get_cmake_dir() -> str:
    """Returns the folder that contains typedcallConfig.cmake, for CMAKE_PREFIX_PATH or typedcall_DIR."""
    return str(_HERE / "cmake")


def get_pkgconfig_dir() -> str:
    """Returns the folder that contains typedcall.pc, for PKG_CONFIG_PATH."""
    if get_include() == str(_INSTALLED):
        return str(_HERE / "pkgconfig")
    return str(_REPOSITORY / "typedcall" / "pkgconfig")


def include_flags() -> list[str]:
    """Returns the compiler flags for a source file that includes Python.h and typedcall's headers."""
    paths = sysconfig.get_paths()
    folders = list(dict.fromkeys([paths["include"], paths["platinclude"], get_include()]))
    return ["-I" + folder for folder in folders]
