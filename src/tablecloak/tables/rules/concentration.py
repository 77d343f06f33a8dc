"""What rules on the share of the largest contributors have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tablecloak.tables.confidentiality import Confidentiality, Letters
from tablecloak.tables.contributions import Contributions
from tablecloak.tables.rules.rule import Flags, Floats, Rule, contributions_of
from tablecloak.tables.table import Table

__all__ = ["NOISE", "ConcentrationRule", "EstimationRule"]

NOISE = 1e-12
"""Share of a limit within which a cell counts as on it: rounding of binary sums must not decide.

See "Noise of sums" in docs/decisions.md."""

SAME = 1e-9
"""Difference, as a share of the largest contribution, up to which the value is their sum."""


@dataclass(frozen=True)
class ConcentrationRule(Rule):
    """A rule on the share of the largest contributors; not a rule itself.

    Its levels come from `safe_total`: d = max over all given rules of (safe total - X), and
    LPL = UPL = |v| d / |X|, or d where contributions cancel, since |v| / |X| is then meaningless.
    """

    looks_at_amounts: ClassVar[bool] = True
    applies_to_sums: ClassVar[bool] = True
    confidentiality: ClassVar[Confidentiality] = Confidentiality.ONE_OR_TWO_DOMINATE

    def contributions(self, table: Table) -> Contributions:
        """Return contributions on the level of the rule."""
        return contributions_of(table, getattr(self, "level", "contributor"), self.name)

    def exceeds(self, given: Contributions, units: int) -> Flags:
        """Return which cells the `units` largest contributors dominate, by the limit of the rule.

        The rule itself asks for `n_largest` of them.
        """
        raise NotImplementedError

    def unsafe(self, table: Table) -> Flags:
        """Return which cells the largest contributors dominate."""
        return self.exceeds(self.contributions(table), self.n_largest)

    def confidentiality_of(self, table: Table) -> Letters:
        """Return how many contributors dominate each cell: the fewest that exceed the limit.

        Without contributors the numbers of the rule tell what they can.
        """
        named = {1: Confidentiality.ONE_DOMINATES, 2: Confidentiality.TWO_DOMINATE}
        other = Confidentiality.OTHER_CONCENTRATION
        level = getattr(self, "level", "contributor")
        if (table.holdings if level == "holding" else table.contributions) is None:
            known = named | {2: Confidentiality.ONE_OR_TWO_DOMINATE}
            return np.full(table.n_cells, known.get(self.n_largest, other).value)
        given = self.contributions(table)
        letters = np.full(table.n_cells, named.get(self.n_largest, other).value)
        for units in range(min(self.n_largest, 2), 0, -1):
            letters[self.exceeds(given, units)] = named[units].value
        return letters

    def safe_total(self, contributions: Contributions) -> Floats:
        """Return the total U at which each cell would be just safe."""
        raise NotImplementedError

    def safe_distance(self, table: Table) -> Floats:
        """Return |v| (U - X) / |X|; U - X where contributions cancel and leave the value v = X."""
        given = self.contributions(table)
        size, total = np.abs(table.values), np.abs(given.total)
        short = self.safe_total(given) - given.total
        distance: Floats = size * (short / np.where(total == 0, 1.0, total))
        # Large contributions of both signs can cancel to 0, or to a rounding error.
        dust = SAME * given.largest[:, 0]
        if table.decimals is not None:
            dust = np.maximum(dust, 0.5 * 10.0**-table.decimals)
        cancels = (total < given.largest[:, 0]) & (np.abs(table.values - given.total) <= dust)
        distance[cancels] = short[cancels]
        return distance


@dataclass(frozen=True)
class EstimationRule(ConcentrationRule):
    """A rule on how well a coalition can estimate the largest contribution; not a rule itself.

    Rules of this kind have `p`, `q`, `coalition` and `level`; see `PriorPosterior`.
    """

    def _numbers(self) -> tuple[float, float, int]:
        """Return p, q and the size of the coalition."""
        raise NotImplementedError

    @property
    def n_largest(self) -> int:
        """The coalition and the contributor whom it attacks."""
        return self._numbers()[2] + 1

    def exceeds(self, given: Contributions, units: int) -> Flags:
        """Return where the largest contribution is estimated too well by the others of `units`."""
        p, q, _ = self._numbers()
        known = given.sum_of_largest(units)
        excess = p * given.largest[:, 0] + q * (known - given.total)
        noise = NOISE * q * np.abs(given.total)
        return (given.largest[:, 0] > 0) & (excess > noise)

    def safe_total(self, contributions: Contributions) -> Floats:
        """Return (p/q) x1 + (x1 + ... + x_{n+1})."""
        p, q, coalition = self._numbers()
        total: Floats = p / q * contributions.largest[:, 0]
        return total + contributions.sum_of_largest(coalition + 1)
