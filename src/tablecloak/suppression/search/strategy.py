"""Choices of the heuristic: where to look, in which order, and how long at each cell."""

from __future__ import annotations

from dataclasses import dataclass

Area = tuple[int, int] | tuple[int, int, int] | None
"""Width, slack and perhaps size of a neighbourhood; None is the whole table."""


@dataclass(frozen=True)
class Strategy:
    """The choices that change the pattern most; several strategies form a portfolio.

    Parameters
    ----------
    areas : tuple of (int, int), default=((8, 0), (12, 2), (12, 3))
        Width and slack of the neighbourhoods to try for each cell; the cheapest result counts.
    programs : bool, default=True
        Whether linear programs are tried as well where a shortest path was found.
    reweightings : int, default=2
        How often the program is solved again with the costs divided by the last moves.
    symmetric : bool, default=True
        Allow each cell the smaller of its two distances, so that the mirror image of a
        deviation is a witness too and one program protects both sides.
    largest_first : bool, default=True
        Whether cells with large needs come first, or last.
    """

    areas: tuple[Area, ...] = ((8, 0), (12, 2), (12, 3))
    programs: bool = True
    reweightings: int = 2
    symmetric: bool = True
    largest_first: bool = True


EASIER = (
    Strategy(areas=((12, 3),), reweightings=0),
    Strategy(areas=((8, 0),), reweightings=1),
)
"""Strategies for tables with too little time for the usual one, the most careful first.
docs/decisions, "Pace of a first pattern"."""

HASTY = Strategy(areas=((6, 0),), programs=False, reweightings=0)
"""Strategy for the needs still open when time is up; on networks a shortest path suffices."""

EXCHANGED = Strategy(areas=((8, 0), (12, 2)), reweightings=1)
"""Strategy for the needs that a cell protected before it was exchanged."""

WIDER = ((12, 2), (12, 3))
"""Width and slack of neighbourhoods to try after those of the strategy, before the whole table."""

REGIONS = ((12, 4, 20_000), (30, 3, 20_000), (60, 3, 60_000), (100, 3, 100_000))
"""Width, slack and size of the regions of tables too large for programs over the whole table.
Chosen by trial; not measured."""

REPAIR = Strategy(areas=((8, 0),), reweightings=1)
"""Strategy for the few needs that are open after an attack, or that prices leave open."""

PORTFOLIO = (
    Strategy(symmetric=False),
    Strategy(),
    Strategy(largest_first=False),
    Strategy(areas=((5, 0), (9, 2)), symmetric=False, largest_first=False),
)
"""Strategies of which the best result counts; the first one always completes a pattern. Chosen by
trial; not measured one by one. docs/decisions, "Strategies of the heuristic"."""
