#!/usr/bin/env python3
"""Measures the code size of a consumer, the compile time of each header, and the cost of a module. Usage: tools/peers
weight; without the peers: python3 bench/weight.py [--rounds N] [--root OTHER_CHECKOUT]"""
import argparse
import json
import os
import resource
import statistics
import struct
import subprocess
import sys
import sysconfig
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CXX = os.environ.get("CXX", "g++")

CONSUMER = """
#include "typedcall/resolve.h"

static PyObject *call(PyObject *, PyObject *callable) {
  const auto f = typedcall::resolve<double(double)>(PyTypedcall_Import(), callable);
  return f ? PyFloat_FromDouble(f(2.0)) : nullptr;
}
static PyMethodDef methods[] = {{"call", call, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "consumer", nullptr, 0,       methods,
                             nullptr,               nullptr,    nullptr, nullptr};
PyMODINIT_FUNC PyInit_consumer() { return PyModuleDef_Init(&module); }
"""
INCLUDED = ["Python.h", "core/custom_slots.h", "core/lazy_import.h", "core/rendezvous.h",
            "typedcall/tag.h", "typedcall/resolve.h", "typedcall/call_site.h",
            "typedcall/provider.h", "typedcall/loop.h"]


def command(root, *options):
    return [CXX, "-std=c++17", "-I" + root, "-I" + sysconfig.get_paths()["include"], *options]


def sections(path):
    """Returns the size of each section of a 64-bit ELF file by name."""
    with open(path, "rb") as file:
        image = file.read()
    at, = struct.unpack_from("<Q", image, 0x28)
    size, count, names = struct.unpack_from("<HHH", image, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", image, at + i * size) for i in range(count)]
    texts = headers[names][4]
    return {image[texts + name:image.index(b"\0", texts + name)].decode(): length
            for name, _, _, _, _, length in headers}


def consumer(root, folder, *options):
    """Compiles a consumer with these options, and returns the sizes of its sections."""
    source, made = os.path.join(folder, "consumer.cc"), os.path.join(folder, "consumer.so")
    with open(source, "w", encoding="utf-8") as file:
        file.write(CONSUMER)
    subprocess.run(command(root, *options, "-fPIC", "-shared", "-fvisibility=hidden", source,
                           "-o", made), check=True)
    return sections(made)


def processor_seconds(root, folder, header):
    source = os.path.join(folder, "included.cc")
    with open(source, "w", encoding="utf-8") as file:
        file.write('#include "%s"\n' % header)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command(root, "-fsyntax-only", source), check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def modules(root, folder, rounds):
    """Prints the table of peers/module_cost.py for all installed tools."""
    sys.path.insert(0, os.path.join(ROOT, "bench", "peers"))
    import module_cost
    ways, skipped = module_cost.available_ways()
    for name, reason in skipped.items():
        print("SKIPPED %s: %s" % (name, reason))
    bench = module_cost.Bench(folder, os.path.abspath(root))
    module_cost.print_table(ways, module_cost.measure_all(bench, ways, 50, rounds))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, metavar="N")
    parser.add_argument("--modules", type=int, default=3, metavar="N",
                        help="rounds of the modules of 50 functions (default: 3; 0: none)")
    parser.add_argument("--json", metavar="FILE", help="write the seconds of the headers to FILE")
    parser.add_argument("--root", default=ROOT, help="the checkout whose headers are measured")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for level in ("-O2", "-Os"):
            made = consumer(options.root, folder, level)
            print("consumer, %s: .text %d, .bss %d bytes" % (level, made[".text"], made[".bss"]))
        headers = [header for header in INCLUDED if header == "Python.h"
                   or os.path.exists(os.path.join(options.root, header))]
        taken = {header: [] for header in headers}
        for _ in range(options.rounds):
            for header in headers:
                taken[header].append(processor_seconds(options.root, folder, header))
            headers.reverse()
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"groups": [{"name": "headers", "unit": "s", "samples": taken}]}, file)
    alone = statistics.median(taken["Python.h"])
    for header, seconds in taken.items():
        middle = statistics.median(seconds)
        print("%-24s %.2f s (best %.2f), %.2f more than Python.h"
              % (header, middle, min(seconds), middle - alone))
    if options.modules:
        with tempfile.TemporaryDirectory() as folder:
            modules(options.root, folder, options.modules)


if __name__ == "__main__":
    main()
