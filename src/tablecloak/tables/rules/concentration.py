"""What rules on the share of the largest contributors have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tablecloak.arrays import Flags, Floats, Texts
from tablecloak.tables.confidentiality import Confidentiality
from tablecloak.tables.contributions import Contributions
from tablecloak.tables.rules.rule import Rule, contributions_of
from tablecloak.tables.table import Table

NOISE = 1e-12
"""Share of a limit within which a cell counts as on it: rounding of binary sums must not decide.

docs/decisions, "Noise of sums"."""

SAME = 1e-9
"""Difference, as a share of the largest contribution, up to which the value is their sum."""


@dataclass(frozen=True)
class ConcentrationRule(Rule):
    """A rule on the share of the largest contributors; not a rule itself.

    Its levels come from `safe_total`: d = safe total - X, and LPL = UPL = |v| d / |X|, or d where
    contributions cancel, since |v| / |X| is then meaningless.
    """

    looks_at_amounts: ClassVar[bool] = True
    applies_to_sums: ClassVar[bool] = True
    heeds_waivers: ClassVar[bool] = True
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

    def confidentiality_of(self, table: Table) -> Texts:
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
        _, q, _ = self._numbers()
        p, size, known = self._targets(given, units)
        excess = np.where(p > 0, p * size + q * (known - given.total[:, None]), -np.inf)
        noise = NOISE * q * np.abs(given.total)
        found: Flags = (given.largest[:, 0] > 0) & (np.max(excess, axis=1) > noise)
        return found

    def safe_total(self, contributions: Contributions) -> Floats:
        """Return (p/q) x1 + (x1 + ... + x_{n+1}); with waivers see `_targets`.

        Where nobody needs protection it is the total itself.
        """
        _, q, _ = self._numbers()
        p, size, known = self._targets(contributions, self.n_largest)
        safe = np.max(np.where(p > 0, p / q * size + known, -np.inf), axis=1)
        return np.where(np.isfinite(safe), safe, contributions.total)

    def _targets(self, given: Contributions, units: int) -> tuple[Floats, Floats, Floats]:
        """Return whom `units` - 1 others attack: margins, contributions, and what all of them know.

        Each has shape (n_cells, n_targets); a margin of 0 says that there is nobody to protect.

        Notes
        -----
        Without waivers the largest contributor is the target for whom x_i + (what its n largest
        attackers contribute) and p x_i are both largest. With them each contributor i without a
        full waiver is one, with its own p_i. Let F(m) be the sum of the m largest. If i is among
        the n + 1 largest, it and its attackers contribute F(n + 1), else x_i + F(n).

        Contributors who are not listed contribute no more than the smallest that is listed, and
        those without a waiver no more than the largest of their kind. Where no contribution is
        negative or weighted, nobody beyond the n + 1 largest can be estimated within 100 per cent,
        since the (n + 1)-th contributes at least as much and is no attacker: they are left out.
        """
        p, q, _ = self._numbers()
        together = given.sum_of_largest(units)
        if given.waivers is None:
            return np.full((len(together), 1), p), given.largest[:, :1], together[:, None]
        others = given.sum_of_largest(units - 1)
        before, _ = given.units()
        known = np.where(before < units, together[:, None], given.largest + others[:, None])
        margin = np.where(given.largest > 0, given.waivers.margins(p, q), 0.0)
        further = self._unlisted(given)
        size = np.column_stack([given.largest, further[1]])
        rest = np.minimum(together[:, None], further[1] + others[:, None])
        return np.column_stack([margin, further[0]]), size, np.column_stack([known, rest])

    def _unlisted(self, given: Contributions) -> tuple[Floats, Floats]:
        """Return margins and contributions that bound those of contributors who are not listed."""
        p, q, _ = self._numbers()
        waivers = given.known_waivers
        some = given.count > given.largest.shape[1]
        # Contributions of one sign leave more to the rest than the margin of anybody.
        if p <= q and not given.is_weighted:
            some &= ~np.isfinite(given.shortfall)
        smallest = given.largest[:, -1]
        size = np.column_stack([np.minimum(waivers.largest_unwaived, smallest), smallest])
        margin = np.column_stack([np.full(len(some), p), np.minimum(waivers.largest_own_p, q)])
        return np.where(some[:, None] & (size > 0), margin, 0.0), size
