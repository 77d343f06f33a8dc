"""A release tells nothing but its cells: not by bytes, order, types, digits or rounding dust."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tablecloak as tc
from private import is_private
from tablecloak.cli.main import app
from tablecloak.cta.result.decimals import in_decimals
from tablecloak.publish.publication import write_release
from tablecloak.publish.released_cells import read_release
from tablecloak.suppression.result.pattern import SuppressionPattern
from tablecloak.tables.published import common_decimals, published_decimals

FORMATS = ["csv", "parquet", "excel", "sdmx-csv", "json-stat", "px"]
TABLES = 8


def two_truths(random: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame, list, int | None]:
    """Records of two truths, the codes of the hidden cells, and the declared digits.

    The second moves an amount around a square (cube) of leaves, so that all margins stay.
    """
    shape = tuple(random.integers(2, 5, size=random.integers(2, 4)))
    codes = [[f"{'xyz'[axis]}{at}" for at in range(size)] for axis, size in enumerate(shape)]
    names = list("abc"[: len(shape)])
    first = pd.DataFrame(list(itertools.product(*codes)), columns=names)
    digits = int(random.integers(0, 4))
    values = random.integers(100, 10**6, len(first)) / 10.0**digits
    first["v"] = values if random.random() < 0.7 else np.floor(values)
    hidden = list(itertools.product(*(axis[:2] for axis in codes)))
    # Whole, with the digits of the table, or with more than any published cell has.
    amount = random.choice([1.0, 10.0**-digits, 0.5 * 10.0**-digits])
    second = first.copy()
    keys = pd.MultiIndex.from_frame(first[names])
    for corner in hidden:
        sign = (-1) ** sum(int(code[1]) for code in corner)
        second.loc[keys.get_loc(corner), "v"] += sign * amount
    declared = digits if amount >= 10.0**-digits and random.random() < 0.5 else None
    return first, second, hidden, declared


def table_of(
    records: pd.DataFrame, random: np.random.Generator, declared: int | None, source: str
) -> tc.Table:
    """The table of some records in random order, tabulated here or read with its totals."""
    names = list(records.columns[:-1])
    records = records.sample(frac=1, random_state=int(random.integers(2**31)))
    if source == "microdata":
        return tc.tabulate(records, names, "v", decimals=declared)
    parts = []
    for kept in itertools.product([True, False], repeat=len(names)):
        stays = [name for name, stay in zip(names, kept, strict=True) if stay]
        totals = {name: "Total" for name in names if name not in stays}
        # Sums in the order of the records leave binary dust of their own.
        margin = (
            records.groupby(stays, as_index=False, sort=False)["v"].sum()
            if stays
            else pd.DataFrame({"v": [sum(records["v"])]})
        )
        parts.append(margin.assign(**totals))
    cells = pd.concat(parts)[[*names, "v"]]
    cells = cells.sample(frac=1, random_state=int(random.integers(2**31)))
    return tc.Table.from_frame(cells, names, "v", decimals=declared)


def hiding(table: tc.Table, hidden: list) -> SuppressionPattern:
    """A pattern that hides given cells; what it protects plays no part here."""
    cells = pd.MultiIndex.from_frame(table.keys).isin(hidden)
    assert cells.sum() == len(hidden)
    zero = np.zeros(table.n_cells)
    problem = tc.ProtectionProblem(
        table, np.where(cells, "u", "s"), zero, zero, zero, zero, zero + 1e9, zero
    )
    return SuppressionPattern(problem, cells, tc.Requirement.TWO_SIDED, None, None, 0.0, "", 0.0)


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("source", ["microdata", "table"])
def test_two_truths_with_the_same_published_cells_give_the_same_bytes(tmp_path, source):
    differing = 0
    for seed in range(TABLES):
        random = np.random.default_rng(seed)
        first, second, hidden, declared = two_truths(random)
        written = []
        for number, records in enumerate((first, second)):
            pattern = hiding(table_of(records, random, declared, source), hidden)
            folder = tmp_path / f"{seed}-{number}"
            write_release(pattern, folder, title="T", formats=FORMATS)
            written.append((pattern.problem.table, files_of(folder)))
        assert written[0][1] == written[1][1], seed
        assert len(written[0][1]) == len(FORMATS) + 2
        differing += not np.array_equal(
            np.sort(written[0][0].values), np.sort(written[1][0].values)
        )
    assert differing == TABLES


def test_what_is_published_is_right_and_declared(tmp_path):
    """Digits, order and values, also beside hidden cells with other digits."""
    random = np.random.default_rng(5)
    for seed in range(8):
        first, _, hidden, declared = two_truths(np.random.default_rng(seed))
        table = table_of(first, random, declared, "table")
        released = hiding(table, hidden).release()
        names = list(table.keys.columns)
        true = pd.Series(table.values, index=pd.MultiIndex.from_frame(table.keys))
        shown = released["status"] == "published"
        found = released[shown].set_index(names)["v"].astype(float)
        assert np.allclose(found, true[found.index], rtol=1e-12, atol=0)
        decimals = published_decimals(found, declared)
        assert decimals <= 3
        assert (found == found.round(decimals)).all()
        assert str(released["v"].dtype) == ("float64" if decimals else "Int64")
        places = released[names].apply(
            lambda column: column.map({c: n for n, c in enumerate(["Total", *sorted(
                set(column) - {"Total"})])})
        )  # fmt: skip
        assert places.equals(places.sort_values(names, ignore_index=True))


def test_digits_are_those_of_the_values_but_for_dust():
    for values, decimals in [
        ([], 0),
        ([560.0, 0.0, -3.0], 0),
        ([118236.87999999999], 2),
        ([0.1 + 0.2], 1),
        ([1e15 + 0.5, 1.0], 1),
        ([1.005, 2.0], 3),
        ([1 / 3, 2 / 3], None),
        ([1e22], 0),
    ]:
        assert common_decimals(values) == decimals
        if decimals is None:
            assert 12 <= published_decimals(values) <= 15


def test_measurements_are_published_without_dust_and_read_again(tmp_path):
    """Values that are no decimal numbers, over many orders of magnitude."""
    random = np.random.default_rng(3)
    leaves = random.lognormal(3, 6, 8) * np.pi
    cells = dict(zip("abcdefgh", leaves, strict=True))
    truths = []
    for order in ("abcdefgh", "hgfedcba", "chadgbfe"):
        total = 0.0
        for code in order:
            total += cells[code]
        frame = pd.DataFrame({"k": [*order, "Total"], "v": [*(cells[c] for c in order), total]})
        truths.append(tc.Table.from_frame(frame, ["k"], "v"))
    assert len({table.values[-1] for table in truths}) > 1
    releases = [hiding(table, [("a",), ("b",)]) for table in truths]
    texts = set()
    for number, pattern in enumerate(releases):
        write_release(pattern, tmp_path / str(number))
        texts.add((tmp_path / str(number) / "table.csv").read_text())
        suppressed, _ = read_release(pattern.problem, tmp_path / str(number) / "table.csv")
        assert np.array_equal(suppressed, pattern.suppressed)
    assert len(texts) == 1


@pytest.mark.parametrize("distance", ["L1", "L2", "Linf"])
@pytest.mark.parametrize("decimals", [0, 1, 2])
def test_adjusted_values_have_the_declared_digits_add_up_and_protect(distance, decimals):
    changed = 0
    for seed in range(4):
        problem = firms(seed, decimals)
        integer = False if distance == "L1" else None
        adjusted = tc.adjust(problem, distance=distance, integer=integer, time_limit=3)
        rounded = in_decimals(adjusted, time_limit=20)
        rounded.verify()
        found = tc.audit(problem, rounded)
        assert found.is_safe
        scaled = rounded.values * 10**decimals
        assert np.abs(scaled - np.rint(scaled)).max() < 1e-6
        # Exactly: in whole numbers of the last digit nothing is off, and no level is missed.
        whole, true = np.rint(scaled), np.rint(problem.table.values * 10**decimals)
        assert not np.any(problem.table.relations @ (whole - true))
        sensitive = problem.sensitive
        moved = (whole - true)[sensitive] / 10**decimals
        slack = 1e-9 * np.abs(problem.table.values[sensitive])
        assert np.all(
            (moved >= problem.upper_protection[sensitive] - slack)
            | (moved <= -problem.lower_protection[sensitive] + slack)
        )
        released = rounded.release()
        assert (released["v"].astype(float) == released["v"].astype(float).round(decimals)).all()
        changed += rounded is not adjusted
    # The test sees something: adjustments that are not rounded have more digits.
    assert changed


def firms(seed: int, decimals: int) -> tc.ProtectionProblem:
    random = np.random.default_rng(seed)
    codes = list(itertools.product([f"r{k}" for k in range(4)], [f"i{k}" for k in range(4)]))
    rows = [
        (*code, f"f{number}-{code}", round(float(random.lognormal(4, 1.2)), decimals))
        for code in codes
        for number in range(int(random.integers(1, 5)))
    ]
    frame = pd.DataFrame(rows, columns=["r", "i", "firm", "v"])
    table = tc.tabulate(frame, ["r", "i"], "v", contributor="firm", decimals=decimals)
    return table.protect(tc.PPercent(13.7))


def test_a_table_that_has_more_digits_than_it_declares_is_refused():
    frame = pd.DataFrame({"a": ["x", "y", "Total"], "v": [1.25, 2.5, 3.75]})
    with pytest.raises(tc.InputError, match="a=x has the value 1.25, but .* 1 decimals"):
        tc.Table.from_frame(frame, ["a"], "v", decimals=1)
    assert tc.Table.from_frame(frame, ["a"], "v", decimals=2).decimals == 2


def test_ends_of_intervals_are_rounded_outwards():
    frame = pd.DataFrame({"a": ["x", "y", "Total"], "v": [15.0, 5.0, 20.0]})
    table = tc.Table.from_frame(frame, ["a"], "v")
    from tablecloak.tables.published import published_intervals

    lower, upper = np.array([11.7, 3.0, 20.0]), np.array([18.44, 8.3, 20.0])
    shown = published_intervals(table, lower, upper).set_index("a")
    assert shown.loc["x", ["lower", "upper"]].tolist() == [11, 19]
    assert shown.loc["y", ["lower", "upper"]].tolist() == [3, 9]
    assert shown.loc["Total", ["lower", "upper"]].tolist() == [20, 20]


@pytest.mark.parametrize("name", ["status", "value", "lower", "upper", "turnover"])
def test_a_dimension_that_a_column_of_results_would_overwrite_is_refused(name):
    frame = pd.DataFrame({name: ["x", "y"], "turnover": [5.0, 7.0]})
    with pytest.raises(tc.InputError, match=f"name '{name}'.*{name}_code"):
        tc.tabulate(frame, {name: tc.Dimension(name)}, "turnover")
    renamed = tc.tabulate(frame.assign(z=["x", "y"]), {f"{name}_code": tc.Dimension("z")},
                          "turnover")  # fmt: skip
    assert renamed.n_cells == 3


TABLE_JOB = """\
[data]
file = "table.csv"
kind = "table"
value = "v"
frequency = "n"
[dimensions.r]
column = "status"
[dimensions.i]
[[rules]]
rule = "minimum-frequency"
minimum = 3
[suppression]
time_limit = 60
[output]
formats = ["csv", "parquet", "excel", "sdmx-csv", "json-stat", "px"]
"""


def test_the_order_of_a_table_does_not_change_what_a_job_releases(tmp_path):
    """Sorted by value, by code, or not at all; and the other way round."""
    problem = firms(1, 1)
    table = problem.table
    cells = table.keys.rename(columns={"r": "status"}).assign(
        v=table.values, n=table.contributions.count, r="unused"
    )
    written = []
    for number, frame in enumerate(
        (cells, cells.sort_values("v"), cells[::-1], cells.sample(frac=1, random_state=1))
    ):
        frame.to_csv(tmp_path / "table.csv", index=False)
        (tmp_path / "job.toml").write_text(TABLE_JOB)
        out = tmp_path / f"out{number}"
        result = tc.run_job(tmp_path / "job.toml", out)
        assert result.is_safe
        assert result.problem.n_sensitive
        written.append(
            {
                str(path.relative_to(out)): path.read_bytes()
                for path in sorted((out / "release").rglob("*"))
                if path.is_file()
            }
        )
    assert len(written[0]) == len(FORMATS) + 2
    assert all(found == written[0] for found in written)


def test_the_command_says_when_digits_mark_changed_cells(tmp_path):
    tc.write_problem(firms(0, 0), tmp_path / "p.jj")
    run = ["adjust", str(tmp_path / "p.jj"), "--distance", "L2", "--time-limit", "3", "-o"]
    marked = CliRunner().invoke(app, [*run, str(tmp_path / "marked.csv")])
    assert marked.exit_code == 0
    assert "Do not publish this file" in marked.output
    assert is_private(tmp_path / "marked.csv")
    same = CliRunner().invoke(app, [*run, str(tmp_path / "same.csv"), "--same-digits"])
    assert same.exit_code == 0
    assert "Do not publish" not in same.output
    values = pd.read_csv(tmp_path / "same.csv")["value"]
    assert values.dtype == np.int64
    problem = tc.read_problem(tmp_path / "p.jj")
    assert tc.audit(problem, values.to_numpy(float)).is_safe
