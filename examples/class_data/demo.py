"""Derives classes from both modules' classes. Run this with the folder of the modules in
PYTHONPATH."""

import importlib
import sys


class Loud:
    """An ordinary class without custom slots."""

    def greet(self):
        return super().greet().upper()


def show(module):
    print(f"== {module.__name__}")
    for cls in (module.Hello, module.GoodMorning):
        print(f"{cls.__name__}().greet()", "->", cls().greet())
    print('Hello("you").greet() ->', module.Hello("you").greet())

    # With the article's metaclass this would crash (article/designs.py), because the C field is not
    # inherited.
    class FriendlyHello(module.Hello):
        pass

    print("FriendlyHello().greet() ->", FriendlyHello().greet())

    class LoudMorning(Loud, module.GoodMorning):
        pass

    print("LoudMorning().greet() ->", LoudMorning().greet())

    class Both(module.GoodMorning, module.Hello):
        pass

    print("Both().greet() ->", Both().greet(), " (the first base wins, as for any attribute)")
    print("type(FriendlyHello) is type(Hello) ->", type(FriendlyHello) is type(module.Hello))
    try:
        module.Greet().greet()
    except TypeError as error:
        print("Greet().greet() -> TypeError:", error)


def main():
    show(importlib.import_module("greetings_cpp"))
    try:
        cython = importlib.import_module("greetings_cython")
    except ModuleNotFoundError:
        print("== greetings_cython has not been built: no Cython 3 was found (see README.md)")
    else:
        show(cython)
    return 0


if __name__ == "__main__":
    sys.exit(main())
