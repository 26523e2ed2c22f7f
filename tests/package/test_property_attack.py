"""The lasting attacker for a few seconds: property_attack.py runs as long as it is told to."""
import os
import pathlib
import sys
import unittest

import support

ATTACK = pathlib.Path(__file__).with_name("property_attack.py")
SECONDS = os.environ.get("TYPEDCALL_ATTACK_SECONDS", "5")


class Attack(unittest.TestCase):
    def attack(self, *arguments):
        return support.python(ATTACK, "--seconds", SECONDS, *arguments)

    @support.ON_CPYTHON  # its objects are CPython's
    def test_random_programs(self):
        status, output, errors = self.attack()
        self.assertEqual((status, errors), (0, ""), output)
        self.assertRegex(output, r"seed \d+: [1-9]\d* programs, [1-9]\d* typed calls compared")
        print(output.splitlines()[-1], file=sys.stderr)

    @support.ON_CPYTHON  # its objects are CPython's
    def test_a_seed_gives_the_same_program(self):
        shown = [support.python(ATTACK, "--child", "--log", os.devnull, "--seed", "5", "--first", "7",
                                "--count", "1", "--no-threads", "--verbose",
                                environment={"PYTHONHASHSEED": "0"})[1] for _ in range(2)]
        steps = [[line for line in output.splitlines() if line.startswith("step")]
                 for output in shown]
        self.assertGreater(len(steps[0]), 100)
        self.assertEqual(*steps)


if __name__ == "__main__":
    unittest.main()
