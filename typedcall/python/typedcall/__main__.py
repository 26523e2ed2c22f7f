"""Runs `python -m typedcall`."""
from __future__ import annotations

import sys

from typedcall.cli import main

if __name__ == "__main__":
    sys.exit(main())
