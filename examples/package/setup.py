"""Tells setuptools how to compile the module."""
import typedcall
from setuptools import Extension, setup

setup(
    packages=["geodesy-stubs"],
    package_data={"geodesy-stubs": ["*.pyi"]},
    ext_modules=[
        Extension(
            "geodesy",
            ["geodesy.cc"],
            include_dirs=[typedcall.get_include()],
            extra_compile_args=["-std=c++17", "-O2", "-fvisibility=hidden"],
            language="c++",
        )
    ],
)
