"""Builds the package's extension module and puts the headers, the .pxd and the files for CMake and
pkg-config into the package. Everything else is in pyproject.toml."""
import atexit
import pathlib
import shutil
import sys
import tempfile

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

ROOT = pathlib.Path(__file__).resolve().parent
PYTHON = pathlib.Path("typedcall", "python", "typedcall")
IS_PYPY = sys.implementation.name == "pypy"


def build_options():
    """A folder of its own for every build: installations for several interpreters may run at once,
    and what an earlier build left must not come into a wheel."""
    if "sdist" in sys.argv:
        return {}
    scratch = tempfile.mkdtemp(prefix="typedcall-build-")
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    return {"build": {"build_base": scratch}, "egg_info": {"egg_base": scratch}}


def extension(name, sources, flags, **options):
    return Extension(
        "typedcall." + name,
        [str(PYTHON / source) for source in sources],
        include_dirs=[str(ROOT)],
        extra_compile_args=[*flags, "-O2", "-fvisibility=hidden"],
        **options,
    )


def extensions():
    """PyPy has a reader of METH_TYPED rows only: calls there go through cffi."""
    if IS_PYPY:
        return [extension("_pypy_reader", ["_pypy_reader.c"], ["-std=c99"])]
    return [
        extension(name, [name + ".cc"], ["-std=c++17"], libraries=["ffi"], language="c++")
        for name in ("_native", "_numpy_bridge")
    ]


class BuildPython(build_py):
    """The headers live at the root of the repository, where its own sources include them from, and
    in the package as `typedcall/include`."""

    def run(self):
        super().run()
        if getattr(self, "editable_mode", False):
            return
        for room in ("core", "typedcall"):
            include = pathlib.Path(self.build_lib, "typedcall", "include")
            for source in sorted((ROOT / room).rglob("*.h")) + sorted((ROOT / room).glob("*.pxd")):
                path = source.relative_to(ROOT)
                if path.parts[:2] != ("typedcall", "python"):
                    self.mkpath(str((include / path).parent))
                    self.copy_file(str(source), str(include / path))


class BuildExtension(build_ext):
    """Says in one line what is missing when the compiler does not find libffi."""

    def build_extension(self, ext):
        try:
            super().build_extension(ext)
        except Exception as error:
            raise SystemExit(
                "typedcall: the extension module could not be built (%s). It needs a C++17 "
                "compiler and, on CPython, the headers of libffi (Debian: libffi-dev)." % error
            ) from error


setup(
    packages=["typedcall", "typedcall.cli", "typedcall.sources"],
    package_dir={"typedcall": str(PYTHON)},
    package_data={
        "typedcall": ["py.typed", "*.pyi", "*.pxd", "cmake/*.cmake", "pkgconfig/*.pc"],
    },
    include_package_data=False,
    ext_modules=extensions(),
    options=build_options(),
    cmdclass={"build_py": BuildPython, "build_ext": BuildExtension},
)
