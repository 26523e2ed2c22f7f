"""Derives classes from both modules' classes. Run this with the folder of the modules in
PYTHONPATH."""

import importlib
import sys


class Loud:
    """An ordinary class without custom slots."""

    def text(self):
        return super().text().upper()


def show(module):
    print(f"== {module.__name__}")
    for cls in (module.Ounce, module.Kilogram):
        print(f"{cls.__name__}().text()", "->", cls().text())
    print("Ounce(2.5).text() ->", module.Ounce(2.5).text())

    # With the article's metaclass this would crash (designs/compare.py), because the C field is not
    # inherited.
    class HeavyOunce(module.Ounce):
        pass

    print("HeavyOunce().text() ->", HeavyOunce().text())

    class LoudKilogram(Loud, module.Kilogram):
        pass

    print("LoudKilogram().text() ->", LoudKilogram().text())

    class Both(module.Kilogram, module.Ounce):
        pass

    print("Both().text() ->", Both().text(), " (the first base wins, as for any attribute)")
    print("type(HeavyOunce) is type(Ounce) ->", type(HeavyOunce) is type(module.Ounce))
    try:
        module.Mass().text()
    except TypeError as error:
        print("Mass().text() -> TypeError:", error)


def main():
    show(importlib.import_module("units_cpp"))
    try:
        cython = importlib.import_module("units_cython")
    except ModuleNotFoundError:
        print("== units_cython has not been built: no Cython 3 was found (see README.md)")
    else:
        show(cython)
    return 0


if __name__ == "__main__":
    sys.exit(main())
