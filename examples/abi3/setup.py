"""What pyproject.toml cannot say: how to compile the module, and that one wheel serves 3.12 and later."""
import typedcall
from setuptools import Extension, setup

setup(
    packages=[],
    options={"bdist_wheel": {"py_limited_api": "cp312"}},
    ext_modules=[
        Extension(
            "angles",
            ["angles.c"],
            include_dirs=[typedcall.get_include()],
            define_macros=[("Py_LIMITED_API", "0x030C0000")],
            py_limited_api=True,
            extra_compile_args=["-std=c99", "-O2", "-fvisibility=hidden"],
        )
    ],
)
