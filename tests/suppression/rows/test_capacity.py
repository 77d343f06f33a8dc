"""Tests of witnesses and rows of single needs."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import tablecloak as tc
from tablecloak.budget import Budget
from tablecloak.suppression.intervals.intervals import needs_of
from tablecloak.suppression.rows.capacity import CapacityFinder
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.suppression.system.system import System


def chain(factor, links):
    """Cells of which each is `factor` times the one before, and a free one at the end."""
    values = np.append(10.0 * factor ** np.arange(links + 1.0), 0.0)
    n = len(values)
    relations = np.diag(np.full(n, factor))[:links] - np.eye(n, k=1)[:links]
    relations[-1, -1] = 1.0
    level = np.where(np.arange(n) == 0, 1.0, 0.0)
    room = 1000 * np.append(np.abs(values[:-1]), values[-2])
    table = tc.Table(
        keys=pd.DataFrame({"code": [f"c{i}" for i in range(n)]}),
        values=values,
        relations=csr_array(relations),
        right_hand_side=np.zeros(links),
    )
    status = np.array(["u"] + ["s"] * (n - 1))
    return tc.ProtectionProblem(table, status, level, level, 0 * level, -room, room, np.ones(n))


@pytest.mark.parametrize(("factor", "links"), [(1e3, 1), (1e9, 1), (1e6, 2), (1e9, 2)])
@pytest.mark.filterwarnings("error")
def test_a_witness_moves_its_cell_by_the_need_however_far_others_move(factor, links):
    problem = chain(factor, links)
    needs = needs_of(problem, Requirement.TWO_SIDED)
    system = System.of(problem, needs, ~problem.frozen)
    finder = CapacityFinder(system, Budget.of(1000.0))
    everything, none = np.ones(system.n_unknown), np.zeros(1, dtype=bool)
    witnesses = finder.ask(everything, lambda _: False, none, integral=True, seconds=1000.0)
    found = [moves[cells == needs.cells[0]].item() for cells, moves in witnesses]
    assert found == pytest.approx([1.0, -1.0])
