"""Moves of few cells: the least in sum, and where others do not become exact, the proof."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.suppression.attack.attack import Attack
from tablecloak.suppression.attack.prove import ROOMY_SPARE, SPARE, prove
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.system.needs import needs_of
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.suppression.system.system import System


def system_of(seed: int) -> System:
    """A three-way table of which everything below the grand total is hidden."""
    problem = random_problem(seed, shape=(3, 4, 4), n_sensitive=12)
    hidden = np.arange(problem.table.n_cells) > 0
    return System.of(problem, needs_of(problem, Requirement.TWO_SIDED), hidden)


@pytest.mark.parametrize("seed", range(3))
def test_no_move_that_meets_a_need_is_less_in_sum(seed):
    """The program of a textbook, solved by SciPy, gives the same sum."""
    system = system_of(seed)
    attack, matrix, n = Attack(system), system.matrix.toarray(), system.n_unknown
    met = 0
    for cell in system.needs.cells:
        for sign, room in ((1, system.high), (-1, -system.low)):
            distance = 0.4 * float(room[cell])
            d = attack.least(int(cell), sign, distance)
            program = np.ones(2 * n)
            bounds = [(0, high) for high in [*system.high, *-system.low]]
            both = np.hstack([matrix, -matrix])
            far = np.zeros(2 * n)
            far[[cell, cell + n]] = -sign, sign
            right = np.zeros(len(matrix))
            exact = linprog(program, far[None, :], [-distance], both, right, bounds=bounds)
            assert exact.status in (0, 2)
            assert (len(d) > 0) == (exact.status == 0)
            if len(d):
                met += 1
                assert sign * d[cell] >= distance * (1 - 1e-9)
                np.testing.assert_allclose(matrix @ d, 0, atol=1e-6 * distance)
                assert np.abs(d).sum() == pytest.approx(exact.fun, rel=1e-6)
    assert met >= len(system.needs.cells)


@pytest.mark.parametrize("spare", [SPARE, ROOMY_SPARE])
def test_a_cell_moves_to_the_end_of_its_room_where_a_little_more_is_asked_for(spare):
    """A level that is all the room: searches ask for a little more, beside figures a thousandth."""
    system, reached = system_of(0), 0
    attack = Attack(system)
    for cell in system.needs.cells:
        room = -float(system.low[cell])
        whole = attack.least(int(cell), -1, room)
        more = attack.least(int(cell), -1, room * (1 + spare))
        assert len(whole) == len(more)
        if len(more):
            reached += 1
            assert more[cell] == pytest.approx(-room, rel=1e-9)
    assert reached > 5


def test_needs_are_proved_where_moves_of_many_cells_never_become_exact(monkeypatch):
    """As in large tables with cents, whose eliminations end without an answer."""
    add, refused = WitnessPool.add, []

    def adding(pool, deviation, budget, **options):
        if np.count_nonzero(deviation) > 40:
            refused.append(np.count_nonzero(deviation))
        else:
            add(pool, deviation, budget, **options)

    monkeypatch.setattr(WitnessPool, "add", adding)
    system = system_of(1)
    pool = WitnessPool(system)
    assert not prove(Attack(system), pool, Budget.of())
    assert not np.any(pool.open)
    assert refused
