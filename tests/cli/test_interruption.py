"""Ctrl-C in a real process, at several moments: it ends, and what it leaves is proved."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc

pytestmark = pytest.mark.slow

PROGRAM = """
import os, signal, sys, threading, time
def press():
    while time.process_time() < float(sys.argv[1]):
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press, daemon=True).start()
from tablecloak.cli.main import app
app(sys.argv[2:])
"""
"""Presses Ctrl-C after so many seconds of the processor."""

LIMIT = "100000"
"""Seconds that no search takes to its end."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table that takes long, and a job for records."""
    place, random = tmp_path_factory.mktemp("cells"), np.random.default_rng(1)
    codes = {
        name: random.integers(0, size, 3000) for name, size in (("a", 24), ("b", 24), ("c", 6))
    }
    values = np.exp(random.normal(5, 2, 3000)).round() + 1
    table = tc.tabulate(pd.DataFrame({**codes, "value": values}), list(codes), "value")
    tc.write_problem(table.protect(tc.PPercent(10)), place / "cells.csv")
    tc.examples.write("firms", place)
    return place


def pressed(moment: float, folder, *words: str) -> int:
    command = [sys.executable, "-c", PROGRAM, str(moment), *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert "Internal error" not in done.stderr
    return done.returncode


@pytest.mark.parametrize("moment", [1, 4])
def test_a_suppression_keeps_the_best_that_is_proved(folder, moment):
    words = ["suppress", "cells.csv", "-o", "hidden.csv", "--time-limit", LIMIT]
    code = pressed(moment, folder, *words)
    written = folder / "hidden.csv"
    assert code == (0 if written.exists() else 130)
    if code == 0:
        problem, hidden = tc.read_problem(folder / "cells.csv"), pd.read_csv(written)
        assert tc.audit(problem, hidden["status"] != "published", time_limit=60).is_safe


def test_an_adjustment_keeps_the_best_that_is_proved(folder):
    words = ["adjust", "cells.csv", "-o", "moved.csv", "--time-limit", LIMIT]
    assert pressed(3, folder, *words) == (0 if (folder / "moved.csv").exists() else 130)


@pytest.mark.parametrize("moment", [1.2, 2.2])
def test_a_job_leaves_a_whole_release_or_none(folder, moment):
    code = pressed(moment, folder, "protect", "job.toml", "--out", f"out-{moment}")
    releases = {path.parent.name for path in folder.glob(f"out-{moment}/release/*/table.csv")}
    assert (code, releases) in ((130, set()), (0, {"suppression", "adjustment"}))
