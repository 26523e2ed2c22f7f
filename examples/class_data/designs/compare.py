"""Derives from the classes of all designs, and prints the outcome. Each program runs in a child
process, because some programs crash. Run this with the folder of the modules in PYTHONPATH."""

import abc
import importlib
import signal
import subprocess
import sys

DESIGNS = ("module_variable", "dictionary", "metaclass", "mro_walk", "meta_metaclass", "units_cython")


def itself(module):
    return module.Ounce(5)


def subclass(module):
    class HeavyOunce(module.Ounce):
        pass

    return HeavyOunce()


def of_two(module):
    class Both(module.Kilogram, module.Ounce):
        pass

    return Both()


def with_abc(module):
    class Meta(abc.ABCMeta, type(module.Ounce)):
        pass

    class Quantity(module.Ounce, abc.ABC, metaclass=Meta):
        pass

    return Quantity()


PROGRAMS = (itself, subclass, of_two, with_abc)


def run(design, program):
    """Prints the text or the exception, in the child process."""
    module = importlib.import_module(design)
    try:
        print(globals()[program](module).text())
    except Exception as error:
        print(f"{type(error).__name__}: {error}")


def outcome(design, program):
    child = subprocess.run([sys.executable, __file__, design, program.__name__], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, check=False)
    if child.returncode == 0:
        return child.stdout.strip()
    if child.returncode < 0:
        return f"crash: {signal.Signals(-child.returncode).name}"
    return f"crash: exit status {child.returncode}"


def main():
    for design in DESIGNS:
        print(design)
        for program in PROGRAMS:
            print(f"    {program.__name__:10} {outcome(design, program)}")


if __name__ == "__main__":
    if sys.argv[1:]:
        run(*sys.argv[1:])
    else:
        main()
