"""Cells that no pattern protects: an error where that is proved, another where it is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tablecloak.arrays import Flags, Integers
from tablecloak.errors import ModelError, SolverError, TablecloakError, listed
from tablecloak.suppression.attack.moves_program import Extreme
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.tables.keys import are_figures
from tablecloak.tables.table import Table

WHATEVER_IS_HIDDEN = "even if every cell that may be suppressed is"
"""In what way a cell cannot be protected by any pattern."""


def refuted(pool: WitnessPool, failures: Mapping[tuple[int, int], Extreme]) -> Flags:
    """Flag the open needs that cannot be met, by the proved limits of failed attacks.

    Parameters
    ----------
    pool : WitnessPool
    failures : mapping of (int, int) to Extreme
        As `prove` returns them.
    """
    above, below = np.full((2, len(pool.needs.cells)), np.inf)
    for (index, sign), extreme in failures.items():
        (above if sign > 0 else below)[index] = extreme.limit
    flags: Flags = pool.open & ~pool.needs.met(above, below)
    return flags


def unprotected(
    table: Table,
    pool: WitnessPool,
    failures: Mapping[tuple[int, int], Extreme],
    how: str,
    members: Callable[[Integers], Integers] = lambda cells: cells,
) -> TablecloakError:
    """Return the error for the needs that stay open whatever is hidden.

    Parameters
    ----------
    table : Table
    pool : WitnessPool
        Some of its needs are open.
    failures : mapping of (int, int) to Extreme
        As `prove` returns them.
    how : str
        In what way the cells cannot be protected.
    members : callable, optional
        Returns the cells of the table for some cells of the system, if these stand for several.
    """
    impossible = refuted(pool, failures)
    is_proved = bool(np.any(impossible))
    flags = impossible if is_proved else pool.open
    cells = members(pool.system.cells[pool.needs.cells[flags]])
    labels = listed(table.labels(cells))
    if is_proved:
        return ModelError(
            f"{len(cells)} sensitive cells cannot be protected {how}: {labels}. Lower their "
            f"levels, widen the external bounds, or unfreeze cells in their relations.",
            cells=cells,
        )
    remedy = (
        "Derived figures link them: print these with fewer `decimals`, or leave some out; in a "
        "publication whose fields are protected in order, try `fields = 'together'`, before any of "
        "them has left."
        if np.any(are_figures(table.keys))
        else "Measure the variables of their relations in units of similar size, or change their "
        "levels."
    )
    return SolverError(
        f"It was not settled whether {len(cells)} sensitive cells can be protected {how}: "
        f"{labels}. Neither proof nor refutation was exact enough. {remedy}"
    )
