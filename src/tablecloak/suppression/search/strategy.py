"""Choices of the heuristic: where to look, in which order, and how long at each cell."""

from __future__ import annotations

from dataclasses import dataclass, replace

WIDER = (800, 2500)
"""Cells of neighbourhoods to try after those of a strategy, before the whole table."""


@dataclass(frozen=True)
class Strategy:
    """The choices that change the pattern most; several strategies form a portfolio.

    Parameters
    ----------
    sizes : tuple of int, default=(2500,)
        Cells of the neighbourhoods to try for each cell; the cheapest result counts. None is the
        whole table. docs/decisions, "Neighbourhoods".
    programs : bool, default=True
        Whether linear programs are tried as well where a shortest path was found.
    reweightings : int, default=1
        How often the program is solved again with the costs divided by the last moves.
    symmetric : bool, default=True
        Allow each cell the smaller of its two distances, so that the mirror image of a
        deviation is a witness too and one program protects both sides.
    largest_first : bool, default=True
        Whether cells with large needs come first, or last.
    wider : tuple of int, default=(800, 2500)
        Cells of the neighbourhoods to try where those do not suffice, smaller ones first.
    shaken : bool, default=False
        Whether the order of cells and the costs are drawn around the true ones, so that each
        pattern is another.
    """

    sizes: tuple[int | None, ...] = (2500,)
    programs: bool = True
    reweightings: int = 1
    symmetric: bool = True
    largest_first: bool = True
    wider: tuple[int, ...] = WIDER
    shaken: bool = False


EASIER = tuple(Strategy(sizes=(size,)) for size in (1600, 1200, 800, 300))
"""Strategies for tables with too little time for the usual one, the most careful first.
docs/decisions, "Pace of a first pattern"."""

HASTY = Strategy(sizes=(200,), programs=False, reweightings=0)
"""Strategy for the needs still open when time is up; on networks a shortest path suffices."""

EXCHANGED = Strategy(sizes=(300, 800))
"""Strategy for the needs that a cell protected before it was exchanged."""

EXCHANGED_CLOSED = replace(EXCHANGED, wider=())
"""The same in closed neighbourhoods, where another cell is tried in a tenth of the time that a
wider one takes."""

REPLACEMENT = Strategy(sizes=(300, 800), symmetric=False)
"""Strategy for the needs that are open without cells that are replaced: what costs more programs
than mirror images do pays here. docs/decisions, "Replaced cells"."""

REPLACEMENT_FAR = replace(REPLACEMENT, sizes=(800, 2500))
"""The same where boxes have three codes and more on a side, so that cells far away close them."""

REGIONS = (6_000, 20_000, 60_000, 100_000)
"""Cells of the regions of tables too large for programs over the whole table. Chosen by trial; not
measured."""

REPAIR = Strategy()
"""Strategy for the few needs that are open after an attack, or that prices leave open."""

PORTFOLIO = (
    Strategy(symmetric=False),
    Strategy(),
    Strategy(largest_first=False),
    Strategy(sizes=(300, 800), symmetric=False, largest_first=False),
)
"""Strategies of which the best result counts; the first one always completes a pattern. Chosen by
trial; not measured one by one. docs/decisions, "Strategies of the heuristic"."""
