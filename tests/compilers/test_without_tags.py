"""Where there are no tags (core/compiler.h) the same sources compile and run without them, and nothing that a
compiler sees there is GNU's. On 64-bit Linux that is Clang that does not say it is like GCC, on 32 bits the usual
compiler. tools/check_platforms compiles for the other platforms."""
import glob
import os
import re
import sys
import sysconfig
import tempfile
import unittest

import compilers
import processes

HAS_TAGS = sys.platform == "linux" and sys.maxsize > 1 << 32
# libstdc++ asks for these, which Clang then leaves out, too; and glibc has inline functions for GCC only.
LIBRARY = ["-U__OPTIMIZE__", "-D__GCC_ATOMIC_TEST_AND_SET_TRUEVAL=1",
           *("-D__GCC_ATOMIC_%s_LOCK_FREE=2" % each for each in (
               "BOOL", "CHAR", "CHAR8_T", "CHAR16_T", "CHAR32_T", "WCHAR_T", "SHORT", "INT", "LONG", "LLONG",
               "POINTER"))]
# And CPython 3.15 asks for one of C11's, GNU's or Microsoft's storage classes.
THREAD_LOCAL = {True: "-Dthread_local=thread_local", False: "-Dthread_local=_Thread_local"}
OPTIONS = ["-fPIC", "-Wall", "-Wextra", "-Werror", "-I.", "-isystem", sysconfig.get_paths()["include"]]
GNU = re.compile(r"__attribute__|__builtin_\w+|__atomic_\w+|__sync_\w+|\b(?:__asm__|asm)\b|__extension__"
                 r"|\b__?typeof\w*|__real__|__imag__|\b_Complex\b|__PRETTY_FUNCTION__|__int128|__alignof__"
                 r"|#\s*pragma|__(?:FLT|DBL|LDBL)_\w+|__BYTE_ORDER__")
# They include another library's.
OTHERS = {"typedcall/nanobind.h", "typedcall/pybind11.h"}
# Of a limited API that not every CPython has.
LIMITED = {"core/custom_slots_limited.h"}
INC = "examples/quickstart/inc_in_c.c"
CXX_EXAMPLES = ["examples/quickstart/functions.cc", "examples/quickstart/integrate.cc"]
VENDORED = "examples/vendored/geometry.c"

USE = """
import sys
import consumer, hello, inc
assert "no tags here" in consumer.why_none()
assert hello.triple(2.0) == 6.0 and inc.inc(1) == 2
assert hello.triple.__text_signature__.startswith("($module, "), hello.triple.__text_signature__
try:
    hello.triple("2")
except TypeError as error:
    assert "must be real number" in str(error), error
else:
    raise AssertionError("a str was taken")
tried = [(hello.sum, hello.triple, "no tags on this platform"), (hello.sum, inc.inc, "no tags on this platform")]
if "tags" in sys.argv:
    import tagged
    assert tagged.sum(tagged.triple) == 1498500.0
    assert hello.triple.__text_signature__ == tagged.triple.__text_signature__
    tried += [(hello.sum, tagged.triple, "no tags on this platform"), (tagged.sum, hello.triple, "nobody has tagged it"),
              (tagged.sum, inc.inc, "nobody has tagged it")]
for use, function, why in tried:
    try:
        use(function)
    except TypeError as error:
        assert why in str(error), error
    else:
        raise AssertionError("found")
"""


# What calls functions that were found.
CONSUMER = """
#include "typedcall/buffer_map.h"
#include "typedcall/dynamic_call_site.h"

static PyObject *why_none(PyObject *, PyObject *) {
  PyNativeSignature_Fault fault = {};
  if (typedcall::invoker::make("d->d", 0, nullptr, std::nullopt, &fault)) Py_RETURN_NONE;
  return PyUnicode_FromString(fault.reason);
}
static PyMethodDef methods[] = {{"why_none", why_none, METH_NOARGS, nullptr}, {}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "consumer", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};
PyMODINIT_FUNC PyInit_consumer() { return PyModule_Create(&module); }
"""


def headers():
    return sorted({*glob.glob("core/*.h"), *glob.glob("typedcall/*.h")} - OTHERS - LIMITED)


def is_cxx(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return path.endswith(".cc") or '"typedcall/namespace.h"' in text or "inline namespace TYPEDCALL_LAYOUT" in text


class WithoutTags(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def readme(self, name="hello"):
        with open("README.md", encoding="utf-8") as file:
            module = re.search(r"<!-- test: file hello.cc -->\n```cpp\n(.*?)```", file.read(), re.DOTALL).group(1)
        with open(self.path(name + ".cc"), "w", encoding="utf-8") as file:
            file.write(module.replace("TYPEDCALL_MODULE(hello,", "TYPEDCALL_MODULE(%s," % name))
        return file.name

    def run_compiler(self, options, source, without_tags=True, **more):
        cxx = is_cxx(source)
        names = ("clang", "clang++") if HAS_TAGS else ("gcc", "g++")
        found = compilers.installed(names[cxx]) or self.skipTest("no %s here" % names[cxx])
        language = ["-std=c++17", "-x", "c++"] if cxx else ["-std=c99", "-x", "c"]
        kind = ["-fgnuc-version=0", *LIBRARY, THREAD_LOCAL[cxx]] if without_tags and HAS_TAGS else []
        return processes.run([found[0], *kind, *language, *OPTIONS, *options, source],
                             environment=processes.UNSANITIZED, check=False, **more)

    def compile(self, source, *options, **more):
        ended = self.run_compiler([*options], source, **more)
        self.assertEqual((ended.status, ended.err), (0, ""), source)

    def test_every_header_compiles_alone(self):
        self.assertGreater(len(headers()), 35)
        for header in headers():
            with self.subTest(header):
                ended = self.run_compiler(["-fsyntax-only", "-Wno-pragma-once-outside-header",
                                           "-Wno-unused-const-variable", "-Wno-unused-function"], header)
                self.assertEqual((ended.status, ended.err), (0, ""))

    def test_modules_compile_at_each_level(self):
        single = "-I" + os.path.dirname(os.environ["SINGLE_FILE"])
        for source in (self.readme(), INC, VENDORED, *CXX_EXAMPLES):
            for level in ("-O0", "-O2"):
                with self.subTest(source=source, level=level):
                    self.compile(source, level, single, "-c", "-o", self.path("made.o"))

    def test_nothing_is_gnus(self):
        gcc = compilers.installed("gcc") or self.skipTest("no gcc here")
        for header in headers():
            with self.subTest(header):
                # Directives are followed, macros stay as they are written. CPython's own headers may refuse such
                # a compiler: that ends nothing.
                seen = processes.run([gcc[0], "-E", "-fdirectives-only", "-U__GNUC__", "-w", "-x",
                                      "c++" if is_cxx(header) else "c", "-I.", "-isystem",
                                      sysconfig.get_paths()["include"], header],
                                     environment=processes.UNSANITIZED, check=False).out
                file, found, ours = "", [], 0
                text = re.sub(r"/\*.*?\*/", "", seen, flags=re.DOTALL)
                for line in text.splitlines():
                    marker = re.match(r'# \d+ "(.*?)"', line)
                    if marker:
                        file = os.path.normpath(marker.group(1))
                    elif file.startswith(("core" + os.sep, "typedcall" + os.sep)):
                        ours += 1
                        found += ["%s: %s" % (file, line.strip()) for _ in GNU.finditer(line.partition("//")[0])]
                self.assertGreater(ours, 10)
                self.assertEqual(found, [])

    def test_modules_run_and_offer_nothing(self):
        shared = ["-shared", "-O1", "-o"]
        with open(INC, encoding="utf-8") as file:
            source = re.sub(r"\bquickstart_c\b", "inc", file.read())
        with open(self.path("inc.c"), "w", encoding="utf-8") as file:
            file.write(source.replace("PyInit_quickstart_c", "PyInit_inc"))
        self.compile(self.path("inc.c"), *shared, self.path("inc.so"))
        self.compile(self.readme(), *shared, self.path("hello.so"))
        if HAS_TAGS:
            self.compile(self.readme("tagged"), *shared, self.path("tagged.so"), without_tags=False)
        with open(self.path("consumer.cc"), "w", encoding="utf-8") as file:
            file.write(CONSUMER)
        self.compile(self.path("consumer.cc"), *shared, self.path("consumer.so"), "-Wno-missing-field-initializers")
        processes.run([sys.executable, "-c", USE, *(["tags"] if HAS_TAGS else [])], paths=[self.folder])


if __name__ == "__main__":
    unittest.main()
