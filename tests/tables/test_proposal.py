"""A finished table of any layout is read back as the table that it was."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.examples.files import SOURCE, TITLE, write_sheet
from tablecloak.tables import code_sums, proposal
from tablecloak.tables.proposal import as_number


def random_tree(random: np.random.Generator, depth: int, prefix: str = "") -> dict:
    codes = (f"{prefix}{letter}" for letter in "abcd"[: random.integers(2, 5)])
    deeper = depth > 1
    return {
        code: random_tree(random, depth - 1, code) if deeper and random.random() < 0.5 else {}
        for code in codes
    }


def random_sheet(seed: int, *, shuffled: bool) -> tuple[pd.DataFrame, list[tc.Hierarchy]]:
    """Whole numbers with some zeros over two random trees, as a cross table."""
    random = np.random.default_rng(seed)
    trees = [tc.Hierarchy.from_dict(random_tree(random, 3), f"T{side}") for side in range(2)]
    below = [leaves_below(tree) for tree in trees]
    shape = tuple(len(tree.leaves) for tree in trees)
    inside = np.round(random.lognormal(4, 1, shape)) * (random.random(shape) < 0.8)
    values = below[0] @ inside @ below[1].T
    order = [
        random.permutation(len(tree.codes)) if shuffled else np.arange(len(tree.codes))
        for tree in trees
    ]
    rows, columns = (
        [tree.codes[at] for at in each] for tree, each in zip(trees, order, strict=True)
    )
    wide = pd.DataFrame(values[np.ix_(*order)], columns=columns)
    wide.insert(0, "rows", rows)
    return wide, trees


def leaves_below(tree: tc.Hierarchy) -> np.ndarray:
    children = dict(tree.groups)

    def leaves(code: str) -> set[str]:
        below = children.get(code)
        return {code} if below is None else set().union(*map(leaves, below))

    return np.array([[leaf in leaves(code) for leaf in tree.leaves] for code in tree.codes], float)


def families(tree) -> set[tuple[str, frozenset[str]]]:
    return {(parent, frozenset(children)) for parent, children in tree.groups}


@pytest.mark.parametrize("shuffled", [False, True])
def test_trees_are_told_by_the_figures_alone(shuffled):
    for seed in range(12):
        wide, trees = random_sheet(seed, shuffled=shuffled)
        if wide.shape[1] < 8 or len(wide) < 5:
            wide, trees = random_sheet(seed + 100, shuffled=shuffled)
        found = tc.propose(wide)
        if found.is_complete:
            told = list(found.trees.values())
            if [families(tree) for tree in told] != [families(tree) for tree in trees]:
                # Another reading is one only if it adds up.
                assert found.table().n_cells > 0
            assert [tree.total for tree in told] == ["T0", "T1"]
        else:
            # Where few columns allow several sums, codes are named and nothing is made up.
            assert any(tree.unplaced for tree in found.trees.values())
            with pytest.raises(tc.InputError, match="do not tell where"):
                found.table()


def test_most_random_trees_are_found_whole():
    right = 0
    for seed in range(20):
        wide, trees = random_sheet(seed, shuffled=False)
        found = list(tc.propose(wide).trees.values())
        right += [families(tree) for tree in found] == [families(tree) for tree in trees]
    assert right >= 18


def test_a_sheet_with_title_two_columns_of_codes_and_two_lines_of_headers_is_understood(tmp_path):
    write_sheet(tmp_path / "table.xlsx")
    found = tc.propose(tmp_path / "table.xlsx")
    dimensions = {"region": ["part", "region"], "industry": None, "size": None}
    table = tc.tabulate(tc.examples.firms(), dimensions, "turnover")
    assert found.title == TITLE and SOURCE in found.notes[0]
    assert (found.value, found.frequency) == ("Turnover", "Firms")
    read = found.table()
    assert set(read.values.tolist()) == set(table.values[table.values != 0].tolist())
    # Industries are indented in the sheet, regions are not.
    assert families(found.trees["Industry"]) == families(table.hierarchies["industry"])
    assert families(found.trees["Region"]) == families(table.hierarchies["region"])
    assert read.cell(Region="N1", Industry="steel", columns="Total") >= 0


def test_a_header_merged_over_all_lines_stands_beside_the_codes_of_the_lowest(tmp_path):
    book = pytest.importorskip("openpyxl").Workbook()
    sheet = book.active
    for line in (
        ["Region", "Sector", None, None, "Total"],
        [None, "mining", "trade", "hotels", None],
        ["North", 3, 5, 4, 12],
        ["South", 2, 9, 7, 18],
        ["Total", 5, 14, 11, 30],
    ):
        sheet.append(line)
    for area in ("A1:A2", "B1:D1", "E1:E2"):
        sheet.merge_cells(area)
    book.save(tmp_path / "table.xlsx")
    table = tc.propose(tmp_path / "table.xlsx").table()
    assert (table.n_cells, table.n_relations) == (12, 7)


def test_one_row_for_each_cell_is_understood_with_statuses_contributors_and_labels(tmp_path):
    table = tc.tabulate(tc.examples.firms(), ["region", "industry"], "turnover", contributor="firm")
    problem = table.protect(tc.PPercent(10))
    frame = table.keys.assign(
        industry_name=[f"Industry of {code}" for code in table.keys["industry"]],
        year=2025,
        turnover=table.values,
        n=table.contributions.count,
        max1=table.contributions.largest[:, 0],
        max2=table.contributions.largest[:, 1],
        status=np.where(problem.sensitive, "c", ""),
    )
    frame.to_csv(tmp_path / "cells.csv", index=False, sep=";")
    found = tc.propose(tmp_path / "cells.csv")
    assert list(found.trees) == ["region", "industry"]
    assert (found.value, found.frequency, found.status) == ("turnover", "n", "status")
    assert found.largest == ("max1", "max2")
    assert any("'year', which is 2025" in note for note in found.notes)
    assert found.labels["industry"]["steel"] == "Industry of steel"
    again = found.table().protect(tc.PPercent(10))
    assert np.array_equal(again.sensitive, problem.sensitive)
    told = found.frame["status"] == "c"
    assert told.sum() == problem.n_sensitive > 0


def test_figures_rounded_one_by_one_add_up_within_a_tolerance():
    wide, trees = random_sheet(3, shuffled=False)
    wide.iloc[:, 1:] = np.round(wide.iloc[:, 1:] / 7, 1)
    found = tc.propose(wide)
    assert 0 < found.tolerance <= 0.5
    assert [families(tree) for tree in found.trees.values()] == list(map(families, trees))
    assert found.table().tolerance == found.tolerance


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,234.5", 1234.5), ("1.234,5", 1234.5), ("1 234", 1234.0), ("1'234'567", 1234567.0),
        ("0,5", 0.5), ("\u22123", -3.0), ("1,234", 1234.0), ("12.345", 12.345),
        ("x", None), ("", None), ("01", None), ("0.5", 0.5),
    ],
)  # fmt: skip
def test_numbers_typed_as_text_are_read_as_a_person_reads_them(text, number):
    assert as_number(text) == number


def test_a_square_that_is_no_number_is_named_by_its_place(tmp_path):
    (tmp_path / "t.csv").write_text("region,a,b,all\nN,1,2,3\nS,x,5,9\nT,5,7,12\n")
    with pytest.raises(tc.InputError, match=r"t.csv, row 3, column 2: 'x' is no number"):
        tc.propose(tmp_path / "t.csv")


def test_a_cell_given_twice_is_named(tmp_path):
    (tmp_path / "t.csv").write_text("region;size;value\nN;a;1\nS;b;2\nN;b;4\nN;a;3\n")
    with pytest.raises(tc.InputError, match=r"'region': 'N', 'size': 'a'.* given twice"):
        tc.propose(tmp_path / "t.csv")


@pytest.mark.parametrize("text", ["", "\n\n", "a,b\nc,d\n", "1,2\n3,4\n"])
def test_what_is_no_table_is_refused(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(tc.InputError, match=r"t\.csv"):
        tc.propose(tmp_path / "t.csv").table()


def test_an_unknown_sheet_is_refused_with_the_known_ones(tmp_path):
    write_sheet(tmp_path / "table.xlsx")
    with pytest.raises(tc.InputError, match=r"no sheet 'Shet'.* Did you mean 'Sheet'"):
        tc.propose(tmp_path / "table.xlsx", sheet="Shet")


def test_records_are_not_searched_for_sums_of_the_names_of_firms(monkeypatch):
    """Nothing adds up in records: the figures looked at grow as the number of records does."""
    looked_at = []

    def counted(function):
        def called(values, *given, **options):
            looked_at.append(np.size(values))
            return function(values, *given, **options)

        return called

    monkeypatch.setattr(proposal, "code_tree", counted(proposal.code_tree))
    monkeypatch.setattr(code_sums, "nnls", counted(code_sums.nnls))
    random = np.random.default_rng(0)

    def work(count: int) -> int:
        looked_at.clear()
        records = pd.DataFrame(
            {
                "region": random.integers(0, 20, count).astype("U3"),
                "branch": random.choice([*"abc"], count, p=[0.7, 0.2, 0.1]),
                "firm": [f"f{number // 2}" for number in range(count)],
                "turnover": np.round(random.lognormal(3, 2, count), 2),
            }
        ).drop_duplicates(["region", "branch", "firm"])
        found = tc.propose(records)
        assert set(found.trees["firm"].unplaced) == set(records["firm"])
        assert not found.is_complete
        return sum(looked_at)

    assert work(800) < 6 * work(200)


def test_one_wrong_figure_is_named_and_makes_no_other_table():
    random = np.random.default_rng(0)
    inner = random.integers(1, 1000, (3, 2, 3)).astype(float)
    for axis in range(3):
        inner = np.concatenate([inner, inner.sum(axis=axis, keepdims=True)], axis=axis)
    regions, trades, sizes = ["N", "S", "W", "All"], ["mine", "shop", "both"], ["1", "2", "3", "+"]
    inner[1, 0, 1] += 500
    columns = pd.MultiIndex.from_product([trades, sizes])
    frame = pd.DataFrame(inner.reshape(4, -1), pd.Index(regions, name="region"), columns)
    found = tc.propose(frame)
    assert [tree.total for tree in found.trees.values()] == ["All", "both", "+"]
    said = [note for note in found.notes if note.startswith("SUMS FAIL")]
    assert len(said) == 3 and all("in 1 of" in note for note in said)
    assert "columns 1 'mine', columns 2 '2'" in said[0] and "region 'S'" in said[1]
    with pytest.raises(tc.InputError, match="is off by 500"):
        found.table()


def test_infinite_numbers_of_a_frame_are_no_figures():
    """A problem of this package has infinite capacities beside its values."""
    frame = pd.DataFrame({"region": ["N", "S", "All"], "turnover": [1, 2, 3]})
    found = tc.propose(frame.assign(capacity=[np.inf, np.inf, -np.inf]))
    assert (found.value, found.trees["region"].total) == ("turnover", "All")
