"""Records with places in the line, as tau-ARGUS reads them: every cell equals its definition."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.argus import run_batch

REGIONS = {"Nr": [" 1", " 2", " 3"], "Os": [" 4", "10"], "99": []}
"""Provinces; 99, the code for a missing one, is a province of its own."""

SIZES = [" 2", " 4", " 5", "99"]

RDA = """\
Size 3  2 99
  <RECODEABLE>
Region 6  2 99
  <RECODEABLE>
  <HIERARCHICAL>
  <HIERCODELIST> "region.hrc"
  <HIERLEADSTRING> "@"
Var2 9  7 9999999
  <NUMERIC>
  <DECIMALS> 1
"""

BATCH = """\
<OPENMICRODATA>  "records.asc"
<OPENMETADATA>   "records.rda"
<SPECIFYTABLE>   "Size""Region"|"Var2"||
<SAFETYRULE>     P(15,1)|
<READMICRODATA>
<SUPPRESS>       MOD(1,1,1,1,1)
<WRITETABLE>     (1,3,AS+,"codes.txt")
"""

LEAVES = [*REGIONS["Nr"], *REGIONS["Os"], "99"]


def records() -> list[tuple[str, str, float]]:
    """90 records; sizes of 99 occur in one province only, so that cells are empty."""
    drawn = np.random.default_rng(5)
    found = []
    for _ in range(90):
        region = LEAVES[int(drawn.integers(len(LEAVES)))]
        sizes = SIZES if region == "99" else SIZES[:3]
        found.append((sizes[int(drawn.integers(len(sizes)))], region, drawn.lognormal(5, 1.5)))
    return [(size, region, round(value, 1)) for size, region, value in found]


def inside(code: str, leaf: str) -> bool:
    return code in ("Total", leaf) or leaf in REGIONS.get(code, [])


def expected() -> list[tuple[str, str, float, bool, bool]]:
    """Cells in the order of the tree: value, unsafe by P(15), and empty."""
    regions = ["Total", "Nr", *REGIONS["Nr"], "Os", *REGIONS["Os"], "99"]
    cells = []
    for size, region in itertools.product(["Total", *SIZES], regions):
        values = sorted(
            (v for s, r, v in records() if inside(size, s) and inside(region, r)), reverse=True
        )
        unsafe = bool(values) and sum(values[2:]) < 0.15 * values[0]
        cells.append((size, region, sum(values), unsafe, not values))
    return cells


@pytest.mark.filterwarnings("ignore:.* rows say suppressed but show a value")
def test_cells_values_and_unsafe_cells_of_a_batch_on_records_equal_their_definition(tmp_path):
    lines = [f"00{size}-{region}-{value:7.1f}" for size, region, value in records()]
    (tmp_path / "records.asc").write_text("\n".join(lines) + "\n")
    (tmp_path / "records.rda").write_text(RDA)
    tree = [line for code, below in REGIONS.items() for line in (code, *(f"@{b}" for b in below))]
    (tmp_path / "region.hrc").write_text("\n".join(tree) + "\n")
    (tmp_path / "job.arb").write_text(BATCH)
    result = run_batch(tmp_path / "job.arb", tmp_path / "out", time_limit=5)
    columns = {"header": None, "names": ["size", "region", "value", "status"], "dtype": str}
    ours = pd.read_csv(tmp_path / "out/internal/codes.txt", **columns)
    cells = expected()
    assert ours["size"].str.strip().tolist() == [size.strip() for size, *_ in cells]
    assert ours["region"].str.strip().tolist() == [region.strip() for _, region, *_ in cells]
    assert np.allclose(
        pd.to_numeric(ours.value.replace("-", "0")), [cell[2] for cell in cells], atol=1e-9
    )
    assert (ours.status == "3").tolist() == [cell[3] for cell in cells]
    assert (ours.status == "14").tolist() == [cell[4] for cell in cells]
    assert 5 <= (ours.status == "3").sum() <= 20
    assert (ours.status == "11").sum() > 0
    assert result.is_safe
    problem = result.tables[0].problem
    assert tc.audit(problem, tmp_path / "out/internal/codes.txt", intruders="contributors").is_safe
