"""Adjustments between two others that keep the variance."""

from __future__ import annotations

import numpy as np
import pandas as pd

import tablecloak as tc
from margins import with_margins

VALUES = [
    [9, 5, 0, 6, 29, 15],
    [5, 14120388991, 15035107946, 21986022221, 36169906677, 22095925621],
    [24, 67332196003, 39122363679, 29490464987, 0, 59351476307],
    [19, 68622569249, 29868123162, 76862374059, 26627598087, 44398568182],
    [27, 31387394731, 0, 84837981513, 62786837118, 0],
    [8, 66046460174, 64376441167, 44754871978, 20362361363, 19142068335],
]
LEVELS = {
    17: (44292788.92101747, 88585577.84203494),
    21: (943950360.4301716, 1887900720.8603432),
    24: (105106778.0697222, 210213556.1394444),
    32: (324320839.4964121, 648641678.9928242),
    41: (0.0005, 0.001),
}


def test_variance_beside_cells_of_another_size_is_kept_by_an_additive_table():
    """What lies between two tables is rounded like the larger moves of both."""
    cells = [
        (f"0{i}", f"1{j}", float(v)) for i, row in enumerate(VALUES) for j, v in enumerate(row)
    ]
    table = with_margins(pd.DataFrame(cells, columns=["d0", "d1", "v"]), ["d0", "d1"], "v")
    n = table.n_cells
    status, lower, upper = np.full(n, "s"), np.zeros(n), np.zeros(n)
    for cell, (below, above) in LEVELS.items():
        status[cell], lower[cell], upper[cell] = "u", below, above
    problem = tc.ProtectionProblem(
        table, status, lower, upper, np.zeros(n), np.zeros(n), np.full(n, 2834332505101.0),
        np.ones(n),
    )  # fmt: skip
    adjusted = tc.adjust(
        problem, weights="unit", preserve=["variance:all"], integer=False, sensitive_limit=2.0,
        directions="down", time_limit=2,
    )  # fmt: skip
    adjusted.verify()
