"""Sums of boxes: what they move is exact, has room, and costs less than boxes where many hide."""

from __future__ import annotations

import itertools
import sys
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from margins import with_levels, with_margins
from tablecloak.budget import Budget
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.rows.candidate import Candidate
from tablecloak.suppression.search import schedule
from tablecloak.suppression.search.boxes import sums
from tablecloak.suppression.search.boxes.pattern import MET, BoxFinder, BoxPattern, Grid
from tablecloak.suppression.search.boxes.phases import protect_by_boxes, protect_by_sums
from tablecloak.suppression.search.closing import proved_pattern
from tablecloak.suppression.search.schedule import is_begun_in_haste
from tablecloak.suppression.search.sequential import protect_one_by_one
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.search.strategy import PORTFOLIO
from tablecloak.suppression.system.requirement import Requirement

pytest.importorskip("numba")

TREES = {
    "region": {"n": {"n1": [], "n2": [], "n3": []}, "s": {"s1": [], "s2": []}, "w": {"w1": []}},
    "kind": {"a": ["a1", "a2", "a3"], "b": ["b1", "b2"], "c": []},
    "size": {code: [] for code in "12345"},
}


WIDE = {
    "region": {code: [code + str(number) for number in range(9)] for code in "abcd"},
    "kind": {code: [code + str(number) for number in range(6)] for code in "uvw"},
    "size": {"s": ["s1", "s2"], "t": ["t1"]},
}
"""More leaves than quick sums try."""


def dense(
    seed: int, *, is_whole: bool = True, of: dict[str, Any] = TREES, share: float = 0.9
) -> tc.ProtectionProblem:
    """Half of the cells sensitive; levels of a fifth to three fifths of small cells' values."""
    random = np.random.default_rng(seed)
    trees = {name: tc.Hierarchy.from_dict(tree) for name, tree in of.items()}
    frame = pd.DataFrame(
        itertools.product(*(tree.leaves for tree in trees.values())), columns=list(trees)
    )
    frame = frame.assign(v=np.ceil(random.lognormal(4, 1, len(frame))))
    table = with_margins(frame[random.random(len(frame)) <= share], trees, "v", decimals=0)
    values = table.values
    chosen = (values < np.median(values)) & (random.random(len(values)) < 0.9)
    level = np.where(chosen, random.uniform(0.2, 0.6, len(values)) * values, 0)
    return with_levels(table, np.ceil(level) if is_whole else level)


def state_of(problem: tc.ProtectionProblem) -> SearchState:
    return SearchState.of(problem, Requirement.TWO_SIDED, "boxes")


def pattern_of(
    problem: tc.ProtectionProblem, *, of_sums: bool = True, care: sums.Care = sums.CAREFUL
) -> BoxPattern:
    state = state_of(problem)
    grid = Grid.of(problem.table, state.system)
    assert grid is not None
    weights = problem.weights[state.system.cells]
    if not of_sums:
        return BoxPattern(state.system, weights, state.must, partial(BoxFinder, grid))
    finding = partial(sums.SumFinder, grid, care=care, is_whole=state.system.integer)
    return BoxPattern(state.system, weights, state.must, finding)


@pytest.mark.parametrize("is_whole", [True, False])
def test_every_sum_keeps_all_relations_to_the_last_digit_and_has_room_both_ways(is_whole):
    pattern = pattern_of(dense(1, is_whole=is_whole))
    system, count = pattern.system, 0
    for cell in range(0, system.n_unknown, 3):
        for target in (1.0, 7.3, 0.4 * pattern.rooms[:, cell].min()):
            found = pattern.finder.cheapest(cell, target)
            if found is None:
                continue
            count += 1
            deviation = np.zeros(system.n_unknown)
            deviation[found.cells] = found.moves
            assert not np.any(system.matrix @ deviation)
            assert np.all(np.abs(found.moves) <= pattern.rooms[:, found.cells])
            assert deviation[cell] >= target * (1 - 1e-9)
            assert not np.any(pattern.finder.work.moved)
    assert count > 100


def test_a_sum_moves_its_cell_so_far_that_a_need_of_many_digits_is_met():
    pattern = pattern_of(dense(1, is_whole=False))
    random, count = np.random.default_rng(0), 0
    for cell in range(0, pattern.system.n_unknown, 3):
        target = float(random.uniform(0.1, 0.5) * pattern.rooms[:, cell].min())
        found = pattern.finder.cheapest(cell, target) if target > 0 else None
        if found is not None:
            count += 1
            assert found.moves[np.searchsorted(found.cells, cell)] >= MET * target
    assert count > 50


def one_sided(seed: int) -> tc.ProtectionProblem:
    """Levels above 1 are beyond the room below: cells can lose a tenth, and grow to ten times."""
    problem = dense(seed)
    values = problem.table.values
    return problem.with_changes(
        lower_bound=np.minimum(values, np.floor(0.9 * values)),
        upper_bound=10 * values + 10,
        lower_protection=np.minimum(problem.lower_protection, values - np.floor(0.9 * values)),
    )


@pytest.mark.parametrize("seed", range(2))
def test_each_side_of_a_need_is_met_on_its_own_where_a_cell_has_room_on_one_side(seed):
    problem = one_sided(seed)
    pattern = pattern_of(problem)
    system = pattern.system
    own = pattern.rooms[:, system.needs.cells].min(axis=0)
    assert np.sum(pattern.size > own) > 10
    pattern.build(Budget.of())
    one_way = [box for box in pattern.boxes.values() if not box.is_mirrored]
    assert len(one_way) > 10
    for cells, moves in pattern.witnesses():
        deviation = np.zeros(system.n_unknown)
        deviation[cells] = moves
        assert not np.any(system.matrix @ deviation)
        assert np.all((deviation >= system.low) & (deviation <= system.high))
    pool = WitnessPool(system)
    pool.take(pattern.witnesses())
    assert np.array_equal(np.flatnonzero(pool.open), np.sort(pattern.open))
    assert len(pattern.open) < 0.2 * len(pattern.size)


def test_sums_meet_the_needs_of_dense_tables_for_less_than_boxes():
    lost = {True: 0.0, False: 0.0}
    for seed in range(4):
        for of_sums in lost:
            pattern = pattern_of(dense(seed), of_sums=of_sums)
            pattern.build(Budget.of())
            assert len(pattern.open) < 0.2 * len(pattern.size)
            lost[of_sums] += pattern.loss
    assert lost[True] < lost[False]


def test_a_pattern_of_sums_is_proved_and_holds_against_an_audit():
    problem = dense(2)
    state = state_of(problem)
    assert state.is_dense
    state = protect_by_sums(protect_by_boxes(state, Budget.of()), Budget.of())
    assert state.best is not None
    suppressed, proof = proved_pattern(problem, Requirement.TWO_SIDED, state.best)
    assert proof.verify().checked == problem.n_sensitive
    assert tc.audit(problem, suppressed).is_safe


def test_sums_of_all_shapes_meet_what_quick_ones_leave_open():
    left = 0
    for seed in range(3):
        problem = dense(seed, of=WIDE, share=0.2)
        quick, thorough = (pattern_of(problem, care=each) for each in (sums.QUICK, sums.THOROUGH))
        quick.build(Budget.of())
        pool = WitnessPool(quick.system)
        pool.take(quick.witnesses())
        thorough.begin_with(pool)
        assert set(thorough.open) == set(quick.open)
        thorough.build(Budget.of())
        left += len(quick.open) - len(thorough.open)
    assert left > 0


def test_heavy_cells_are_published_again_and_every_need_stays_met():
    """Programs find witnesses that hold on one side only: these are not mirrored."""
    saved = one_sided = 0
    for seed in range(4):
        problem = dense(seed)
        state = state_of(problem)
        begun = protect_one_by_one(state.problem, state.system, PORTFOLIO[0], Budget.of())
        pattern = pattern_of(problem, care=sums.RELIEVED)
        pattern.begin_with(begun.pool)
        one_sided += sum(not box.is_mirrored for box in pattern.boxes.values())
        before = pattern.loss
        assert not len(pattern.open) and before <= begun.loss
        pattern.relieve(Budget.of(), np.random.default_rng(seed), set())
        pool = WitnessPool(state.system)
        pool.take(pattern.witnesses())
        pool.take(begun.pool.proof(pool.open).witnesses)
        candidate = Candidate(pattern.hidden, pool, begun.weights)
        proved_pattern(problem, Requirement.TWO_SIDED, candidate)
        assert candidate.loss <= before
        saved += candidate.loss < before
    assert saved and one_sided


def test_a_cell_that_stands_is_moved_by_no_sum():
    pattern = pattern_of(dense(1))
    asked = int(pattern.system.needs.cells[0])
    found = pattern.finder.cheapest(asked, 1.0)
    assert found is not None
    other = int(found.cells[found.cells != asked][0])
    with pattern.finder.without(other):
        again = pattern.finder.cheapest(asked, 1.0)
    assert again is not None and other not in again.cells
    assert other in pattern.finder.cheapest(asked, 1.0).cells


def test_without_numba_boxes_build_the_pattern(monkeypatch):
    monkeypatch.setattr(sums, "is_installed", lambda library: False)
    state = protect_by_boxes(state_of(dense(3)), Budget.of())
    assert state.best is not None and state.best.is_proved
    assert protect_by_sums(replace(state), Budget.of()).best is state.best


def test_many_needs_in_little_time_are_met_by_sums_first():
    state = state_of(dense(3))
    seconds = schedule.NEED_SECONDS * len(state.system.needs.cells)
    assert is_begun_in_haste(state, Budget.of(0.9 * seconds))
    assert not is_begun_in_haste(state, Budget.of(1.1 * seconds))
    hurried = protect_by_boxes(state, Budget.of())
    assert hurried.best is not None
    assert not is_begun_in_haste(hurried, Budget.of(0.9 * seconds))


@pytest.mark.slow
def test_loops_are_compiled_by_another_process_where_there_is_no_time_for_it(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.delitem(sys.modules, sums.KERNEL, raising=False)
    grid = Grid.of((problem := dense(1)).table, state_of(problem).system)
    assert grid is not None and not sums.are_compiled()
    sums.compiling_beside.cache_clear()
    assert not sums.is_ready(grid, 1.0) and sums.is_ready(grid, 100.0)
    assert not sums.is_ready(grid, 1.0)
    compiling = sums.compiling_beside()
    assert compiling is not None and compiling.wait(100) == 0
    assert sums.are_compiled() and sums.is_ready(grid, 1.0)
    # Each loop once: numba compiles it again for each number that is written out in a call.
    assert len(list(tmp_path.rglob("*.nbc"))) == len(list(tmp_path.rglob("*.nbi"))) > 5


def test_a_table_with_too_many_codes_is_not_said_to_lack_compiled_loops(monkeypatch):
    grid = Grid.of((problem := dense(1)).table, state_of(problem).system)
    assert grid is not None
    monkeypatch.setattr(sums, "is_installed", lambda name: False)
    assert "tablecloak[fast]" in sums.lacking_loops(grid, 1.0)[0]
    monkeypatch.setattr(sums, "MOST_CODES", 2)
    assert sums.lacking_loops(grid, 1.0) == []


def test_nobody_needs_a_home_to_be_told_whether_loops_are_compiled(monkeypatch):
    for name in ("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert sums.are_compiled() in (True, False)
