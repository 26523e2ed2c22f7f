"""The compiler for tests without tags (core/compiler.h). On 64-bit Linux, this is a Clang that does
not claim to be GCC."""
import sys

import compilers

HAS_TAGS = sys.platform == "linux" and sys.maxsize > 1 << 32
# Such a Clang lacks macros that libstdc++ needs. -U__OPTIMIZE__ turns off glibc's inline
# functions, which need GCC.
LIBRARY = ["-U__OPTIMIZE__", "-D__GCC_ATOMIC_TEST_AND_SET_TRUEVAL=1",
           *("-D__GCC_ATOMIC_%s_LOCK_FREE=2" % each for each in (
               "BOOL", "CHAR", "CHAR8_T", "CHAR16_T", "CHAR32_T", "WCHAR_T", "SHORT", "INT", "LONG", "LLONG",
               "POINTER"))]
# CPython 3.15 needs a thread-local storage class.
THREAD_LOCAL = {True: "-Dthread_local=thread_local", False: "-Dthread_local=_Thread_local"}
OPTIONS = ["-fPIC", "-Wall", "-Wextra", "-Werror", "-I.", *compilers.PYTHON_HEADERS]
INC = "examples/quickstart/inc_in_c.c"


def is_cxx(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return path.endswith(".cc") or '"typedcall/base/namespace.h"' in text or "inline namespace TYPEDCALL_LAYOUT" in text


class WithoutTags(compilers.Compiling):
    def readme(self, name="hello"):
        return self.write(name + ".cc", compilers.hello(name))

    def run_compiler(self, options, source, without_tags=True):
        cxx = is_cxx(source)
        names = ("clang", "clang++") if HAS_TAGS else ("gcc", "g++")
        found = compilers.installed(names[cxx]) or self.skipTest("no %s here" % names[cxx])
        language = ["-std=c++17", "-x", "c++"] if cxx else ["-std=c99", "-x", "c"]
        kind = ["-fgnuc-version=0", *LIBRARY, THREAD_LOCAL[cxx]] if without_tags and HAS_TAGS else []
        return compilers.run(found[0], *kind, *language, *OPTIONS, *options, source)

    def compile(self, source, *options, **more):
        self.check_compiles(self.run_compiler(options, source, **more))
