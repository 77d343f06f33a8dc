"""Bounds and sentences that were believed although they were false, each beside its problem file.

A better release that exists is named with each of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

import tablecloak as tc
from forging import (
    Arrays,
    adjusted,
    grid,
    header,
    integers,
    leaf,
    loss,
    one_cut,
    problem_of,
    statistic,
    up_or_down,
)
from hand_tables import problem_of as plain_problem
from tablecloak.certificates import verifier
from tablecloak.certificates.claim import arrays_of


def pattern_of_nine() -> tuple[tc.ProtectionProblem, Arrays]:
    """The claim of protection of a pattern of nine cells, which loses 391; the best loses 140."""
    problem = grid()
    hidden = np.isin(np.arange(16), [0, 1, 2, 4, 5, 6, 8, 9, 10])
    certificate = tc.audit(problem, hidden).certificate()
    return problem, dict(arrays_of(certificate.certificates, problem))


# -- prices that are no numbers ------------------------------------------------------------------


@pytest.mark.parametrize("size", [1.7e308, 1e200, 1e31])
def test_multipliers_of_a_cell_at_its_bound_prove_no_pattern_optimal(verdict, size):
    """The cell of value 0 has no room below; 0 times infinity was no number, and counted as 0."""
    problem, arrays = pattern_of_nine()
    amount = float(problem.weights[arrays["suppressed"]].sum())
    assert tc.suppress(problem, time_limit=5).loss < amount
    claim = {"claims": np.array(["protection", "loss", "bound"])}
    for sign in (1, -1):
        proof = one_cut([2, 6], [sign * size, sign * size])
        code, text = verdict(problem, arrays | claim | loss("weights", problem.weights, amount)
                             | leaf(amount, (0, 0, -1, 1.0)) | proof)  # fmt: skip
        assert (code, text) == (1, "REFUSED: up_data: a multiplier above 1e+30\n")


def test_multipliers_that_are_large_but_accepted_prove_nothing_false(verdict):
    problem, arrays = pattern_of_nine()
    amount = float(problem.weights[arrays["suppressed"]].sum())
    claim = {"claims": np.array(["protection", "loss", "bound"])}
    for sign in (1, -1):
        proof = one_cut([2, 6], [sign * 1e30, sign * 1e30])
        code, _ = verdict(problem, arrays | claim | loss("weights", problem.weights, amount)
                          | leaf(amount, (0, 0, -1, 1e30)) | proof)  # fmt: skip
        assert code == 1


def test_one_huge_cell_without_relations_proves_no_adjustment_optimal(verdict):
    values = [50, 40, 90, 1e308]
    problem = problem_of(values, [[1, 1, -1, 0]], "usss", 10.0, lower_bound=-1.7e308,
                         upper_bound=1.7e308)  # fmt: skip
    arrays = adjusted(problem, [60, 30, 90, 1e308], np.ones(4), 20.0, decimals=verifier.NO_DECIMALS)
    code, text = verdict(problem, arrays | up_or_down(20.0, 0, [(0, 0, -1, 1.0)], []))
    assert (code, text[:8]) == (1, "REFUSED:")


@pytest.mark.parametrize(
    ("with_costs", "without"),
    [((np.nan, 0.0), (0.0, 0.0)), ((5.0, np.nan), (0.0, 0.0)), ((np.inf, 0.0), (0.0, 0.0)),
     ((5.0, 0.0), (np.inf, 0.0)), ((5.0, np.inf), (0.0, 0.0)), ((5.0, 0.0), (np.nan, 0.0))],
)  # fmt: skip
def test_a_price_is_a_number_or_that_of_a_leaf_proved_empty(with_costs, without):
    with pytest.raises(verifier.RefusedError, match="a price that is no number"):
        verifier.settled(with_costs, without)
    assert verifier.settled((5.0, 1.0), (0.0, 0.5)) == 4
    assert verifier.settled((-np.inf, 0.0), (-np.inf, 0.0)) == -np.inf
    assert verifier.settled((5.0, 1.0), (0.6, 0.5)) == np.inf


@pytest.mark.parametrize("operation", [np.multiply, np.divide, np.subtract])
def test_numbers_that_cannot_be_computed_with_refuse_a_check(operation):
    """1e308 times 10, 1 divided by 0, and infinity less infinity."""
    one, other = {np.multiply: (1e308, 10.0), np.divide: (1.0, 0.0)}.get(operation, (np.inf,) * 2)
    with pytest.raises(verifier.RefusedError, match="cannot be computed with"):
        verifier.with_errors(operation)(np.float64(one), np.float64(other))


# -- indices of cells that cannot move -----------------------------------------------------------


@pytest.mark.parametrize("multiplier", [1.0, 1000.0])
def test_a_balance_row_of_a_frozen_cell_is_no_row_of_another_one(verdict, multiplier):
    """Frozen cells belong to group -1, which was the last cell of the relation before."""
    problem = problem_of([50, 40, 7, 90], [[1, 1, 0, -1], [0, 0, 1, 0]], "uszs", 10.0,
                         upper_bound=1000)  # fmt: skip
    balance = (3, 1, 2, multiplier)
    tree = up_or_down(1010, 0, [(0, 0, -1, -100.0), balance], [(0, 0, -1, 100.0), balance])
    arrays = adjusted(problem, [60, 30, 7, 90], [1, 100, 1, 1], 1010)
    code, text = verdict(problem, arrays | tree)
    assert (code, text) == (1, "REFUSED: a multiplier of a cell that cannot move\n")
    better = adjusted(problem, [60, 40, 7, 100], [1, 100, 1, 1], 20)
    assert verdict(problem, better | leaf(10.0))[0] == 0


# -- right-hand sides ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("side", "tolerance"), [(0.4123456789012345, 0.0), (0.3, 0.0), (4.0, 5.0), (0.0, 0.0)]
)
def test_a_rounding_is_compared_with_tables_that_add_up_like_the_true_one(verdict, side, tolerance):
    """5e8, 5e8 and 1e9 lose 4; a right-hand side of its own excluded that table."""
    values = np.array([5e8 + 1, 5e8 + 1, 1e9 + 2])
    problem = problem_of(values, [[1, 1, -1]], "sss", upper_bound=2e9)
    published = np.array([5e8 + 5, 5e8, 1e9 + 5])
    amount = float(np.abs(published - values).sum())
    arrays = header(problem, "rounding", "additivity loss bound") | loss("L1", np.ones(3), amount)
    arrays |= {"published": published, "base": np.array(5), "steps": np.array(1),
               "right_hand_side": np.array([side]), "tolerance": np.array(tolerance)}  # fmt: skip
    believed = 0
    for multiplier in (1.0, 0.6, -1.0, -0.6, 1e6, -1e6):
        for bound in (4.5, 7.0, 8.0):
            code, _ = verdict(problem, arrays | leaf(bound, (0, 0, -1, multiplier)))
            believed += code == 0
    assert believed == 0


def test_a_tolerance_for_the_true_table_is_none_for_the_side_of_its_file(tmp_path, capsys):
    """Sides of 91 and 89 are both within 1 of 90, and 2 from each other."""
    problem = problem_of([50, 40, 90], [[1, 1, -1]], "sss")
    arrays = header(problem, "suppression", "loss") | loss("weights", np.ones(3), 0.0)
    arrays |= {"requirement": np.array("two-sided"), "suppressed": np.zeros(3, bool),
               "tolerance": np.array(1.0), "right_hand_side": np.array([1.0])}  # fmt: skip
    np.savez_compressed(tmp_path / "proof.npz", **arrays)
    told = []
    for side in ("1", "0.5", "-1"):
        text = "0\n3\n" + "".join(
            f"{cell} {value} 1 s 0 10000 0 0 0\n" for cell, value in enumerate((50, 40, 90))
        )
        (tmp_path / "p.jj").write_text(f"{text}1\n{side} 3 : 0 (1) 1 (1) 2 (-1)\n")
        verifier.main([str(tmp_path / "proof.npz"), str(tmp_path / "p.jj")])
        told.append(capsys.readouterr().out.splitlines()[0])
    assert [line[:7] for line in told] == ["PROVED:", "PROVED:", "REFUSED"]
    assert told[-1] == "REFUSED: right-hand sides differ"


# -- last digits ---------------------------------------------------------------------------------


def test_a_release_of_more_digits_than_are_stated_is_refused(verdict):
    """In thousands no table loses less than 1001; 1001, 2000 and 3001 lose 2."""
    problem = problem_of([1000, 2000, 3000], [[1, 1, -1]], "uss", 1.0, upper_bound=1e5)
    arrays = adjusted(problem, [1500.5, 2000, 3500.5], np.ones(3), 1001.0, decimals=-3)
    code, text = verdict(problem, arrays | leaf(1001.0))
    assert (code, text) == (1, "REFUSED: the released table has more digits than are stated\n")


def test_the_last_digit_stands_in_the_verdict_beside_the_bound(verdict):
    problem = problem_of([1000, 2000, 3000], [[1, 1, -1]], "uss", 1.0, upper_bound=1e5)
    arrays = adjusted(problem, [2000, 2000, 4000], np.ones(3), 2000.0, decimals=-3)
    code, text = verdict(problem, arrays | leaf(1000.0))
    assert code == 0
    assert "exactly, in multiples of 1000" in text
    assert "the bound is for multiples of 1000" in text
    assert "values of the problem file are written with more digits than a release has" in text
    plain = adjusted(problem, [1001, 2000, 3001], np.ones(3), 2.0)
    code, text = verdict(problem, plain | leaf(1.0))
    assert code == 0
    assert "the bound is for multiples of 1;" in text
    assert "written with more digits" not in text


# -- further cells -------------------------------------------------------------------------------


def with_further(
    arrays: Arrays, members: Sequence[int], value: float, *, status: str = "u", level: float = 5.0,
    weight: float = 0.0, is_hidden: bool = True,
) -> Arrays:  # fmt: skip
    """The arrays with a sum of cells as a further one, which every witness moves with them."""
    changed, n = dict(arrays), len(arrays["values"])
    for name, one in (
        ("values", value), ("lower_bound", 0.0), ("upper_bound", 1e4), ("lower_protection", 0.0),
        ("upper_protection", level), ("sliding_protection", 0.0), ("weights", weight),
        ("suppressed", is_hidden), ("right_hand_side", 0.0),
    ):  # fmt: skip
        if name in arrays:
            changed[name] = np.append(arrays[name], one).astype(arrays[name].dtype)
    changed["status"] = np.append(arrays["status"], status).astype("<U1")
    for name, more in (("cells", [*members, n]), ("data", [*[1.0] * len(members), -1.0])):
        changed[f"relation_{name}"] = np.append(arrays[f"relation_{name}"], more)
    changed["relation_cells"] = changed["relation_cells"].astype(np.int64)
    changed["relation_starts"] = np.append(
        arrays["relation_starts"], arrays["relation_starts"][-1] + len(members) + 1
    )
    starts, cells, data = (arrays[f"witness_{name}"] for name in ("starts", "cells", "data"))
    lists, sums = [], []
    for first, last in itertools.pairwise(starts):
        own, moved = cells[first:last], data[first:last]
        total = float(moved[np.isin(own, members)].sum())
        lists.append((np.append(own, [n] * (total != 0)), np.append(moved, [total] * (total != 0))))
        sums.append(total)
    changed["witness_starts"] = np.cumsum([0, *(len(own) for own, _ in lists)])
    changed["witness_cells"] = np.concatenate([own for own, _ in lists]).astype(np.int64)
    changed["witness_data"] = np.concatenate([moved for _, moved in lists])
    if status == "u":
        for side, best in (("upper", np.argmax(sums)), ("lower", -1)):
            named = changed[f"{side}_witness"]
            changed[f"{side}_witness"] = np.append(named, best).astype(np.int64)
    return changed


def test_a_further_cell_is_a_sensitive_sum_of_hidden_cells_that_weighs_nothing(verdict):
    problem, arrays = pattern_of_nine()
    values, amount = problem.table.values, float(problem.weights[arrays["suppressed"]].sum())
    claim = {"claims": np.array(["protection", "loss"])}
    arrays = arrays | claim | loss("weights", problem.weights, amount)
    pairs = ([0, other] for other in range(1, 16) if arrays["suppressed"][other])
    pair = next(one for one in pairs if highest(arrays, one) >= 5)
    total = float(values[pair].sum())
    code, text = verdict(problem, with_further(arrays, pair, total, level=5.0))
    assert code == 0, text
    assert "1 sums of cells of the problem file are protected as well" in text
    shown = np.flatnonzero(~arrays["suppressed"])[:2].tolist()
    mixed = sorted([pair[1], shown[0]])
    code, text = verdict(problem, with_further(arrays, mixed, float(values[mixed].sum())))
    assert code == 0, text
    for wrong, reason in (
        (
            with_further(arrays, shown, float(values[shown].sum())),
            "no sum of cells with",
        ),
        (with_further(arrays, pair, total, weight=1e9, level=5.0), "has a weight"),
        (with_further(arrays, pair, total, status="m"), "not sensitive, or has no level"),
        (with_further(arrays, pair, total, level=0.0), "not sensitive, or has no level"),
        (
            with_further(arrays, shown[:1], float(values[shown[0]])),
            "no sum of cells with",
        ),
        (with_further(arrays, [], 0.0), "no sum of cells with"),
        (with_further(arrays, pair, total, is_hidden=False), "a sensitive cell is published"),
    ):
        code, text = verdict(problem, wrong)
        assert code == 1
        assert reason in text


def highest(arrays: Arrays, members: Sequence[int]) -> float:
    """How far a witness moves the sum of some cells upwards at most."""
    sums = [0.0]
    for first, last in itertools.pairwise(arrays["witness_starts"]):
        inside = np.isin(arrays["witness_cells"][first:last], members)
        sums.append(float(arrays["witness_data"][first:last][inside].sum()))
    return max(sums)


# -- forced cells, and claims without protection -------------------------------------------------


def test_a_forced_cell_shows_its_external_bounds_and_nothing_else(verdict):
    relations = [[1, 1, -1, 0, 0, 0], [0, 0, 0, 1, 1, -1]]
    problem = problem_of([50, 40, 90, 70, 30, 100], relations, "ussmss", 10.0, upper_bound=1000)
    honest = tc.publish_intervals(problem, time_limit=3, weights="unit")
    arrays = dict(arrays_of(honest.certificates, problem))
    assert verdict(problem, arrays)[0] == 0
    for low, high in ((70.0, np.nextafter(70.0, 99)), (60.0, 80.0), (0.0, 999.0)):
        ends = {"published_lower": arrays["published_lower"].copy(),
                "published_upper": arrays["published_upper"].copy()}  # fmt: skip
        ends["published_lower"][3], ends["published_upper"][3] = low, high
        code, text = verdict(problem, arrays | ends)
        assert code == 1
        assert "a cell that must be hidden shows more than its external bounds" in text


def test_claims_that_say_nothing_of_sensitive_cells_have_a_verdict_of_their_own(verdict):
    problem = problem_of([1000, 2000, 3000], [[1, 1, -1]], "uss", 1.0, upper_bound=1e5)
    true = adjusted(problem, problem.table.values, np.ones(3), 0.0, claims="additivity loss")
    told = "NOT CLAIMED: protection of 1 sensitive cells. Proved is only:\n"
    code, text = verdict(problem, true)
    assert code == 3
    assert text.startswith(told)
    disclosed = header(problem, "suppression", "loss") | loss("weights", np.ones(3), 1.0)
    disclosed |= {
        "requirement": np.array("two-sided"),
        "suppressed": np.array([True, False, False]),
    }
    code, text = verdict(problem, disclosed)
    assert code == 3
    assert text.startswith(told)
    safe = problem.with_changes(status=np.array(["s"] * 3))
    code, text = verdict(safe, true | {"status": np.array(["s"] * 3)})
    assert (code, text[:8]) == (0, "PROVED: ")


# -- honest searches whose rooms were cut --------------------------------------------------------

FAR = [
    ([0, 0, 0], [[1000, -1, -1000]], [1, 1e-6, 100], [1, 1000, 0]),
    ([0, 0, 0], [[1000, -1, -1]], [1, 1, 1], [1, 1000, 0]),
    ([1, 20, 30, 40], [[5000, -1, -5000, -1]], [1, 1e-6, 100, 1], [2, 5020, 30, 40]),
    ([0, 0], [[1, -1e-4]], [1, 1e-3], [1, 1e4]),
    ([0, 0, 0], [[1, -1e-4, 0], [0, 1e-4, -1]], [1, 1e-3, 1], [1, 1e4, 1]),
]
"""Values, relations, weights, and a table that loses little far from the true one."""


@pytest.mark.parametrize(("values", "relations", "weights", "better"), FAR)
@pytest.mark.parametrize("distance", ["L1", "Linf", "L2"])
@pytest.mark.parametrize("bound", [1e6, np.inf])
def test_no_table_is_called_the_best_while_a_better_one_lies_far_away(
    values, relations, weights, better, distance, bound, verdict
):
    problem = problem_of(values, relations, "u" + "s" * (len(values) - 1), 1.0,
                         lower_bound=-bound, upper_bound=bound)  # fmt: skip
    assert not np.any(problem.table.relations @ (np.array(better) - values))
    moved, weights = np.abs(np.array(better) - values), np.array(weights, float)
    known = {"L1": weights @ moved, "Linf": np.max(weights * moved), "L2": weights @ moved**2}
    release = tc.adjust(problem, weights=weights, distance=distance, time_limit=20)
    assert release.bound <= known[distance] * (1 + 1e-9)
    if distance != "L2":
        assert release.loss <= known[distance] * (1 + 1e-9)
        assert release.is_optimal
    code, text = verdict(problem, arrays_of(release.certificates, problem))
    assert code == 0, text


@pytest.mark.parametrize("bound", [1e6, np.inf])
def test_nothing_is_called_impossible_that_is_possible_far_away(bound):
    problem = problem_of([0, 0, 0], [[1000, -1, -1]], "uss", 1.0, lower_bound=-bound,
                         upper_bound=bound)  # fmt: skip
    chain = problem_of([0.0] * 4, [[1e4, -1, 0, 0], [0, 1e4, -1, 0], [0, 0, 1e4, -1]], "usss", 1.0,
                       lower_bound=-1e13, upper_bound=1e13)  # fmt: skip
    for one in (problem, chain):
        for options in ({}, {"integer": False}, {"directions": "up"}, {"repair": True}):
            release = tc.adjust(one, weights="unit", time_limit=20, **options)
            assert "relaxed" not in " ".join(release.notes)
            assert np.all(np.abs(release.values - one.table.values)[0] >= 1)


# -- checks that took hours ----------------------------------------------------------------------


def test_the_steps_of_a_check_are_counted_whatever_they_are_spent_on(tmp_path, capsys):
    """In x_k = 2 x_(k+1) each link holds the next one in place once its own is known."""
    n = 300
    rows = np.zeros((n - 1, n))
    rows[np.arange(n - 1), np.arange(n - 1)], rows[np.arange(n - 1), np.arange(1, n)] = 1, -2
    problem = problem_of(np.zeros(n), rows, "z" + "s" * (n - 1), upper_bound=10)
    arrays = header(problem, "suppression", "loss bound") | loss("weights", np.ones(n), 0.0)
    arrays |= {"requirement": np.array("two-sided"), "suppressed": np.zeros(n, bool)}
    arrays |= leaf(0.0) | one_cut([], []) | {"cut_kind": integers(), "cut_cell": integers(),
        "up_starts": integers(0), "down_starts": integers(0)}  # fmt: skip
    np.savez_compressed(tmp_path / "proof.npz", **arrays)
    assert verifier.main([str(tmp_path / "proof.npz")]) == 0
    capsys.readouterr()
    assert verifier.main([str(tmp_path / "proof.npz"), "--minutes=0.001"]) == 1
    told = "REFUSED: the check takes more than --minutes=0.001: raise it\n"
    assert capsys.readouterr().out == told


# -- what fresh attackers found ------------------------------------------------------------------


def test_a_bound_needs_the_claims_that_its_releases_satisfy(verdict):
    """60, 40 and 90 do not add up and lose 10; the true table protects nothing and loses 0."""
    problem = problem_of([50, 40, 90], [[1, 1, -1]], "uss", 10.0)
    tree = up_or_down(450.0, 0, [(0, 0, -1, -1000.0)], [(0, 0, -1, 1000.0)])
    for claims in ("protection loss bound", "additivity loss bound", "loss bound"):
        arrays = adjusted(problem, [500, 40, 90], [1, 1000, 1000], 450.0, claims=claims)
        assert verdict(problem, arrays | tree) == (1, "REFUSED: a bound without its claims\n")


def test_a_rounded_table_hides_no_sensitive_cell_behind_another_status(verdict):
    problem = problem_of([1, 2, 3], [[1, 1, -1]], "uss", 1.0)
    arrays = dict(arrays_of(tc.controlled_rounding(problem, base=5).certificates, problem))
    assert verdict(problem, arrays)[0] == 3
    code, text = verdict(problem, arrays | {"status": np.array(list("sss"))})
    assert (code, text) == (1, "REFUSED: statuses differ\n")


@pytest.mark.parametrize("decimals", [0, verifier.NO_DECIMALS])
def test_small_differences_of_real_coefficients_couple_no_cells(decimals, verdict):
    """The cells of weight 0 make up for 10, since their coefficients differ by 128 * 2^-56."""
    high = 0.123456789012345
    relations = [[1, -1, high, -(high - 128 * 2.0**-56)], [0, 0, 1, -1]]
    problem = problem_of([0, 0, 0, 0], relations, "usss", 10.0, lower_bound=-np.inf,
                         upper_bound=np.inf)  # fmt: skip
    arrays = adjusted(problem, [10, 10, 0, 0], [1, 1000, 0, 0], 10010.0, decimals=decimals)
    for entry in ((), ((0, 0, -1, 1000.0),), ((0, 0, -1, -1000.0),)):
        assert verdict(problem, arrays | leaf(10010.0, *entry))[0] == 1


def test_a_tiny_level_is_still_one_in_large_last_digits(verdict):
    problem = problem_of([5e12, 4e12, 9e12], [[1, 1, -1]], "uss", 1e-99, upper_bound=1e15)
    arrays = adjusted(problem, [8e12, 4e12, 12e12], np.ones(3), 6e12, decimals=-12)
    assert verdict(problem, arrays | leaf(6e12))[0] == 1
    better = adjusted(problem, [6e12, 4e12, 10e12], np.ones(3), 2e12, decimals=-12)
    assert verdict(problem, better | leaf(1e12))[0] == 0


def test_moves_of_other_cells_excuse_no_mean_in_whole_digits(verdict):
    relations = [[0, 0, 1, -1, 0, 0], [0, 0, 0, 0, 1, 1]]
    problem = problem_of([50, 40, 30, 20, 5e10, 5e10], relations, "usssss", 10.0, upper_bound=1e11)
    moved = [60, 40, 30, 20, 5e10 + 4.9e10, 5e10 - 4.9e10]
    arrays = adjusted(problem, moved, [1, 1000, 1000, 1000, 0, 0], 10.0,
                      claims="protection additivity statistics loss")  # fmt: skip
    code, text = verdict(problem, arrays | statistic("mean", range(6), np.ones(6)))
    assert (code, text) == (1, "REFUSED: statistic 0: the mean is not kept\n")


def test_a_slope_has_no_coefficient_at_its_mean(verdict):
    problem = problem_of([0, 10, 20, 10, 5], [[0, 0, 0, 0, 1]], "ussss", 5.0, lower_bound=-1e12,
                         upper_bound=1e12)  # fmt: skip
    arrays = adjusted(problem, [5, 10 + 5 / 9e-10, 20, 10, 5], [1, 0, 1000, 1, 1], 5.0,
                      decimals=verifier.NO_DECIMALS,
                      claims="protection additivity statistics loss")  # fmt: skip
    code, text = verdict(problem, arrays | statistic("slope", range(4), [-1.0, 9e-10, 1.0, 0.0]))
    assert (code, text) == (1, "REFUSED: statistic 0 is no slope\n")


# -- sums of decimal coefficients ----------------------------------------------------------------


def test_prices_of_infinite_rooms_count_unless_decimal_sums_are_exactly_zero():
    """1.5 a = 12 b and b = 2 c, all without bounds: multipliers next to those that cancel b."""
    problem = plain_problem(
        "abc", [9, -370.5, -16.5], [[-1.5, 12, 0], [0, -1, 2]], {"a": (0.54, 0.54)},
        bounds=(-np.inf, np.inf), sides=[-4459.5, 337.5],
    )  # fmt: skip
    arrays = dict(arrays_of(tc.suppress(problem, threads=1).certificates, problem))
    assert verifier.proved(arrays) == 3
    for name in ("up_data", "down_data"):
        shifted = np.nextafter(arrays[name], np.inf)
        # A single relation says the same whatever its multiplier is.
        long = np.repeat(np.diff(arrays[name.replace("data", "starts")]) > 1,
                         np.diff(arrays[name.replace("data", "starts")]))  # fmt: skip
        first = np.flatnonzero(long)[::2]
        arrays[name] = arrays[name].copy()
        arrays[name][first] = shifted[first]
    assert verifier.proved(arrays) < 3
