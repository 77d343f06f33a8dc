"""The results of all parts of an audit, assembled for all sensitive cells."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Flags
from tablecloak.suppression.attack.finding import DisclosureProof, Finding, Verdict
from tablecloak.suppression.attack.part import Part, disclosure_proof
from tablecloak.suppression.system.needs import Needs

__all__ = ["Assembled"]


class Assembled:
    """The results of all parts of an audit, for all sensitive cells."""

    def __init__(self, needs: Needs, hidden: Flags, parts: list[Part]) -> None:
        n = len(needs.cells)
        self.needs, self.parts = needs, parts
        self.published = ~hidden[needs.cells]
        self.open = np.ones(n, dtype=bool)
        self.above, self.below = np.zeros(n), np.zeros(n)
        # A sensitive cell that is published, or that no relation touches, is in no part.
        self.limit_above = np.where(self.published, 0.0, np.inf)
        self.limit_below = self.limit_above.copy()
        for part in parts:
            index = part.pool.needs.index
            self.open[index] = part.pool.open
            self.above[index], self.below[index] = part.pool.above, part.pool.below
            for (local, sign), extreme in part.failures.items():
                limits = self.limit_above if sign > 0 else self.limit_below
                limits[index[local]] = extreme.limit
            for (local, sign), extreme in part.ends.items():
                limits = self.limit_above if sign > 0 else self.limit_below
                reached = self.above if sign > 0 else self.below
                limits[index[local]] = extreme.limit
                reached[index[local]] = min(extreme.reach, extreme.limit)
        self.open |= self.published

    def verdicts(self) -> list[Verdict]:
        """Return one verdict for each sensitive cell."""
        possible = self.needs.met(self.limit_above, self.limit_below) & ~self.published
        names = np.where(self.open, np.where(possible, "undecided", "attackable"), "protected")
        return [Verdict(name) for name in names.tolist()]

    def proofs(self) -> list[DisclosureProof]:
        """Return the multipliers that prove each successful attack of the external intruder."""
        return [
            disclosure_proof(part.system, local, sign, extreme)
            for part in self.parts
            for (local, sign), extreme in part.failures.items()
        ]

    def findings(self) -> list[Finding]:
        """Return all findings about insiders, by cell."""
        found = [finding for part in self.parts for finding in part.findings]
        return sorted(found, key=lambda finding: (finding.cell, finding.intruder))
