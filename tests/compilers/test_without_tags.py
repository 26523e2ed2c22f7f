"""Tests providers and a consumer on platforms without tags (core/compiler.h)."""
import re
import sys

import processes
import without_tags

USE ="""
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
    tried += [(hello.sum, tagged.triple, "no tags on this platform"), (tagged.sum, hello.triple, "it has no tag"),
              (tagged.sum, inc.inc, "it has no tag")]
for use, function, why in tried:
    try:
        use(function)
    except TypeError as error:
        assert why in str(error), error
    else:
        raise AssertionError("found")
"""


# The source of the consumer.
CONSUMER ="""
#include "typedcall/call_site.h"
#include "typedcall/loop.h"

static PyObject *why_none(PyObject *, PyObject *) {
  PyNativeSignature_Fault fault = {};
  if (typedcall::invoker::make("d->d", 0, nullptr, std::nullopt, &fault)) Py_RETURN_NONE;
  return PyUnicode_FromString(fault.reason);
}
static PyMethodDef methods[] = {{"why_none", why_none, METH_NOARGS, nullptr}, {}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "consumer", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};
PyMODINIT_FUNC PyInit_consumer() { return PyModule_Create(&module); }
"""


class Modules(without_tags.WithoutTags):
    def test_modules_run_and_offer_nothing(self):
        shared = ["-shared", "-O1", "-o"]
        with open(without_tags.INC, encoding="utf-8") as file:
            source = re.sub(r"\bquickstart_c\b", "inc", file.read())
        self.compile(self.write("inc.c", source.replace("PyInit_quickstart_c", "PyInit_inc")), *shared,
                     self.path("inc.so"))
        self.compile(self.readme(), *shared, self.path("hello.so"))
        if without_tags.HAS_TAGS:
            self.compile(self.readme("tagged"), *shared, self.path("tagged.so"), without_tags=False)
        self.compile(self.write("consumer.cc", CONSUMER), *shared, self.path("consumer.so"),
                     "-Wno-missing-field-initializers")
        processes.run([sys.executable, "-c", USE, *(["tags"] if without_tags.HAS_TAGS else [])], paths=[self.folder])
