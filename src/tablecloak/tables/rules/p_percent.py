"""The p% rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

from pydantic import Field

from tablecloak.parameters import percent
from tablecloak.tables.rules.concentration import EstimationRule
from tablecloak.tables.rules.rule import RULES, Level


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
    level : {"contributor", "holding"}, default="contributor"
        Whose contributions are compared.

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
    level: Level = "contributor"
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
