# Counts the instructions that a command executes, under valgrind. Unlike nanoseconds, the counts
# are the same on a busy machine; what start-up costs is taken out by running two iteration counts.
import os
import re
import shutil
import subprocess


def instructions(command):
    """All instructions that `command` (a list) executes in user space."""
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
    """The difference between two runs; `command` makes the command line for a count."""
    return (instructions(command(many)) - instructions(command(few))) / (many - few)
