"""What an intruder who knows the method can guess from an adjusted table.

An adjustment guarantees that no published value lies near the true one, not that the truth
cannot be guessed: an intruder who knows method, levels and bounds can run it backwards.
The truth lies at least a level away from the published value of each sensitive cell, and the
rest was moved as little as possible, so that the nearest table with these properties is a
guess. It is sometimes a good one.

References
----------
.. [1] Castro: On assessing the disclosure risk of controlled adjustment methods for statistical
   tabular data, International Journal of Uncertainty, Fuzziness and Knowledge-Based Systems 20
   (2012).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak import showing
from tablecloak.arrays import Flags, Floats
from tablecloak.budget import Progress
from tablecloak.cta.adjust import adjust
from tablecloak.cta.result.adjustment import Adjustment
from tablecloak.errors import InputError, ModelError, SolverError
from tablecloak.registry import Registry
from tablecloak.tables.cell_arrays import CellStatus
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.weights import WeightRule

if TYPE_CHECKING:
    from tablecloak.cta.model.spread import Chance
    from tablecloak.tables.problem import ProtectionProblem

NOISE = 1e-6
"""Distance in median levels by which bounds and levels may be missed."""

RECOVERED = 1 - 1e-9
"""A guess counts as recovered if it is nearer to the truth than this share of the level."""


@dataclass(frozen=True, eq=False)
class TruthGuesses:
    """An intruder's guesses of the sensitive cells of a release. Secret.

    Parameters
    ----------
    problem : ProtectionProblem
    guesses : numpy.ndarray of float, shape (n_sensitive,)
        What the intruder takes for the true values.
    by_chance : float, default=0
        Share that chance lets an intruder guess, where the method leaves distances to it. What one
        draw gave may be less.
    """

    problem: ProtectionProblem
    guesses: Floats
    by_chance: float = field(default=0.0, kw_only=True)

    @property
    def risk(self) -> float:
        """Share of right guesses, or what chance admits if that is more."""
        return max(self.share_recovered, self.by_chance)

    @property
    def errors(self) -> Floats:
        """Return guess minus truth, shape (n_sensitive,)."""
        return self.guesses - self.problem.table.values[self.problem.sensitive]

    @property
    def levels(self) -> Floats:
        """Return the protection level on the side of the guess, shape (n_sensitive,)."""
        problem, cells = self.problem, self.problem.sensitive
        above = self.errors > 0
        return np.where(above, problem.upper_protection[cells], problem.lower_protection[cells])

    @property
    def recovered(self) -> Flags:
        """Return which sensitive cells are guessed to within their level."""
        near: Flags = np.abs(self.errors) < RECOVERED * self.levels
        return near

    @property
    def share_recovered(self) -> float:
        """Share of the sensitive cells that are guessed to within their level."""
        return float(np.mean(self.recovered)) if len(self.guesses) else 0.0


@dataclass(frozen=True, eq=False)
class AdjustmentRisk(TruthGuesses):
    """Guesses from an adjusted table, beside the truth. Secret.

    Parameters
    ----------
    problem : ProtectionProblem
    guesses : numpy.ndarray of float, shape (n_sensitive,)
        What the intruder takes for the true values.
    knows : str
    published : numpy.ndarray of float, shape (n_sensitive,)
    seconds : float
    by_chance : float, default=0
    """

    knows: str
    published: Floats
    seconds: float

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each sensitive cell. Secret."""
        cells = np.flatnonzero(self.problem.sensitive)
        keys = self.problem.table.keys.iloc[cells].reset_index(drop=True)
        return keys.assign(
            true=self.problem.table.values[cells],
            published=self.published,
            guess=self.guesses,
            level=self.levels,
            recovered=self.recovered,
        )

    def summary(self) -> str:
        """Say in one line how the attack went."""
        n = len(self.guesses)
        truth = np.abs(self.problem.table.values[self.problem.sensitive])
        relative = np.abs(self.errors)[truth > 0] / truth[truth > 0]
        middle = f"{100 * float(np.median(relative)):.3g} %" if len(relative) else "-"
        return (
            f"attack on the adjusted table, knowing the {self.knows}: "
            f"{int(self.recovered.sum())} of {n} sensitive cells guessed to within their level "
            f"({100 * self.share_recovered:.1f} %), median error of a guess {middle}; "
            f"{self.seconds:.1f} s"
        )

    def __repr__(self) -> str:
        return f"<{self.summary()}>"

    def _repr_html_(self) -> str:
        return showing.html(self)


def attack_adjustment(
    adjustment: Adjusted,
    *,
    knows: str = "levels",
    assumed_level: float = 0.1,
    lower_bound: npt.ArrayLike | None = None,
    upper_bound: npt.ArrayLike | None = None,
    time_limit: float = 60.0,
    progress: Progress | None = None,
    solver: str | None = None,
    threads: int | None = None,
) -> AdjustmentRisk:
    """Run the adjustment backwards from what is published.

    The intruder knows the relations, which cells are sensitive, and that the rest was moved as
    little as possible. The guess is the table nearest to the published one, with weights made
    of published values, in which each sensitive cell lies at least its level away.

    Parameters
    ----------
    adjustment : Adjustment or AdjustedAudit
        An audit of an adjusted file tells nothing of chance.
    knows : str, default="levels"
        What the intruder knows besides; `tablecloak.cta.risk.risk.GUESSERS` has all names:

        - "method": assumes levels, a share of the published values;
        - "levels": the true levels;
        - "directions": also which way each sensitive cell was moved, as after
          ``directions="up"``.
    assumed_level : float, default=0.1
        Level that one who knows only the method assumes, as a share of the published value.
    lower_bound, upper_bound : array_like of float, shape (n_cells,), optional
        Bounds that the intruder takes to be reasonable; by default those of the problem.
    time_limit : float, default=60
        Seconds for the search of the guess.
    progress, solver, threads
        As for `adjust`.

    Returns
    -------
    AdjustmentRisk

    Raises
    ------
    InputError
        If `knows` is none of these names, or a bound lies on the wrong side of a published value.
    ModelError
        If no table fits what the intruder assumes: the attack fails.

    Notes
    -----
    This measures one attack; it proves nothing about others. Of an adjustment whose distances were
    left to chance the intruder knows the spread as well, and tries its middle too; the better of
    all guesses is reported. Where all changes of the guess could
    as well have the other sign, the intruder cannot choose between the guess and its mirror image:
    the one nearer to the truth is reported.

    Examples
    --------
    >>> import tablecloak as tc
    >>> adjusted = tc.adjust(tc.examples.cox(), weights="unit")
    >>> tc.attack_adjustment(adjusted, knows="directions").recovered.all()
    np.True_
    """
    guesser = GUESSERS.parse(knows, Guesser, "`knows` is")
    if not assumed_level > 0:
        raise InputError(f"`assumed_level` must be positive. Got {assumed_level!r}.")
    directions = guesser.directions(adjustment)
    attempts = guesser.attempts(adjustment, assumed_level)
    risks: list[AdjustmentRisk] = []
    for number, levels in enumerate(attempts):
        backwards = _backwards(adjustment, levels, (lower_bound, upper_bound))
        try:
            guess = adjust(
                backwards,
                weights=WeightRule.RELATIVE,
                directions="search" if directions is None else directions,
                integer=False,
                time_limit=time_limit / len(attempts),
                progress=progress,
                solver=solver,
                threads=threads,
            )
        except (ModelError, SolverError):
            # No table lies that far from the published one in all cells, or none was found: this
            # guess fails.
            if number + 1 == len(attempts) and not risks:
                raise
            continue
        risks += _guesses(adjustment, knows, backwards, guess, both=directions is None)
    best = max(risks, key=lambda risk: risk.share_recovered)
    return replace(best, seconds=sum({risk.seconds for risk in risks}))


def _guesses(
    adjustment: Adjusted,
    knows: str,
    backwards: ProtectionProblem,
    guess: Adjustment,
    *,
    both: bool,
) -> list[AdjustmentRisk]:
    """Return a guess and, if both are possible, its mirror image."""
    problem, published = adjustment.problem, adjustment.values
    risk = AdjustmentRisk(
        problem=problem,
        knows=knows,
        guesses=guess.values[problem.sensitive],
        published=published[problem.sensitive],
        seconds=guess.seconds,
        by_chance=0.0 if adjustment.chance is None else adjustment.chance.recovery,
    )
    mirrored = published - guess.changes
    if not both or not _fits(backwards, mirrored):
        return [risk]
    return [risk, replace(risk, guesses=mirrored[problem.sensitive])]


def _backwards(
    adjustment: Adjusted,
    levels: tuple[Floats, Floats],
    bounds: tuple[npt.ArrayLike | None, npt.ArrayLike | None],
) -> ProtectionProblem:
    """Return the problem that an intruder solves: from published values back to true ones."""
    problem, published = adjustment.problem, adjustment.values
    sensitive = problem.sensitive
    below, above = levels
    low, high = (
        bound if given is None else np.asarray(given, dtype=np.float64)
        for bound, given in zip((problem.lower_bound, problem.upper_bound), bounds, strict=True)
    )
    noise = NOISE * problem.unit
    # A cell without a level need not have moved, so that the intruder assumes no distance.
    idle = sensitive & (below <= 0) & (above <= 0)
    return problem.with_changes(
        table=problem.table.with_values(published),
        status=np.where(idle, CellStatus.SAFE.value, problem.status),
        lower_protection=below,
        upper_protection=above,
        sliding_protection=0.0,
        # A published value that lies at a bound, but for rounding, has no room there.
        lower_bound=np.where(np.abs(low - published) <= noise, published, low),
        upper_bound=np.where(np.abs(high - published) <= noise, published, high),
        capacity_down=problem.capacity_up,
        capacity_up=problem.capacity_down,
    )


def _fits(backwards: ProtectionProblem, values: Floats) -> bool:
    """Whether a table is within bounds and as far from the published one as levels ask."""
    published, noise = backwards.table.values, NOISE * backwards.unit
    moved = values - published
    far = np.where(moved > 0, backwards.upper_protection, backwards.lower_protection)
    low, high = backwards.lower_bound - noise, backwards.upper_bound + noise
    is_far = np.abs(moved) >= far - noise
    return bool(np.all((values >= low) & (values <= high)) and np.all(is_far[backwards.sensitive]))


class Adjusted(Protocol):
    """An adjusted table beside the true one: an `Adjustment`, or a file that was read."""

    @property
    def problem(self) -> ProtectionProblem:
        """The true table."""
        ...

    @property
    def values(self) -> Floats:
        """Published values."""
        ...

    @property
    def changes(self) -> Floats:
        """Published minus true values."""
        ...

    @property
    def chance(self) -> Chance | None:
        """How far chance may have moved sensitive cells."""
        ...


class Guesser(ABC):
    """An intruder who guesses true values from adjusted ones, by what is known beforehand.

    Everybody knows the published table, the relations, the method, and which cells are sensitive.
    """

    name: ClassVar[str]

    @abstractmethod
    def distances(self, adjustment: Adjusted, assumed_level: float) -> tuple[Floats, Floats]:
        """Return how far the truth must lie below and above each published value.

        Parameters
        ----------
        adjustment : Adjusted
        assumed_level : float
            Level that an intruder without knowledge of the levels assumes, as a share of the value.

        Returns
        -------
        below, above : numpy.ndarray of float, shape (n_cells,)
            In the unit of the table; 0 where nothing is known.
        """

    def attempts(self, adjustment: Adjusted, assumed_level: float) -> list[tuple[Floats, Floats]]:
        """Return the distances of each guess that is tried, the first as of `distances`."""
        return [self.distances(adjustment, assumed_level)]

    def directions(self, adjustment: Adjusted) -> Floats | None:
        """Return the way back to each sensitive cell, +1 or -1; None if it is not known."""
        del adjustment
        return None


GUESSERS: Registry[Guesser] = Registry("knowledge", "tablecloak.cta.risk")
"""All intruders who guess, by the name of what they know."""


@GUESSERS.register
class KnowsLevels(Guesser):
    """Knows the true protection levels, and how far chance may move a cell beyond them."""

    name: ClassVar[str] = "levels"

    def distances(self, adjustment: Adjusted, assumed_level: float) -> tuple[Floats, Floats]:
        """Return the levels: a cell moved up is published its upper level above the truth."""
        del assumed_level
        return adjustment.problem.upper_protection, adjustment.problem.lower_protection

    def attempts(self, adjustment: Adjusted, assumed_level: float) -> list[tuple[Floats, Floats]]:
        """Return the levels and, where distances were left to chance, their means as well."""
        distances = [self.distances(adjustment, assumed_level)]
        chance = adjustment.chance
        if chance is not None:
            below, above = distances[0]
            distances.append((below + chance.up / 2, above + chance.down / 2))
        return distances


@GUESSERS.register
class KnowsDirections(KnowsLevels):
    """Knows the levels, and which way each sensitive cell moved, as after directions="up"."""

    name: ClassVar[str] = "directions"

    def directions(self, adjustment: Adjusted) -> Floats | None:
        """Return for each sensitive cell the direction opposite to its change."""
        changes = adjustment.changes[adjustment.problem.sensitive]
        return np.where(changes > 0, -1.0, 1.0)


@GUESSERS.register
class KnowsMethod(Guesser):
    """Knows only the method, and assumes that levels are a share of the published values."""

    name: ClassVar[str] = "method"

    def distances(self, adjustment: Adjusted, assumed_level: float) -> tuple[Floats, Floats]:
        """Return the same share of each sensitive value, below and above."""
        share = assumed_level * np.abs(adjustment.values)
        levels = np.where(adjustment.problem.sensitive, share, 0.0)
        return levels, levels
