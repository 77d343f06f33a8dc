"""Intervals of an intruder that follow from formulas, and how far they are from a verdict.

References
----------
.. [1] Dobra, Fienberg: Bounds for cell entries in contingency tables given marginal totals and
   decomposable graphs, PNAS 97(22), 2000, for Frechet's bounds of two-way and decomposable tables.
"""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from hand_tables import by_code, cross, one_row, place
from margins import with_margins
from tablecloak.suppression.attack.audit import Audit, audit_pattern
from tablecloak.suppression.attack.finding import DisclosureProof, Verdict

FAR = 1e7


def all_sensitive(problem: tc.ProtectionProblem, cells: np.ndarray) -> tc.ProtectionProblem:
    """The problem in which these cells need a tiny level, so that intervals of them are told."""
    status = np.where(cells, "u", "s")
    level = np.where(cells, 1e-3, 0.0)
    return problem.with_changes(
        status=status,
        lower_protection=level,
        upper_protection=level,
        lower_bound=np.minimum(problem.lower_bound, 0.0),
        upper_bound=np.full(len(status), FAR),
    )


def ends(audit: Audit) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper ends of the interval of each sensitive cell."""
    values = audit.problem.table.values[audit.needs.cells]
    return values - audit.below, values + audit.above


def inner_cells(problem: tc.ProtectionProblem) -> np.ndarray:
    return ~problem.table.keys["code"].str.contains("T").to_numpy()


@pytest.mark.parametrize("shape", [(2, 2), (2, 5), (3, 4), (4, 4)])
def test_intervals_of_a_table_with_published_margins_are_frechets(shape):
    random = np.random.default_rng(shape)
    table = random.integers(1, 40, shape).astype(float)
    problem = cross(table.tolist(), {})
    inside = inner_cells(problem)
    audit = audit_pattern(all_sensitive(problem, inside), inside, detail="intervals")
    rows, columns, total = table.sum(1)[:, None], table.sum(0)[None, :], table.sum()
    low, high = ends(audit)
    np.testing.assert_allclose(low, np.maximum(0, rows + columns - total).ravel(), atol=1e-5)
    np.testing.assert_allclose(high, np.minimum(rows, columns).ravel(), atol=1e-5)
    assert audit.exact


def test_a_hidden_rectangle_moves_by_the_least_of_its_corners():
    """One corner and its opposite move one way, the two others the other way."""
    table = [[10.0, 3.0, 8.0], [6.0, 14.0, 9.0], [7.0, 5.0, 4.0]]
    problem = cross(table, {})
    codes = ["11", "12", "21", "22"]
    hidden = problem.table.keys["code"].isin(codes).to_numpy()
    audit = audit_pattern(all_sensitive(problem, hidden), hidden, detail="intervals")
    low, high = (dict(zip(codes, end.tolist(), strict=True)) for end in ends(audit))
    # 11 and 22 rise by at most what 12 = 3 and 21 = 6 can fall, and fall by at most 10 of 11.
    assert high == pytest.approx({"11": 13.0, "22": 17.0, "12": 13.0, "21": 16.0})
    assert low == pytest.approx({"11": 0.0, "22": 4.0, "12": 0.0, "21": 3.0})
    assert audit.robustness.dimension == 1


@pytest.mark.parametrize("n_hidden", [2, 3, 5])
def test_hidden_parts_of_a_total_lie_between_zero_and_what_is_left(n_hidden):
    parts = [4.0, 9.0, 2.0, 7.0, 5.0, 1.0]
    problem = one_row(parts, {})
    hidden = np.arange(problem.table.n_cells) < n_hidden
    audit = audit_pattern(all_sensitive(problem, hidden), hidden, detail="intervals")
    low, high = ends(audit)
    np.testing.assert_allclose(low, 0.0, atol=1e-6)
    np.testing.assert_allclose(high, sum(parts[:n_hidden]), atol=1e-6)


def test_external_bounds_of_the_others_narrow_what_is_left_of_a_total():
    problem = all_sensitive(one_row([4.0, 9.0, 2.0], {}), np.array([True, False, False, False]))
    lower, upper = problem.lower_bound.copy(), problem.upper_bound.copy()
    lower[1], upper[1] = 6.0, 10.0
    known = problem.with_changes(lower_bound=lower, upper_bound=upper)
    hidden = np.array([True, True, False, False])
    low, high = ends(audit_pattern(known, hidden, detail="intervals"))
    assert (low[0], high[0]) == pytest.approx((3.0, 7.0))


def test_a_decomposable_three_way_table_has_frechets_bounds_in_each_layer():
    """With the margins AB and AC published, each layer of A is a two-way table of its own."""
    random = np.random.default_rng(8)
    codes = list(itertools.product(["a1", "a2"], ["b1", "b2", "b3"], ["c1", "c2"]))
    frame = pd.DataFrame(codes, columns=["a", "b", "c"])
    frame["v"] = random.integers(1, 30, len(frame)).astype(float)
    table = with_margins(frame, ["a", "b", "c"], "v")
    keys = table.keys.astype(str)
    hidden = ((keys["b"] != "Total") & (keys["c"] != "Total")).to_numpy()
    n = table.n_cells
    zero = np.zeros(n)
    blank = tc.ProtectionProblem(
        table, np.full(n, "s"), zero, zero, zero, zero, np.full(n, FAR), np.ones(n)
    )
    leaves = hidden & (keys["a"] != "Total").to_numpy()
    problem = all_sensitive(blank, leaves)
    low, high = ends(audit_pattern(problem, hidden, detail="intervals"))
    value = frame.set_index(["a", "b", "c"])["v"]
    for place_, (a, b, c) in enumerate(keys[leaves].itertuples(index=False)):
        layer = value[a]
        ab, ac, total = layer[b].sum(), layer[:, c].sum(), layer.sum()
        assert low[place_] == pytest.approx(max(0, ab + ac - total), abs=1e-5)
        assert high[place_] == pytest.approx(min(ab, ac), abs=1e-5)


def proved_limit(
    problem: tc.ProtectionProblem, hidden: np.ndarray, proof: DisclosureProof
) -> float:
    """The bound that multipliers prove, computed from its definition in `DisclosureProof`."""
    gamma = np.zeros(problem.table.n_relations)
    gamma[proof.relations] = proof.multipliers
    r = -(problem.table.relations.T @ gamma)
    r[proof.cell] += proof.sign
    up = (problem.upper_bound - problem.table.values)[hidden]
    down = (problem.lower_bound - problem.table.values)[hidden]
    return float(np.maximum(r[hidden] * up, r[hidden] * down).sum())


@pytest.mark.parametrize(
    ("code", "levels"),
    [("11", (1.0, 3.0, 4.0, 8.0)), ("22", (1.0, 4.0, 8.0)), ("12", (1.0, 3.0)), ("21", (3.0, 4.0))],
)
def test_a_cell_is_attackable_exactly_where_frechets_interval_is_too_narrow(code, levels):
    """The attack says by which sum of published cells, and the sum proves its limit."""
    for level in levels:
        problem = cross([[10.0, 3.0], [6.0, 14.0]], {code: (level, level)}, bounds=(0.0, FAR))
        hidden = problem.table.keys["code"].isin(["11", "12", "21", "22"]).to_numpy()
        audit = audit_pattern(problem, hidden)
        # The corners 11 and 22 rise by 3 and fall by 10; the others rise by 10 and fall by 3.
        assert audit.is_safe == (level <= 3.0)
        assert audit.verdicts == [Verdict.PROTECTED if audit.is_safe else Verdict.ATTACKABLE]
        assert bool(audit.proofs) != audit.is_safe
        for proof in audit.proofs:
            assert proof.cell == place(problem, code)
            assert proof.limit < level
            assert proved_limit(problem, hidden, proof) == pytest.approx(proof.limit)


def test_what_is_published_more_never_widens_an_interval():
    random = np.random.default_rng(4)
    problem = cross(random.integers(1, 40, (3, 4)).tolist(), {})
    cell = place(problem, "11")
    problem = all_sensitive(problem, np.arange(problem.table.n_cells) == cell)
    hidden = np.ones(problem.table.n_cells, dtype=bool)
    widths = []
    for published in random.permutation(problem.table.n_cells):
        low, high = ends(audit_pattern(problem, hidden, detail="intervals"))
        widths.append(float(high[0] - low[0]))
        if published != cell:
            hidden[published] = False
    assert all(later <= earlier + 1e-5 for earlier, later in itertools.pairwise(widths))
    assert widths[-1] == pytest.approx(0.0, abs=1e-9)


def test_a_published_sensitive_cell_is_attackable_and_named():
    problem = one_row([4.0, 9.0, 2.0], {"a": (1.0, 1.0), "b": (1.0, 1.0)})
    audit = audit_pattern(problem, np.array([False, True, True, False]))
    verdicts = dict(zip("ab", audit.verdicts, strict=True))
    assert verdicts == {"a": Verdict.ATTACKABLE, "b": Verdict.PROTECTED}
    assert by_code(problem, audit.suppressed)["a"] == 0.0
