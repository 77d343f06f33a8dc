"""Order statistics beside totals: an intruder of the tests enumerates all contributions."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc

P = 0.2
KINDS = {1: tc.Minimum, 2: tc.Median, 4: tc.Maximum}
"""Order statistics of four contributors by their rank."""


def printed(contributions: np.ndarray, rank: int, base: float) -> np.ndarray:
    """What is published of each row; written anew, by sorting."""
    return np.rint(np.sort(contributions, axis=1)[:, rank - 1] / base) * base


def is_learned(own: np.ndarray, statistics: list[tuple[int, float]]) -> bool:
    """Whether somebody learns from total and statistics what another one of four gives."""
    total = int(own.sum())
    three = np.indices((total + 1,) * 3, dtype=np.int16).reshape(3, -1).T
    rows = np.column_stack([three, total - three.sum(axis=1)])
    rows = rows[rows[:, 3] >= 0]
    for rank, base in statistics:
        rows = rows[printed(rows, rank, base) == printed(own[None, :], rank, base)]
    for k, j in itertools.permutations(range(4), 2):
        seen = rows[rows[:, k] == own[k], j]
        # Contributions are whole here, and the ends of classes are not: by half a unit a place.
        above, below = (1 + P) * own[j] - 2, (1 - P) * own[j] + 2
        if own[j] and (seen.max() < above or seen.min() > below):
            return True
    return False


def cells_of(
    contributions: np.ndarray, figures: list, rule: tc.PPercent | None = None, **columns: float
) -> tc.ProtectionProblem:
    """A cell for each row of contributions, and figures beside them."""
    codes = [f"r{row:02}" for row in range(len(contributions))]
    records = pd.DataFrame(
        {"region": np.repeat(codes, contributions.shape[1]), "v": contributions.ravel()}
    ).assign(**columns)
    weight = next(iter(columns), None)
    problem = tc.tabulate(records, ["region"], "v", weight=weight).protect(rule or tc.PPercent(20))
    given = tc.contributed(records, ["region"], "v", weight=weight)
    return tc.with_derived(problem, figures, contributions=given)


def figures_of(ranks: list[int], base: float, n: int, **options) -> list:
    where = {"region": [f"r{row:02}" for row in range(n)]}
    options = {"contributors": 2, "p": 100 * P, "where": where} | options
    return [KINDS[rank]("v", base=base, **options) for rank in ranks]


@pytest.mark.parametrize(("ranks", "base"), [([2], 9.0), ([2, 1], 15.0), ([4, 2], 21.0)])
def test_what_is_published_beside_totals_tells_nobody_a_contribution(ranks, base):
    random = np.random.default_rng(int(base))
    every = random.integers(0, 25, (14, 4))
    every = every[[not is_learned(own, []) for own in every]]
    problem = cells_of(every, figures_of(ranks, base, len(every)))
    statuses = np.column_stack(
        [figure.released(problem.table, None, None)["status"] for figure in problem.table.figures]
    )
    # A maximum that is not rounded tells everybody the largest contribution.
    n_shown = n_learned = 0
    for own, shown in zip(every, statuses == "published", strict=True):
        told = [(rank, base) for rank, is_shown in zip(ranks, shown, strict=True) if is_shown]
        assert not told or not is_learned(own, told)
        n_shown += len(told)
        n_learned += is_learned(own, [(4, 1.0)])
    assert n_shown >= 3
    assert n_learned >= 3


def test_a_statistic_of_few_contributors_is_hidden():
    """No three of them are rounded to the median 100, the maximum 400 or the minimum 1."""
    own = np.array([[1.0, 50, 100, 200, 400], [90, 96, 100, 104, 400]])
    ranks = {"base": 20.0, "contributors": 3, "p": 10, "where": {"region": ["r00", "r01"]}}
    problem = cells_of(own, [kind("v", **ranks) for kind in KINDS.values()])
    frame = tc.released_figures(tc.suppress(problem, time_limit=2))
    shown = frame[frame["status"] == "published"]
    assert shown[["figure", "region", "value"]].to_numpy().tolist() == [
        ["median of v in multiples of 20", "r01", 100.0]
    ]
    assert frame["value"].isna().sum() == 5


@pytest.mark.parametrize("other", [tc.Median("v", base=30), tc.Quantile("v", q=0.45, base=30)])
def test_two_classes_of_one_rank_leave_enough_contributors_where_they_overlap(other):
    """The median is 229: in multiples of 20 it is 220, with five; in multiples of 30, 240, with
    five. Both say that it lies between 225 and 230, where nobody else is."""
    own = np.array([[1.0, 212, 214, 216, 229, 236, 240, 244, 250]])
    where = {"region": ["r00"]}
    one = tc.Median("v", base=20, where=where)
    other = dataclasses.replace(other, where=where)
    frame = cells_of(own, [one, other]).table
    released = pd.concat([f.released(frame, None, None) for f in frame.figures])
    assert released["status"].tolist() == ["published", "suppressed"]
    names = ["in multiples of 20", "in multiples of 30"]
    assert [name[-18:] for name in released["figure"]] == names
    alone = cells_of(own, [other]).table
    assert alone.figures[0].released(alone, None, None)["status"].tolist() == ["published"]


def test_hidden_totals_are_protected_against_whoever_reads_the_statistics():
    """Of the first six 4 give 75 or more: nobody believes that their total is below 300.

    Of the next six, who gives 70 knows that 4 others give 75 or more: the largest gives 2300 at
    most, which is less than 10 % above 2200.
    """
    own = np.array([[1.0, 2, 80, 82, 84, 86], [70, 80, 85, 80, 80, 2200], [1, 2, 3, 4, 5, 600]])
    median = tc.Quantile("v", q=0.4, base=10, where={"region": ["r00", "r01", "r02"]})
    problem = cells_of(own, [median], tc.PPercent(10))
    first = problem.table.cell(region="r00")
    frame = problem.table.figures[0].released(problem.table, None, None)
    assert frame["status"].tolist()[:2] == ["published", "suppressed"]
    assert problem.lower_bound[first] == 4 * 75
    pattern = tc.suppress(problem, time_limit=2)
    assert tc.audit(problem, pattern).is_safe
    assert pattern.suppressed.sum() >= 2


def test_what_cannot_be_proved_is_refused_in_words():
    own = np.array([[1.0, 50, 100, 200, 400], [90, 96, 100, 104, 400]])
    with pytest.raises(tc.InputError, match="contributions in common"):
        cells_of(own, [tc.Median("v")])
    with pytest.raises(tc.InputError, match="sampling weights"):
        cells_of(own, figures_of([2], 10.0, 2), w=2.5)
    with pytest.raises(tc.InputError, match="negative"), pytest.warns(tc.TablecloakWarning):
        cells_of(-own, figures_of([2], 10.0, 2))
    with pytest.raises(tc.InputError, match="sum of squares"):
        tc.StandardDeviation("v")
    with pytest.raises(tc.InputError, match="cannot be frozen"):
        tc.Median("v", frozen=True)
    problem = cells_of(own, figures_of([2], 10.0, 2))
    with pytest.raises(tc.InputError, match="median of v"):
        tc.adjust(problem)
    with pytest.raises(tc.InputError, match="give the contributions"):
        tc.with_derived(problem, figures_of([2], 10.0, 2))
