"""The audit: attack a pattern, whoever made it, and prove the verdict."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import Enum
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak.errors import InputError
from tablecloak.suppression.attack import Attack, Extreme, prove, with_finite_bounds
from tablecloak.suppression.requirement import Requirement
from tablecloak.suppression.witness import ProtectionCertificate, WitnessPool
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["Audit", "Verdict", "audit_pattern"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


class Verdict(Enum):
    """What the audit knows of a sensitive cell."""

    PROTECTED = "protected"
    """Witnesses prove that the intruder's interval is wide enough."""
    ATTACKABLE = "attackable"
    """Multipliers of the relations prove that it is too narrow, or the cell is published."""
    UNDECIDED = "undecided"
    """Neither was proved; treat it as attackable."""


@dataclass(frozen=True, eq=False)
class Audit:
    """Verdicts on all sensitive cells of a pattern.

    Parameters
    ----------
    problem : ProtectionProblem
    suppressed : numpy.ndarray of bool, shape (n_cells,)
    requirement : Requirement
    verdicts : list of Verdict
        One for each sensitive cell, in the order of the table.
    above, below : numpy.ndarray of float, shape (n_sensitive,)
        Distance by which witnesses move each cell; the exact ends of the intruder's interval
        if `exact`.
    limit_above, limit_below : numpy.ndarray of float, shape (n_sensitive,)
        Proved upper bounds on these distances; inf where nobody asked.
    exact : bool
        Whether intervals were asked for.
    pool : WitnessPool
    programs : int
        Linear programs solved.
    seconds : float
    """

    problem: ProtectionProblem
    suppressed: Flags
    requirement: Requirement
    verdicts: list[Verdict]
    above: Floats
    below: Floats
    limit_above: Floats
    limit_below: Floats
    exact: bool
    pool: WitnessPool
    programs: int
    seconds: float

    @property
    def is_safe(self) -> bool:
        """Whether every sensitive cell is proved to be protected."""
        return all(verdict is Verdict.PROTECTED for verdict in self.verdicts)

    def count(self, verdict: Verdict) -> int:
        """Return the number of sensitive cells with this verdict."""
        return sum(found is verdict for found in self.verdicts)

    def certificate(self) -> ProtectionCertificate:
        """Return the proof that the pattern is safe; it verifies only if it is."""
        return self.pool.certificate(self.suppressed)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each sensitive cell, the worst first. Secret."""
        needs = self.pool.needs
        values = self.problem.table.values[needs.cells]
        frame = self.problem.table.keys.iloc[needs.cells].assign(
            value=values,
            verdict=[verdict.value for verdict in self.verdicts],
            required_lower=values - needs.lower,
            required_upper=values + needs.upper,
            required_width=np.maximum(needs.width, needs.lower + needs.upper),
            reached_lower=values - self.below,
            reached_upper=values + self.above,
        )
        room = (self.above + self.below) / np.where(
            frame["required_width"] > 0, frame["required_width"], 1.0
        )
        return frame.assign(share=room).sort_values("share", kind="stable")

    def summary(self) -> str:
        """Say in one line how the attack went."""
        protected, attackable = self.count(Verdict.PROTECTED), self.count(Verdict.ATTACKABLE)
        undecided = self.count(Verdict.UNDECIDED)
        return (
            f"audit ({self.requirement.value}): {protected} of {len(self.verdicts)} sensitive "
            f"cells protected, {attackable} attackable, {undecided} undecided; "
            f"{self.programs} programs, {self.seconds:.1f} s"
        )

    def __repr__(self) -> str:
        return f"<{self.summary()}>"


def audit_pattern(
    problem: ProtectionProblem,
    suppressed: npt.ArrayLike,
    *,
    require: Requirement | str = Requirement.TWO_SIDED,
    detail: Literal["verdict", "intervals"] = "verdict",
    seed: int = 0,
) -> Audit:
    """Attack a suppression pattern as an external intruder would.

    The intruder knows all published cells, all relations and the external bounds.

    Parameters
    ----------
    problem : ProtectionProblem
    suppressed : array_like of bool, shape (n_cells,)
        Which cells are not published.
    require : Requirement or str, default="two-sided"
        What counts as protected.
    detail : {"verdict", "intervals"}, default="verdict"
        Whether to stop as soon as the verdict is certain, or to compute the exact interval
        of every sensitive cell (two programs each).
    seed : int, default=0
        For the random directions of batched programs; it changes the time, not the verdict.

    Returns
    -------
    Audit

    Raises
    ------
    InputError
        If a frozen cell is suppressed or the shapes do not fit.
    ModelError
        If external bounds alone break a protection level.
    """
    started = time.monotonic()
    hidden = np.array(suppressed, dtype=bool)
    if hidden.shape != problem.status.shape:
        raise InputError(
            f"`suppressed` has {hidden.size} entries, but the table has {problem.table.n_cells} "
            f"cells. Give one entry for each cell."
        )
    requirement = Requirement.parse(require)
    finite = with_finite_bounds(problem)
    pool = WitnessPool(finite, requirement)
    attack = Attack(finite, hidden)
    attack.hide(hidden)
    failures = prove(attack, pool, hidden, seed=seed)
    limits = _limits(pool, failures)
    if detail == "intervals":
        limits = _all_intervals(attack, pool, hidden)
    elif detail != "verdict":
        raise InputError(f"`detail` must be 'verdict' or 'intervals'. Got {detail!r}.")
    pool.problem = problem
    return Audit(
        problem=problem,
        suppressed=hidden,
        requirement=requirement,
        verdicts=_verdicts(pool, hidden, *limits),
        above=pool.above if detail == "verdict" else np.minimum(limits[0], limits[2]),
        below=pool.below if detail == "verdict" else np.minimum(limits[1], limits[3]),
        limit_above=limits[0],
        limit_below=limits[1],
        exact=detail == "intervals",
        pool=pool,
        programs=attack.programs,
        seconds=time.monotonic() - started,
    )


Limits = tuple[Floats, Floats, Floats, Floats]
"""Proved limits above and below, and distances reached above and below."""


def _limits(pool: WitnessPool, failures: dict[tuple[int, int], Extreme]) -> Limits:
    n = len(pool.needs.cells)
    limits = {1: np.full(n, np.inf), -1: np.full(n, np.inf)}
    for index, cell in enumerate(pool.needs.cells):
        for sign in (1, -1):
            if (int(cell), sign) in failures:
                limits[sign][index] = failures[int(cell), sign].limit
    return limits[1], limits[-1], pool.above, pool.below


def _all_intervals(attack: Attack, pool: WitnessPool, hidden: Flags) -> Limits:
    n = len(pool.needs.cells)
    limits, reached = np.zeros((2, n)), np.zeros((2, n))
    for index, cell in enumerate(pool.needs.cells):
        for side, sign in enumerate((1, -1)):
            if hidden[cell]:
                found = attack.extreme(int(cell), sign)
                limits[side, index], reached[side, index] = found.limit, found.reach
    return limits[0], limits[1], reached[0], reached[1]


def _verdicts(
    pool: WitnessPool, hidden: Flags, above: Floats, below: Floats, *_: Floats
) -> list[Verdict]:
    needs = pool.needs
    possible = needs.met(above, below) & hidden[needs.cells]
    verdicts = []
    for index, is_open in enumerate(pool.open | ~hidden[needs.cells]):
        if not is_open:
            verdicts.append(Verdict.PROTECTED)
        elif possible[index]:
            verdicts.append(Verdict.UNDECIDED)
        else:
            verdicts.append(Verdict.ATTACKABLE)
    return verdicts
