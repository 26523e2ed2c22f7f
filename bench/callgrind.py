# Counts the instructions that a command executes under valgrind.
import os
import re
import shutil
import subprocess


def instructions(command):
    """Returns the number of instructions that `command` (a list) executes."""
    if shutil.which("valgrind") is None:
        raise SystemExit("counting instructions needs valgrind")
    environment = dict(os.environ, PYTHONHASHSEED="0")
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"] + command,
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    counted = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or counted is None:
        raise SystemExit("%s failed:\n%s%s" % (" ".join(command), done.stdout, done.stderr))
    return int(counted.group(1))


def instructions_per_iteration(command, few=20000, many=120000):
    """Returns the instructions per iteration. They are the difference between two runs, so start-up
    does not count. `command` returns the command line for an iteration count."""
    return (instructions(command(many)) - instructions(command(few))) / (many - few)
