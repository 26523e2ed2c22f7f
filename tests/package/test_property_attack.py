"""Runs property_attack.py with a few programs, or for TYPEDCALL_ATTACK_SECONDS if that is set."""
import os
import pathlib
import sys
import unittest

import support

ATTACK = pathlib.Path(__file__).with_name("property_attack.py")
SECONDS = os.environ.get("TYPEDCALL_ATTACK_SECONDS")
# These are too few programs per process for a check of memory.
HOW_LONG = ["--batches", "3", "--count", "35"] if SECONDS is None else ["--seconds", SECONDS]


class Attack(unittest.TestCase):
    @support.ON_CPYTHON  # the programs use objects that exist only on CPython
    def test_random_programs(self):
        programs = self.attack(*HOW_LONG)
        if SECONDS is None:
            self.assertEqual(programs, 105)

    @support.timing
    @support.ON_CPYTHON
    def test_random_programs_leave_no_memory(self):
        self.assertEqual(self.attack("--batches", "1", "--count", "100"), 100)

    def attack(self, *arguments):
        """Runs random programs, and returns their number. None may fail."""
        status, output, errors = support.python(ATTACK, *arguments, "--seed", support.seeds.seed(1))
        self.assertEqual((status, errors), (0, ""), output)
        self.assertRegex(output, r"seed \d+: [1-9]\d* programs, [1-9]\d* typed calls compared")
        last = output.splitlines()[-1]
        print(last, file=sys.stderr)
        return int(last.split()[2])

    @support.ON_CPYTHON  # the programs use objects that exist only on CPython
    def test_a_seed_gives_the_same_program(self):
        shown = [support.python(ATTACK, "--child", "--log", os.devnull, "--seed", "5", "--first", "7",
                                "--count", "1", "--no-threads", "--verbose",
                                environment={"PYTHONHASHSEED": "0"})[1] for _ in range(2)]
        steps = [[line for line in output.splitlines() if line.startswith("step")]
                 for output in shown]
        self.assertGreater(len(steps[0]), 100)
        self.assertEqual(*steps)
