"""The command: `python -m tests.benchmarks`, or `python tests/benchmarks`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
