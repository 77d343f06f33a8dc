"""Example tables of other tools: what they state about them holds, and small optima by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc

TURNOVER = {
    "turnover_act_cj": ("ACTIVITY", "CJ", 60),
    "turnover_act_size": ("ACTIVITY", "SIZE", 77),
    "turnover_nuts_cj": ("NUTS", "CJ", 65),
    "turnover_nuts_size": ("NUTS", "SIZE", 72),
}
"""Tables of turnover of rtauargus: dimensions, and cells that its two rules find sensitive."""


def tree(path) -> dict:
    """Nested codes of a table of correspondences, one column for each level."""
    root: dict = {}
    for row in pd.read_csv(path, dtype=str).itertuples(index=False):
        node = root
        for code in dict.fromkeys(row):
            node = node.setdefault(code, {})
    return root


def turnover(instances, name: str) -> tuple[tc.Table, pd.DataFrame]:
    first, second, _ = TURNOVER[name]
    other = {"ACTIVITY": "activity_corr_table", "NUTS": "nuts23_fr_corr_table"}[first]
    frame = pd.read_csv(instances / f"rtauargus/{name}.csv.gz", dtype={first: str})
    dimensions = {first: tree(instances / f"rtauargus/{other}.csv.gz"), second: None}
    table = tc.Table.from_frame(
        frame, dimensions, "TOT", frequency="N_OBS", largest=["MAX"], tolerance=1.0
    )
    return table, frame


def counts(table: tc.Table, sensitive: np.ndarray, level: float) -> tc.ProtectionProblem:
    """Protect some cells by a level; the loss of a cell is its value."""
    levels = np.where(sensitive, level, 0.0)
    return tc.ProtectionProblem(
        table=table,
        status=np.where(sensitive, "u", "s"),
        lower_protection=levels,
        upper_protection=levels,
        sliding_protection=np.zeros(table.n_cells),
        lower_bound=np.zeros(table.n_cells),
        upper_bound=np.full(table.n_cells, 1e4),
        weights=np.maximum(table.values, 1),
    )


@pytest.mark.parametrize("name", TURNOVER)
def test_tables_of_turnover_are_additive_and_have_the_sensitive_cells_of_their_rules(
    instances, name
):
    table, frame = turnover(instances, name)
    assert table.n_cells == len(frame)
    assert np.abs(table.right_hand_side).max() < 1e-6
    problem = table.protect(tc.Dominance(1, 85), tc.MinimumFrequency(3))
    by_definition = frame.N_OBS.isin([1, 2]) | (frame.MAX > 0.85 * frame.TOT)
    assert problem.n_sensitive == by_definition.sum() == TURNOVER[name][2]


def test_two_tables_of_turnover_share_the_margin_of_activities(instances):
    one, other = (turnover(instances, name)[0] for name in ("turnover_act_cj", "turnover_act_size"))
    shared = set(one.keys[one.keys.CJ == "Total"].ACTIVITY) & set(
        other.keys[other.keys.SIZE == "Total"].ACTIVITY
    )
    assert tc.link(one, other).n_cells == one.n_cells + other.n_cells - len(shared)


def test_flags_of_dominated_cells_equal_those_that_rtauargus_set(instances):
    frame = pd.read_csv(instances / "rtauargus/datatest1.csv.gz")
    table = tc.Table.from_frame(
        frame,
        ["treff", "cj", "type_distrib", "A10"],
        "pizzas_tot",
        frequency="nb_obs_rnd",
        largest=["pizzas_max"],
        tolerance=1.0,
    )
    with pytest.warns(tc.TablecloakWarning, match="Some cells are negative"):
        problem = table.protect(tc.Dominance(1, 85))
    flagged = frame[frame.is_secret_dom][list(table.keys)]
    assert len(flagged) == 95
    assert set(table.keys[problem.sensitive].itertuples(index=False, name=None)) == set(
        flagged.itertuples(index=False, name=None)
    )


def test_counts_of_ssbtools_records_are_its_table(instances):
    """`z1micro` has one record for each person of `z1`."""
    records = pd.read_csv(instances / "ssbtools/z1micro.csv.gz")
    table = tc.tabulate(
        pd.read_csv(instances / "ssbtools/z1.csv.gz"), ["region", "hovedint"], "ant"
    )
    counted = tc.tabulate(records.assign(one=1.0), ["region", "hovedint"], "one")
    assert counted.keys.equals(table.keys)
    assert np.array_equal(counted.values, table.values)


def test_three_small_counts_of_one_column_cost_the_cheapest_partner_of_each_row(instances):
    """z1: 1, 2 and 3 in rows B, D and H; partners 7, 13 and 9 lie in one column, so that is all."""
    table = tc.tabulate(
        pd.read_csv(instances / "ssbtools/z1.csv.gz"), ["region", "hovedint"], "ant"
    )
    small = (table.values > 0) & (table.values <= 3)
    assert table.keys[small].region.tolist() == ["B", "D", "H"]
    pattern = tc.suppress(counts(table, small, 1.0))
    assert pattern.loss == pattern.proved_bound() == 1 + 2 + 3 + 7 + 13 + 9
    secondary = table.keys[pattern.secondary]
    assert set(zip(secondary.region, secondary.hovedint, strict=True)) == {
        ("B", "annet"), ("D", "annet"), ("H", "annet"),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["z2", "z3"])
def test_regions_in_two_trees_that_do_not_nest_add_up_in_both(instances, name):
    above = ["fylke", "kostragr"]
    frame = pd.read_csv(instances / f"ssbtools/{name}.csv.gz")
    trees = [
        tc.Hierarchy.from_dict(
            {f"{column}{code:g}": sorted(set(part.region)) for code, part in frame.groupby(column)}
        )
        for column in above
    ]
    dimensions = {"region": tc.Hierarchy.combine(*trees), "hovedint": None}
    if "mnd2" in frame:
        dimensions["mnd2"] = None
    table = tc.tabulate(frame, dimensions, "ant")
    values = dict(zip(map(tuple, table.keys.to_numpy()), table.values, strict=True))
    rest = ("Total",) * (len(dimensions) - 1)
    for column in above:
        for code, part in frame.groupby(column):
            assert values[(f"{column}{code:g}", *rest)] == part.ant.sum()
    assert values[("Total", *rest)] == frame.ant.sum()


def test_one_unsafe_cell_of_piargus_costs_its_cheapest_rectangle(instances):
    """20 at (02, tr2): partners 30 in its row and 40 + 60 below cost 150, less than any other."""
    frame = pd.read_csv(instances / "piargus/tabledata_status.csv", dtype={"activity": str})
    table = tc.Table.from_frame(frame, ["activity", "size"], "val")
    unsafe = frame[frame.status == "U"][["activity", "size"]]
    (cell,) = unsafe.itertuples(index=False, name=None)
    at = (table.keys == list(cell)).all(axis=1).to_numpy()
    pattern = tc.suppress(counts(table, at, 4.0))
    assert pattern.loss == pattern.proved_bound() == 20 + 30 + 40 + 60


def test_a_largest_contribution_that_is_impossible_is_refused_by_row(instances):
    """piargus prints 3 as the largest of 36 contributors to 300."""
    frame = pd.read_csv(instances / "piargus/tabledata.csv", dtype={"activity": str})
    with pytest.raises(tc.InputError, match="Row 12: .* 36 contributors of at most these sizes"):
        tc.Table.from_frame(frame, ["activity", "size"], "val", frequency="n_obs", largest=["max"])


def test_records_of_piargus_add_up_by_sector_and_size(instances):
    frame = pd.read_csv(instances / "piargus/microdata.csv", skipinitialspace=True)
    table = tc.tabulate(frame.astype({"sbi": str, "gk": str}), ["sbi", "gk"], "profit")
    assert table.values[0] == pytest.approx(frame.profit.sum(), abs=1e-9)
    assert (table.keys.sbi != "Total").any()


def test_the_spreadsheet_of_gams_and_its_jj_file_are_one_table(instances):
    """3 planes x 5 rows x 9 columns of Cox, Kelly and Patil (2005), with 24 protection levels."""
    problem = tc.read_jj(instances / "gams-cta/cox3.jj.gz")
    values, levels = (
        pd.read_excel(instances / "gams-cta/cta.xlsx", sheet_name=sheet, header=None)
        for sheet in ("Sheet1", "Sheet2")
    )
    blocks = [
        frame.set_index([0, 1]).iloc[1:, :10].fillna(0).to_numpy(float)
        for frame in (values, levels)
    ]
    assert np.isin(blocks[0], problem.table.values).all()
    assert sorted(blocks[1][blocks[1] > 0]) == sorted(problem.upper_protection[problem.sensitive])
    assert problem.table.values[0] == 212352 == blocks[0][-1, -1]
