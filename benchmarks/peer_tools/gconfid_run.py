"""G-Confid 2 on one table: run by a Python that has gconfid.

    PYTHON benchmarks/peer_tools/gconfid_run.py FOLDER METHOD SECONDS

FOLDER holds cells.csv and constraints.csv, in the layout of its module Suppression. "one phase" is
what it does by default; "two phases" runs its programs once more over what is hidden then, with
the same cost. It takes no limit of time. The answer is written to FOLDER/answer.json.
"""

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

import gconfid
import pandas as pd

PHASES = {"one phase": None, "two phases": "Information"}
"""Cost of the second phase."""


def main(folder: Path, method: str) -> None:
    """Write the answer: hidden cells by index, and seconds of the processor."""
    cells = pd.read_csv(folder / "cells.csv", dtype={"CellId": int})
    constraints = pd.read_csv(folder / "constraints.csv")
    started = time.process_time()
    run = gconfid.Suppression(
        incell=cells,
        inconstraint=constraints,
        cost_function1="Size",
        cost_function2=PHASES[method],
        cost_var1="Cost",
        cost_var2="Cost",
    )
    seconds = time.process_time() - started
    failed = run.outsuppress is None
    out = run.outsuppress_failed if failed else run.outsuppress
    out = out.to_pandas() if hasattr(out, "to_pandas") else out
    hidden = (out[out["OutStatus"] == "X"]["CellId"].astype(int) - 1).tolist()
    answer = {
        "seconds": seconds,
        "hidden": hidden,
        "claim": "stopped where its solver failed" if failed else "ended",
        "version": version("gconfid"),
        "statuses": out["OutStatus"].value_counts().to_dict(),
    }
    (folder / "answer.json").write_text(json.dumps(answer))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
