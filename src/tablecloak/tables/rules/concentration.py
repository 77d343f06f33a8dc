"""Rules on the share of the largest contributors: (n, k) dominance, prior-posterior and p%."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Field

from tablecloak.arrays import Flags, Floats, Texts
from tablecloak.errors import TablecloakWarning
from tablecloak.parameters import ASKED, percent
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


@dataclass(frozen=True)
class EstimationRule(ConcentrationRule):
    """A rule on how well a coalition can estimate the largest contribution; not a rule itself.

    Rules of this kind have `p`, `q`, `coalition` and `level`; see `PriorPosterior`.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        p = self._numbers()[0]
        if p < 1:
            warnings.warn(
                f"{type(self).__name__}: p = {p:g} means {p:g} per cent. If a share was meant, "
                f"take p = {100 * p:g}.",
                TablecloakWarning,
                stacklevel=3,
            )

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
        is_close: Flags = (given.largest[:, 0] > 0) & (np.max(excess, axis=1) > noise)
        return is_close

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


@RULES.register
@dataclass(frozen=True)
class PriorPosterior(EstimationRule):
    """pq rule: the coalition knows each contribution within q per cent beforehand.

    Unsafe if (p/100) x1 + (q/100) ((x1 + ... + x_{n+1}) - X) > 0: the n contributors after
    the largest can then estimate it to within p per cent. Safe total
    U = (p/q) x1 + (x1 + ... + x_{n+1}). With waivers each contributor without a full one is a
    target, a partial waiver names its own p, at most q, and U is the largest over all targets.

    Parameters
    ----------
    p, q : float
        Per cent, with 0 < p < q; q = 100 is the p% rule.
    coalition : int, default=1
        Number n of contributors that pool what they know.
    level : {"auto", "contributor", "holding"}, default="auto"
        Whose contributions are compared; auto: of holdings where the table has them.
    """

    p: Annotated[
        float,
        percent(
            "Precision within which nobody may estimate a contribution afterwards.",
            gt=0,
            examples=[20],
        ),
    ]
    # A job without q is refused: a default for q would hide that it was forgotten.
    q: Annotated[
        float,
        percent(
            "Precision with which everybody knows each contribution beforehand.",
            gt=0,
            examples=[50],
        ),
        ASKED,
    ] = 100.0
    coalition: Annotated[int, Field(ge=1, description="Contributors that pool knowledge.")] = 1
    level: Level = "auto"
    name: ClassVar[str] = "prior-posterior"
    precedence: ClassVar[int] = 2
    argus: ClassVar[str] = "P"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.q > self.p or self.q == 100):
            raise self.refusal("q", f"a percentage above p = {self.p:g}")

    def _numbers(self) -> tuple[float, float, int]:
        return self.p, self.q, self.coalition

    @classmethod
    def from_argus(cls, numbers: Sequence[float], level: Level) -> Self | None:
        """Read P(p, q, n); with fewer numbers it is the p% rule."""
        return cls(numbers[0], numbers[1], int(numbers[2]), level) if len(numbers) == 3 else None


@RULES.register
@dataclass(frozen=True)
class PPercent(EstimationRule):
    """p% rule: unsafe if the rest of the cell is less than p per cent of the largest.

    The prior-posterior rule with q = 100: the second largest contributor knows only that
    contributions are not negative, and at most twice what they are. With waivers it protects each
    contributor i without a full one: unsafe if, for any of them, X - x_i - (its largest attacker)
    is less than p per cent of x_i, where a partial waiver names its own p.

    Parameters
    ----------
    p : float
        Per cent, above 0.
    coalition : int, default=1
        Number of contributors that pool what they know.
    level : {"auto", "contributor", "holding"}, default="auto"
        Whose contributions are compared; auto: of holdings where the table has them.

    Examples
    --------
    >>> import pandas as pd, tablecloak as tc
    >>> firms = pd.DataFrame({"region": ["N", "N", "N", "S", "S"], "turnover": [80, 15, 5, 9, 8]})
    >>> problem = tc.tabulate(firms, ["region"], "turnover").protect(tc.PPercent(10))
    >>> problem.status.tolist()  # in N the rest, 5, is less than 8; in S it is 0
    ['s', 'u', 'u']
    """

    p: Annotated[
        float,
        percent(
            "Precision within which nobody may estimate the largest contribution.",
            gt=0,
            examples=[10],
        ),
    ]
    coalition: Annotated[int, Field(ge=1, description="Contributors that pool knowledge.")] = 1
    level: Level = "auto"
    name: ClassVar[str] = "p-percent"
    precedence: ClassVar[int] = 2
    is_suggested: ClassVar[bool] = True
    argus: ClassVar[str] = "P"
    q: ClassVar[float] = 100.0

    def _numbers(self) -> tuple[float, float, int]:
        return self.p, self.q, self.coalition

    @classmethod
    def from_argus(cls, numbers: Sequence[float], level: Level) -> Self | None:
        """Read P(p) or P(p, n); with three numbers it is the prior-posterior rule."""
        if len(numbers) > 2:
            return None
        return cls(numbers[0], int(numbers[1]) if len(numbers) > 1 else 1, level)
