"""The audit of a release, whoever made it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from tablecloak import showing
from tablecloak.arrays import Flags, Floats
from tablecloak.budget import Progress, Stopwatch
from tablecloak.cta.model.precision import deviation, shortfall
from tablecloak.cta.model.room import near_bound
from tablecloak.cta.result.adjustment import Adjustment
from tablecloak.cta.risk.risk import AdjustmentRisk, attack_adjustment
from tablecloak.errors import InputError, ModelError, SolverError
from tablecloak.protection import Protection, made_as, way_of
from tablecloak.publish.released_cells import (
    ENDS,
    ends_by,
    published_ends,
    read_code_values,
    read_release,
    told_beside,
)
from tablecloak.results import Result
from tablecloak.solve.solver import on_chosen_solver
from tablecloak.suppression.attack.audit import Audit, audit_pattern
from tablecloak.suppression.attack.intruder import Intruder
from tablecloak.suppression.suppress import Earlier
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.tables.additivity import ADDITIVITY_TOLERANCE
from tablecloak.tables.changes.earlier_releases import Published
from tablecloak.tables.formats import RecordFormat, can_hold, read_frame
from tablecloak.tables.library_frames import as_pandas
from tablecloak.tables.problem import ProtectionProblem, require_problem
from tablecloak.tables.rules.rule import Rule
from tablecloak.tables.sums import Groups


@dataclass(frozen=True, eq=False)
class AdjustedAudit:
    """Verdict on an adjusted table.

    Parameters
    ----------
    problem : ProtectionProblem
    values : numpy.ndarray of float, shape (n_cells,)
    shortfall : numpy.ndarray of float, shape (n_sensitive,)
        Distance of each sensitive cell from its nearer protection level; 0 where safe. A side
        on which the level is 0 does not count.
    relations : float
        Largest error of a relation; errors of at most 1e-9 of its terms, which reading a table
        accepts, count as 0.
    bounds : float
        Largest violation of an external bound beyond rounding of that value.
    frozen : int
        Number of frozen cells that were changed.
    tolerance : float
        Accepted error, in the unit of the table.
    seconds : float
    """

    problem: ProtectionProblem
    values: Floats
    shortfall: Floats
    relations: float
    bounds: float
    frozen: int
    tolerance: float
    seconds: float

    chance: ClassVar[None] = None
    """How far chance moved cells, which a file does not tell; see `attack_adjustment`."""

    @property
    def changes(self) -> Floats:
        """Published minus true values."""
        return self.values - self.problem.table.values

    @property
    def is_safe(self) -> bool:
        """Whether the table is additive, within bounds, and all sensitive cells are safe."""
        worst = max(float(self.shortfall.max(initial=0)), self.relations, self.bounds)
        return worst <= self.tolerance and self.frozen == 0

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each sensitive cell, the worst first. Secret."""
        cells = np.flatnonzero(self.problem.sensitive)
        values = self.problem.table.values[cells]
        frame = self.problem.table.keys.iloc[cells].assign(
            value=values,
            adjusted=self.values[cells],
            forbidden_lower=values - self.problem.lower_protection[cells],
            forbidden_upper=values + self.problem.upper_protection[cells],
            shortfall=self.shortfall,
        )
        return frame.sort_values("shortfall", ascending=False, kind="stable")

    def summary(self) -> str:
        """Say in one line how the check went."""
        near = int(np.sum(self.shortfall > self.tolerance))
        fails = "" if self.is_safe else "NOT SAFE: "
        return (
            f"{fails}audit (adjusted table): {len(self.shortfall) - near} of {len(self.shortfall)} "
            f"sensitive cells published at least their levels away from the truth, {near} too near "
            f"to it; relations off by at most "
            f"{self.relations:g}, bounds by {self.bounds:g}, {self.frozen} frozen cells changed; "
            f"{self.seconds:.1f} s"
        )

    def __repr__(self) -> str:
        return f"<{self.summary()}>"

    def _repr_html_(self) -> str:
        return showing.html(self)


def audit_values(problem: ProtectionProblem, values: Floats) -> AdjustedAudit:
    """Check the values of an adjusted table, whoever made it.

    Raises
    ------
    InputError
        If a value is not finite.
    """
    watch = Stopwatch()
    if not np.all(np.isfinite(values)):
        odd = int(np.flatnonzero(~np.isfinite(values))[0])
        raise InputError(
            "An adjusted table must have a finite value in every cell, but "
            f"{problem.table.label(odd)} has none. Fill it in; a release with gaps is audited as a "
            "suppression pattern."
        )
    table, moved = problem.table, deviation(problem.table, values)
    size = abs(table.relations) @ np.maximum(np.abs(values), np.abs(table.values))
    accepted = np.maximum(moved.accepted, ADDITIVITY_TOLERANCE * size + table.tolerance)
    off = np.where(moved.relations > accepted, moved.relations, 0.0)
    outside = np.zeros(len(values))
    for bound, beyond in (
        (problem.lower_bound, problem.lower_bound - values),
        (problem.upper_bound, values - problem.upper_bound),
    ):
        outside = np.maximum(outside, np.where(beyond > near_bound(bound, values), beyond, 0.0))
    return AdjustedAudit(
        problem=problem,
        values=values,
        shortfall=shortfall(problem, moved.changes)[problem.sensitive],
        relations=float(off.max(initial=0.0)),
        bounds=float(outside.max(initial=0.0)),
        frozen=int(np.sum(problem.frozen & (moved.changes != 0))),
        tolerance=0.0,
        seconds=watch.seconds,
    )


VERDICT_SECONDS = 20.0
"""Seconds for the attack behind a verdict; cells that are open then are not settled."""

GUESSING_SECONDS, MOST_GUESSED = 2.0, 100_000
"""Seconds for running an adjusted table backwards for its verdict, which a notebook shows with each
result, and cells up to which it is: more time guesses as many cells (docs/decisions, "An adjustment
whose truth is guessed"), and the first guess of a larger table takes far longer."""

Release = Any
"""What can be audited: a release of any way to protect, a frame, a path or an array."""


@on_chosen_solver
def audit(
    problem: ProtectionProblem,
    release: Release,
    *,
    require: Requirement | str = Requirement.TWO_SIDED,
    intruders: Intruder | str | Sequence[Intruder | str] = "external",
    groups: Groups | Rule | Sequence[Rule] = (),
    published: Earlier = (),
    made: Protection | str | None = None,
    detail: Literal["verdict", "intervals"] = "verdict",
    seed: int = 0,
    time_limit: float = np.inf,
    threads: int | None = None,
    progress: Progress | None = None,
    solver: str | None = None,
) -> Audit | AdjustedAudit:
    """Attack a release, whoever made it.

    Parameters
    ----------
    problem : ProtectionProblem
        The original table with its sensitive cells and levels.
    release : SuppressionPattern, IntervalPattern, Adjustment, RoundedTable, SmallCountTable, \
        frame, path or array
        A result of this package; a file or frame, of pandas or polars, as read by `read_release`,
        or one with the columns ``lower`` and ``upper``; a boolean array of suppressed cells, or an
        array of adjusted values.
    require : Requirement or str, default="two-sided"
        What counts as protected in a suppression pattern.
    intruders : Intruder, str, or sequence of these, default="external"
        Who attacks a pattern besides the external intruder: "contributors" (each with its own
        contributions), "pairs" (two that meet), "all-pairs", "holdings", "zeros" (knows zeros),
        "integers" (knows that values are whole), "any-cell" (knows any one hidden cell).
    groups : Groups, Rule, or sequence of Rule, default=()
        Rules that the sum of the suppressed cells of a relation must satisfy as well, such as
        ``[PPercent(10)]``. This looks at sums that everybody can compute; of a pattern by
        `tablecloak.suppress` with `groups`, its own problem has the sums that can be estimated.
    published : Published, release, or sequence or mapping of releases, default=()
        Earlier releases that intruders have as well, as for `tablecloak.suppress`. The verdict is
        on all releases together, and on the sensitive cells of the earlier ones too.
    made : Protection or str, optional
        How the values of a file, frame or array were made, if readers know it: "rounding:5" or
        "small_counts:3", with the base. The verdict is then on what follows from values and base;
        readers are taken to know how far values were moved at most, and whether each is the nearest
        multiple. By default what about.json beside the table of a release says; without it values
        are those of an adjusted table.
    detail : {"verdict", "intervals"}, default="verdict"
        Whether to compute the exact interval of every sensitive cell of a pattern.
    seed : int, default=0
        For random directions of programs; it changes the time, not the verdict.
    time_limit : float, default=inf
        Seconds after which the attack on a pattern ends; cells that are open then are undecided.
    threads : int, optional
        By default as many as there are processors; the result does not depend on it.
    progress : callable, optional
        Called with stage, proved cells, all sensitive cells and open parts.
    solver : str, optional
        Name of the solver of all programs, such as "highs" or "cbc"; by default the one chosen by
        `tablecloak.solve.solver.using_solver`, or else "highs".

    Returns
    -------
    Audit or AdjustedAudit
        Both have `is_safe`, `summary()` and `to_frame()`.

    Notes
    -----
    Every intruder knows all that is published, all relations and the external bounds. For what
    insiders know besides, see `tablecloak.suppression.attack.intruders` and docs/guarantees.md.
    """
    require_problem(problem)
    groups = Groups.parse(groups) or ()
    suppressed, intervals, values = told_by(problem, release, made)
    if values is not None:
        return audit_values(problem, values)
    assert suppressed is not None
    earlier = Published.parse(published)
    if earlier is not None:
        ends = problem.ends(suppressed) if intervals is None else intervals
        suppressed, intervals = earlier.hidden_beside(suppressed), earlier.ends_beside(*ends)
        problem = earlier.beside(problem).problem
    return audit_pattern(
        problem,
        suppressed,
        require=require,
        intruders=intruders,
        groups=groups,
        intervals=intervals,
        detail=detail,
        seed=seed,
        time_limit=time_limit,
        threads=threads,
        progress=progress,
    )


@showing.attacked.register
def _(release: Adjustment, problem: ProtectionProblem) -> AdjustmentRisk | None:
    del problem
    if release.problem.table.n_cells > MOST_GUESSED:
        return None
    try:
        return attack_adjustment(release, time_limit=GUESSING_SECONDS, threads=1)
    except (ModelError, SolverError):
        # No table fits what the intruder assumes, or none was found in time.
        return None


@showing.attacked.register
def _(release: Result, problem: ProtectionProblem) -> Audit | AdjustedAudit:
    return audit(problem, release, time_limit=VERDICT_SECONDS, threads=1)


ReleaseContent = tuple[Flags | None, tuple[Floats, Floats] | None, Floats | None]
"""What a release tells of the n cells of a table: which are hidden, in a pattern or where intervals
are published; both ends of every cell, where intervals are published; the values of an adjusted
table, the others then being None. Arrays of shape (n_cells,)."""


def told_by(
    problem: ProtectionProblem, release: Release, made: Protection | str | None = None
) -> ReleaseContent:
    """Return what a release tells, whoever made it.

    Parameters
    ----------
    problem : ProtectionProblem
    release : SuppressionPattern, IntervalPattern, Adjustment, frame, path or array
    made : Protection or str, optional
        As for `audit`.
    """
    release = as_pandas(release)
    made = made_as(told_beside(release)) if made is None else made
    content = _as_it_looks(problem, release)
    if made is None:
        return content
    ends = ends_by(made, problem, content[2])
    return _hidden_within(problem, ends), ends, None


def _as_it_looks(problem: ProtectionProblem, release: Release) -> ReleaseContent:
    """Return what a release tells of which nobody says how its values were made."""
    way = way_of(release)
    if way is not None:
        return told_by_result(problem, way, release)
    intervals = _intervals(problem, release)
    if intervals is not None:
        return _hidden_within(problem, intervals), intervals, None
    if isinstance(release, pd.DataFrame | str | Path):
        suppressed, values = read_release(problem, release)
        return suppressed, None, values
    array = np.asarray(release)
    if array.shape != problem.table.values.shape:
        raise InputError(
            f"`release` has the shape {array.shape}; expected one entry per cell, here "
            f"{problem.table.n_cells}: the adjusted values, or whether each cell is suppressed."
        )
    if array.dtype == bool:
        return array, None, None
    return None, None, array.astype(np.float64)


def told_by_result(
    problem: ProtectionProblem, way: type[Protection], release: Release
) -> ReleaseContent:
    """Return what a release tells that a way to protect has made."""
    if not way.is_proved:
        raise InputError(
            f"A {type(release).__name__} promises no levels that an audit could check. "
            f"`tablecloak.compare` measures its risk."
        )
    intervals, hidden = way.intervals(release), way.hidden(release)
    if intervals is not None:
        return _hidden_within(problem, intervals), intervals, None
    if hidden is None:
        return None, None, way.values(release)
    # The problem of a pattern may have sums of hidden cells, and cells of earlier releases,
    # that the given one does not have.
    return hidden[: problem.table.n_cells], None, None


def _hidden_within(problem: ProtectionProblem, intervals: tuple[Floats, Floats]) -> Flags:
    """Return the hidden cells of published intervals."""
    # A cell that must be suppressed stays hidden even if external bounds determine its value.
    determined = problem.forced & (problem.lower_bound == problem.upper_bound)
    return np.asarray((intervals[1] > intervals[0]) | determined)


def _intervals(problem: ProtectionProblem, release: Release) -> tuple[Floats, Floats] | None:
    """Return the ends of published intervals; None if the release is something else."""
    keys = list(map(str, problem.table.keys.columns))
    if isinstance(release, pd.DataFrame):
        frame, source = release, "release"
    elif isinstance(release, str | Path) and can_hold(release, RecordFormat):
        # Code values have no header, whose names would have to differ.
        if read_code_values(problem, Path(release), keys) is not None:
            return None
        frame, source = read_frame(release, (*keys, "cell")), str(release)
    else:
        return None
    if not set(ENDS) <= set(frame.columns) or "status" in frame.columns:
        return None
    return published_ends(problem, frame, keys, source)


def known_ends(
    problem: ProtectionProblem, content: ReleaseContent
) -> tuple[tuple[Floats, Floats], bool]:
    """Return both ends of what a release tells of each cell, and whether it tells bounds at all."""
    suppressed, intervals, values = content
    if suppressed is None or values is not None:
        return (problem.lower_bound, problem.upper_bound), False
    return (problem.ends(suppressed) if intervals is None else intervals), True
