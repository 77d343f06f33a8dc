"""Patterns from boxes: relations confirm what codes guess, and nothing stays hidden in vain."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from margins import with_levels, with_margins
from tablecloak.budget import Budget
from tablecloak.suppression.search.boxes import phases
from tablecloak.suppression.search.boxes.pattern import BoxFinder, BoxPattern, Grid, Moves
from tablecloak.suppression.search.boxes.phases import protect_by_boxes
from tablecloak.suppression.search.closing import proved_pattern
from tablecloak.suppression.search.merging import merged_for
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.system.requirement import Requirement

REGIONS = {"n": {"n1": [], "n2": [], "n3": []}, "s": {"s1": [], "s2": []}, "w": {"w1": []}}
KINDS = {"a": ["a1", "a2", "a3"], "b": ["b1", "b2"], "c": []}
SIZES = {code: [] for code in "12345"}


def problem_of(seed: int, *, empty: float = 0.3) -> tc.ProtectionProblem:
    """Three dimensions, one region with a single part, empty cells, small cells sensitive."""
    random = np.random.default_rng(seed)
    trees = {"region": REGIONS, "kind": KINDS, "size": SIZES}
    hierarchies = {name: tc.Hierarchy.from_dict(tree) for name, tree in trees.items()}
    leaves = list(itertools.product(*(tree.leaves for tree in hierarchies.values())))
    frame = pd.DataFrame(leaves, columns=list(hierarchies))
    frame = frame.assign(v=np.ceil(random.lognormal(4, 1, len(leaves))))
    frame = frame[random.random(len(frame)) > empty]
    table = with_margins(frame, hierarchies, "v", decimals=0)
    chosen = (table.values < 80) & (random.random(table.n_cells) < 0.3)
    level = np.where(chosen, np.ceil(0.2 * table.values), 0)
    return with_levels(table, level)


def pattern_of(problem: tc.ProtectionProblem) -> BoxPattern:
    state = state_of(problem)
    grid = Grid.of(problem.table, state.system)
    assert grid is not None
    weights = problem.weights[state.system.cells]
    return BoxPattern(state.system, weights, state.must, partial(BoxFinder, grid))


def state_of(problem: tc.ProtectionProblem) -> SearchState:
    return SearchState.of(problem, Requirement.TWO_SIDED, "boxes")


@pytest.mark.parametrize("is_merged", [False, True])
def test_every_box_keeps_all_relations_and_bounds_and_moves_its_cell_up(is_merged):
    problem = problem_of(1)
    if is_merged:
        problem = merged_for(problem, Requirement.TWO_SIDED).problem
        assert problem.table.n_cells < problem_of(1).table.n_cells
    pattern = pattern_of(problem)
    system, finder = pattern.system, pattern.finder
    found = {cell: finder.cheapest(cell, 1.0) for cell in range(system.n_unknown)}
    boxes = {cell: box for cell, box in found.items() if box is not None}
    assert len(boxes) > 0.8 * system.n_unknown
    for cell, box in boxes.items():
        deviation = np.zeros(system.n_unknown)
        deviation[box.cells] = box.moves
        assert not np.any(system.matrix @ deviation)
        assert np.all((deviation >= system.low) & (deviation <= system.high))
        assert deviation[cell] == 1


def test_a_box_has_room_for_what_is_asked_in_every_cell():
    pattern = pattern_of(problem_of(2))
    for cell in range(0, pattern.system.n_unknown, 7):
        for target in (1.0, 30.0, 200.0):
            box = pattern.finder.cheapest(cell, target)
            assert box is None or np.all(pattern.rooms[:, box.cells] >= target)


def test_a_box_through_hidden_cells_is_cheaper_than_any_other():
    pattern = pattern_of(problem_of(3))
    cell = int(pattern.system.needs.cells[0])
    first = pattern.finder.cheapest(cell, 1.0)
    dear = pattern.finder.cheapest(cell, 50.0)
    assert dear is not None and first is not None and not np.array_equal(dear.cells, first.cells)
    pattern.finder.hide(dear.cells)
    assert np.array_equal(pattern.finder.cheapest(cell, 1.0).cells, dear.cells)


def test_where_few_moves_find_nothing_many_are_tried():
    pattern = pattern_of(problem_of(3))
    cells = range(0, pattern.system.n_unknown, 5)
    usual = [pattern.finder.cheapest(cell, 1.0) for cell in cells]
    pattern.finder.few = Moves(pattern.finder.grid, 1, 1)
    found = [pattern.finder.cheapest(cell, 1.0) for cell in cells]
    within = [pattern.finder.cheapest(cell, 1.0, most=1e12) for cell in cells]
    assert [box is None for box in found] == [box is None for box in usual]
    assert sum(box is None for box in within) > sum(box is None for box in found)


def test_boxes_hide_only_what_a_box_moves_and_exchanges_never_cost():
    pattern = pattern_of(problem_of(4, empty=0.1))
    budget = Budget.of()
    pattern.build(budget)
    assert len(pattern.open) < 0.2 * len(pattern.size)
    for size in (1, 4, 8):
        before, open_ = pattern.loss, len(pattern.open)
        pattern.improve(budget, np.random.default_rng(0), size)
        assert pattern.loss <= before and len(pattern.open) == open_
        moved = np.concatenate([box.cells for box in pattern.boxes.values()])
        assert np.all(np.isin(np.flatnonzero(pattern.hidden & ~pattern.must), moved))
        counted = np.bincount(moved, minlength=len(pattern.used))
        assert np.array_equal(counted, pattern.used)


@pytest.mark.parametrize("seed", range(2))
def test_what_boxes_leave_open_is_proved_by_programs(seed):
    problem = problem_of(seed, empty=0.2)
    state = protect_by_boxes(state_of(problem), Budget.of())
    assert state.best is not None and state.best.is_proved
    suppressed, proof = proved_pattern(problem, Requirement.TWO_SIDED, state.best)
    assert np.all(suppressed[problem.sensitive])
    assert proof.verify().checked == problem.n_sensitive
    assert tc.audit(problem, suppressed).is_safe


def test_cells_that_relations_alone_name_are_left_to_other_phases():
    given = problem_of(5)
    names = pd.DataFrame({"cell": [f"c{i}" for i in range(given.table.n_cells)]})
    table = tc.Table(
        keys=names,
        values=given.table.values,
        relations=given.table.relations,
        right_hand_side=given.table.right_hand_side,
    )
    problem = given.with_changes(table=table)
    state = protect_by_boxes(state_of(problem), Budget.of())
    assert state.best is None


def test_codes_that_mean_nothing_cost_time_and_no_proof():
    given = problem_of(6)
    keys = given.table.keys.sample(frac=1, random_state=0).reset_index(drop=True)
    table = tc.Table(
        keys=keys,
        values=given.table.values,
        relations=given.table.relations,
        right_hand_side=given.table.right_hand_side,
    )
    pattern = pattern_of(given.with_changes(table=table))
    pattern.build(Budget.of())
    for cells, moves in pattern.witnesses():
        deviation = np.zeros(pattern.system.n_unknown)
        deviation[cells] = moves
        assert not np.any(pattern.system.matrix @ deviation)


def test_a_first_pattern_is_completed_late_and_no_other_is_begun():
    first = protect_by_boxes(state_of(problem_of(7, empty=0.1)), Budget.of(0))
    assert first.best is not None and first.best.is_proved
    assert protect_by_boxes(first, Budget.of(0)) is first


def test_a_search_that_was_stopped_begins_no_pattern():
    state, budget = state_of(problem_of(7)), Budget.of()
    budget.stop()
    assert protect_by_boxes(state, budget) is state


def sparse_problem(seed: int) -> tc.ProtectionProblem:
    """Four dimensions with few records, cents, and levels of whole values below 1."""
    random = np.random.default_rng(seed)
    codes = {"w": "abcde", "x": "abcd", "y": "abc", "z": "abc"}
    share = {name: random.lognormal(0, 1, len(some)) for name, some in codes.items()}
    frame = pd.DataFrame(
        {
            name: random.choice(list(some), 150, p=share[name] / share[name].sum())
            for name, some in codes.items()
        }
    ).assign(v=np.round(random.lognormal(1, 2.5, 150), 2) + 0.01)
    rules = tc.PPercent(15), tc.MinimumFrequency(3)
    return tc.tabulate(frame, dict.fromkeys(codes), "v", decimals=2).protect(*rules)


@pytest.mark.parametrize("seed", range(3))
def test_boxes_that_suit_a_table_badly_serve_where_programs_would_not_end_in_time(
    seed, monkeypatch
):
    # Sums of boxes would suit such a table well.
    monkeypatch.setattr(phases, "is_ready", lambda *_: False)
    monkeypatch.setattr(phases, "MOST_OPEN_SHARE", 0.01)
    problem = sparse_problem(seed)
    state = SearchState.of(problem, Requirement.TWO_SIDED, "sequential")
    assert protect_by_boxes(state, Budget.of()).best is None
    best = protect_by_boxes(state, Budget.of(0.0)).best
    assert best is not None
    assert best.is_proved
    hidden = np.zeros(problem.table.n_cells, dtype=bool)
    hidden[state.system.cells[best.hidden]] = True
    assert tc.audit(problem, hidden).is_safe
