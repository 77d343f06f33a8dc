"""The phases of a search of directions, in which order, and with which shares of the time.

This module is the one place for the policy of such a search. Constants without a reference to
docs/decisions were chosen by trial and not measured.
"""

from __future__ import annotations

from enum import Enum

from tablecloak.budget import Budget
from tablecloak.cta.model.limits import INTERIOR_ROWS
from tablecloak.cta.search.charges import charge, combine
from tablecloak.cta.search.cold_regions import cool
from tablecloak.cta.search.fix_and_relax import relax
from tablecloak.cta.search.phases import ask, prove, tighten, turn
from tablecloak.cta.search.state import SearchState
from tablecloak.phases import Phase

FEW_RELATIONS = 1000
"""Relations up to which HiGHS searches the directions, however many sensitive cells there are. See
docs/decisions, "Directions by HiGHS"."""

PROOF_CELLS = 200
"""Sensitive groups up to which our own branch and bound is tried before that of HiGHS. Chosen by
trial; not measured."""

RELAXED_ROWS = 6000
"""Rows up to which mixed-integer programs over the whole table are tried. Chosen by trial; not
measured."""


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


def is_open(state: SearchState, budget: Budget) -> bool:
    """Whether the best point is not proved to be optimal yet."""
    del budget
    return not state.is_closed


PROOFS: dict[Size, tuple[Phase[SearchState], ...]] = {
    # Tightening, and the first proof, run even if the best point is proved: for a simpler proof.
    Size.PROVABLE: (
        Phase(tighten, 0.3),
        Phase(prove, 0.1),
        Phase(turn, 0.1, when=is_open),
        Phase(ask, 0.65, when=is_open),
        Phase(relax, 0.4, when=is_open),
        Phase(prove, 0.8, when=is_open),
    ),
    Size.FLAT: (
        Phase(tighten, 0.3),
        Phase(turn, 0.1, when=is_open),
        Phase(ask, 0.65, when=is_open),
        Phase(relax, 0.7, when=is_open),
        Phase(prove, 0.8, when=is_open),
    ),
    Size.MEDIUM: (
        Phase(tighten, 0.15),
        Phase(charge, 0.1, when=is_open),
        Phase(cool, 0.35, when=is_open),
        Phase(combine, 0.15, when=is_open),
        Phase(turn, 0.5, when=is_open),
        Phase(relax, 0.7, when=is_open),
        Phase(prove, 0.8, when=is_open),
    ),
    Size.LARGE: (
        Phase(charge, 0.1, when=is_open),
        Phase(cool, 0.25, when=is_open),
        Phase(combine, 0.1, when=is_open),
        Phase(turn, 0.95, when=is_open),
        Phase(prove, 0.8, when=is_open),
    ),
    Size.LARGE_FLAT: (
        Phase(tighten, 0.4),
        Phase(turn, 0.95, when=is_open),
        Phase(ask, 0.65, when=is_open),
        Phase(prove, 0.8, when=is_open),
    ),
}
"""Phases for each kind of table if a bound is wanted. See docs/decisions, "Order of phases"."""

POINTS: dict[Size, tuple[Phase[SearchState], ...]] = {
    Size.PROVABLE: (
        Phase(tighten, 0.05),
        Phase(prove, 0.1),
        Phase(turn, 0.1, when=is_open),
        Phase(ask, 0.65, when=is_open),
        Phase(relax, when=is_open),
    ),
    Size.FLAT: (
        Phase(tighten, 0.05),
        Phase(turn, 0.1, when=is_open),
        Phase(ask, 0.65, when=is_open),
        Phase(relax, when=is_open),
    ),
    Size.MEDIUM: (
        Phase(tighten, 0.05),
        Phase(cool, 0.35, when=is_open),
        Phase(turn, 0.5, when=is_open),
        Phase(relax, when=is_open),
    ),
    Size.LARGE: (
        Phase(cool, 0.25, when=is_open),
        Phase(turn, 0.95, when=is_open),
    ),
    Size.LARGE_FLAT: (
        Phase(tighten, 0.05),
        Phase(turn, 0.95, when=is_open),
        Phase(ask, 0.65, when=is_open),
    ),
}
"""Phases if only a good point is wanted, without a bound."""
