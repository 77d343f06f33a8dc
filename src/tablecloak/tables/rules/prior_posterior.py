"""The prior-posterior (pq) rule, and the p% rule, its case of q = 100."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Field

from tablecloak.arrays import Flags, Floats
from tablecloak.errors import TablecloakWarning
from tablecloak.parameters import ASKED, percent
from tablecloak.tables.contributions import Contributions
from tablecloak.tables.rules.concentration import NOISE, ConcentrationRule
from tablecloak.tables.rules.rule import RULES, Level


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
