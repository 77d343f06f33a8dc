"""Which sensitive cells go up and which go down: a start, and the phases of the search.

With directions fixed the program is linear and fast. A random choice is usually infeasible
in hierarchies, because directions in one relation depend on each other; all up is feasible in most
tables, since totals simply grow. From there branch and bound takes over: our own, with a proof, for
few sensitive cells, and HiGHS, whose claimed bound is not used, for many. Our own adds violated
balance rows (see `balance`); searches that only look for better points are quicker without them.

`PROOFS` and `POINTS` say which phases a search has, in which order, and with which shares of the
time: this module is the one place for the policy of such a search.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TypeAlias

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.budget import Budget
from tablecloak.cta.model.answer import LATE
from tablecloak.cta.model.tight import INTERIOR_ROWS, TightForm
from tablecloak.cta.search.charges import charge, combine
from tablecloak.cta.search.cold_regions import cool
from tablecloak.cta.search.fix_and_relax import relax
from tablecloak.cta.search.phases import ask, prove, tighten, turn
from tablecloak.cta.search.state import DirectionState, given, solved_relaxation, with_directions
from tablecloak.cta.search.turns import all_directions
from tablecloak.phases import Phase, Run, run_phases

FEW_RELATIONS = 1000
"""Relations up to which HiGHS searches the directions, however many sensitive cells there are. See
docs/decisions, "Directions by HiGHS"."""

PROOF_CELLS = 200
"""Sensitive groups up to which our own branch and bound is tried before that of HiGHS. Chosen by
trial; not measured."""

RELAXED_ROWS = 6000
"""Rows up to which mixed-integer programs over the whole table are tried. Chosen by trial; not
measured."""

ELASTIC_SHARE = 0.6
"""Share of the time for a start in which statistics may be missed."""

MISSED_AT_MOST = 1e-9
"""Largest scaled amount by which a statistic may be missed and still counts as met."""


class Size(Enum):
    """Kinds of tables that are searched differently."""

    PROVABLE = "few sensitive cells and few rows"
    FLAT = "few relations, as in two dimensions"
    MEDIUM = "neither, but small enough for programs over the whole table"
    LARGE = "too many rows for mixed-integer programs over the whole table"
    LARGE_FLAT = "many rows, but few relations"

    @classmethod
    def of(cls, n_rows: int, n_sensitive: int, n_relations: int) -> Size:
        """Return the kind of a table by its rows, sensitive groups and relations."""
        is_flat = n_relations <= FEW_RELATIONS
        if n_rows > RELAXED_ROWS:
            return cls.LARGE_FLAT if is_flat else cls.LARGE
        if n_sensitive <= PROOF_CELLS and n_rows <= INTERIOR_ROWS:
            return cls.PROVABLE
        return cls.FLAT if is_flat else cls.MEDIUM


def is_open(state: DirectionState, budget: Budget) -> bool:
    """Whether the best point is not proved to be optimal yet."""
    del budget
    return not state.is_closed


Row: TypeAlias = tuple[Run[DirectionState], float | None, float | None]
"""A phase, and its shares of the time left: if a bound is wanted, and if only a good point is; None
if it is left out."""

_SHARES: dict[Size, tuple[Row, ...]] = {
    Size.PROVABLE: (
        (tighten, 0.3, 0.05),
        (prove, 0.1, 0.1),
        (turn, 0.1, 0.1),
        (ask, 0.65, 0.65),
        (relax, 0.4, 1.0),
        (prove, 0.8, None),
    ),
    Size.FLAT: (
        (tighten, 0.3, 0.05),
        (turn, 0.1, 0.1),
        (ask, 0.65, 0.65),
        (relax, 0.7, 1.0),
        (prove, 0.8, None),
    ),
    Size.MEDIUM: (
        (tighten, 0.15, 0.05),
        (charge, 0.1, None),
        (cool, 0.35, 0.35),
        (combine, 0.15, None),
        (turn, 0.5, 0.5),
        (relax, 0.7, 1.0),
        (prove, 0.8, None),
    ),
    Size.LARGE: (
        (charge, 0.1, None),
        (cool, 0.25, 0.25),
        (combine, 0.1, None),
        (turn, 0.95, 0.95),
        (prove, 0.8, None),
    ),
    Size.LARGE_FLAT: (
        (tighten, 0.4, 0.05),
        (turn, 0.95, 0.95),
        (ask, 0.65, 0.65),
        (prove, 0.8, None),
    ),
}
"""Phases for each kind of table. See docs/decisions, "Order of phases"."""


def _phases(rows: tuple[Row, ...], column: int) -> Iterator[Phase[DirectionState]]:
    """Yield the phases of a column of shares; most run only while the best point is not proved."""
    for place, (run, *shares) in enumerate(rows):
        # Tightening, and a first proof, run even if it is proved: for a simpler proof.
        is_simpler = run is tighten or (run is prove and place + 1 < len(rows))
        share = shares[column]
        if share is not None:
            yield Phase(run, share) if is_simpler else Phase(run, share, when=is_open)


PROOFS = {size: tuple(_phases(rows, 0)) for size, rows in _SHARES.items()}
"""Phases if a bound is wanted."""

POINTS = {size: tuple(_phases(rows, 1)) for size, rows in _SHARES.items()}
"""Phases if only a good point is wanted."""


def search(
    state: DirectionState, fixed: Floats | None, budget: Budget, *, for_proof: bool = True
) -> DirectionState:
    """Search directions, or solve once with given ones.

    Parameters
    ----------
    state : DirectionState
        Before any phase.
    fixed : numpy.ndarray of float or None
        Directions, if they were given.
    budget : Budget
        Time for the whole adjustment, of which the search gets a share.
    for_proof : bool, default=True
        Whether a good bound is wanted, or only a good point.
    """
    if fixed is None:
        start(state)
    else:
        given(state, fixed)
    is_late = budget.left < state.reserve.verification
    if state.best is not None and is_late and not budget.is_stopped:
        state.notes.append(LATE)
    return improve(state, for_proof=for_proof) if fixed is None else state


def search_directions(form: TightForm, budget: Budget, *, for_proof: bool = True) -> DirectionState:
    """Search directions from a start until the best point is proved optimal, or time is up.

    Parameters
    ----------
    form : TightForm
    budget : Budget
    for_proof : bool, default=True
        Whether a good bound is wanted, or only a good point.
    """
    return improve(start(DirectionState(form, budget)), for_proof=for_proof)


def start(state: DirectionState) -> DirectionState:
    """Try all cells up, all down, and the rounded relaxation, as far as bounds allow each."""
    low, high = state.form.model.allowed
    if state.is_from_scratch and not (state.best is not None and state.budget.is_over):
        with_directions(state, high)
    relaxed = solved_relaxation(state)
    choices = [] if state.is_from_scratch and state.best is not None else [high, low]
    if len(relaxed.x) and state.form.program.n_rows <= INTERIOR_ROWS:
        choices.append(np.clip(state.form.directions(relaxed.x), low, high))
    for directions in choices:
        if state.best is not None and state.budget.is_over:
            return state
        with_directions(state, directions)
    if state.best is None and state.form.model.preserved and not state.form.is_elastic:
        _start_elastic(state)
    return state


def _start_elastic(state: DirectionState) -> None:
    """Allow statistics to be missed at a price, and search directions that meet them anyway."""
    budget = state.budget.share(ELASTIC_SHARE).quiet()
    elastic = start(DirectionState(state.form.elastic(), budget))
    missed = slice(-2 * len(state.form.model.preserved), None)

    def is_met(x: Floats) -> bool:
        return bool(np.all(x[missed] <= MISSED_AT_MOST))

    relax(elastic, elastic.budget, enough=is_met)
    if elastic.best is not None:
        with_directions(state, elastic.best_directions)
        state.notes.append("statistics were missed at first")


def improve(state: DirectionState, *, for_proof: bool = True) -> DirectionState:
    """Run the phases that the schedule has for tables of this size.

    Parameters
    ----------
    state : DirectionState
        After a start.
    for_proof : bool, default=True
        Whether a good bound is wanted, or only a good point.
    """
    model = state.form.model
    size = Size.of(state.form.program.n_rows, len(model.sensitive), model.problem.table.n_relations)
    state = run_phases((PROOFS if for_proof else POINTS)[size], state, state.total)
    if state.best is None:
        # In far rooms a fraction of a direction is less than a solver's tolerance.
        for directions in all_directions(model.allowed):
            with_directions(state, directions)
            if state.budget.is_over:
                break
    return state
