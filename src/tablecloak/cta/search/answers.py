"""The nearest table of a space that is found, with its proof."""

from __future__ import annotations

import numpy as np

from tablecloak.budget import Budget
from tablecloak.cta.model.answer import AdjustmentAnswer
from tablecloak.cta.model.space import AdjustmentSpace
from tablecloak.cta.search.large_tables import answer_at_large, is_large
from tablecloak.cta.search.one_piece import answer_in_one_piece
from tablecloak.cta.search.separate_parts import answer_in_parts
from tablecloak.cta.search.task import AdjustmentTask


def answer_in(space: AdjustmentSpace, task: AdjustmentTask, budget: Budget) -> AdjustmentAnswer:
    """Search a space as its size, its distance and its parts allow.

    Raises
    ------
    ModelError
        If it is proved that there is no table.
    SolverError
        If none was found.
    """
    problem = space.problem
    is_kept = all(abs(row.target) <= row.slack for row in space.preserved)
    if not problem.n_sensitive and is_kept:
        nothing = np.zeros(problem.table.n_cells, dtype=np.longdouble)
        return AdjustmentAnswer(nothing, task.decimals is not None, None)
    if is_large(space, task):
        large = answer_at_large(space, task, budget)
        if large is not None:
            return large
    if task.is_free and task.distance.adds_up and not task.statistics:
        part = space.parts
        counts = np.bincount(part[problem.sensitive & (part >= 0)])
        if np.count_nonzero(counts) > 1:
            return answer_in_parts(space, task, counts, budget)
    return answer_in_one_piece(space, task, budget)
