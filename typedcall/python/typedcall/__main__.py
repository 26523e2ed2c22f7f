"""Runs `python -m typedcall`, which prints the paths of the headers and runs the commands show, verify, bench,
cinderx and doctor."""
from __future__ import annotations

import sys

from typedcall.cli import main

if __name__ == "__main__":
    sys.exit(main())
