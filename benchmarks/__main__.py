"""``python -m benchmarks``, called from the root of the repository."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from bench.command import app

if __name__ == "__main__":
    app(prog_name="python -m benchmarks")
