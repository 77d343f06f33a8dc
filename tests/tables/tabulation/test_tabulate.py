"""Tabulation against plain pandas: sums, counts and largest contributors of every cell."""

from __future__ import annotations

import itertools
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from contributors import with_contributors
from margins import with_margins

REGIONS = {"North": ["N1", "N2"], "South": ["S1", "S2", "S3"]}
BRANCHES = ["a", "b", "c", "d"]


def microdata(seed: int, n: int = 200) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    firm = random.integers(0, n // 2, n)
    return pd.DataFrame(
        {
            "region": random.choice(["N1", "N2", "S1", "S2", "S3"], n),
            "branch": random.choice(BRANCHES, n, p=[0.4, 0.3, 0.2, 0.1]),
            "size": random.choice(["small", "large"], n),
            "firm": [f"f{number}" for number in firm],
            "group": [f"g{number // 3}" for number in firm],
            "w": 1.0 + firm % 3,
            "turnover": np.round(random.lognormal(3, 1, n), 2),
        }
    )


def inside(frame: pd.DataFrame, codes: dict[str, str]) -> pd.DataFrame:
    for name, code in codes.items():
        wanted = REGIONS.get(code, [code])
        frame = frame if code == "Total" else frame[frame[name].isin(wanted)]
    return frame


def non_empty(frame: pd.DataFrame) -> int:
    regions = ["Total", "North", "South", "N1", "N2", "S1", "S2", "S3"]
    return sum(
        not inside(frame, {"region": region, "branch": branch}).empty
        for region in regions
        for branch in ["Total", *BRANCHES]
    )


def check(table: tc.Table, frame: pd.DataFrame, contributions, identifier: str, weighted: bool):
    assert len(table.keys) == len(table.keys.drop_duplicates())
    for cell, codes in enumerate(table.keys.to_dict("records")):
        records = inside(frame, codes)
        weight = records.w if weighted else 1.0
        assert table.values[cell] == pytest.approx((records.turnover * weight).sum(), rel=1e-12)
        by_unit = records.groupby(identifier).agg(x=("turnover", "sum"), w=("w", "first"))
        assert contributions.count[cell] == len(by_unit)
        largest = np.sort(by_unit.x.to_numpy())[::-1][:3]
        assert contributions.largest[cell][: len(largest)] == pytest.approx(largest)
        assert not contributions.largest[cell][len(largest) :].any()
        if weighted:
            assert contributions.weighted_count[cell] == pytest.approx(by_unit.w.sum())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_every_cell_equals_a_query_of_its_own(seed, weighted):
    """Firms have records in many cells: each margin counts them once, with all they have."""
    frame = microdata(seed)
    table = tc.tabulate(
        frame,
        {"region": REGIONS, "branch": None},
        "turnover",
        contributor="firm",
        weight="w" if weighted else None,
    )
    assert table.n_cells == non_empty(frame)
    check(table, frame, table.contributions, "firm", weighted)


def test_holdings_are_grouped_like_contributors():
    frame = microdata(7)
    table = tc.tabulate(
        frame, {"region": REGIONS, "branch": None}, "turnover", contributor="firm", holding="group"
    )
    check(table, frame, table.contributions, "firm", False)
    check(table, frame, table.holdings, "group", False)


def test_linked_tables_are_one_table_over_the_common_cells():
    frame = microdata(3)
    dimensions = {"region": REGIONS, "branch": None, "size": None}
    options = {"value": "turnover", "contributor": "firm"}
    linked = tc.tabulate(
        frame, dimensions, tables=[["region", "branch"], ["region", "size"]], **options
    )
    # 8 regions x 5 branches, 8 x 3 sizes, of which the 8 margins by region are common.
    assert linked.n_cells == 40 + 24 - 8
    check(linked, frame, linked.contributions, "firm", False)
    first = tc.tabulate(frame, {"region": REGIONS, "branch": None}, **options)
    second = tc.tabulate(frame, {"region": REGIONS, "size": None}, **options)
    joined = tc.link(first, second)
    by_codes = ["region", "branch", "size"]
    one = linked.to_frame().sort_values(by_codes).reset_index(drop=True)
    other = joined.to_frame()[list(one.columns)].sort_values(by_codes).reset_index(drop=True)
    pd.testing.assert_frame_equal(one, other)
    # The relations of the common margin occur in both tables, and once in the linked one.
    assert joined.n_relations == linked.n_relations == first.n_relations + second.n_relations - 3


def test_linked_tables_that_disagree_are_refused():
    frame = microdata(3)
    first = tc.tabulate(frame, ["region", "branch"], "turnover")
    second = tc.tabulate(frame.iloc[1:], ["region", "size"], "turnover")
    with pytest.raises(tc.InputError, match="given twice with different values"):
        tc.link(first, second)


def test_the_order_of_records_and_the_source_change_nothing(tmp_path):
    frame = microdata(5, 500)
    frame.to_csv(tmp_path / "m.csv", index=False)
    frame.to_csv(tmp_path / "m.csv.gz", index=False)
    frame.to_parquet(tmp_path / "m.parquet")
    shuffled = frame.sample(frac=1, random_state=1)
    sources = [shuffled, *(tmp_path / name for name in ("m.csv", "m.csv.gz", "m.parquet"))]
    first = tc.tabulate(frame, {"region": REGIONS, "branch": None}, "turnover", contributor="firm")
    for source in sources:
        other = tc.tabulate(
            source, {"region": REGIONS, "branch": None}, "turnover", contributor="firm"
        )
        pd.testing.assert_frame_equal(first.keys, other.keys)
        assert np.array_equal(first.values, other.values)
        assert np.array_equal(first.contributions.largest, other.contributions.largest)


def test_equal_contributions_are_ordered_by_what_they_are_and_not_by_their_rows():
    random, n = np.random.default_rng(2), 200
    frame = pd.DataFrame(
        {
            "region": random.choice(["N1", "N2", "S1"], n),
            "v": random.choice([10.0, 20.0], n),
            "weight": random.choice([0.5, 1.0, 3.0], n),
            "waiver": random.choice(["yes", "no"], n),
            "own_p": random.choice([np.nan, 0.0, 5.0, 20.0], n),
        }
    )
    roles = {"weight": "weight", "waiver": "waiver", "waiver_p": "own_p", "n_largest": 40}
    first = tc.tabulate(frame, ["region"], "v", **roles).contributions
    assert (np.diff(first.largest_weight, axis=1) < 0).sum(axis=1).all()
    for shuffle in range(3):
        shuffled = frame.sample(frac=1, random_state=shuffle)
        other = tc.tabulate(shuffled, ["region"], "v", **roles).contributions
        for name in ("largest", "largest_weight"):
            assert np.array_equal(getattr(first, name), getattr(other, name))
        for name in ("unwaived", "own_p"):
            assert np.array_equal(getattr(first.waivers, name), getattr(other.waivers, name))


def test_codes_keep_their_leading_zeros(tmp_path):
    (tmp_path / "m.csv").write_text("nace,v\n01,5\n02,6\n02,7\n")
    assert tc.tabulate(tmp_path / "m.csv", ["nace"], "v").keys["nace"].tolist()[1:] == ["01", "02"]


def test_rounding_of_leaves_makes_the_table_add_up_exactly():
    frame = pd.DataFrame({"d": list("abc"), "v": [0.4, 0.4, 0.4]})
    table = tc.tabulate(frame, ["d"], "v", decimals=0)
    assert table.values.tolist() == [0, 0, 0, 0]
    exact = tc.tabulate(microdata(1), ["region", "branch"], "turnover", decimals=0)
    assert exact.integer
    assert not (exact.relations @ exact.values).any()


def test_counts_without_a_value():
    frame = microdata(2)
    table = tc.tabulate(frame, ["region"])
    assert table.values[0] == len(frame)
    assert table.name == "count"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"turnover": "many"}, "turnover.* mixes numbers and text"),
        ({"w": -1.0}, r"Row 1: column 'w' is -1.0, but must be a finite number above 0"),
        ({"firm": None}, "Row 1: column 'firm' is missing, but must be an identifier"),
        ({"region": None}, "Row 1: the code of dimension 'region' is missing"),
    ],
)
@pytest.mark.parametrize("engine", ["duckdb", "pandas"])
def test_bad_records_are_named(change, message, engine):
    frame = microdata(0)
    for column, entry in change.items():
        frame[column] = frame[column].astype(object) if isinstance(entry, str) else frame[column]
        frame.loc[0, column] = entry
    options = {"contributor": "firm", "weight": "w", "engine": engine}
    with pytest.raises(tc.InputError, match=message):
        tc.tabulate(frame, {"region": REGIONS}, "turnover", **options)


@pytest.mark.parametrize("engine", ["duckdb", "pandas"])
def test_contributor_with_two_weights_is_refused(engine):
    frame = pd.DataFrame({"d": ["a", "b"], "v": [1.0, 2.0], "f": ["x", "x"], "w": [1.0, 2.0]})
    with pytest.raises(tc.InputError, match="'x' have different weights, 1 and 2"):
        tc.tabulate(frame, ["d"], "v", contributor="f", weight="w", engine=engine)


def test_values_times_weights_give_the_same_sums_and_protect_no_less():
    """What the message on different weights advises, where it can be compared."""
    rng = np.random.default_rng(4)
    n, firm = 90, rng.integers(0, 30, 90)
    weight = rng.choice([1.0, 1.5, 4.0], 30)[firm]
    frame = pd.DataFrame({"d": rng.choice([*"abcdefghijklmnopqrst"], n), "firm": firm, "w": weight})
    frame["v"] = rng.lognormal(5, 2.5, n).round()
    frame["product"] = frame.v * frame.w
    weighted = tc.tabulate(frame, ["d"], "v", contributor="firm", weight="w")
    product = tc.tabulate(frame, ["d"], "product", contributor="firm")
    np.testing.assert_array_equal(product.values, weighted.values)
    for rule in (tc.PPercent(40), tc.Dominance(2, 80), tc.MinimumFrequency(4)):
        sensitive = tc.protect(weighted, rule).sensitive
        assert 0 < sensitive.sum() < len(sensitive)
        assert np.all(tc.protect(product, rule).sensitive[sensitive])
    # It also takes what weights alone do not: firms of a holding in several strata.
    frame["w"] = rng.choice([1.0, 1.5, 4.0], n)
    with pytest.raises(tc.InputError, match="product of value and weight as `value`"):
        tc.tabulate(frame, ["d"], "v", contributor="firm", weight="w")


def test_misspelt_column_suggests_the_right_one():
    with pytest.raises(tc.InputError, match="no column 'turnver'.*Did you mean 'turnover'"):
        tc.tabulate(microdata(0), ["region"], "turnver")


@pytest.mark.parametrize("library", ["pyarrow", "polars", "lazy polars"])
def test_frames_of_other_libraries_give_the_same_table(library):
    firms = tc.examples.firms(200)
    if library.endswith("polars"):
        other = pytest.importorskip("polars").DataFrame(firms.to_dict("list"))
        other = other.lazy() if library.startswith("lazy") else other
    else:
        other = pytest.importorskip("pyarrow").Table.from_pandas(firms)
    dimensions = {"region": ["part", "region"], "industry": None}
    one = tc.tabulate(firms, dimensions, "turnover", contributor="firm")
    two = tc.tabulate(other, dimensions, "turnover", contributor="firm")
    assert one.to_frame().equals(two.to_frame())
    assert (one.contributions.largest == two.contributions.largest).all()


@pytest.mark.parametrize("seed", range(2))
def test_margins_are_those_that_are_added_up_in_fractions(seed):
    random = np.random.default_rng(seed)
    tree = tc.Hierarchy.from_dict({"x": ["x1", "x2"], "y": {"y1": ["y11", "y12"], "y2": []}})
    leaves = list(itertools.product(tree.leaves, "cab"))
    frame = pd.DataFrame(leaves, columns=["d0", "d1"]).assign(v=random.integers(0, 9, len(leaves)))
    frame = frame[random.random(len(frame)) > 0.2]
    table = tc.tabulate(frame, {"d0": tree, "d1": None}, "v")
    same = with_margins(frame, {"d0": tree, "d1": None}, "v")
    assert table.keys.equals(same.keys)
    assert np.array_equal(table.values, same.values)
    assert (table.relations != same.relations).nnz == 0


@pytest.mark.filterwarnings("ignore:Some contributions are negative")
@pytest.mark.parametrize(
    ("links", "more"),
    [
        (None, {"n_largest": 2}),
        (None, {"holding": "group", "weight": "w", "n_largest": 40, "waiver": "waives"}),
        (
            [["region", "branch"], ["branch", "size"]],
            {"holding": "group", "n_largest": 5, "waiver": "waives", "waiver_p": "own"},
        ),
    ],
)
def test_contributors_are_those_that_are_grouped_without_a_database(links, more):
    frame = microdata(1, 60)
    random = np.random.default_rng(1)
    frame["v"] = random.integers(-9, 40, len(frame)) if links else random.integers(1, 40, 60)
    frame["group"] = frame["firm"].str[:2]
    frame["w"] = frame["group"].str[1].astype(int) % 3 / 4 + 0.5
    frame["waives"] = random.random(len(frame)) < 0.6
    frame["own"] = random.choice([np.nan, np.nan, 5, 20], len(frame))
    dimensions = {"region": REGIONS, "branch": None} | ({"size": None} if links else {})
    options = {"contributor": "firm", "tables": links, **more}
    one = tc.tabulate(frame, dimensions, "v", **options)
    two = with_contributors(frame, dimensions, "v", **options)
    assert one.keys.equals(two.keys)
    assert np.array_equal(one.values, two.values)
    assert (one.relations != two.relations).nnz == 0
    for attribute in ("contributions", "holdings"):
        both = [getattr(table, attribute) for table in (one, two)]
        assert_same_fields(*both)
        if "waiver" in more:
            assert_same_fields(*(each.waivers for each in both))


def assert_same_fields(one: object, two: object) -> None:
    assert (one is None) == (two is None)
    for each in fields(one) if one else ():  # type: ignore[arg-type]
        if each.name != "waivers":
            found = (getattr(side, each.name) for side in (one, two))
            np.testing.assert_array_equal(*found, err_msg=each.name)
