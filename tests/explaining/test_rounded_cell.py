"""Cells of rounded tables, beside all roundings there are."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from margins import with_levels, with_margins

BASE = 5


def problem_of(counts, *, sensitive=0):
    """A two-way table; its first inner cells are sensitive."""
    frame = pd.DataFrame(
        [(f"r{row}", f"c{column}", float(n)) for (row, column), n in np.ndenumerate(counts)],
        columns=["a", "b", "v"],
    )
    table = with_margins(frame, ["a", "b"], "v")
    inner = np.flatnonzero((table.keys != "Total").all(axis=1))
    level = np.zeros(table.n_cells)
    level[inner[:sensitive]] = 2.0
    return with_levels(table, level)


def all_roundings(problem):
    """Every additive table whose cells are one of the two multiples around their values."""
    table = problem.table
    around = [sorted({BASE * np.floor(v / BASE), BASE * np.ceil(v / BASE)}) for v in table.values]
    inner = np.flatnonzero((table.keys != "Total").all(axis=1))
    # All other cells are sums of inner ones.
    sums = np.zeros((table.n_cells, len(inner)))
    for cell, (a, b) in enumerate(table.keys.itertuples(index=False)):
        codes = table.keys.iloc[inner]
        sums[cell] = (codes.a.isin([a]) | (a == "Total")) & (codes.b.isin([b]) | (b == "Total"))
    for chosen in itertools.product(*(around[cell] for cell in inner)):
        values = sums @ np.array(chosen)
        if all(value in near for value, near in zip(values, around, strict=True)):
            yield values


def test_a_multiple_is_excluded_by_a_sum_only_if_no_rounding_has_it():
    n_given_up = 0
    for seed in range(12):
        problem = problem_of(np.random.default_rng(seed).integers(0, 12, (2, 2)))
        rounded = tc.controlled_rounding(problem, base=BASE)
        possible = np.array(list(all_roundings(problem)))
        assert len(possible)
        for cell in range(problem.table.n_cells):
            found = tc.explain(problem, rounded, cell)
            assert found.rounded == rounded.values[cell]
            if found.is_nearest:
                assert "nearest multiple" in found.lines()[0]
            elif found.excluded is not None:
                assert found.nearest not in possible[:, cell]
                limit = float(found.excluded.limit)
                on_side = possible[:, cell] * found.excluded.sign <= limit * found.excluded.sign
                assert on_side.all()
            else:
                # In two dimensions each cell can go either way: Cox (1987).
                assert found.nearest in possible[:, cell]
                n_given_up += 1
    assert n_given_up >= 3


def test_every_cell_that_is_not_at_its_nearest_multiple_is_farther_from_its_value():
    for seed in range(6):
        problem = problem_of(np.random.default_rng(seed).integers(0, 12, (2, 3)))
        rounded = tc.controlled_rounding(problem, base=BASE)
        for cell, value in enumerate(problem.table.values.tolist()):
            found = tc.explain(problem, rounded, cell)
            assert found.nearest % BASE == 0
            assert abs(found.nearest - value) <= BASE / 2
            assert found.is_nearest == (abs(found.rounded - value) <= abs(found.nearest - value))


def test_of_a_sensitive_cell_it_is_told_what_follows_from_the_rounded_table():
    problem = problem_of(np.array([[3, 7], [8, 1]]), sensitive=1)
    rounded = tc.controlled_rounding(problem, base=BASE)
    cell = int(np.flatnonzero(problem.sensitive)[0])
    found = tc.explain(problem, rounded, cell)
    low, high = found.interval.ends
    assert low <= problem.table.values[cell] <= high
    # One who knows the base alone knows that much; relations may tell more.
    assert low >= rounded.values[cell] - BASE
    assert high <= rounded.values[cell] + BASE
    assert "Of this sensitive cell everybody can compute" in found.text()
    others = [tc.explain(problem, rounded, each) for each in range(problem.table.n_cells)]
    assert [each.cell for each in others if each.interval is not None] == [cell]


def test_all_that_is_said_of_a_rounded_cell_can_be_written_as_json():
    problem = problem_of(np.array([[3, 7], [8, 1]]), sensitive=1)
    rounded = tc.controlled_rounding(problem, base=BASE)
    for cell in range(problem.table.n_cells):
        found = tc.explain(problem, rounded, cell)
        told = json.loads(found.to_json())
        assert told["base"] == BASE
        assert told["rounded"] == found.rounded
        assert told["kind"] == f"rounded to {found.rounded:g}, a multiple of 5"
        assert (told["interval"] is None) == (not problem.sensitive[cell])


@pytest.mark.parametrize("value", [5.0, 10.0, 0.0])
def test_a_multiple_stays_where_it_is(value):
    problem = problem_of(np.array([[value, 5], [10, 0]]))
    rounded = tc.controlled_rounding(problem, base=BASE)
    assert rounded.values.tolist() == problem.table.values.tolist()
    found = tc.explain(problem, rounded, problem.table.cell(a="r0", b="c0"))
    assert found.lines() == ["It went to its nearest multiple."]
