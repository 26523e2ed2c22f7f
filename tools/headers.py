# Sources that include all headers, for tools that read every header. C headers are read as C, and all headers as C++.
import glob
import os

# This header is for modules compiled for the limited API.
LIMITED = "core/custom_slots_limited.h"
# This header's struct has the same name as another one, so it is checked separately.
ALONE = "typedcall/meth_typed.h"
# These headers include other projects' files, which may be missing. Their tests compile them.
OF_OTHERS = ("typedcall/nanobind.h", "typedcall/pybind11.h")


def is_c(path):
    """True for headers of the C99 layer, which have no C++ namespace."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return "inline namespace" not in text and '"typedcall/base/namespace.h"' not in text


def write_sources(folder):
    """Writes the sources, and returns (path, option for its standard) for each."""
    headers = sorted({*glob.glob("core/*.h"), *glob.glob("typedcall/*.h")} - {LIMITED, ALONE, *OF_OTHERS})
    made = []
    for name, standard, included in (("all.c", "-std=c11", [path for path in headers if is_c(path)]),
                                     ("alone.c", "-std=c11", [ALONE]),
                                     ("all.cc", "-std=c++17", headers)):
        made.append((os.path.join(folder, name), standard))
        with open(made[-1][0], "w", encoding="utf-8") as file:
            # Python.h comes before the standard headers.
            file.writelines(f'#include "{path}"\n' for path in ["Python.h", *included])
    return made
