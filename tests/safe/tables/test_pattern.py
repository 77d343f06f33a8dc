"""Gaps of a table: attacked by programs of another library, from what is left to see."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from tablecloak.errors import SolverError
from tablecloak.safe import Appetite
from tablecloak.safe.tables import pattern
from tablecloak.safe.tables.measures import CellMeasure, broken_rules, levels
from tablecloak.safe.tables.pattern import find_gaps, table_of
from tablecloak.safe.tables.request import TableAxis, TableGrid

LIMITS = Appetite(safe_threshold=4, zeros_are_disclosive=False)


def grid_of(seed, n=60, shape=(4, 3)):
    rng = np.random.default_rng(seed)
    chances = [rng.dirichlet(np.ones(size)) for size in shape]
    codes = [rng.choice(size, n, p=p) for size, p in zip(shape, chances, strict=True)]
    axes = [
        TableAxis(code.astype(np.int64), np.arange(size + 1), size)
        for code, size in zip(codes, shape, strict=True)
    ]
    return TableGrid(*axes)


def count_of(grid, who=None):
    n = len(grid.group)
    who = np.arange(n) if who is None else who
    return CellMeasure("count", None, grid, grid.group, np.ones(n), who, None, 2, 10)


def sum_of(grid, seed):
    n = len(grid.group)
    amounts = np.random.default_rng(seed).lognormal(2, 1.2, n)
    return CellMeasure("sum", "v", grid, grid.group, amounts, np.arange(n), None, 2, 10)


def gaps_of(grid, measures, limits=LIMITS, *, known=None):
    primary = np.zeros(grid.n_cells, dtype=bool)
    for measure in measures:
        for cells in broken_rules(measure, limits).values():
            primary |= cells
    nothing = np.zeros(grid.n_cells, dtype=bool)
    known = nothing if known is None else known
    return primary & ~known, find_gaps(
        grid, measures, limits, primary=primary & ~known, absent=nothing, known=known
    )


def ends_of(measure, hidden, cell):
    """Smallest and largest value of a gap, of amounts that are not negative."""
    values = measure.values
    bounds = [(0, None) if gone else (v, v) for v, gone in zip(values, hidden, strict=True)]
    relations = measure.grid.relations.toarray()
    cost = (np.arange(len(values)) == cell).astype(float)
    ends = []
    for sign in (1, -1):
        found = linprog(sign * cost, A_eq=relations, b_eq=np.zeros(len(relations)), bounds=bounds)
        ends.append(sign * found.fun if found.status == 0 else -sign * np.inf)
    return ends


@pytest.mark.parametrize("kind", ["counts", "sums", "both"])
def test_no_unsafe_cell_can_be_computed_too_closely_from_what_is_left(kind):
    n_attacked = n_secondary = 0
    for seed in range(6):
        grid = grid_of(seed)
        count, amount = count_of(grid), sum_of(grid, seed)
        measures = {"counts": [count], "sums": [amount], "both": [count, amount]}[kind]
        primary, gaps = gaps_of(grid, measures)
        assert gaps.hidden[primary].all()
        if not gaps.is_proved:
            assert gaps.hidden.all()
            continue
        for measure in measures:
            low, high = levels(measure, primary, LIMITS)
            # Where empty cells are shown, everybody knows that a gap is not empty.
            for cell in np.flatnonzero(primary):
                least, most = ends_of(measure, gaps.hidden, cell)
                value, slack = measure.values[cell], 1e-6 * max(measure.values.max(), 1)
                assert most >= value + high[cell] - slack, (seed, cell)
                if not measure.is_whole:
                    assert least <= value - low[cell] + slack, (seed, cell)
                n_attacked += 1
        n_secondary += int((gaps.hidden & ~primary).sum())
    assert n_attacked > 10
    assert n_secondary > 5


def test_a_safe_table_has_no_gaps_and_needs_no_search(monkeypatch):
    monkeypatch.setattr(pattern, "suppress", None)
    grid = grid_of(1, n=4000, shape=(2, 2))
    primary, gaps = gaps_of(grid, [count_of(grid)])
    assert not primary.any()
    assert not gaps.hidden.any()
    assert gaps.is_proved


def test_what_everybody_knows_is_not_taken_for_hidden():
    """The total of shares is told by the shares: it stays, and protects nothing."""
    for seed in range(4):
        grid = grid_of(seed)
        known = np.zeros(grid.shape, dtype=bool)
        known[:, -1] = True
        primary, gaps = gaps_of(grid, [count_of(grid)], known=known.ravel())
        if gaps.is_proved:
            assert not gaps.hidden[known.ravel()].any()
            lines = gaps.hidden.reshape(grid.shape)[:-1]
            assert (lines.sum(axis=1) != 1).all()
        assert primary.any()


def test_where_no_pattern_is_found_the_whole_table_is_hidden(monkeypatch):
    def failing(problem, **options):
        raise SolverError("none in time")

    monkeypatch.setattr(pattern, "suppress", failing)
    grid = grid_of(2)
    primary, gaps = gaps_of(grid, [count_of(grid)])
    assert primary.any()
    assert gaps.hidden.all()
    assert not gaps.is_proved
    assert gaps.notes == (
        "no pattern of gaps protects what has to be hidden: the whole table is hidden",
    )


def test_a_table_of_a_measure_has_its_values_and_adds_up():
    grid = grid_of(3)
    for measure in (count_of(grid), sum_of(grid, 3)):
        table = table_of(measure)
        assert table.values.tolist() == measure.values.tolist()
        assert table.keys.iloc[-1].tolist() == ["Total", "Total"]
        assert not table.keys.duplicated().any()
        np.testing.assert_allclose(table.relations @ table.values, 0, atol=1e-9)
        assert table.integer == measure.is_whole


def test_a_table_with_a_cell_of_the_highest_code_alone_is_protected_whatever_the_code():
    values = np.array([6, 9, 37]) ** 1.7
    for seed in (15, 41):
        rng = np.random.default_rng(seed)
        grid = grid_of(seed, n=300)
        amounts = values[rng.integers(0, 3, 300)]
        amounts[grid.rows.codes == 0] = values[2]
        measure = CellMeasure(
            "sum", "x", grid, grid.group, amounts, np.arange(300), None, 2, 10
        )  # fmt: skip
        primary, gaps = gaps_of(grid, [measure])
        assert (gaps.hidden >= primary).all()
