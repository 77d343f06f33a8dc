"""A small table of cells as tau-ARGUS reads it, and batches on it."""

from __future__ import annotations

import itertools
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import tablecloak as tc
from tablecloak.argus import BatchResult, run_batch

RDA = """\
   <SEPARATOR> ";"
<SAFE> S
<UNSAFE> U
<PROTECT> P
Town
  <RECODEABLE>
  <TOTCODE> "Total"
  <HIERARCHICAL>
  <HIERCODELIST> "C:\\\\somewhere\\\\TOWN.hrc"
  <HIERLEADSTRING> "@"
Kind
  <RECODEABLE>
Sales
  <NUMERIC> <DECIMALS> 1
Firms
  <FREQUENCY>
Top1
  <MAXSCORE>
Top2
  <MAXSCORE>
Stat
  <STATUS>
"""


def cells(seed: int = 3) -> pd.DataFrame:
    """Sales by town and kind with all totals, contributors and statuses."""
    return _cells(seed).copy()


@cache
def _cells(seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    towns = {"North": ["N1", "N2", "N3"], "South": ["S1", "S2", "S3"]}
    records = pd.DataFrame(
        [
            (town, kind, round(float(random.lognormal(3, 1)), 1))
            for town, kind in itertools.product([*towns["North"], *towns["South"]], "abcd")
            for _ in range(int(random.integers(2, 9)))
        ],
        columns=["Town", "Kind", "Sales"],
    )
    table = tc.tabulate(records, {"Town": towns, "Kind": None}, "Sales", n_largest=2)
    known = table.contributions
    small = known.count < 3
    return table.keys.assign(
        Sales=table.values,
        Firms=known.count,
        Top1=known.largest[:, 0],
        Top2=known.largest[:, 1],
        Stat=np.where(small, "U", "S"),
    )


def write_shops(folder: Path, seed: int = 3) -> None:
    """Write the table, its metadata and its hierarchy."""
    frame = cells(seed)
    lines = [
        f"{r.Town};{r.Kind};{r.Sales:.1f};{r.Firms};{r.Top1:.1f};{r.Top2:.1f};{r.Stat}"
        for r in frame.itertuples()
    ]
    (folder / "shops.tab").write_text("\n".join(lines) + "\n")
    (folder / "shops.rda").write_text(RDA)
    (folder / "town.hrc").write_text("North\n@N1\n@N2\n@N3\nSouth\n@S1\n@S2\n@S3\n")


def run(folder: Path, commands: str, **options: Any) -> BatchResult:
    """Run commands on the table, from READTABLE or SAFETYRULE on."""
    batch = (
        '<OPENTABLEDATA> "shops.tab"\n<OPENMETADATA> "SHOPS.RDA"\n'
        '<SPECIFYTABLE> "Town""Kind"|"Sales"||\n' + commands
    )
    (folder / "job.arb").write_text(batch)
    return run_batch(folder / "job.arb", time_limit=1, **options)
