"""How many records have a value does not follow from the figures of a cell, in whole numbers."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tablecloak.safe import Project
from tablecloak.safe.tables.level_counts import (
    ALL_DIGITS,
    LevelCounts,
    exchanges,
    half_unit,
    rounded,
    rounded_sums,
    step_of,
)

LIMITS = {"safe_threshold": 10, "zeros_are_disclosive": False}

FUNCTIONS = {
    "as it is": lambda code: code,
    "log": lambda code: np.log(code + 1),
    "root": np.sqrt,
    "exponent": np.exp,
    "power": lambda code: code**1.7,
}


def multisets(n, m):
    """All numbers of records with each of m values that add up to n."""
    ends = np.array(list(itertools.combinations(range(n + m - 1), m - 1)), dtype=np.int64)
    ends = np.hstack([np.full((len(ends), 1), -1), ends, np.full((len(ends), 1), n + m - 1)])
    return np.diff(ends, axis=1) - 1


def figures_of(counts, values):
    """Means and standard deviations."""
    n = counts.sum(axis=1)
    means = counts @ values / n
    squares = counts @ values**2 - n * means**2
    return means, np.sqrt(np.maximum(squares, 0) / (n - 1))


def agree(figures, shown, digits):
    """Which figures are shown as this one."""
    near = 1e-12 * max(abs(shown), 1) if digits == ALL_DIGITS else 0
    room = half_unit(np.array([shown]), digits)[0] if digits < ALL_DIGITS else 0
    return np.abs(figures - shown) <= room * (1 + 1e-9) + near


def settled(solutions, threshold=10):
    """Numbers of few records with a value, or with more than one, that all solutions agree on."""
    tails = np.cumsum(solutions[:, ::-1], axis=1)
    numbers = np.hstack([solutions, tails])
    same = numbers.min(axis=0) == numbers.max(axis=0)
    return [n for n in numbers[0, same].tolist() if 0 < n < threshold]


@st.composite
def cells_of_a_code(draw):
    codes = draw(st.sets(st.sampled_from([*range(7), 9, 37, 50, 99]), min_size=3, max_size=5))
    values = np.unique(
        FUNCTIONS[draw(st.sampled_from(sorted(FUNCTIONS)))](np.array(sorted(codes), float))
    )
    # All values occur, so that everybody may know them.
    rows = [np.full(len(values), 4)]
    for _ in range(draw(st.integers(1, 4))):
        n = draw(st.integers(10, 14))
        who = draw(st.lists(st.integers(0, len(values) - 1), min_size=n, max_size=n))
        rows.append(np.bincount(who, minlength=len(values)))
    return values, np.array(rows, dtype=np.int64)


@settings(max_examples=400, deadline=None)
@given(cells_of_a_code(), st.booleans())
def test_all_multisets_leave_every_number_of_few_open_where_a_cell_is_shown(cells, with_squares):
    values, counts = cells
    levels = LevelCounts(values, counts.sum(axis=0), csr_array(counts.astype(float)), 10)
    hidden = levels.few_beyond_a_gap(with_squares=with_squares)
    shown = np.flatnonzero(~hidden)
    of_means, of_deviations, few = levels.digits(shown, with_squares=with_squares)
    means, deviations = figures_of(counts, values)
    for cell in shown[~few[shown]]:
        every = multisets(int(counts[cell].sum()), len(values))
        all_means, all_deviations = figures_of(every, values)
        fits = agree(all_means, rounded(means[[cell]], of_means)[0], of_means)
        if with_squares:
            deviation = rounded(deviations[[cell]], of_deviations)[0]
            fits &= agree(all_deviations, deviation, of_deviations)
        assert (every[fits] == counts[cell]).all(axis=1).any()
        assert not settled(every[fits])


def half_cells(values):
    """All multisets of five values, ascending by their sum, and these sums."""
    five = np.array(list(itertools.combinations_with_replacement(range(len(values)), 5)))
    sums = values[five].sum(axis=1)
    order = np.argsort(sums)
    return five[order], sums[order]


def solutions_of_ten(half, room, most=2_000):
    """Multisets of ten values whose sums lie in an interval, as many as are not too many."""
    five, sums = half
    first = np.searchsorted(sums, room[0] - sums)
    often = np.searchsorted(sums, room[1] - sums, side="right") - first
    left = np.flatnonzero(often)[:: max(1, len(np.flatnonzero(often)) // most)]
    pairs = [(i, first[i] + extra) for i in left for extra in range(min(often[i], 3))]
    ten = np.hstack([five[[one for one, _ in pairs]], five[[other for _, other in pairs]]])
    ten, m = np.unique(np.sort(ten, axis=1), axis=0), int(five.max()) + 1
    return np.bincount(
        (np.arange(len(ten))[:, None] * m + ten).ravel(), minlength=len(ten) * m
    ).reshape(-1, m)


@pytest.mark.parametrize("name", ["log", "root", "power"])
def test_the_shown_mean_of_a_function_of_forty_ages_leaves_all_ages_of_ten_open(name):
    rng = np.random.default_rng(len(name))
    values = FUNCTIONS[name](np.arange(20.0, 60.0))
    counts = np.vstack([rng.multinomial(10, np.ones(40) / 40, 12), np.full((2, 40), 9)])
    levels = LevelCounts(values, counts.sum(axis=0), csr_array(counts.astype(float)), 10)
    of_means, _, few = levels.digits(np.arange(12), with_squares=False)
    assert 3 <= of_means < 9
    assert not few.any()
    half = half_cells(values)
    for cell in counts[:4]:
        mean = cell @ values / 10
        near = 10 * mean * 1e-14
        alone = solutions_of_ten(half, (10 * mean - near, 10 * mean + near))
        shown = np.array([mean])
        room = half_unit(shown, of_means)[0]
        ends = 10 * (rounded(shown, of_means)[0] + np.array([-room, room]))
        solutions = solutions_of_ten(half, ends)
        # From all digits follows how old all are, but where logarithms are of one product.
        assert name == "log" or len(alone) == 1
        assert len(solutions) > 100
        assert not settled(solutions)


def survey(seed=3, n=1200):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "region": rng.choice(list("NESW"), n),
            "place": rng.integers(0, 40, n),
            "children": rng.choice([0, 1, 2], n, p=[0.6, 0.37, 0.03]),
            "level": rng.choice([1, 2, 3, 4, 5], n, p=[0.4, 0.3, 0.2, 0.08, 0.02]),
            "visits": np.minimum(1 + rng.negative_binomial(2, 0.35, n), 17),
            "answer": rng.choice([1, 2, 3, 4, 5, 99], n, p=[0.1, 0.2, 0.3, 0.2, 0.18, 0.02]),
            "weight": rng.choice([12.37, 8.913, 101.33], n, p=[0.6, 0.37, 0.03]),
        }
    )
    return frame.assign(
        visits_or_none=np.where(frame["answer"] == 99, 99, frame["visits"]),
        root=np.sqrt(frame["level"]),
        log=np.log(frame["visits"]),
    )


def digits_said(table, of="mean"):
    """Digits with which a note says that figures are shown."""
    said = [
        re.match(rf"{of} of \w+ is shown with (\d+) digits", note) for note in table.outcome.notes
    ]
    return [int(match[1]) for match in said if match]


@pytest.mark.parametrize("name", ["root", "log"])
def test_means_of_functions_of_whole_numbers_have_few_digits_in_frame_and_file(name, tmp_path):
    frame = survey()
    project = Project(LIMITS, data=frame)
    table = project.pivot_table(
        frame, values=name, index="region", aggfunc=["count", "mean", "sum"]
    )
    true = frame.groupby("region")[name].agg(["count", "mean", "sum"])
    (digits,) = digits_said(table)
    assert table.outcome.status == "pass"
    assert digits < 10
    assert table[("count", name)].tolist() == true["count"].tolist()
    for statistic in ("mean", "sum"):
        shown = table[(statistic, name)].to_numpy()
        np.testing.assert_array_equal(shown, rounded(shown, digits))
        # The last digit may be off by one.
        np.testing.assert_allclose(shown, true[statistic], rtol=10.0 ** (2 - digits))
        assert not (shown == true[statistic].to_numpy()).any()
    folder = project.finalise(tmp_path / "outputs")
    written = next(folder.glob("*.csv")).read_text()
    assert not any(repr(float(mean)) in written for mean in true["mean"])


def test_means_of_codes_and_amounts_keep_all_digits():
    frame = survey()
    for name in ("level", "visits", "place"):
        table = Project(LIMITS, data=frame).pivot_table(frame, values=name, index="region")
        true = frame.groupby("region")[[name]].mean()
        pd.testing.assert_frame_equal(pd.DataFrame(table), true)


@pytest.mark.parametrize(
    ("name", "statistic"),
    [("answer", "mean"), ("answer", "sum"), ("answer", "std"), ("visits_or_none", "std")],
)
def test_a_cell_of_which_figures_tell_how_many_refused_is_hidden(name, statistic):
    frame = survey()
    table = Project(LIMITS, data=frame).pivot_table(
        frame, values=name, index="place", aggfunc=["count", statistic]
    )
    refused = (frame["answer"] == 99).groupby(frame["place"]).sum()
    assert 0 < (refused > 0).sum() < 40
    assert table[refused > 0].isna().all(axis=None)
    if statistic != "std":
        assert table[refused == 0].notna().all(axis=None)


def test_a_deviation_beside_a_mean_is_hidden_where_few_have_the_highest_of_three_codes():
    frame = survey()
    table = Project(LIMITS, data=frame).pivot_table(
        frame, values="children", index="region", aggfunc=["count", "mean", "std"]
    )
    two = (frame["children"] == 2).groupby(frame["region"]).sum()
    assert 0 < (two < 10).sum() < 4
    assert (table.isna().all(axis=1) == (two < 10)).all()


def test_weighted_counts_do_not_tell_how_many_have_the_large_weight():
    frame = survey()
    project = Project(LIMITS, data=frame)
    plain = project.crosstab(frame["region"], frame["level"])
    weighted = project.crosstab(frame["region"], frame["level"], weights=frame["weight"])
    assert weighted.outcome.status == plain.outcome.status == "pass"
    values = np.sort(frame["weight"].unique())
    for place in np.argwhere(weighted.notna().to_numpy() & plain.notna().to_numpy()):
        n, total = int(plain.iloc[*place]), weighted.iloc[*place]
        every = multisets(n, 3)
        (digits,) = {*digits_said(weighted, "size")} or {ALL_DIGITS}
        shown = rounded_sums(every @ values, np.full(len(every), float(n)), digits)
        assert not settled(every[np.isclose(shown, total, rtol=1e-12)])


def test_a_second_function_of_one_code_goes_to_review_and_the_first_again_does_not():
    frame = survey()
    frame["squared"], frame["percent"] = frame["level"] ** 2, 25 * (frame["level"] - 1)
    project = Project(LIMITS, data=frame)

    def rules(name, statistic="mean"):
        table = project.pivot_table(frame, values=name, index="region", aggfunc=statistic)
        if table.outcome.status == "review":
            project.remove_output(table.output)
        return {reason.rule for reason in table.outcome.reasons}

    assert not rules("level")
    assert rules("root") == {"digits"}
    assert not rules("percent")
    assert not rules("level", ["mean", "std"])
    assert "digits" in rules("squared")
    assert not rules("visits")
    assert rules("log") == {"digits"}


def test_a_step_is_what_all_differences_are_multiples_of():
    assert step_of(np.array([1.0, 2, 3, 99])) == 1
    assert step_of(np.array([12.37, 12.40, 101.33])) == pytest.approx(0.01)
    assert step_of(np.array([18, 20, 23]) / 12) == pytest.approx(1 / 12)
    assert step_of(np.log(np.arange(1.0, 6))) == 0
    assert step_of(np.sqrt(np.arange(1.0, 40))) == 0


@pytest.mark.parametrize("m", [3, 4, 6])
def test_exchanges_are_all_changes_of_up_to_so_many_records(m):
    moves = exchanges(m)
    most = int(np.abs(moves).sum(axis=1).max()) // 2
    assert (moves.sum(axis=1) == 0).all()
    assert len(np.unique(moves, axis=0)) == len(moves)
    few = min(most, 3)
    box = np.stack(np.meshgrid(*[np.arange(-few, few + 1)] * m), axis=-1).reshape(-1, m)
    size = np.abs(box).sum(axis=1)
    expected = ((box.sum(axis=1) == 0) & (size > 0) & (size <= 2 * few)).sum()
    assert (np.abs(moves).sum(axis=1) <= 2 * few).sum() == expected
