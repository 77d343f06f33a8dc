"""Choices of the heuristic: where to look, in which order, and how long at each cell."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EASIER", "EXCHANGED", "HASTY", "PORTFOLIO", "REGIONS", "WIDER", "Area", "Strategy"]

Area = tuple[int, int] | tuple[int, int, int] | None
"""Width, slack and perhaps size of a neighbourhood; None is the whole table."""


@dataclass(frozen=True)
class Strategy:
    """Choices that change the pattern more than anything else; tried as a portfolio.

    Parameters
    ----------
    areas : tuple of (int, int), default=((8, 0), (12, 2), (12, 3))
        Width and slack of the neighbourhoods to try for each cell; the cheapest result counts.
    programs : bool, default=True
        Whether linear programs are tried as well where a shortest path was found.
    reweightings : int, default=2
        How often the program is solved again with costs divided by the last moves.
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
"""For all needs where there is no time for more, the most careful one first. docs/decisions.md,
"Pace of a first pattern"."""

HASTY = Strategy(areas=((6, 0),), programs=False, reweightings=0)
"""For what is left when time is up; on networks a path will do."""

EXCHANGED = Strategy(areas=((8, 0), (12, 2)), reweightings=1)
"""For what an exchanged cell used to protect."""

WIDER = ((12, 2), (12, 3))
"""Width and slack of neighbourhoods to try if no chosen one suffices; then the whole table."""

REGIONS = ((12, 4, 20_000), (30, 3, 20_000), (60, 3, 60_000), (100, 3, 100_000))
"""Width, slack and size of the regions of tables too large for programs over the whole table.
Chosen by trial; not measured."""

PORTFOLIO = (
    Strategy(symmetric=False),
    Strategy(),
    Strategy(largest_first=False),
    Strategy(areas=((5, 0), (9, 2)), symmetric=False, largest_first=False),
)
"""Strategies whose best result counts; the first one always ends with a pattern. Chosen by trial;
not measured one by one."""
