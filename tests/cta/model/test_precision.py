"""What an adjustment promises holds at every scale: checked in fractions, without a tolerance.

Levels spread across 12 orders of magnitude, totals up to 10^15, decimals, and levels of 0.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import tablecloak as tc
from hand_tables import one_row
from hand_tables import problem_of as problem_of_rows
from margins import with_margins
from random_tables import optimum_by_enumeration, random_problem
from tablecloak.cta.model.precision import (
    LastDigits,
    deviation,
    from_units,
    in_units,
    last_digit,
    last_unit,
    moved_multiples,
    off_by,
    shortfall,
)
from tablecloak.cta.model.room import near_bound
from tablecloak.solve.exact import exact_products


def table_of(leaves: np.ndarray, shape: tuple[int, ...]) -> tc.Table:
    codes = [[f"{axis}{code}" for code in range(size)] for axis, size in enumerate(shape)]
    names = [f"d{axis}" for axis in range(len(shape))]
    frame = pd.DataFrame(list(itertools.product(*codes)), columns=names)
    return with_margins(frame.assign(v=leaves), names, "v")


def problem_of(table: tc.Table, lower, upper, status=None, **changes) -> tc.ProtectionProblem:
    n = table.n_cells
    sensitive = (np.asarray(lower) > 0) | (np.asarray(upper) > 0)
    top = float(np.abs(table.values).max())
    problem = tc.ProtectionProblem(
        table=table,
        status=np.where(sensitive, "u", "s") if status is None else status,
        lower_protection=np.broadcast_to(lower, n),
        upper_protection=np.broadcast_to(upper, n),
        sliding_protection=np.zeros(n),
        lower_bound=np.zeros(n),
        upper_bound=np.full(n, 10 * top + 10),
        weights=np.ones(n),
    )
    return problem.with_changes(**changes)


def spread_problem(seed: int, digits: int | None) -> tc.ProtectionProblem:
    """Values and levels over 12 orders of magnitude."""
    random = np.random.default_rng(seed)
    shape = [(3, 4), (2, 2, 3), (5, 5)][seed % 3]
    leaves = 10 ** random.uniform(0.5, 12 - (digits or 0), int(np.prod(shape)))
    table = table_of(leaves if digits is None else np.round(leaves, digits), shape)
    sensitive = np.zeros(table.n_cells, dtype=bool)
    sensitive[random.choice(table.n_cells, 4, replace=False)] = True
    level = np.where(sensitive, 0.1 * table.values, 0)
    return problem_of(table, level, level)


def exact(values: np.ndarray, digits: int | None) -> list[Fraction]:
    """The decimal numbers that are meant, or doubles as they are."""
    if digits is None:
        return [Fraction(float(value)) for value in values]
    return [Fraction(round(Fraction(float(v)) * 10**digits), 10**digits) for v in values]


def assert_promises_hold(adjusted: tc.Adjustment, digits: int | None) -> None:
    """Relations, levels and last digits, in fractions."""
    problem = adjusted.problem
    true, values = exact(problem.table.values, digits), exact(adjusted.values, digits)
    if digits is not None:
        assert [float(value) for value in values] == adjusted.values.tolist()
    z = [x - a for x, a in zip(values, true, strict=True)]
    relations = problem.table.relations.toarray().astype(int).tolist()
    for row in relations:
        off = abs(sum(c * change for c, change in zip(row, z, strict=True)))
        size = sum(abs(c) * max(abs(x), abs(a)) for c, x, a in zip(row, values, true, strict=True))
        assert off <= (0 if digits is not None else 4 * size / 2**52)
    near = 1 - Fraction(1, 10**9)
    for cell in np.flatnonzero(problem.sensitive):
        up = Fraction(float(problem.upper_protection[cell])) * near
        down = Fraction(float(problem.lower_protection[cell])) * near
        assert (up > 0 and z[cell] >= up) or (down > 0 and -z[cell] >= down)


def few_beside_many() -> tc.ProtectionProblem:
    """One row and one column of values 5 to 30, levels 1 to 3; the rest near 5e10, levels 10 %."""
    random = np.random.default_rng(5)
    leaves = np.rint(random.uniform(1e10, 9e10, (6, 6)))
    leaves[0], leaves[:, 0] = random.integers(5, 31, 6), random.integers(5, 31, 6)
    table = table_of(leaves.reshape(-1), (6, 6))
    inner = ~(table.keys == "Total").any(axis=1).to_numpy()
    small = inner & (table.values < 31)
    sensitive = (inner & (random.random(table.n_cells) < 0.3)) | (small & (table.values > 25))
    level = np.where(small, np.ceil(0.1 * table.values), np.rint(0.1 * table.values))
    level = np.where(sensitive, level, 0)
    return problem_of(table, level, level)


@pytest.mark.parametrize("distance", ["L1", "L2", "Linf"])
@pytest.mark.parametrize("weights", ["relative", "unit"])
def test_small_cells_beside_large_ones_move_by_their_own_levels(distance, weights):
    problem = few_beside_many()
    adjusted = tc.adjust(problem, distance=distance, weights=weights, time_limit=5)
    adjusted.verify()
    assert_promises_hold(adjusted, 0 if adjusted.integer else None)
    assert adjusted.integer == (distance == "L1")
    assert tc.audit(problem, adjusted).is_safe


def test_a_small_cell_that_stays_is_refused_beside_large_ones():
    adjusted = tc.adjust(few_beside_many(), time_limit=5)
    problem = adjusted.problem
    small = np.flatnonzero(problem.sensitive & (problem.table.values < 31))
    assert len(small)
    for cell in small:
        values = adjusted.values.copy()
        values[cell] = problem.table.values[cell]
        assert not tc.audit(problem, values).is_safe
        with pytest.raises(tc.VerificationError):
            replace(adjusted, values=values).verify()
    # Nor is a relation between small cells judged by the large ones.
    row = int(np.argmin(abs(problem.table.relations) @ problem.table.values))
    values = adjusted.values.copy()
    values[problem.table.relations[[row], :].indices[0]] += 1
    with pytest.raises(tc.VerificationError, match="relation"):
        replace(adjusted, values=values).verify()


@pytest.mark.parametrize("digits", [0, 1, 3, None])
@pytest.mark.parametrize("seed", range(4))
def test_promises_hold_across_twelve_orders_of_magnitude(seed, digits):
    problem = spread_problem(seed, digits)
    adjusted = tc.adjust(problem, weights=["relative", "unit"][seed % 2], time_limit=2)
    adjusted.verify()
    assert_promises_hold(adjusted, digits if adjusted.integer else None)
    assert adjusted.bound <= adjusted.loss


def test_totals_of_a_quadrillion_stay_exact():
    random = np.random.default_rng(3)
    leaves = random.integers(1, 40, 20).astype(float)
    leaves[0] = 10.0**15
    table = table_of(leaves, (4, 5))
    level = np.where((table.values > 30) & (table.values < 40), 2.0, 0.0)
    adjusted = tc.adjust(problem_of(table, level, level), weights="unit", time_limit=2)
    assert adjusted.integer
    assert_promises_hold(adjusted, 0)


@pytest.mark.parametrize("seed", range(4))
def test_tables_with_decimals_are_adjusted_in_their_last_digit(seed):
    """No third digit tells which cells were changed."""
    random = np.random.default_rng(seed)
    table = table_of(np.round(random.uniform(1, 900, 12), 2), (3, 4))
    assert last_digit(table) == 2
    level = np.where(np.arange(table.n_cells) % 6 == 1, 0.137 * table.values, 0)
    adjusted = tc.adjust(problem_of(table, level, level), time_limit=2)
    assert adjusted.decimals == 2
    assert adjusted.values.tolist() == np.round(adjusted.values, 2).tolist()
    assert_promises_hold(adjusted, 2)


def test_last_digit_is_that_of_all_values():
    assert last_digit(table_of(np.array([1.0, 2, 3, 4]), (2, 2))) == 0
    assert last_digit(table_of(np.array([1.0, 2, 3, 0.4]), (2, 2))) == 1
    assert last_digit(table_of(np.array([0.1, 0.2, 0.3, 118236.88]), (2, 2))) == 2
    assert last_digit(table_of(np.array([1 / 3, 2, 3, 4]), (2, 2))) is None


def test_levels_are_rounded_up_and_room_down_to_the_last_digit():
    table = table_of(np.array([1.0, 2, 3, 40.5]), (2, 2))
    level = np.where(np.arange(9) == 4, 0.11, 0.0)
    problem = problem_of(table, level, level, capacity_up=0.29, upper_bound=99.97)
    whole = LastDigits.of(problem, 1).problem
    assert whole.upper_protection[4] == 2
    assert whole.capacity_up[0] == 2
    assert whole.upper_bound[0] == 999
    assert np.array_equal(whole.table.values, np.rint(10 * table.values))


def test_products_of_whole_numbers_are_exact_beyond_doubles():
    table = table_of(np.array([1.0, 2, 3, 4]), (2, 2))
    whole = np.rint(table.values).astype(np.int64) * 2**50
    assert not exact_products(table.relations, whole).any()
    whole[4] += 1
    assert set(np.abs(exact_products(table.relations, whole))) == {0.0, 1.0}


def test_products_read_coefficients_as_decimal_numbers():
    relations = csr_array(np.array([[0.9, -1.0, 0], [0.0001, 0, -1], [1 / 3, -1, 0]]))
    whole = np.array([10**15, 9 * 10**14, 10**11])
    assert exact_products(relations, whole)[:2].tolist() == [0, 0]
    assert exact_products(relations, whole + 1).tolist()[:2] == pytest.approx([-0.1, -0.9999])
    # A third is written with 16 digits.
    assert exact_products(relations, np.array([3, 1, 0])).tolist()[2] == -1e-16


def test_relations_of_real_coefficients_alone_may_be_off_by_last_places():
    real = problem_of_rows(["a", "b"], [0, 0], [[1 / 3, -1]], {}).table
    decimal = problem_of_rows(["a", "b"], [0, 0], [[0.333333, -1]], {}).table
    assert off_by(real, np.array([3 * 10**9, 10**9])).tolist() == [0]
    assert off_by(real, np.array([3 * 10**9, 10**9 + 1])).tolist() == pytest.approx([1])
    assert off_by(decimal, np.array([10**6, 333333])).tolist() == [0]
    assert off_by(decimal, np.array([10**6 + 1, 333333])).tolist() == pytest.approx([0.333333])


# -- levels of 0 --------------------------------------------------------------------------


def line(values: list[float], lower: list[float], upper: list[float], status: list[str]):
    table = table_of(np.array(values), (len(values),))
    order = [table.cell(d0=f"0{code}") for code in range(len(values))]
    arrays = [np.zeros(len(values) + 1), np.zeros(len(values) + 1)]
    letters = np.full(len(values) + 1, "s")
    for levels, array in zip((lower, upper), arrays, strict=True):
        array[order] = levels
    letters[order] = status
    return problem_of(table, *arrays, status=letters)


def test_a_cell_with_one_level_of_0_moves_the_other_way():
    problem = line([30, 50, 20], [0, 0, 0], [6, 0, 0], ["u", "s", "s"])
    adjusted = tc.adjust(problem, weights="unit")
    cell = problem.table.cell(d0="00")
    assert adjusted.changes[cell] >= 6
    assert adjusted.is_optimal
    truth = problem.table.values.copy()
    assert not tc.audit(problem, truth).is_safe
    with pytest.raises(tc.VerificationError, match="too near to their true values"):
        replace(adjusted, values=truth, bound=0.0).verify()
    down = truth - np.where(np.arange(4) == cell, 10, 0) + np.where(np.arange(4) == 2, 10, 0)
    assert not tc.audit(problem, down).is_safe


def test_a_cell_with_both_levels_0_is_refused_by_name():
    problem = line([30, 50, 20], [0, 0, 0], [0, 6, 0], ["u", "u", "s"])
    with pytest.raises(tc.ModelError, match=r"level 0 on both sides.*d0=00.*`floor`") as caught:
        tc.adjust(problem)
    assert caught.value.cells == (problem.table.cell(d0="00"),)
    with pytest.raises(tc.ModelError, match="level 0 on both sides"):
        tc.adjust(problem, repair=True)


def test_rules_that_leave_a_level_of_0_do_not_release_the_truth():
    """A minimum-frequency cell of value 0, a zero-unsafe one, and a range of [0, 20]."""
    frame = pd.DataFrame(
        {"d": list("aaabbbcc"), "v": [5.0, -5.0, 0.0, 9.0, 8.0, 7.0, 6.0, 4.0], "who": range(8)}
    )
    frame.loc[frame.d == "a", "v"] = 0.0
    tree = {"d": tc.Hierarchy.from_dict({"a": [], "b": [], "c": []})}
    table = tc.tabulate(frame, tree, "v", contributor="who")
    cell = table.cell(d="a")
    for rule, options in (
        (tc.MinimumFrequency(4), {}),
        (tc.ZeroUnsafe(3.0), {}),
        (tc.Manual([{"d": "c"}], range=(0.0, 20.0)), {"floor": 0.0}),
    ):
        problem = tc.protect(table, rule, **options)
        adjusted = tc.adjust(problem)
        moved = adjusted.changes[problem.sensitive]
        assert np.all(moved > 0) if rule.name != "minimum-frequency" else adjusted.changes[cell] > 0
        assert np.all(np.abs(moved) > 0)


def test_coupled_cells_with_levels_of_0_have_a_true_bound():
    """Two cells between frozen ones move together; one may only rise, and the other only fall."""
    both = line([30, 50, 20], [0, 4, 0], [6, 0, 0], ["u", "u", "s"])
    frozen = both.with_changes(status=np.where(both.sensitive, "u", "z"))
    adjusted = tc.adjust(frozen, weights="unit", integer=False)
    assert adjusted.loss == pytest.approx(12)
    assert adjusted.is_optimal
    assert adjusted.bound <= 12
    torn = line([30, 50, 20], [0, 0, 0], [6, 4, 0], ["u", "u", "s"])
    torn = torn.with_changes(status=np.where(torn.sensitive, "u", "z"))
    with pytest.raises(tc.ModelError, match="coupled"):
        tc.adjust(torn)
    kept = tc.adjust(torn, repair=True, integer=False)
    assert "levels of" in kept.notes[-1]
    assert not tc.audit(torn, kept).is_safe


def test_optimum_with_levels_of_0_equals_enumeration():
    optima = sum(is_optimal_with_levels_of_0(seed) for seed in range(8))
    assert optima >= 4


def is_optimal_with_levels_of_0(seed: int) -> bool:
    """Whether there is an optimum, which then is that of the enumeration."""
    random = np.random.default_rng(seed)
    problem = random_problem(seed, (3, 3), 3)
    n = problem.table.n_cells
    frozen = ~problem.sensitive & (random.random(n) < 0.4)
    problem = problem.with_changes(
        lower_protection=np.where(random.random(n) < 0.5, 0, problem.lower_protection),
        status=np.where(frozen, "z", problem.status),
    )
    enumerated = problem.with_changes(
        lower_bound=np.where(frozen, problem.table.values, problem.lower_bound),
        upper_bound=np.where(frozen, problem.table.values, problem.upper_bound),
    )
    expected = optimum_by_enumeration(enumerated, np.ones(n))
    if np.isinf(expected):
        with pytest.raises(tc.ModelError):
            tc.adjust(problem, weights="unit", integer=False, time_limit=5)
        return False
    adjusted = tc.adjust(problem, weights="unit", integer=False, time_limit=5)
    assert adjusted.loss == pytest.approx(expected, rel=1e-6)
    assert adjusted.is_optimal
    return True


# -- proofs -------------------------------------------------------------------------------


def test_the_bound_is_proved_anew_from_the_problem():
    """A proof that was made for higher levels proves nothing for lower ones."""
    problem = random_problem(1)
    high = problem.with_changes(
        lower_protection=3 * problem.lower_protection,
        upper_protection=3 * problem.upper_protection,
    )
    adjusted = tc.adjust(high, weights="unit", integer=False, time_limit=5)
    lower = tc.adjust(problem, weights="unit", integer=False, time_limit=5)
    assert lower.loss < adjusted.bound
    with pytest.raises(tc.VerificationError, match="is claimed, but only"):
        replace(adjusted, problem=problem).verify()


@pytest.mark.parametrize("distance", ["L1", "Linf"])
def test_a_bound_is_refused_however_small_the_losses_are(distance):
    """Losses near 1e-12: an error of 1e-9 would be a thousand times all of them."""
    problem = random_problem(2)
    weights = np.full(problem.table.n_cells, 1e-14)
    adjusted = tc.adjust(problem, weights=weights, distance=distance, time_limit=5)
    adjusted.verify()
    assert 0 < adjusted.bound <= adjusted.loss < 1e-9
    for factor in (1.01, 100):
        with pytest.raises(tc.VerificationError, match="is claimed, but only|exceeds the loss"):
            replace(adjusted, bound=adjusted.bound * factor).verify()


def test_given_directions_are_kept_with_the_variance():
    problem = random_problem(3, n_sensitive=4)
    try:
        adjusted = tc.adjust(problem, directions="up", preserve=["variance"], time_limit=5)
    except tc.SolverError:
        adjusted = tc.adjust(problem, directions="up", preserve=[tc.Variance(tolerance=10.0)])
    assert np.all(adjusted.changes[problem.sensitive] > 0)


# -- nothing to move ----------------------------------------------------------------------


@pytest.mark.parametrize("letter", ["s", "z"])
@pytest.mark.parametrize(
    ("distance", "preserve"), [("L1", []), ("L2", ["mean:all"]), ("Linf", ["regression:all"])]
)
def test_without_sensitive_cells_the_table_stays(distance, letter, preserve):
    problem = random_problem(0).with_changes(
        status=letter, lower_protection=0.0, upper_protection=0.0
    )
    adjusted = tc.adjust(problem, distance=distance, preserve=preserve)
    adjusted.verify()
    assert np.array_equal(adjusted.values, problem.table.values)
    assert adjusted.loss == adjusted.bound == 0
    assert adjusted.is_optimal


@pytest.mark.parametrize("distance", ["L1", "L2", "Linf"])
def test_a_table_without_cells_or_relations_is_adjusted(distance):
    trees = {"d": tc.Hierarchy.from_dict({"a": [], "b": []})}
    for rows in ({"d": [], "v": []}, {"d": ["a", "b"], "v": [3.0, 4.0]}):
        frame = pd.DataFrame(rows).astype({"d": str, "v": float})
        table = tc.Table.from_frame(frame, trees, "v")
        n = table.n_cells
        level = np.arange(n, dtype=float)
        problem = tc.ProtectionProblem(
            table, np.where(level > 0, "u", "s"), level, level, 0 * level, 0 * level,
            np.full(n, 99.0), np.ones(n),
        )  # fmt: skip
        adjusted = tc.adjust(problem, distance=distance)
        adjusted.verify()
        assert np.abs(adjusted.changes).tolist() == pytest.approx(level.tolist())


def test_a_largest_change_with_statistics_that_are_hard_to_start_from():
    found = 0
    options = {"distance": "Linf", "preserve": ["regression"], "sensitive_limit": 1.5}
    for seed in range(3):
        problem = random_problem(seed, n_sensitive=4)
        try:
            tc.adjust(problem, time_limit=1000, **options).verify()
            found += 1
        except tc.ModelError as error:
            assert "statistics" in str(error), seed
    assert found >= 1


def test_statistics_out_of_reach_are_an_error_and_end():
    """Searches for a start must not call themselves."""
    problem = random_problem(0, n_sensitive=3)
    status = np.where(problem.sensitive, "u", "z")
    status[0] = "s"
    with pytest.raises(tc.TablecloakError):
        tc.adjust(problem.with_changes(status=status), preserve=["slope:all"], time_limit=2)


def test_large_numbers_that_look_like_decimals_are_no_table_of_decimals():
    """At 10^11 neighbouring doubles are 1.5e-5 apart, so that any is next to some fourth digit."""
    random = np.random.default_rng(0)
    for seed in range(5):
        table = table_of(random.uniform(1e11, 9e11, 9), (3, 3))
        level = np.where(np.arange(table.n_cells) == 5 + seed, 0.1 * table.values, 0)
        problem = problem_of(table, level, level)
        assert last_digit(table) is None
        for distance in ("L1", "Linf"):
            adjusted = tc.adjust(problem, distance=distance, time_limit=1)
            adjusted.verify()
            assert_promises_hold(adjusted, None)


# -- last digits, exact products and shortfalls, by hand ----------------------------------


@pytest.mark.parametrize(
    ("values", "digits"),
    [
        ([3, 4], 0),
        ([300, 400], 0),
        ([0.1, 0.2], 1),
        ([0.1 * 3, 0.7], 1),
        ([0.25, 1], 2),
        ([1e-6, 1], 6),
        ([1e-7, 1], None),
        ([np.pi, 1], None),
        ([1e14 + 0.5, 1], 1),
        ([1e15 + 0.5, 1], None),
        ([1e17, 1], None),
        ([-0.5, 2.25], 2),
        ([0, 0], 0),
    ],
)
def test_the_last_digit_is_the_fewest_decimals_that_all_values_need(values, digits):
    assert last_digit(one_row(values, {}, bounds=(-np.inf, np.inf)).table) == digits


def test_relations_with_fractions_have_no_last_digit():
    halves = problem_of_rows(["a", "b"], [2, 1], [[0.5, -1]], {})
    assert last_digit(halves.table) is None


@given(
    rows=st.lists(st.lists(st.integers(-2, 2), min_size=3, max_size=3), min_size=1, max_size=3),
    whole=st.lists(st.integers(-(2**61), 2**61), min_size=3, max_size=3),
)
def test_products_are_those_of_unbounded_integers(rows, whole):
    found = exact_products(csr_array(np.array(rows, dtype=float)), np.array(whole, dtype=np.int64))
    exact = [sum(a * b for a, b in zip(row, whole, strict=True)) for row in rows]
    assert found.tolist() == [float(value) for value in exact]


@given(whole=st.integers(-(10**12), 10**12), decimals=st.integers(-3, 6))
def test_multiples_of_the_last_digit_go_there_and_back(whole, decimals):
    number = from_units(np.array([float(whole)]), decimals)
    assert np.rint(in_units(number, decimals)).tolist() == [whole]
    assert last_unit(decimals) == pytest.approx(10.0**-decimals)


@pytest.mark.parametrize(
    ("levels", "z", "short"),
    [((3, 5), 5, 0), ((3, 5), 4, 1), ((3, 5), 0, 3), ((3, 5), -1, 2), ((3, 5), -3, 0),
     ((0, 5), -9, 14), ((3, 0), 9, 12), ((3, 5), 5 - 1e-12, 0)],
)  # fmt: skip
def test_the_shortfall_is_the_way_to_the_nearer_side_that_counts(levels, z, short):
    problem = one_row([50, 60], {"a": levels})
    found = shortfall(problem, np.array([z, -z, 0], dtype=np.longdouble))
    assert found.tolist() == pytest.approx([short, 0, 0], abs=1e-7)


def test_rounding_of_a_bound_is_some_units_in_its_last_place():
    ulp = np.spacing(1e6)
    accepted = near_bound(np.array([1e6, np.inf, 0.0]), np.array([1.0, 1e6, 1e6]))
    assert accepted.tolist() == [4 * ulp] * 3


@pytest.mark.parametrize(
    ("moved", "off"), [((5, -5, 0), 0), ((5, -4, 0), 1), ((0.25, 0, 0), 0.25), ((0, 0, 0), 0)]
)
def test_a_deviation_measures_relations_exactly_in_the_last_digit(moved, off):
    table = one_row([50.25, 60], {}).table
    found = deviation(table, table.values + np.array(moved), 2)
    assert found.relations.tolist() == [off]
    assert found.accepted.tolist() == [0]
    assert found.in_last_digits


def test_without_a_last_digit_a_relation_may_be_off_by_its_own_rounding():
    table = one_row([1 / 3, 1e6 / 7], {}, bounds=(0, 1e9)).table
    values = table.values.copy()
    values[2] = np.nextafter(values[2], np.inf)
    found = deviation(table, values)
    assert not found.in_last_digits
    assert 0 < found.relations[0] <= found.accepted[0]


def test_moves_are_whole_multiples_or_none():
    true = np.array([1.25, 2.5])
    assert moved_multiples(true, np.array([1.5, 2.5]), 2).tolist() == [25, 0]
    assert moved_multiples(true, np.array([1.505, 2.5]), 2) is None
    assert moved_multiples(true, true, None) is None


def test_a_large_level_is_reached_to_its_last_digit():
    # A share of 1e-9 of this level would be 77 units of a digit that the table shows.
    problem = one_row(
        [154274317585.08, 556257113.76], {"a": (7.71e10, 7.71e10)}, bounds=(-1e13, 1e13)
    )
    in_units_of_cents = LastDigits.of(problem, 2).problem
    assert in_units_of_cents.lower_protection[0] == 7.71e12
    found = tc.adjust(problem, directions="down")
    assert found.decimals == 2
    assert found.changes[0] == -7.71e10
    assert found.is_optimal


def test_dust_of_a_level_is_no_digit_more():
    problem = one_row([50, 60], {"a": (0.1 * 30, 5.000000004)})
    assert LastDigits.of(problem, 0).problem.lower_protection[0] == 3
    assert LastDigits.of(problem, 0).problem.upper_protection[0] == 5
