"""Rules on the share of the largest contributors, and the (n, k) dominance rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Field

from tablecloak.arrays import Flags, Floats, Texts
from tablecloak.parameters import percent
from tablecloak.tables.confidentiality import Confidentiality
from tablecloak.tables.contributions import LEVELS, Contributions
from tablecloak.tables.rules.rule import RULES, Level, Rule, contributions_of, level_of
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
        return contributions_of(table, self)

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
        if getattr(table, LEVELS[level_of(table, self)]) is None:
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


@RULES.register
@dataclass(frozen=True)
class Dominance(ConcentrationRule):
    """(n, k) dominance: unsafe if the n largest hold more than k per cent of the total.

    Unsafe if 100 (x1 + ... + xn) > k X, so that a total of 0 or less is unsafe wherever anybody
    gives more than 0. Safe total U = (100 / k) (x1 + ... + xn). With full waivers of all the n
    largest it is safe, see Notes.

    Parameters
    ----------
    n : int
        Number of contributors that count as a coalition, 1 or more.
    k : float
        Per cent, above 0 and below 100.
    level : {"auto", "contributor", "holding"}, default="auto"
        Whose contributions are compared; auto: of holdings where the table has them.

    Notes
    -----
    The rule protects the n largest from each other and from everybody else. If all of them gave
    full waivers, it is met: without negative contributions n - 1 of them can estimate no other
    contributor i better than within X - x_i - (x1 + ... + x_{n-1}) >= xn >= x_i, 100 per cent.
    Where contributions may be negative, are ranked by another variable or are weighted, all
    contributors of the cell must have waived. Partial waivers play no part.
    """

    n: Annotated[
        int, Field(ge=1, description="Number of contributors that count together.", examples=[1])
    ]
    k: Annotated[
        float,
        percent("Share of the total above which they dominate.", gt=0, lt=100, examples=[75]),
    ]
    level: Level = "auto"
    name: ClassVar[str] = "dominance"
    precedence: ClassVar[int] = 1
    argus: ClassVar[str] = "NK"

    @property
    def n_largest(self) -> int:
        """The n largest."""
        return self.n

    def exceeds(self, given: Contributions, units: int) -> Flags:
        """Return which cells are dominated by their largest contributors."""
        excess = 100 * given.sum_of_largest(units) - self.k * given.total
        noise = NOISE * self.k * np.abs(given.total)
        dominated: Flags = (given.largest[:, 0] > 0) & (excess > noise)
        return dominated & ~_is_waived(given, units)

    def safe_total(self, contributions: Contributions) -> Floats:
        """Return (100 / k) (x1 + ... + xn)."""
        safe = 100 / self.k * contributions.sum_of_largest(self.n)
        total: Floats = np.where(_is_waived(contributions, self.n), contributions.total, safe)
        return total

    @classmethod
    def from_argus(cls, numbers: Sequence[float], level: Level) -> Self:
        """Read NK(n, k)."""
        n, k = numbers
        return cls(int(n), k, level)


def _is_waived(given: Contributions, n: int) -> Flags:
    """Return the cells whose n largest contributors all gave full waivers."""
    if given.waivers is None:
        return np.zeros(len(given.count), dtype=np.bool_)
    before, weight = given.units()
    needs = given.waivers.unwaived | (given.waivers.own_p > 0)
    waived = ~np.any(needs & (weight > 0) & (before < n), axis=1) & (given.count > 0)
    if given.is_weighted:
        return given.all_waived
    is_met: Flags = waived & (np.isfinite(given.shortfall) | given.all_waived)
    return is_met
