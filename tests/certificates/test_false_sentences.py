"""Sentences that were believed although they were false or told too little.

Each stands beside the true problem file, and what is true of the release is said with it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tablecloak as tc
from forging import (
    Arrays,
    adjusted,
    grid,
    integers,
    leaf,
    loss,
    one_cut,
    problem_of,
    statistic,
    up_or_down,
)
from tablecloak.certificates import verifier
from tablecloak.certificates.claim import arrays_of
from tablecloak.cta.statistics.regression import Slope

LARGE = 2.0**53 - 92
"""Whole numbers of this size are stored exactly; the mean of two neighbours is not."""


# -- the true table ------------------------------------------------------------------------------


def beside(verdict: Any, old: str, new: str) -> tuple[int, str]:
    """What the verifier says of the last arrays beside a problem file that is written otherwise."""
    paths = [verdict.folder / name for name in ("proof.npz", "problem.jj")]
    changed = re.sub(old, new, paths[1].read_text(), flags=re.MULTILINE, count=1)
    other = verdict.folder / "other.jj"
    other.write_text(changed)
    verdict.capsys.readouterr()
    code = verifier.main([str(paths[0]), str(other)])
    return code, verdict.capsys.readouterr().out


def test_a_table_that_is_off_by_one_adds_up_within_no_tolerance_below_one(verdict):
    values = [1e9, 1e9, 2e9 + 1]
    problem = problem_of(values, [[1, 1, -1]], "sss", upper_bound=1e12)
    arrays = adjusted(problem, values, np.ones(3), 0, claims="additivity loss")
    arrays |= {"right_hand_side": np.zeros(1)}
    for tolerance, code in ((5e-324, 1), (0.5, 1), (1.0, 0)):
        verdict(problem, arrays | {"tolerance": np.array(tolerance)})
        found, text = beside(verdict, "^-1 3 :", "0 3 :")
        assert found == code, text
    assert "additivity of the true table: within 1, as was stated" in text


def test_digits_of_the_problem_file_are_counted_in_whatever_way_they_are_written(verdict):
    values = [4.5e15, 4.5e15, 9e15]
    problem = problem_of(values, [[1, 1, -1]], "sss", upper_bound=1e17)
    arrays = adjusted(problem, values, np.ones(3), 0, claims="additivity loss")
    told = "values of the problem file are written with more digits than a release has"
    assert told not in verdict(problem, arrays)[1]
    for word in ("4500000000000000.2", "4500000.0000000002e9", "450000000000000020e-2"):
        code, text = beside(verdict, r"^0 \S+", f"0 {word}")
        assert code == 0, text
        assert told in text


# -- small counts --------------------------------------------------------------------------------


def test_small_counts_are_sensitive_whatever_their_status_says(verdict):
    problem = problem_of([1, 20, 21], [[1, 1, -1]], "uss", 1.0, upper_bound=1e5)
    honest = dict(arrays_of(tc.small_count_rounding(problem, base=5).certificates, problem))
    assert verdict(problem, honest)[0] == 0
    bare = {name: one for name, one in honest.items() if name not in ("claims", "status")}
    for status in ("sss", "uss"):
        changed = bare | {"status": np.array(list(status))}
        code, text = verdict(
            problem, changed | {"claims": np.array(["additivity", "loss", "bound"])}
        )
        assert (code, text) == (1, "REFUSED: a bound without its claims\n")
        for name in verifier.TREE | verifier.PART | verifier.DIRECTION:
            changed.pop(name, None)
        code, text = verdict(problem, changed | {"claims": np.array(["additivity", "loss"])})
        assert code == 3
        assert text.startswith("NOT CLAIMED: protection of 1 sensitive cells.")


def test_sensitive_cells_that_are_no_small_counts_are_named_as_not_protected(verdict):
    problem = problem_of([1, 20, 21], [[1, 1, -1]], "uus", 5.0, upper_bound=1e5)
    release = tc.small_count_rounding(problem, base=5)
    assert abs(release.values[1] - 20) <= 1
    code, text = verdict(problem, arrays_of(release.certificates, release.problem))
    assert code == 0
    assert "NOTHING is claimed of 1 sensitive cells that are no small counts" in text


# -- sums of cells that are protected as well ----------------------------------------------------


def a_row() -> tuple[tc.ProtectionProblem, Arrays]:
    """Three hidden cells of a known total, the first is sensitive; the second weighs 100."""
    problem = problem_of([100, 100, 100, 300], [[1, 1, 1, -1]], "usss", 10.0,
                         weights=[1, 100, 1, 1])  # fmt: skip
    certificate = tc.audit(problem, np.array([True, True, True, False])).certificate()
    return problem, dict(arrays_of(certificate.certificates, problem))


def with_sum(
    arrays: Arrays, terms: Sequence[float] = (1.0, 1.0), low: float = 0.0, high: float = 2e4,
    value: float = 200.0, level: float = 1.0,
) -> Arrays:  # fmt: skip
    """The arrays with a sum of the first two cells, of which one may claim more than is true."""
    n, changed = len(arrays["values"]), dict(arrays)
    new = {"values": value, "lower_bound": low, "upper_bound": high, "weights": 0.0,
           "lower_protection": level, "upper_protection": level, "sliding_protection": 0.0,
           "suppressed": True, "right_hand_side": 0.0, "status": "u"}  # fmt: skip
    for name, one in new.items():
        if name in arrays:
            changed[name] = np.append(arrays[name], np.array(one, arrays[name].dtype))
    last = arrays["relation_starts"][-1]
    return changed | {
        "relation_cells": np.append(arrays["relation_cells"], [0, 1, n]),
        "relation_data": np.append(arrays["relation_data"], [*terms, -1.0]),
        "relation_starts": np.append(arrays["relation_starts"], last + 3),
    }


def moving(arrays: Arrays, *witnesses: dict[int, float]) -> Arrays:
    """The arrays with witnesses: up and down for the first sensitive cell, then for all others."""
    others = int(np.sum(arrays["status"] == "u")) - 1
    return arrays | {
        "witness_starts": np.cumsum([0, *map(len, witnesses)]),
        "witness_cells": integers(*(cell for one in witnesses for cell in one)),
        "witness_data": np.array([far for one in witnesses for far in one.values()]),
        "upper_witness": integers(0, *[len(witnesses) - 2] * others),
        "lower_witness": integers(1, *[len(witnesses) - 1] * others),
    }


FREE = {0: 10.0, 2: -10.0, 4: 10.0}, {0: -10.0, 2: 10.0, 4: -10.0}
"""The first cell moves against the third one, and the sum of the first two with it."""


def test_a_sum_of_cells_has_as_much_room_as_they_have(verdict):
    """If everybody knew the sum to 1, cells 0 and 2 would not do; they lose 2 and do."""
    problem, arrays = a_row()
    claim = {"claims": np.array(["protection", "loss", "bound"])}
    cut = one_cut([1], [1.0]) | leaf(101.0, (0, 0, -1, 101.0))
    for low, high in ((199.0, 201.0), (0.0, 201.0), (199.0, 2e4), (0.0, 19999.0)):
        known = moving(with_sum(arrays, low=low, high=high), {0: 10.0, 1: -10.0},
                       {0: -10.0, 1: 10.0}, {0: 1.0, 2: -1.0, 4: 1.0},
                       {0: -1.0, 2: 1.0, 4: -1.0})  # fmt: skip
        weights = loss("weights", np.append(problem.weights, 0.0), 102.0)
        for more in (claim | weights | cut, {}):
            code, text = verdict(problem, known | more)
            assert (code, text) == (1, "REFUSED: a sum with less room than its cells\n")


def test_a_sum_of_cells_is_no_weighted_one(verdict):
    problem, arrays = a_row()
    for terms in ((1.0, 1000.0), (1.0, -1.0), (1.0, 1e-9), (2.0, 2.0)):
        forged = with_sum(arrays, terms, -1e9, 1e9, 100 * sum(terms), 1e-3)
        up, down = dict(FREE[0]), dict(FREE[1])
        up[4], down[4] = 10 * terms[0], -10 * terms[0]
        code, text = verdict(problem, moving(forged, up, down))
        assert (code, text) == (
            1,
            "REFUSED: a further cell is no sum of cells of the problem file\n",
        )


def test_a_sum_of_cells_counts_once_and_has_the_level_that_the_certificate_gives_it(verdict):
    problem, arrays = a_row()
    arrays = with_sum(with_sum(with_sum(arrays, level=1e-300)))
    up, down = ({**one, 5: one[4], 6: one[4]} for one in FREE)
    code, text = verdict(problem, moving(arrays, up, down))
    assert code == 0, text
    told = "1 sums of cells of the problem file are protected as well, at levels of the certificate"
    assert told in text


# -- adjusted tables -----------------------------------------------------------------------------


@pytest.mark.parametrize("direction", [-1, 1])
def test_a_bound_for_given_directions_is_for_those_of_the_release(direction, verdict):
    """No table in which the cell falls loses less than 20; 60, 30 and 90 lose it as well."""
    problem = problem_of([50, 40, 90], [[1, 1, -1]], "uss", 10.0)
    arrays = adjusted(problem, [60, 40, 100], np.ones(3), 20.0)
    arrays |= leaf(20.0, (0, 0, -1, float(-direction)))
    code, text = verdict(problem, arrays | {"direction": integers(direction, 0, 0)})
    if direction == 1:
        assert code == 0
        assert "the bound is for the given directions of 1 cells" in text
    else:
        assert (code, text) == (1, "REFUSED: a direction that the release does not have\n")


def test_what_a_variance_is_off_by_is_told(verdict):
    problem = problem_of([10, 20, 30, 5], [[0, 0, 0, 1]], "ssss", lower_bound=-1e6)
    moved = np.array([10, 20, 30 + 4e-9, 5])
    arrays = adjusted(problem, moved, np.ones(4), float(moved[2] - 30), verifier.NO_DECIMALS,
                      "additivity statistics loss")  # fmt: skip
    code, text = verdict(problem, arrays | statistic("variance", range(3), np.ones(3)))
    assert code == 0
    assert "the variance of 3 cells is kept, within 4.00000033" in text


def test_what_an_association_is_off_by_is_told(verdict):
    problem = problem_of([10, 20, 30, 3, 1, 2], [[1, 1, 0, 0, 0, 0]], "ssssss", lower_bound=-1e6)
    moved = np.array([10, 20, 30 + 4e-9, 3, 1, 2])
    arrays = adjusted(problem, moved, np.ones(6), float(moved[2] - 30), verifier.NO_DECIMALS,
                      "additivity association loss")  # fmt: skip
    pairs = {"association_kind": np.array(["correlation"]), "association_tolerance": np.zeros(1),
             "association_starts": integers(0, 3), "association_first": integers(0, 1, 2),
             "association_second": integers(3, 4, 5)}  # fmt: skip
    code, text = verdict(problem, arrays | pairs)
    assert code == 0
    assert "the correlation of 3 pairs of cells, -0.5, is kept, within" in text
    assert "within 0\n" not in text


def large_table(moved: Sequence[float], kind: str, terms: Sequence[float]) -> tuple[Any, Arrays]:
    """A table of neighbouring large numbers, and a statistic of them that is said to be kept."""
    values = np.append(LARGE + np.array([0.0, 1.0, 1.0]), 5.0)
    problem = problem_of(values, [[0, 0, 0, 1]], "ssss", lower_bound=-1e17, upper_bound=1e17)
    published = np.append(LARGE + np.array(moved), 5.0)
    amount = float(np.abs(published - values).sum())
    arrays = adjusted(problem, published, np.ones(4), amount, claims="additivity statistics loss")
    return problem, arrays | statistic(kind, range(len(terms)), terms)


def test_the_variance_of_large_numbers_is_not_that_of_rounded_distances(verdict):
    """0, 1 and 2 vary three times as much as 0, 1 and 1, beside a mean that is rounded or not."""
    assert verdict(*large_table([0, 1, 1], "variance", np.ones(3)))[0] == 0
    for moved in ([0, 1, 2], [0, 2, 2], [0, 0, 2]):
        code, text = verdict(*large_table(moved, "variance", np.ones(3)))
        assert (code, text) == (1, "REFUSED: statistic 0: the variance is not kept\n")


def test_the_slope_of_large_numbers_is_not_that_of_rounded_distances(verdict):
    """0 and 41 rise 41 times as fast as 0 and 1."""
    assert verdict(*large_table([2, 3, 1], "slope", [-1.0, 1.0]))[0] == 0
    for terms in ([-1.0, 0.0], [0.0, 1.0], [-1.0, 1.0]):
        for moved in ([0, 41, 1], [-40, 1, 1]):
            code, _ = verdict(*large_table(moved, "slope", terms))
            assert code == 1


def test_the_slope_of_large_numbers_has_no_coefficient_at_their_mean(verdict):
    """The first cell moves by 5, and the slope by 2.5; a coefficient of 9e-10 made up for that."""
    values = 1e12 + np.array([-1.0, 0.0, 1.0])
    problem = problem_of([*values, 5], [[0, 0, 0, 1]], "ssss", lower_bound=-1e17, upper_bound=1e17)
    moved = [values[0] + 5, values[1] + 6e9, values[2], 5]
    arrays = adjusted(problem, moved, np.ones(4), 6e9 + 5, claims="additivity statistics loss")
    code, text = verdict(problem, arrays | statistic("slope", range(3), [-1.0, 5 / 6e9, 1.0]))
    assert (code, text) == (1, "REFUSED: statistic 0 is no slope\n")


@pytest.mark.parametrize("base", [1e12, 2.0**53 - 2000])
def test_an_adjustment_keeps_the_slope_of_large_numbers_that_lie_close_together(base, verdict):
    values = [*(base + np.array([0, 10, 25, 40, 7])), 50, 40, 90]
    problem = problem_of(values, [[0, 0, 0, 0, 0, 1, 1, -1]], "usssssss", 3.0,
                         lower_bound=-1e17, upper_bound=1e17)  # fmt: skip
    kept = Slope(subset=range(5))
    release = tc.adjust(problem, preserve=[kept], distance="Linf", time_limit=5)
    code, text = verdict(problem, arrays_of(release.certificates, problem))
    assert code == 0, text
    assert "the slope of 5 cells is kept, within" in text


# -- honest certificates -------------------------------------------------------------------------


def test_a_forced_cell_without_weight_may_have_an_endless_interval(verdict):
    """Infinity times 0 is no number, and a forced cell costs nothing whatever its width is."""
    relations = [[1, 1, -1, 0, 0, 0], [0, 0, 0, 1, 1, -1]]
    problem = problem_of([50, 40, 90, 70, 30, 100], relations, "ussmss", 10.0, lower_bound=-np.inf,
                         upper_bound=np.inf, weights=[1, 1, 1, 0, 1, 1])  # fmt: skip
    release = tc.publish_intervals(problem, time_limit=3, weights=None)
    assert np.isfinite(release.loss)
    code, text = verdict(problem, arrays_of(release.certificates, problem))
    assert code == 0, text


# -- numbers in a verdict ------------------------------------------------------------------------


def test_a_loss_and_a_bound_are_told_with_all_digits_that_are_proved(verdict):
    """Nine digits made 1000000004 of a loss 1e+09, and a bound of 1999999996 above it."""
    for amount in (1999999996.0, 1000000004.0):
        level = amount / 2
        problem = problem_of([5e9, 4e9, 9e9], [[1, 1, -1]], "uss", level, upper_bound=1e11)
        published = problem.table.values + np.array([level, 0, level])
        tree = up_or_down(amount, 0, [(0, 0, -1, -1.0)], [(0, 0, -1, 1.0)])
        code, text = verdict(problem, adjusted(problem, published, np.ones(3), amount) | tree)
        assert code == 0, text
        assert f"loss {amount:.0f} (L1)" in text
        assert f"no such release loses less than {amount:.0f}: gap 0 %" in text


def test_an_interval_without_end_has_no_loss_that_any_number_is_near_to():
    """The loss is infinite, and so was the error that was accepted: a share of it."""
    result = tc.publish_intervals(grid(), seed=1)
    arrays = arrays_of(result.certificates, result.problem)
    cell = int(np.flatnonzero(arrays["published_upper"] > arrays["published_lower"])[0])
    arrays |= {"bound": np.array(0.0)}
    assert verifier.verify(arrays)[0].startswith("PROVED")
    for name in ("upper_bound", "published_upper"):
        arrays[name] = arrays[name].copy()
        arrays[name][cell] = np.inf
    with pytest.raises(verifier.RefusedError, match=r"^the loss is inf, not "):
        verifier.verify(arrays)


# -- sizes ---------------------------------------------------------------------------------------


def test_sums_of_relations_are_paid_for():
    n, count = 1000, 100
    problem = problem_of(np.zeros(n + 1), np.append(np.ones(n), -1), (n + 1) * "s")
    arrays = adjusted(problem, np.zeros(n + 1), np.ones(n + 1), 0) | leaf(0.0)
    arrays |= {"combined_starts": np.arange(count + 1), "combined_data": np.ones(count),
               "combined_relations": np.zeros(count, np.int64)}  # fmt: skip
    relations = verifier.Relations(arrays)
    verifier.AdjustmentPrices(arrays, relations)
    assert verifier.STEPS_A_MINUTE - relations.effort.left >= 100.0 * n * count
