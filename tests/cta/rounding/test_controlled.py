"""Controlled rounding: additive, near the truth, proved, and attacked."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import tablecloak as tc
from margins import with_margins


def counts(shape: tuple[int, ...], seed: int, sensitive_below: int = 3) -> tc.ProtectionProblem:
    """Counts by crossed dimensions; small ones are sensitive and need an interval from 0 to 5."""
    random = np.random.default_rng(seed)
    names = [f"d{axis}" for axis in range(len(shape))]
    codes = [[f"{axis}{code}" for code in range(size)] for axis, size in enumerate(shape)]
    trees = {
        name: tc.Hierarchy.from_dict({c: [] for c in cs})
        for name, cs in zip(names, codes, strict=True)
    }
    frame = pd.DataFrame(list(itertools.product(*codes)), columns=names)
    frame["n"] = random.poisson(3, len(frame))
    table = with_margins(frame, trees, "n")
    values, n = table.values, table.n_cells
    sensitive = (values > 0) & (values < sensitive_below)
    return tc.ProtectionProblem(
        table=table,
        status=np.where(sensitive, "u", "s"),
        lower_protection=np.where(sensitive, 1.0, 0.0),
        upper_protection=np.where(sensitive, 2.0, 0.0),
        sliding_protection=np.zeros(n),
        lower_bound=np.zeros(n),
        upper_bound=np.full(n, 1e4),
        weights=np.ones(n),
    )


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("base", [3, 5, 10])
def test_two_dimensional_tables_have_a_zero_restricted_rounding_proved_optimal(seed, base):
    problem = counts((5, 6), seed)
    rounded = tc.controlled_rounding(problem, base=base)
    a = problem.table.values
    assert rounded.steps == 1
    assert rounded.is_optimal
    assert np.all(problem.table.relations @ rounded.values == 0)
    low = base * (a // base)
    assert np.all((rounded.values == low) | (rounded.values == low + base))
    assert np.all(rounded.values[a % base == 0] == a[a % base == 0])


@pytest.mark.parametrize("seed", range(3))
def test_optimum_equals_enumeration(seed):
    problem, base = counts((2, 3), seed), 3
    table = problem.table
    best = np.inf
    for moves in itertools.product((0, 1), repeat=table.n_cells):
        a = table.values
        x = base * (a // base) + base * np.array(moves)
        if np.all(table.relations @ x == 0) and np.all(x[a % base == 0] == a[a % base == 0]):
            best = min(best, float(np.abs(x - a).sum()))
    rounded = tc.controlled_rounding(problem, base=base)
    assert rounded.loss == best
    assert rounded.bound == pytest.approx(best)


def test_three_dimensional_tables_are_rounded_with_more_steps_only_where_needed():
    steps = set()
    for seed in range(6):
        problem = counts((3, 3, 3), seed)
        rounded = tc.controlled_rounding(problem, base=3, time_limit=20)
        moved = np.abs(rounded.values - problem.table.values)
        assert np.all(problem.table.relations @ rounded.values == 0)
        assert np.all(moved < rounded.steps * 3)
        assert len(rounded.notes) == rounded.steps - 1
        steps.add(rounded.steps)
    assert 1 in steps


def odd_cycle() -> tc.ProtectionProblem:
    """A cube of zeros and ones that has no zero-restricted rounding to base 2."""
    # Each line of the cube holds no one or two ones, so with base 2 one of the two goes up and
    # the other down; the lines form a cycle of odd length, which no choice satisfies (three-way
    # tables need not have a zero-restricted rounding: Causey, Cox and Ernst 1985).
    ones = [
        "000",
        "002",
        "011",
        "012",
        "020",
        "021",
        "101",
        "102",
        "110",
        "112",
        "120",
        "121",
        "200",
        "201",
        "210",
        "211",
    ]
    frame = pd.DataFrame(itertools.product("012", repeat=3), columns=["d0", "d1", "d2"])
    frame["n"] = ["".join(codes) in ones for codes in frame.to_numpy()]
    frame["n"] = frame["n"].astype(int)
    trees = {
        name: tc.Hierarchy.from_dict({code: [] for code in "012"}) for name in frame.columns[:3]
    }
    table = with_margins(frame, trees, "n")
    return tc.ProtectionProblem(
        table=table,
        status=np.full(table.n_cells, "s"),
        **{
            name: np.zeros(table.n_cells)
            for name in ("lower_protection", "upper_protection", "sliding_protection")
        },
        lower_bound=np.zeros(table.n_cells),
        upper_bound=np.full(table.n_cells, 100.0),
        weights=np.ones(table.n_cells),
    )


def test_where_no_zero_restricted_rounding_exists_that_is_proved_and_two_steps_are_taken():
    cube = odd_cycle()
    rounded = tc.controlled_rounding(cube, base=2, time_limit=20)
    assert rounded.steps == 2
    assert rounded.notes == ("a rounding with 1 step is proved to be impossible",)
    with pytest.raises(tc.ModelError, match="proved by a complete search"):
        tc.controlled_rounding(cube, base=2, max_steps=1, time_limit=20)


def test_without_a_proof_of_each_leaf_nothing_is_called_impossible(monkeypatch):
    unproved = SimpleNamespace(confirmed=False)
    monkeypatch.setattr("tablecloak.solve.branch.find_infeasibility", lambda *_, **__: unproved)
    with pytest.raises(tc.SolverError, match="not found in time"):
        tc.controlled_rounding(odd_cycle(), base=2, max_steps=1, time_limit=20)


def test_audit_says_what_base_protects_small_counts():
    problem = counts((5, 6), 1)
    wide = tc.audit(problem, tc.controlled_rounding(problem, base=5))
    narrow = tc.audit(problem, tc.controlled_rounding(problem, base=2))
    assert wide.count(tc.Verdict.PROTECTED) > narrow.count(tc.Verdict.PROTECTED)
    assert not narrow.is_safe


def test_bound_of_nothing_needs_no_more_proof_than_that_weights_are_not_negative(monkeypatch):
    """Multipliers prove 0 only up to their rounding, also where the true table is a multiple."""
    problem = counts((3, 4), seed=1)
    table = problem.table
    multiples = tc.Table(
        name="v",
        keys=table.keys,
        values=5 * table.values,
        relations=table.relations,
        right_hand_side=table.right_hand_side,
        hierarchies=table.hierarchies,
    )
    even = problem.with_changes(
        table=multiples,
        upper_bound=np.inf,
        lower_bound=0.0,
        status=np.where(problem.sensitive, "s", problem.status),
    )
    found = tc.controlled_rounding(even, base=5)
    assert found.loss == 0 == found.bound
    found.verify()
    assert found.proved_bound() == 0
    monkeypatch.setattr(type(found), "proved_bound", lambda self: 1e-3)
    with pytest.raises(tc.VerificationError, match="exceeds the loss"):
        found.verify()


def test_altered_values_are_refused():
    problem = counts((4, 4), 2)
    rounded = tc.controlled_rounding(problem, base=5)
    for change, message in ((1, "not multiples"), (10, "too far")):
        values = rounded.values.copy()
        values[3] += change
        object.__setattr__(rounded, "values", values)
        with pytest.raises(tc.VerificationError, match=message):
            rounded.verify()
        values = values.copy()
        values[3] -= change
        object.__setattr__(rounded, "values", values)
    rounded.verify()


def test_bad_requests_are_errors_with_a_remedy():
    problem = counts((3, 3), 0)
    with pytest.raises(tc.InputError, match="whole number from 2"):
        tc.controlled_rounding(problem, base=1)
    odd = problem.table.values % 5 != 0
    frozen = problem.with_changes(status=np.where(odd & ~problem.sensitive, "z", problem.status))
    with pytest.raises(tc.InputError, match="status z"):
        tc.controlled_rounding(frozen, base=5)
    frame = pd.DataFrame({"d": ["a", "b"], "n": [1.5, 2.0]})
    halves = tc.tabulate(frame, {"d": tc.Hierarchy.from_dict({"a": [], "b": []})}, "n")
    with pytest.raises(tc.InputError, match="whole numbers"):
        tc.controlled_rounding(tc.protect(halves, tc.Manual([])), base=5)


@pytest.mark.parametrize("base", [10**30, 1e30, np.inf, np.nan, 2.5, "5", 2**63])
def test_bases_that_numbers_cannot_hold_are_refused(base):
    for method in (tc.controlled_rounding, tc.small_count_rounding):
        with pytest.raises(tc.InputError, match="`base` must be a whole number from 2"):
            method(counts((3, 3), 0), base=base)
    with pytest.raises(tc.InputError, match="more than numbers can hold"):
        tc.controlled_rounding(counts((3, 3), 0), base=10**12, max_steps=10**6)


def test_large_values_are_rounded_exactly():
    """Sums beyond 2^53 would be rounded if they were added up as doubles."""
    problem = counts((4, 4), 3)
    values = problem.table.values * 123_456_789_012 + (problem.table.values > 5)
    codes = problem.table.keys
    leaves = ~(codes == "Total").any(axis=1).to_numpy()
    frame = codes[leaves].assign(n=values[leaves])
    table = tc.tabulate(frame, list(codes.columns), "n")
    n, zero = table.n_cells, np.zeros(table.n_cells)
    large = tc.ProtectionProblem(
        table, np.full(n, "s"), zero, zero, zero, zero, np.full(n, np.inf), np.ones(n)
    )
    rounded = tc.controlled_rounding(large, base=1000)
    matrix = table.relations.toarray().astype(int).tolist()
    exact = [int(value) for value in rounded.values]
    assert not any(sum(c * x for c, x in zip(row, exact, strict=True)) for row in matrix)
    assert rounded.is_optimal


def test_every_program_of_a_rounding_has_a_time_limit(monkeypatch):
    """The search for a proof that there is no rounding once had none."""
    from tablecloak.cta.rounding import steps as rounding
    from tablecloak.solve import branch

    limits = []

    def recorded(of):
        def call(*given, **options):
            limits.append(options.get("time_limit", np.inf))
            return of(*given, **options)

        return call

    for module in (rounding, branch):
        monkeypatch.setattr(module, "find_infeasibility", recorded(module.find_infeasibility))
    tc.controlled_rounding(odd_cycle(), base=2, time_limit=20)
    assert limits
    assert max(limits) <= 20


def test_a_rounding_that_is_found_is_improved_until_the_time_is_up(monkeypatch):
    from tablecloak.cta.rounding import steps as rounding

    limits = []
    search = rounding.branch_and_bound

    def recorded(program, *, budget, **options):
        limits.append(budget.left)
        return search(program, budget=budget, **options)

    monkeypatch.setattr(rounding, "branch_and_bound", recorded)
    tc.controlled_rounding(odd_cycle(), base=2, time_limit=100)
    # Half of the time for a first rounding, of which HiGHS needs a part; then all that is left.
    assert max(limits, default=0) > 60


def test_an_unproved_search_does_not_call_a_rounding_impossible(monkeypatch):
    def breaks_off(*_, **__):
        raise tc.SolverError("time")

    for module in ("tablecloak.cta.rounding.steps", "tablecloak.solve.branch"):
        monkeypatch.setattr(f"{module}.find_infeasibility", breaks_off)
    with pytest.raises(tc.SolverError, match="not found in time"):
        tc.controlled_rounding(odd_cycle(), base=2, max_steps=1, time_limit=20)


def test_a_table_of_multiples_of_the_base_is_its_own_rounding_with_one_step():
    frame = pd.DataFrame({"d": ["a", "b", "c"], "n": [4.0, 2.0, 0.0]})
    table = with_margins(frame, ["d"], "n")
    n, zero = table.n_cells, np.zeros(table.n_cells)
    problem = tc.ProtectionProblem(
        table, np.full(n, "s"), zero, zero, zero, zero, np.full(n, np.inf), np.ones(n)
    )
    rounded = tc.controlled_rounding(problem, base=2)
    assert rounded.values.tolist() == table.values.tolist()
    assert (rounded.steps, rounded.notes) == (1, ())
    assert rounded.is_optimal


def test_a_value_of_the_other_sign_is_refused_although_it_is_near_enough():
    """With two steps 3 may become 0, 5 or 10, but not -5: counts would be negative."""
    rounded = tc.controlled_rounding(tc.examples.cox_rounded(), base=25)
    a = rounded.problem.table.values
    cell = int(np.flatnonzero((a > 0) & (a < 25) & ~rounded.problem.frozen)[0])
    values = rounded.values.copy()
    values[cell] = -25
    with pytest.raises(tc.VerificationError, match="have changed their sign"):
        replace(rounded, steps=2, values=values).verify()


def test_a_right_hand_side_between_two_multiples_is_named_with_its_relation():
    problem = counts((2, 3), 1)
    given = problem.table
    values = given.values + 1
    odd = tc.Table(given.keys, values, given.relations, given.relations @ values)
    moved = replace(problem, table=odd, upper_bound=problem.upper_bound + 1)
    with pytest.raises(tc.InputError, match="have a right-hand side .* base that divides"):
        tc.controlled_rounding(moved, base=5)


def decimal(number: float) -> Fraction:
    return Fraction(repr(float(number)))


def in_decimals(relations, values, **options) -> tc.ProtectionProblem:
    """A table whose right-hand sides are those of the decimal numbers that are written."""
    n = len(values)
    sides = [
        float(sum(decimal(c) * int(v) for c, v in zip(row, values, strict=True)))
        for row in relations
    ]
    table = tc.Table(
        keys=pd.DataFrame({"code": [f"c{cell}" for cell in range(n)]}),
        values=np.array(values, dtype=float),
        relations=csr_array(np.array(relations, dtype=float)),
        right_hand_side=np.array(sides),
    )
    zero = np.zeros(n)
    return tc.ProtectionProblem(
        table, np.full(n, "s"), zero, zero, zero, zero, np.full(n, np.inf), np.ones(n)
    )


def decimal_roundings(relations, values, base, steps):
    """All roundings, by trial, with relations added up in whole numbers."""
    rows = [[int(10**4 * decimal(c)) for c in row] for row in relations]
    ways = []
    for value in map(int, values):
        low, high = value // base - (steps - 1), -(-value // base) + (steps - 1)
        ways.append([base * t for t in range(max(low, 0), high + 1)])
    for x in itertools.product(*ways):
        moved = [v - int(a) for v, a in zip(x, values, strict=True)]
        if not any(sum(c * z for c, z in zip(row, moved, strict=True)) for row in rows):
            yield list(x)


@pytest.mark.parametrize("values", [[10**9, 10**9], [7 * 10**14, 10**14], [4, 2]])
def test_nothing_moves_where_all_values_are_multiples_whatever_the_coefficients(values):
    """0.9 times 1e9 is no whole number in doubles, and a right-hand side keeps its rounding."""
    rounded = tc.controlled_rounding(in_decimals([[0.9, -1]], values), base=2)
    assert rounded.values.tolist() == values
    assert rounded.is_optimal


def test_large_values_with_small_coefficients_are_rounded_in_decimals():
    """Sides are sums of changes: those of values lose the last digits of 0.0001 times 1e9."""
    relations, values = [[0.0001, 0.0001, 0.0001, 1, -1]], [10**9, 10**9, 10**9, 1, 10**9]
    rounded = tc.controlled_rounding(in_decimals(relations, values), base=3, max_steps=1)
    existing = list(decimal_roundings(relations, values, 3, 1))
    assert rounded.values.tolist() in existing
    assert rounded.loss == min(np.abs(np.subtract(x, values)).sum() for x in existing)
    assert rounded.is_optimal


def test_with_decimal_coefficients_a_right_hand_side_counts_in_whole_ones():
    """Half of x less y is -1: no multiple of 2, but x = y = 2 are."""
    rounded = tc.controlled_rounding(in_decimals([[0.5, -1]], [2, 2]), base=2)
    assert rounded.values.tolist() == [2, 2]
    # x - y = 1 has no multiples of 2, however it is written.
    for factor in (1, 0.001, 2, 30):
        problem = in_decimals([[factor, -factor]], [3, 2])
        with pytest.raises(tc.InputError, match="right-hand side .* base that divides"):
            tc.controlled_rounding(problem, base=2)


def test_roundings_in_decimal_coefficients_are_those_that_trial_finds():
    random, counted = np.random.default_rng(5), {"optima": 0, "impossible": 0, "refused": 0}
    for _ in range(80):
        n, base = int(random.integers(3, 6)), int(random.choice([2, 3, 5]))
        steps, n_relations = int(random.integers(1, 3)), int(random.choice([1, 1, 2]))
        relations = random.choice(
            [1, -1, 0.5, -0.5, 0.1, -0.1, 0.01, 0.0001, -2.5, 1000], (n_relations, n)
        ).tolist()
        values = np.rint(10 ** random.uniform(0, 9, n)).astype(int).tolist()
        problem = in_decimals(relations, values)
        existing = list(decimal_roundings(relations, values, base, steps))
        try:
            rounded = tc.controlled_rounding(problem, base=base, max_steps=steps, time_limit=20)
        except (tc.ModelError, tc.InputError) as error:
            assert not existing
            counted["impossible" if isinstance(error, tc.ModelError) else "refused"] += 1
            continue
        counted["optima"] += 1
        fewest = list(decimal_roundings(relations, values, base, rounded.steps))
        assert rounded.steps == 1 or not list(decimal_roundings(relations, values, base, 1))
        least = min(np.abs(np.subtract(x, values)).sum() for x in fewest)
        assert rounded.values.tolist() in fewest
        assert rounded.bound <= least == pytest.approx(rounded.loss)
        for claim in rounded.certificates:
            claim.verify(problem)
    assert min(counted.values()) >= 5, counted


def test_coefficients_that_are_no_decimal_numbers_hold_within_last_places():
    third = in_decimals([[1 / 3, -1]], [12, 4])
    rounded = tc.controlled_rounding(third, base=5, max_steps=1)
    assert rounded.values.tolist() == [15, 5]
    for claim in rounded.certificates:
        claim.verify(third)
    # From 6 and 2, neither 4 nor 8 is three times 0 or 4.
    with pytest.raises(tc.ModelError, match="proved by a complete search"):
        tc.controlled_rounding(in_decimals([[1 / 3, -1]], [6, 2]), base=4, max_steps=1)


def test_a_table_off_by_the_last_decimal_of_a_coefficient_is_refused():
    problem = in_decimals([[0.0001, 0.0001, 1, -1]], [10**9, 10**9, 1, 200001])
    rounded = tc.controlled_rounding(problem, base=5, max_steps=2)
    values = rounded.values + np.array([5, 0, 0, 0])
    with pytest.raises(tc.VerificationError, match="off by 0.0005"):
        replace(rounded, values=values, steps=2).verify()
