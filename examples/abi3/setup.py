"""Compiles the modules, and sets the Python versions that the wheel supports."""
import os
import sysconfig

import typedcall
from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

# True for a wheel for 3.15 and later, with or without the GIL. False for a wheel for 3.12 and later
# with the GIL.
ABI3T = os.environ.get("ABI3T") == "1" or bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


class NamedForBoth(build_ext):
    def get_ext_filename(self, fullname):
        return fullname.replace(".", os.sep) + ".abi3t.so"  # both builds of 3.15 look for this suffix


class TaggedForBoth(bdist_wheel):
    def get_tag(self):
        return "cp315", "abi3.abi3t", super().get_tag()[2]


def module(name, source, standard):
    return Extension(
        name,
        [source],
        include_dirs=[typedcall.get_include()],
        define_macros=[("Py_TARGET_ABI3T", "0x030F0000") if ABI3T else
                       ("Py_LIMITED_API", "0x030C0000")],
        py_limited_api=True,
        extra_compile_args=["-std=" + standard, "-O2", "-fvisibility=hidden"],
    )


one = {"options": {"bdist_wheel": {"py_limited_api": "cp312"}}}
both = {"cmdclass": {"build_ext": NamedForBoth, "bdist_wheel": TaggedForBoth}}

setup(
    packages=[],
    ext_modules=[module("angles", "angles.c", "c99"), module("walk", "walk.cc", "c++17")],
    **(both if ABI3T else one),
)
