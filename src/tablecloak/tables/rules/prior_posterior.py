"""The prior-posterior (pq) rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

from pydantic import Field

from tablecloak.parameters import ASKED, percent
from tablecloak.tables.rules.concentration import EstimationRule
from tablecloak.tables.rules.rule import RULES, Level


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
    level : {"contributor", "holding"}, default="contributor"
        Whose contributions are compared.
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
    level: Level = "contributor"
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
