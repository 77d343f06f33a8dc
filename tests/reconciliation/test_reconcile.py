"""Tables made additive: closed forms, brute force, and what must be refused."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear
from scipy.sparse import csr_array

import tablecloak as tc
from tablecloak.budget import Budget
from tablecloak.errors import InputError, ModelError
from tablecloak.reconciliation import reconcile
from tablecloak.reconciliation.problem import ReconciliationProblem
from tablecloak.reconciliation.reconcile import whole_table

REGIONS = {"North": ["n1", "n2"], "South": ["s1", "s2", "s3"]}
LEAVES = ["n1", "n2", "s1", "s2", "s3"]


def _tree(values: list[float]) -> pd.DataFrame:
    return pd.DataFrame({"region": ["Total", "North", "South", *LEAVES], "value": values})


def _two_way(seed: int, rows: int = 4, columns: int = 3) -> pd.DataFrame:
    """True counts of a table with margins, each with noise of its own."""
    random = np.random.default_rng(seed)
    counts = random.poisson(3, (rows, columns))
    full = np.zeros((rows + 1, columns + 1))
    full[1:, 1:] = counts
    full[0, 1:], full[1:, 0], full[0, 0] = counts.sum(0), counts.sum(1), counts.sum()
    codes = itertools.product(
        ["Total", *map(str, range(rows))], ["Total", *map(str, range(columns))]
    )
    frame = pd.DataFrame(codes, columns=["a", "b"])
    return frame.assign(value=full.ravel() + random.integers(-2, 3, full.size))


def _sums() -> np.ndarray:
    """From the leaves of the tree to all its cells."""
    south = np.array([0, 0, 1, 1, 1])
    return np.vstack([np.ones(5), 1 - south, south, np.eye(5)])


@given(st.integers(0, 10**6))
def test_without_bounds_a_tree_has_the_closed_form_of_generalised_least_squares(seed):
    random = np.random.default_rng(seed)
    noisy = _tree(random.normal(0, 10, 8).tolist()).assign(var=random.uniform(0.1, 5, 8))
    found = tc.reconcile(noisy, {"region": REGIONS}, variance="var")
    sums, inverse = _sums(), np.diag(1 / noisy["var"])
    leaves = np.linalg.solve(sums.T @ inverse @ sums, sums.T @ inverse @ noisy.value)
    np.testing.assert_allclose(found.values, sums @ leaves, atol=1e-8)
    assert found.is_optimal


@given(st.integers(0, 10**6))
def test_with_bounds_it_is_the_bounded_least_squares_of_scipy(seed):
    random = np.random.default_rng(seed)
    noisy = _tree(random.normal(1, 6, 8).tolist())
    found = tc.reconcile(noisy, {"region": REGIONS}, lower=0.0)
    known = lsq_linear(_sums(), noisy.value, bounds=(0, np.inf), tol=1e-12, method="bvls")
    np.testing.assert_allclose(found.values, _sums() @ known.x, atol=1e-6)
    assert found.gap < 1e-6 and (found.values >= 0).all()


@pytest.mark.parametrize("distance", ["L1", "L2", "Linf"])
def test_no_table_of_small_whole_numbers_is_nearer_than_the_bound(distance):
    for seed in range(3):
        noisy = _two_way(seed, 2, 2)
        found = tc.reconcile(noisy, ["a", "b"], distance=distance, lower=0, whole=True)
        assert np.array_equal(found.values, np.rint(found.values))
        # All tables with inner counts from 0 to 8, one in each column: margins first, as given.
        p, q, r, t = np.indices((9, 9, 9, 9)).reshape(4, -1)
        tables = np.array([p + q + r + t, p + r, q + t, p + q, p, q, r + t, r, t])
        moved = np.abs(tables - noisy.value.to_numpy()[:, None])
        least = {"L1": moved.sum(0), "L2": (moved**2).sum(0), "Linf": moved.max(0)}[distance].min()
        assert found.bound <= least + 1e-9
        assert least <= found.loss + 1e-9


@settings(max_examples=15)
@given(st.integers(0, 10**6))
def test_whole_numbers_lie_within_one_of_the_real_ones(seed):
    noisy = _two_way(seed)
    real = tc.reconcile(noisy, ["a", "b"], lower=0)
    whole = tc.reconcile(noisy, ["a", "b"], lower=0, whole=True)
    assert np.abs(whole.values - real.values).max() <= 1
    assert real.loss <= whole.loss + 1e-9
    whole.table()  # adds up exactly


def test_a_table_that_adds_up_stays_as_it_is():
    exact = _tree([15, 6, 9, 2, 4, 1, 3, 5])
    for distance in ("L1", "L2", "Linf"):
        found = tc.reconcile(exact, {"region": REGIONS}, distance=distance)
        assert found.values.tolist() == exact.value.tolist()
        assert found.loss == 0 and found.is_optimal


def test_fixed_cells_keep_their_values():
    noisy = _two_way(3)
    top = (noisy.a == "Total").to_numpy()
    noisy.loc[0, "value"] = noisy.value[top].iloc[1:].sum()
    found = tc.reconcile(noisy, ["a", "b"], lower=0, fixed={"a": "Total"})
    assert found.values[top].tolist() == noisy.value[top].tolist()
    assert (found.changes[~top] != 0).any()


def test_invariants_that_contradict_each_other_are_named():
    noisy = _tree([20, 6, 9, 2, 4, 1, 3, 5])
    with pytest.raises(ModelError, match=r"\(region=Total\), \(region=North\), \(region=South\)"):
        tc.reconcile(noisy, {"region": REGIONS}, fixed={"region": ["Total", "North", "South"]})


def test_bounds_that_no_table_meets_are_named():
    noisy = pd.DataFrame({"a": ["Total", "x", "y"], "value": [9.0, 4, 5]})
    with pytest.raises(ModelError, match=r"\(proved\).*contradict each other"):
        tc.reconcile(noisy, ["a"], lower=5, upper=8)


def test_important_cells_change_least_and_later_ones_follow():
    noisy = _two_way(5)
    plain = tc.reconcile(noisy, ["a", "b"])
    ordered = tc.reconcile(noisy, ["a", "b"], order=[{"a": "Total", "b": "Total"}, {"a": "Total"}])
    first = ((noisy.a == "Total") & (noisy.b == "Total")).to_numpy()
    assert abs(ordered.changes[first][0]) < 1e-3 < abs(plain.changes[first][0])
    assert len(ordered.passes) == 3
    ordered.verify()
    assert ordered.loss >= plain.loss - 1e-9


def test_exact_figures_weigh_more_than_noisy_ones():
    noisy = _tree([20, 6, 9, 2, 4, 1, 3, 5])
    variance = np.array([1e-8, 1, 1, 1, 1, 1, 1, 1])
    found = tc.reconcile(noisy, {"region": REGIONS}, variance=variance)
    assert abs(found.values[0] - 20) < 1e-6


def test_a_forged_bound_does_not_pass():
    from dataclasses import replace

    from tablecloak.errors import VerificationError

    found = tc.reconcile(_two_way(2), ["a", "b"], lower=0)
    forged = replace(found, passes=(replace(found.passes[0], bound=found.bound * 1.001),))
    with pytest.raises(VerificationError, match="do not prove"):
        forged.verify()
    off = replace(found, values=found.values + np.eye(len(found.values))[0])
    with pytest.raises(VerificationError, match="Relation .* is off"):
        off.verify()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"variance": "spread"}, "no column 'spread', which `variance` names"),
        ({"variance": 0.0}, "Row 1: `variance` is 0, but must be a finite number above 0"),
        ({"variance": np.inf}, "Row 1: `variance` is inf"),
        ({"fixed": "region"}, "column 'region' chooses cells and must be true or false"),
        ({"lower": 5, "upper": 4}, "lower bound 5 is above its upper bound 4"),
        ({"fixed": {"region": "West"}}, "No cell has the codes"),
        ({"distance": "L3"}, "There is no distance of reconciliation 'L3'"),
    ],
)
def test_options_that_make_no_sense_are_named(options, message):
    with pytest.raises(InputError, match=message):
        tc.reconcile(_tree([15, 6, 9, 2, 4, 1, 3, 5]), {"region": REGIONS}, **options)


def test_a_missing_value_is_named_by_its_row():
    with pytest.raises(InputError, match="Row 4: column 'value' must hold a finite number"):
        tc.reconcile(_tree([15, 6, 9, np.nan, 4, 1, 3, 5]), {"region": REGIONS})


def test_cell_key_tables_can_be_made_additive():
    from tablecloak.cellkey import design_count_table, draw_record_keys

    random = np.random.default_rng(1)
    people = pd.DataFrame(
        {"a": random.choice(list("xyz"), 300), "b": random.choice(list("pq"), 300)}
    )
    people["record_key"] = draw_record_keys(range(300), secret=b"for tests")
    released = tc.perturb_counts(people, ["a", "b"], design_count_table(5, 3, blocked=2)).release()
    found = tc.reconcile(released, ["a", "b"], "count", lower=0, whole=True)
    assert np.abs(found.changes).max() <= 15
    assert found.table().is_count


def test_a_cell_with_two_rows_is_named_with_the_second_one():
    twice = pd.concat([_tree([15, 6, 9, 2, 4, 1, 3, 5])] * 2, ignore_index=True)
    with pytest.raises(InputError, match=r"Row 9: the cell {'region': 'Total'} occurs twice \(8 "):
        tc.reconcile(twice, {"region": REGIONS})


@pytest.mark.parametrize("chooses", ["fixd", {"regon": "North"}])
def test_a_misspelt_column_that_chooses_cells_gets_a_suggestion(chooses):
    frame = _tree([15, 6, 9, 2, 4, 1, 3, 5]).assign(fixed=False)
    with pytest.raises(InputError, match="Did you mean '(fixed|region)'"):
        tc.reconcile(frame, {"region": REGIONS}, fixed=chooses)


def test_a_value_beyond_its_bounds_is_refused_with_its_row():
    from dataclasses import replace

    from tablecloak.errors import VerificationError

    found = tc.reconcile(_tree([15, 6, 9, 2, 4, 1, 3, 5]), {"region": REGIONS}, lower=0)
    values = found.values.copy()
    # n1 falls below 0, and n2 makes up for it, so that the table still adds up.
    values[3], values[4] = -1.0, values[4] + values[3] + 1.0
    with pytest.raises(VerificationError, match="The value -1 of row 4 lies outside its bounds"):
        replace(found, values=values).verify()


def test_reconciling_leaves_of_the_squared_noise_the_share_of_cells_that_are_no_totals():
    random = np.random.default_rng(8)
    true = _tree([15, 6, 9, 2, 4, 1, 3, 5])
    noise, left = 0.0, 0.0
    for _ in range(150):
        noisy = true.assign(value=true.value + random.normal(0, 1, 8))
        noise += ((noisy.value - true.value) ** 2).sum()
        left += ((tc.reconcile(noisy, {"region": REGIONS}).values - true.value) ** 2).sum()
    assert abs(left / noise - 5 / 8) < 0.08


@pytest.mark.parametrize("distance", ["L1", "L2", "Linf"])
def test_a_table_that_adds_up_but_breaks_its_bounds_is_not_taken_for_reconciled(distance):
    frame = pd.DataFrame(
        {"region": ["Total", "N", "S"], "value": [-100.0, 50.0, -150.0], "own": [False, True, True]}
    )
    with pytest.raises(ModelError, match=r"\(proved\)"):
        tc.reconcile(frame, ["region"], distance=distance, lower=0.0, fixed="own")


@pytest.mark.parametrize("distance", ["L1", "L2", "Linf"])
def test_a_cent_counts_beside_a_sum_of_1e11(distance):
    frame = pd.DataFrame({"region": ["Total", "N", "S"], "value": [1e11 + 0.01, 6e10, 4e10]})
    found = tc.reconcile(frame, ["region"], distance=distance)
    assert abs(found.values[0] - found.values[1:].sum()) < 1e-4
    assert found.loss > 0
    with pytest.raises(ModelError, match=r"\(proved\)"):
        tc.reconcile(frame, ["region"], distance=distance, fixed=[True, True, True])


def test_small_values_that_change_by_1e10_may_leave_the_rounding_of_1e10_behind():
    codes = itertools.product(["Total", "N", "S"], ["Total", "a", "b"])
    frame = pd.DataFrame(codes, columns=["region", "industry"]).assign(
        value=[61893758887, 32112, 58177691503, -43, -14, 20, 48895018450, 28835, 61198512529],
        variance=[1.0, 3, 7, 4, 7, 4, 1, 6, 1],
    )
    found = tc.reconcile(
        frame, ["region", "industry"], distance="Linf", variance="variance", lower=0.0, whole=True
    )
    x = found.values.reshape(3, 3)
    assert np.array_equal(x[0], x[1] + x[2])
    assert np.array_equal(x[:, 0], x[:, 1] + x[:, 2])
    assert found.is_optimal


def _problem(values, relations, **bounds):
    n = len(values)
    return ReconciliationProblem(
        np.array(values), np.ones(n), csr_array(np.array(relations, dtype=float)),
        np.zeros(len(relations)), bounds.get("lower", np.zeros(n)),
        bounds.get("upper", np.full(n, np.inf)),
    )  # fmt: skip


def test_three_thirds_become_one_and_two_zeros():
    real = np.array([1 / 3, 1 / 3, 1 / 3, 1.0])
    found = whole_table(_problem(real, [[1, 1, 1, -1]]), real, Budget.of(10))
    assert sorted(found.tolist()) == [0, 0, 1, 1] and found[3] == 1


def test_whole_cells_stay_where_others_are_rounded():
    real = np.array([2.0, 0.5, 0.5, 3.0])
    found = whole_table(_problem(real, [[1, 1, 1, -1]]), real, Budget.of(10))
    assert found[0] == 2 and found[3] == 3


def test_where_neighbours_do_not_suffice_a_cell_moves_on_within_one():
    # x = y and x + y = 1: halves. Only 0 and 1 are near, and no pair of equal ones adds up to 1;
    # with the sum free to move, 0 + 0 = 0 does.
    real = np.array([0.5, 0.5, 1.0])
    problem = _problem(real, [[1, -1, 0], [1, 1, -1]])
    found = whole_table(problem, real, Budget.of(10))
    assert found.tolist() in ([0, 0, 0], [1, 1, 2])


def test_what_has_no_whole_table_is_refused_with_a_proof():
    real = np.array([0.5, 0.5, 1.0])
    fixed = np.array([0.0, 0.0, 1.0])
    problem = _problem(real, [[1, -1, 0], [1, 1, -1]], lower=fixed, upper=np.array([1.0, 1, 1]))
    with pytest.raises(InputError, match=r"within 1 of the real one \(proved\)"):
        whole_table(problem, real, Budget.of(10))


def test_bounds_that_are_not_whole_hold_whole_tables_all_the_same():
    # A whole number below 0.4 lies beyond the bound, and 1 + 1 is more than 1 beyond 0.8.
    frame = pd.DataFrame({"r": ["Total", "a", "b"], "value": [0.2, 0.1, 0.1]})
    found = reconcile(frame, ["r"], lower=0.4, whole=True)
    assert found.values.tolist() == [2, 1, 1]


def test_a_fixed_value_that_is_not_whole_is_named():
    frame = pd.DataFrame({"r": ["Total", "a", "b"], "value": [2.5, 1, 1]})
    with pytest.raises(InputError, match=r"r=Total: no whole number .* value 2\.5 .* not whole"):
        reconcile(frame, ["r"], fixed={"r": "Total"}, whole=True)
