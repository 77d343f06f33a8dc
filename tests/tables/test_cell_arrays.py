"""The arrays of a problem: each is carried by whatever makes a problem of problems."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from scipy.sparse import csr_array

import tablecloak as tc
from random_tables import random_problem
from tablecloak.tables.cell_arrays import ArrayKind, CellArrays, largest
from tablecloak.tables.changes.earlier_releases import EarlierRelease, Published
from tablecloak.tables.changes.merged_cells import MergedCells
from tablecloak.tables.changes.sums import with_further_cells
from tablecloak.tables.coupling import CoupledCells

NAMES = list(CellArrays.kinds())
NUMBERS = [name for name, kind in CellArrays.kinds().items() if kind.dtype is np.float64]


@dataclass(frozen=True, eq=False)
class WithAge(CellArrays):
    """The arrays of cells that have an age as well: the oldest of a group counts."""

    age: np.ndarray = field(
        default=None, metadata={"kind": ArrayKind(np.float64, 7.0, largest, further=-1.0)}
    )


def three(**changes) -> WithAge:
    given = {
        "status": ["u", "s", "s"],
        "lower_protection": [1, 0, 0],
        "upper_protection": [2, 0, 0],
        "lower_bound": [0, 0, 0],
        "upper_bound": [9, 9, 9],
        "age": [10, 20, 30],
    }
    return WithAge(**(given | changes))


def different(problem: tc.ProtectionProblem) -> tc.ProtectionProblem:
    """The same problem with numbers that differ from cell to cell in every array."""
    n = problem.table.n_cells
    ramp = 1 + np.arange(n) / n
    levels = [name for name in NUMBERS if name.endswith("_protection")]
    return problem.with_changes(
        **{name: getattr(problem, name) + ramp for name in (*levels, "weights")},
        lower_bound=problem.table.values - 100 - ramp,
        upper_bound=problem.table.values + 100 + ramp,
        capacity_down=ramp,
        capacity_up=2 * ramp,
        reasons=[f"rule {cell}" for cell in range(n)],
    )


def test_a_further_attribute_of_a_cell_needs_one_field():
    arrays = three()
    assert arrays.take(np.array([2, 0])).age.tolist() == [30, 10]
    assert arrays.stacked([three(age=None)]).age.tolist() == [10, 20, 30, 7, 7, 7]
    sums = csr_array(np.array([[1.0, 1.0, 0.0]]))
    assert arrays.extended(sums).age.tolist() == [10, 20, 30, -1]
    groups = CoupledCells(np.array([0, 0, 1]), np.array([1.0, -1.0, 1.0]))
    assert arrays.merged(groups, np.array([0, 2]), np.zeros(3)).age.tolist() == [20, 30]
    assert not arrays.age.flags.writeable


def test_what_is_left_out_has_its_default_or_is_missed():
    arrays = three()
    assert arrays.weights.tolist() == [1, 1, 1]
    assert arrays.sliding_protection.tolist() == [0, 0, 0]
    assert np.all(np.isinf(arrays.capacity_up))
    with pytest.raises(tc.InputError, match="`lower_bound` is missing"):
        three(lower_bound=None)
    with pytest.raises(tc.InputError, match=r"`weights` has the shape \(2,\)"):
        three(weights=[1, 2])


@pytest.mark.parametrize("name", NAMES)
def test_each_array_is_carried_to_the_cells_that_a_problem_keeps(name):
    problem = different(random_problem(3))
    n = problem.table.n_cells
    given = getattr(problem, name).tolist()
    sums = csr_array(np.eye(1, n) + np.eye(1, n, k=1))
    keys = problem.table.keys.iloc[:1] + "+"
    release = EarlierRelease(problem, problem.table.values, problem.table.values)
    joined = tc.join({"one": problem, "other": problem})
    grown = {
        "further cells": with_further_cells(problem, keys, sums).problem,
        "earlier releases": Published([release]).beside(problem).problem,
    }
    for way, larger in grown.items():
        assert getattr(larger, name)[:n].tolist() == given, way
    assert getattr(problem.with_changes(), name).tolist() == given
    if name != "weights":  # those of variables are made comparable
        assert getattr(joined, name).tolist() == [*given, *given]
    alone = MergedCells.of(problem, apart=np.ones(n, dtype=bool)).problem
    assert getattr(replace(alone, status=problem.status), name).tolist() == given
