# Runs Python code in a process of its own, where nobody has imported anything of ours yet.
import subprocess
import sys
import textwrap


def run(code):
    """What the process printed; a failure if it did not end well."""
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(code)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    if done.returncode != 0:
        raise AssertionError("exit code %d from\n%s\n%s" % (
            done.returncode, textwrap.dedent(code), done.stdout.decode(errors="replace")))
    return done.stdout.decode(errors="replace")
