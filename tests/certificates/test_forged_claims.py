"""Forgeries by hand of claims about adjusted tables, and what a verdict has to admit."""

from __future__ import annotations

import numpy as np
import pytest

import random_tables
import tablecloak as tc
from forged_claims import cut, hidden, intervals
from hand_tables import problem_of
from tablecloak.certificates import verifier
from tablecloak.certificates.claim import arrays_of
from tablecloak.certificates.verifier import RefusedError, proved, verify


def certificate(**options):
    problem = random_tables.random_problem(2, n_sensitive=4)
    return arrays_of(tc.adjust(problem, **options).certificates, problem)


@pytest.fixture(scope="module")
def plain():
    return certificate()


def test_shares_of_more_than_one_prove_nothing():
    arrays = certificate(distance="Linf")
    shares = arrays["proof_kind"] == 4
    assert np.any(shares)
    data = np.where(shares, 2 * arrays["proof_data"], arrays["proof_data"])
    with pytest.raises(RefusedError, match="shares of more than 1 in all"):
        verify({**arrays, "proof_data": data})


def test_rows_that_hold_one_way_have_multipliers_of_one_sign(plain):
    more = {"proof_kind": 2, "proof_row": 0, "proof_cell": -1, "proof_data": -1.0}
    arrays = dict(plain)
    for name, value in more.items():
        arrays[name] = np.append(arrays[name], np.array([value], arrays[name].dtype))
    arrays["proof_starts"] = plain["proof_starts"].copy()
    arrays["proof_starts"][-1] += 1
    with pytest.raises(RefusedError, match="below 0|out of order"):
        verify(arrays)


def test_a_side_with_the_level_0_is_no_way_out(plain):
    """A cell that nobody moved would lie on such a side."""
    fallen = (plain["status"] == "u") & (plain["published"] < plain["values"])
    risen = (plain["status"] == "u") & (plain["published"] > plain["values"])
    for name, cells in (("lower_protection", fallen), ("upper_protection", risen)):
        if np.any(cells):
            with pytest.raises(RefusedError):
                verify({**plain, name: np.where(cells, 0.0, plain[name])})


def test_a_direction_that_narrows_the_question_is_admitted(plain):
    cell = int(np.flatnonzero(plain["status"] == "u")[0])
    up = plain["published"][cell] > plain["values"][cell]
    direction = plain["direction"].copy()
    direction[cell] = 1 if up else -1
    assert not any("given directions" in line for line in verify(plain))
    assert any("given directions of 1 cells" in line for line in
               verify({**plain, "direction": direction}))  # fmt: skip


def test_an_invented_statistic_is_admitted_and_has_to_hold(plain):
    cell = int(np.flatnonzero(plain["status"] == "s")[0])
    change = plain["published"][cell] - plain["values"][cell]
    arrays = {
        **plain,
        "claims": np.array(["protection", "additivity", "statistics", "loss", "bound"]),
        "statistic_kind": np.array(["sum"]),
        "statistic_starts": np.array([0, 1]),
        "statistic_cells": np.array([cell]),
        "statistic_data": np.array([1.0]),
        "statistic_slack": np.array([0.0]),
        "statistic_target": np.array([change]),
    }
    assert any("a sum of changes of 1 cells, with given coefficients" in line for line in
               verify(arrays))  # fmt: skip
    with pytest.raises(RefusedError, match="the sum is not kept"):
        verify({**arrays, "statistic_target": np.array([change + 1.0])})


def test_half_of_a_tree_proves_nothing_about_the_other_half():
    problem = random_tables.random_problem(2, shape=(3, 4, 4), n_sensitive=8)
    arrays = arrays_of(tc.adjust(problem).certificates, problem)
    assert len(arrays["node_parent"]) > 2
    children = np.flatnonzero(arrays["node_parent"] == 0)
    kept = [children[0], children[0]]
    both = {name: arrays[name].copy() for name in ("node_is_lower", "node_limit", "node_proof")}
    for name in ("node_is_lower", "node_limit"):
        both[name][children] = both[name][kept]
    with pytest.raises(RefusedError, match="a split without two sides"):
        proved({**arrays, **both})


# -- sums of relations ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def summed():
    """S = U + V = W, so that W, which costs 10, moves as far as S, by 5: at least 5 + 50 in all."""
    problem = problem_of("SUVW", [90, 40, 50, 90], [[1, -1, -1, 0], [0, -1, -1, 1]], {"S": (5, 5)})
    found = tc.adjust(problem, weights=[1.0, 1.0, 1.0, 10.0], integer=False)
    assert found.loss == pytest.approx(60)
    proof = {"kind": [3], "row": [2], "cell": [0], "data": [10.0], "starts": [0, 1]}
    return {
        **arrays_of(found.certificates, problem),
        **{f"proof_{name}": np.array(values) for name, values in proof.items()},
        "tree_starts": np.array([0, 1]),
        "node_parent": np.array([-1]),
        "node_cell": np.array([-1]),
        "node_is_lower": np.array([False]),
        "node_limit": np.array([0]),
        "node_proof": np.array([0]),
        "combined_starts": np.array([0, 2]),
        "combined_relations": np.array([0, 1]),
        "combined_data": np.array([1.0, -1.0]),
        "bound": np.array(55.0),
    }


def test_a_balance_row_of_a_sum_of_relations_proves_what_no_relation_does(summed):
    assert any("no such release loses less than 55" in line for line in verify(summed))
    assert proved(summed) == pytest.approx(55)
    alone = {name: array for name, array in summed.items() if not name.startswith("combined")}
    with pytest.raises(RefusedError, match="a multiplier of no row"):
        verify(alone)
    for row in (0, 1):
        with pytest.raises(RefusedError, match="only .* is proved|another relation"):
            verify({**alone, "proof_row": np.array([row])})


@pytest.mark.parametrize(
    ("forged", "reason"),
    [
        ({"bound": 55.1}, "only 54.9999999"),
        ({"combined_data": [1.0, 1.0]}, "is proved"),
        ({"combined_data": [1.0, -0.5]}, "not whole numbers"),
        ({"combined_data": [2.0**39, -(2.0**39)]}, "too large"),
        ({"combined_data": [1e308, -1e308]}, "a multiplier above 1e\\+30"),
        ({"combined_data": [1e30, -1e30]}, "too large"),
        ({"combined_data": [1.0, 0.0]}, "a multiplier of 0"),
        ({"combined_relations": [0, 0]}, "twice or out of order"),
        ({"combined_relations": [0, 2]}, "out of range"),
        ({"combined_starts": [0, 1]}, "leave something out"),
        ({"proof_row": [3]}, "a multiplier of no row"),
        ({"proof_cell": [1]}, "a balance row of another relation"),
        ({"proof_kind": [2], "proof_cell": [-1]}, "a multiplier of no row"),
        ({"proof_kind": [0], "proof_cell": [-1]}, "a multiplier of no row"),
    ],
    ids=str,
)
def test_forged_sums_of_relations_are_refused(summed, forged, reason):
    changed = {name: np.array(value, summed[name].dtype) for name, value in forged.items()}
    with pytest.raises(RefusedError, match=reason):
        verify({**summed, **changed})


def test_sums_of_relations_with_fractions_or_of_many_terms_are_refused(summed, monkeypatch):
    with pytest.raises(RefusedError, match="not whole numbers"):
        verify({**summed, "relation_data": 0.5 * summed["relation_data"]})
    monkeypatch.setattr(verifier, "MOST_TERMS", 5)
    with pytest.raises(RefusedError, match="too long to check"):
        verify(summed)


def test_only_bounds_of_adjustments_have_sums_of_relations(summed):
    without = {name: array for name, array in summed.items() if name not in ("bound",)}
    claims = np.array([claim for claim in summed["claims"] if claim != "bound"])
    with pytest.raises(RefusedError, match="combined relations of no bound"):
        verify({**without, "claims": claims})


@pytest.mark.parametrize(
    ("make", "row", "reason"),
    [
        (hidden, cut(0, 5, [], 1.0, 0.0), "a cell that is not sensitive"),
        (hidden, cut(1, 0, [(0, 1.0)], 1.0, 0.0), "multipliers that a row does not use"),
        (hidden, cut(4, 0, [], 1.0, 0.0), "a sum without summands"),
        (intervals, cut(0, 5, [], 1.0, 0.0), "a cell that is not sensitive"),
        (intervals, cut(3, 0, [], 1.0, 0.0), "a cell that is not sensitive"),
    ],
)
def test_a_row_is_refused_also_if_no_leaf_uses_it(make, row, reason):
    verify(make(**without_multipliers(cut(0, 0, [], 1.0, 0.0))))
    with pytest.raises(RefusedError, match=reason):
        verify(make(**without_multipliers(row)))


def without_multipliers(row):
    return {name: array for name, array in row.items() if not name.startswith("proof_")}
