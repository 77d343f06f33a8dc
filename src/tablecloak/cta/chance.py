"""Adjustments whose sensitive cells move by random distances beyond their levels."""

from __future__ import annotations

from dataclasses import replace

from tablecloak.budget import Budget
from tablecloak.cta.model.spread import Spread
from tablecloak.cta.nearest import nearest_table
from tablecloak.cta.result.adjusted_table import check_adjusted
from tablecloak.cta.result.adjustment import Adjustment
from tablecloak.cta.search.task import AdjustmentTask
from tablecloak.errors import ModelError


def left_to_chance(task: AdjustmentTask, plain: Adjustment, budget: Budget) -> Adjustment:
    """Return an adjustment for the first draw of distances for which there is one.

    Parameters
    ----------
    task : AdjustmentTask
        With a largest share of cells to be guessed.
    plain : Adjustment
        The least adjustment, whose bound holds for any draw.
    budget : Budget

    Raises
    ------
    ModelError
        If relations leave no room for any draw.
    """
    assert task.recovery is not None
    reason = ModelError("No draw was made.")
    for draw in Spread.of(task.problem, task.recovery).draws(task.seed):
        try:
            drawn = nearest_table(
                task.of_problem(draw, directions=draw.directions, repair=None), budget.at_least(1.0)
            )
        except ModelError as error:
            reason = error
            continue
        if drawn.decimals != plain.decimals:
            plain = nearest_table(task.in_real_numbers(), budget.at_least(1.0))
        times = drawn.loss / plain.loss if plain.loss else 1.0
        note = (
            f"distances are left to chance: who knows all but the seed guesses a sensitive cell "
            f"with probability {100 * draw.chance.recovery:.3g} % at most, relations apart; the "
            f"loss is {times:.3g} times that of the least adjustment found"
        )
        adjusted = replace(
            plain, values=drawn.values, chance=draw.chance, notes=(*drawn.notes, note)
        )
        check_adjusted(adjusted, adjusted.bound)
        return adjusted
    raise ModelError(
        f"Relations and bounds leave no room for random distances: {reason} Without `recovery` "
        f"there is an adjustment.",
        cells=reason.cells,
    )
