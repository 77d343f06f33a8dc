"""Controlled rounding: additive, near the truth, proved, and attacked."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc


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
    table = tc.tabulate(frame, trees, "n")
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


@pytest.mark.parametrize("seed", range(10))
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


@pytest.mark.parametrize("seed", range(6))
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
    for seed in range(12):
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
    table = tc.tabulate(frame, trees, "n")
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
