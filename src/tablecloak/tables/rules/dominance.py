"""The (n, k) dominance rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Field

from tablecloak.arrays import Flags, Floats
from tablecloak.parameters import percent
from tablecloak.tables.contributions import Contributions
from tablecloak.tables.rules.concentration import NOISE, ConcentrationRule
from tablecloak.tables.rules.rule import RULES, Level


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
    level : {"contributor", "holding"}, default="contributor"
        Whose contributions are compared.

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
    level: Level = "contributor"
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
        found: Flags = (given.largest[:, 0] > 0) & (excess > noise) & ~_is_waived(given, units)
        return found

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
    found: Flags = waived & (np.isfinite(given.shortfall) | given.all_waived)
    return found
