"""The first deletion, from every cell hidden, and its findings for the phases that follow."""

from __future__ import annotations

from dataclasses import dataclass

from tablecloak.suppression.search.nullspace.search import Found, NullSpaceSearch

ROOMY_RANK = 0.2
"""A table counts as roomy if deletion brings the rank below this share of the first one; where
rooms bind, even the first classes are refused. docs/decisions, "Null space"."""

CUT_SHORT_RANK = 0.85
"""Share of the first rank for a roomy table if time ended the deletion. docs/decisions, "Null
space"."""

ROOMY_OPEN = 0.1
"""Share of the sensitive cells that the null space need not prove in such a table."""


@dataclass(frozen=True, eq=False)
class Opening:
    """The first deletion in the null space.

    Parameters
    ----------
    search : NullSpaceSearch
    found : Found
        The best pattern of deletions so far.
    proof_seconds : float
        Seconds that the proof of the first pattern took.
    """

    search: NullSpaceSearch
    found: Found
    proof_seconds: float = 0.0

    @property
    def is_roomy(self) -> bool:
        """Whether rooms are large beside protection levels, so that deletion finds good patterns.

        Where rooms bind, most deletions are refused, and programs find better patterns.
        """
        found = self.found
        n_needs = len(self.search.system.needs.cells)
        share = CUT_SHORT_RANK if found.is_cut_short else ROOMY_RANK
        return (
            found.rank <= max(share * found.rank_before, 1) and found.n_open <= ROOMY_OPEN * n_needs
        )
