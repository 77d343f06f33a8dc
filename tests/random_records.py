"""Random records, tables of them that must be the same, and who adds them up."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.tables.tabulation import queries

REGIONS = {"North": ["N1", "N2", "N3"], "South": {"S1": None, "Coast": ["S2", "S3"]}}


def random_records(seed: int) -> tuple[pd.DataFrame, dict[str, Any], dict[str, Any]]:
    """Records, dimensions, and what else is asked of the table."""
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 400))
    firm = random.integers(0, max(1, n // int(random.integers(1, 5))), n)
    frame = pd.DataFrame(
        {
            # Some codes of the hierarchies do not occur.
            "region": random.choice(["N1", "N3", "S1", "S2", "S3"], n),
            "branch": random.choice(list("abcde"), n, p=[0.5, 0.2, 0.15, 0.1, 0.05]),
            "size": random.choice(["b1", "b2", "small"], n),
            "firm": [f"f{number:03d}" for number in firm],
            "group": [f"g{number // 3:03d}" for number in firm],
        }
    )
    # Firms stay at home more or less.
    home = frame.groupby("firm")[["region", "branch", "size"]].transform("first")
    moves = random.random(n) < random.random() / 2
    frame.loc[~moves, home.columns] = home[~moves]
    kind = seed % 5
    size = random.lognormal(3, 2, n)
    frame["v"] = [
        np.round(size, 2),
        np.rint(size),
        size / 3,
        np.round(size, 1) * 1e9,
        size * 0 + 1,
    ][kind]
    options: dict[str, Any] = {"contributor": "firm", "n_largest": int(random.integers(1, 5))}
    if random.random() < 0.4:
        frame["v"] *= random.choice([-1.0, 1.0], n)
    if random.random() < 0.5:
        frame["w"] = firm // 3 % 4 * [0.25, 1 / 3][seed % 2] + 1.0
        options["weight"] = "w"
    if random.random() < 0.5:
        options["holding"] = "group"
    if random.random() < 0.3:
        frame["waives"] = random.choice(["yes", "no"], n)
        frame["own"] = random.choice([np.nan, np.nan, 0.0, 7.5], n)
        options |= {"waiver": "waives", "waiver_p": "own"}
    trees: dict[str, Any] = {"region": REGIONS, "branch": None}
    if random.random() < 0.2:
        trees["size"] = None
        options["tables"] = [["region", "branch"], ["branch", "size"]]
    return frame, trees, options


def assert_same_tables(one: tc.Table, two: tc.Table) -> int:
    """Compare all figures; return how many cells there are."""
    assert one.keys.equals(two.keys)
    np.testing.assert_array_equal(one.values, two.values)
    assert (one.relations != two.relations).nnz == 0
    for level in ("contributions", "holdings"):
        sides = [getattr(table, level) for table in (one, two)]
        assert (sides[0] is None) == (sides[1] is None)
        if sides[0] is None:
            continue
        assert sides[0].to_frame().equals(sides[1].to_frame())
        for each in fields(sides[0]):
            if each.name not in ("waivers", "names", "largest_contributor"):
                np.testing.assert_array_equal(*(getattr(side, each.name) for side in sides))
    return one.n_cells


def through(plan: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let margins be found in the engine, or rolled up in numpy, whatever it costs."""
    monkeypatch.setattr(queries, "ROW_HERE", {"engine": np.inf}.get(plan, 0.0))


def reader(plan: str) -> str:
    """Return the engine that reads the records of a plan."""
    return "pandas" if plan == "pandas" else "duckdb"
