"""Releases made by anybody: reading them back, and auditing them."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak import showing
from tablecloak.cta.adjustment import Adjustment
from tablecloak.cta.covering import CoveringIntervals, covering_intervals
from tablecloak.cta.precision import deviation, near_bound, shortfall
from tablecloak.cta.rounding.controlled import RoundedTable
from tablecloak.cta.rounding.small_counts import SmallCountTable
from tablecloak.errors import InputError, SolverError, listed, suggestion
from tablecloak.suppression.audit.audit import Audit, Verdict, audit_pattern
from tablecloak.suppression.audit.intruder import Intruder
from tablecloak.suppression.intervals import IntervalPattern, protecting_room
from tablecloak.suppression.pattern import SuppressionPattern
from tablecloak.suppression.requirement import Requirement
from tablecloak.tables.formats import original_codes, read_frame, sdmx_names
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.published import common_decimals, published_decimals
from tablecloak.tables.sensitivity import Rule
from tablecloak.tables.table import ADDITIVITY_TOLERANCE

__all__ = ["AdjustedAudit", "audit", "protected_intervals", "read_release"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Progress = Callable[[str, float, float, int], None]
Release = (
    SuppressionPattern
    | IntervalPattern
    | CoveringIntervals
    | Adjustment
    | RoundedTable
    | SmallCountTable
    | pd.DataFrame
    | str
    | Path
    | npt.ArrayLike
)

TURNS = 12
"""How often intervals around true and adjusted values are made coarser to protect."""

_PUBLISHED = {"published", "s", "safe", "v", "z"}
_ARGUS_HIDDEN = (3, 4, 5, 6, 7, 8, 9, 11, 12)
"""Unsafe by rule, request, frequency, zero, singleton or manually; secondary."""
_ARGUS_EMPTY = (13, 14)
_SUPPRESSED = {"primary", "secondary", "suppressed", "x", "u", "m"}


@dataclass(frozen=True, eq=False)
class AdjustedAudit:
    """Verdict on an adjusted table.

    Parameters
    ----------
    problem : ProtectionProblem
    values : numpy.ndarray of float, shape (n_cells,)
    shortfall : numpy.ndarray of float, shape (n_sensitive,)
        How much each sensitive cell lacks to its nearer protection level; 0 where safe. A side
        on which the level is 0 does not count.
    relations : float
        Largest error of a relation that is off by more than 1e-9 of its terms, as a table that is
        read may be; else 0.
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
        return (
            f"audit (adjusted table): {len(self.shortfall) - near} of {len(self.shortfall)} "
            f"sensitive cells safe, {near} too near to the truth; relations off by at most "
            f"{self.relations:g}, bounds by {self.bounds:g}, {self.frozen} frozen cells changed; "
            f"{self.seconds:.1f} s"
        )

    def __repr__(self) -> str:
        return f"<{self.summary()}>"

    def _repr_html_(self) -> str:
        return showing.html(self)


def audit(
    problem: ProtectionProblem,
    release: Release,
    *,
    require: Requirement | str = Requirement.TWO_SIDED,
    intruders: Intruder | str | Sequence[Intruder | str] = "external",
    groups: Sequence[Rule] = (),
    detail: Literal["verdict", "intervals"] = "verdict",
    time_limit: float = np.inf,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Audit | AdjustedAudit:
    """Attack a release, whoever made it.

    Parameters
    ----------
    problem : ProtectionProblem
        The original table with its sensitive cells and levels.
    release : SuppressionPattern, IntervalPattern, Adjustment, RoundedTable, SmallCountTable, \
        frame, path or array
        A result of ours; a file or frame as read by `read_release`, or one with the columns
        ``lower`` and ``upper``; a boolean array of suppressed cells, or an array of adjusted
        values.
    require : Requirement or str, default="two-sided"
        What counts as protected in a suppression pattern.
    intruders : Intruder, str, or sequence of these, default="external"
        Who attacks a pattern besides the external intruder: "contributors" (each with its own
        contributions), "pairs" (two that meet), "all-pairs", "holdings", "zeros" (knows zeros),
        "integers" (knows that values are whole).
    groups : sequence of Rule, default=()
        Rules that the sum of the suppressed cells of a relation must satisfy as well, such as
        ``[PPercent(10)]``.
    detail : {"verdict", "intervals"}, default="verdict"
        Whether to compute the exact interval of every sensitive cell of a pattern.
    time_limit : float, default=inf
        Seconds after which the attack on a pattern ends; what is open then is undecided.
    threads : int, optional
        By default as many as there are processors; the result does not depend on it.
    progress : callable, optional
        Called with stage, proved cells, all sensitive cells and open parts.

    Returns
    -------
    Audit or AdjustedAudit
        Both have `is_safe`, `summary()` and `to_frame()`.

    Notes
    -----
    Every intruder knows all that is published, all relations and the external bounds. What
    others know besides: `tablecloak.suppression.audit.intruders`, docs/guarantees.md.
    """
    intervals = _intervals(problem, release)
    if intervals is not None:
        suppressed = np.asarray(intervals[1] > intervals[0])
    else:
        hidden, values = _parts(problem, release)
        if values is not None:
            return _audit_values(problem, values)
        assert hidden is not None
        suppressed = hidden
    return audit_pattern(
        problem,
        suppressed,
        require=require,
        intruders=intruders,
        groups=groups,
        intervals=intervals,
        detail=detail,
        time_limit=time_limit,
        threads=threads,
        progress=progress,
    )


def protected_intervals(
    adjustment: Adjustment, *, time_limit: float = 60.0, progress: Progress | None = None
) -> CoveringIntervals:
    """Publish intervals that hold true and adjusted values, wide enough to protect.

    Parameters
    ----------
    adjustment : Adjustment
    time_limit : float, default=60
        Seconds after which no finer intervals are tried; coarse ones are always completed.
    progress : callable, optional
        As for `audit`.

    Returns
    -------
    CoveringIntervals
        The audit finds every sensitive cell protected on both sides.

    Raises
    ------
    ModelError
        If a cell cannot be protected however coarse the intervals are; names the cells.
    SolverError
        If even the coarsest intervals could not be proved.

    Examples
    --------
    >>> import tablecloak as tc
    >>> adjusted = tc.adjust(tc.examples.cox())
    >>> found = tc.protected_intervals(adjusted)
    >>> tc.audit(adjusted.problem, found).is_safe
    True
    """
    deadline = time.monotonic() + time_limit
    problem = adjustment.problem
    found = covering_intervals(adjustment)
    for _ in range(TURNS):
        left = deadline - time.monotonic()
        if left <= 0:
            break
        audited = audit(problem, found, time_limit=left, progress=progress)
        assert isinstance(audited, Audit)
        if audited.is_safe:
            found.verify()
            return found
        found = found.widen(_around(problem, audited))
    # Intervals that hold the witnesses for every need protect by construction.
    found = covering_intervals(adjustment).hold(*protecting_room(problem))
    found.verify()
    if not audit(problem, found, progress=progress).is_safe:
        raise SolverError(
            "No intervals around true and adjusted values were proved to protect every sensitive "
            "cell. Publish what `tablecloak.publish_intervals` finds."
        )
    return found


def _around(problem: ProtectionProblem, audited: Audit) -> Flags:
    """Cells that share a relation with one that is not protected; all of them become coarser."""
    failed = np.array([verdict is not Verdict.PROTECTED for verdict in audited.verdicts])
    weak = np.zeros(problem.table.n_cells)
    weak[np.flatnonzero(problem.sensitive)[failed]] = 1.0
    relations = abs(problem.table.relations).astype(bool).astype(np.float64)
    found: Flags = relations.T @ (relations @ weak) > 0
    return found


def read_release(
    problem: ProtectionProblem, release: pd.DataFrame | str | Path
) -> tuple[Flags | None, Floats | None]:
    """Read a release: which cells are suppressed, or else the adjusted values.

    Parameters
    ----------
    problem : ProtectionProblem
    release : DataFrame or path
        One row for each cell, named by the codes of the dimensions or by a column ``cell``
        with its index. With a column ``status`` (published, or suppressed / primary /
        secondary / x) it is a suppression pattern; without one, a column ``value`` (or named
        like the measure) holds adjusted values, or is empty for suppressed cells. A file
        without names in its first row is read as code-value output of tau-ARGUS: the codes,
        the value, and the status from 1 to 14.

    Returns
    -------
    suppressed : numpy.ndarray of bool, or None
    values : numpy.ndarray of float, or None
        Exactly one of the two is None.

    Raises
    ------
    InputError
        If cells are missing, unknown or given twice, a status is not understood, or a
        published value of a suppression pattern is not the true one.
    """
    source = str(release) if isinstance(release, str | Path) else "release"
    keys = list(map(str, problem.table.keys.columns))
    if isinstance(release, pd.DataFrame):
        frame = release
    else:
        code_values = _read_code_values(problem, Path(release), keys)
        if code_values is not None:
            frame = code_values
        else:
            frame = _from_sdmx(read_frame(release, (*keys, "cell", "status")), keys, release)
    rows = _rows_in_table_order(problem, frame, keys, source)
    frame = frame.iloc[rows]
    column = next((c for c in ("value", problem.table.name) if c in frame.columns), None)
    if "status" in frame.columns:
        suppressed = _suppressed(frame, source)
    elif column is None:
        raise InputError(f"{source}: there is neither a column 'status' nor a column 'value'.")
    else:
        suppressed = frame[column].isna().to_numpy()
        if not np.any(suppressed):
            return None, _adjusted_values(frame, column, source)
    if column is not None:
        _check_published(problem, frame[column], suppressed, source)
    return suppressed, None


def _adjusted_values(frame: pd.DataFrame, column: str, source: str) -> Floats:
    values = pd.to_numeric(frame[column], errors="coerce")
    odd = frame[values.isna()]
    if len(odd):
        raise InputError(
            f"{source}, row {odd.index[0] + 1}: the value is {odd[column].iloc[0]!r}, which is no "
            f"number. Leave it empty where a cell is suppressed, or add a column 'status'."
        )
    return values.to_numpy(dtype=np.float64)


def _from_sdmx(frame: pd.DataFrame, keys: list[str], path: str | Path) -> pd.DataFrame:
    """Translate the names and flags of SDMX-CSV; other frames stay as they are."""
    if "OBS_VALUE" not in frame.columns:
        return frame
    # Codes are text, whatever they look like.
    names = sdmx_names(keys)
    frame = read_frame(path, tuple(names.values()))
    back = {name: key for key, name in names.items()}
    frame = frame.rename(columns=back | {"OBS_VALUE": "value"})
    if "CONF_STATUS" in frame.columns:
        hidden = frame["CONF_STATUS"].isin(["C", "D", "N", "S"])
        if hidden.any():
            words = hidden.map({True: "suppressed", False: "published"})
            frame = frame.assign(status=words)
    return frame


def _intervals(problem: ProtectionProblem, release: Release) -> tuple[Floats, Floats] | None:
    """Return the ends of published intervals; None if the release is something else."""
    keys = list(map(str, problem.table.keys.columns))
    if isinstance(release, IntervalPattern | CoveringIntervals):
        return release.lower, release.upper
    if isinstance(release, RoundedTable | SmallCountTable):
        return release.intervals()
    if isinstance(release, pd.DataFrame):
        frame, source = release, "release"
    elif isinstance(release, str | Path) and Path(release).suffix in (".csv", ".parquet"):
        frame, source = read_frame(release, (*keys, "cell")), str(release)
    else:
        return None
    if not {"lower", "upper"} <= set(frame.columns) or "status" in frame.columns:
        return None
    frame = frame.iloc[_rows_in_table_order(problem, frame, keys, source)]
    lower, upper = (pd.to_numeric(frame[name], errors="coerce").to_numpy() for name in _ENDS)
    if np.any(np.isnan(lower) | np.isnan(upper)):
        raise InputError(f"{source}: every cell needs a number as `lower` and as `upper`.")
    return lower, upper


_ENDS = ("lower", "upper")


def read_previous(problem: ProtectionProblem, path: str | Path) -> Flags:
    """Read which cells were suppressed last period, matched by their codes.

    Parameters
    ----------
    problem : ProtectionProblem
    path : str or path
        One row for each cell, with the codes of the dimensions (or a column ``cell``) and
        ``status``, as `tablecloak suppress` and jobs write it. Cells of other periods are
        passed over; cells that are new count as published.

    Returns
    -------
    numpy.ndarray of bool, shape (n_cells,)

    Raises
    ------
    InputError
        If columns are missing, a status is not understood, or no cell is known.
    """
    keys = list(map(str, problem.table.keys.columns))
    frame = read_frame(path, (*keys, "cell", "status"))
    if "status" not in frame.columns:
        raise InputError(f"{path}: there is no column 'status'.")
    given, wanted = _named(problem, frame, keys, str(path))
    before = given[_suppressed(frame, str(path))]
    if not given.isin(wanted).any():
        raise InputError(f"{path}: none of its cells is in this table. Check the codes.")
    flags: Flags = wanted.isin(before)
    return flags


def _read_code_values(
    problem: ProtectionProblem, path: Path, keys: list[str]
) -> pd.DataFrame | None:
    """Read code-value output of tau-ARGUS with statuses; None if the file is something else."""
    if path.suffix.lower() not in (".csv", ".txt") or not path.exists():
        return None
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        first = next(csv.reader(file), [])
    if len(first) != len(keys) + 2 or not first[-1].strip().isdigit():
        return None
    frame = pd.read_csv(path, header=None, names=[*keys, "value", "number"], dtype=str)
    number = pd.to_numeric(frame["number"], errors="coerce")
    odd = frame.index[~number.isin(range(1, 15))]
    if len(odd):
        raise InputError(
            f"{path}, row {odd[0] + 1}: status {frame['number'][odd[0]]!r} is not one of the "
            f"statuses 1 to 14 of tau-ARGUS."
        )
    # Some writers pad codes with blanks; the table's own spelling counts.
    for key in keys:
        spelling = {code.strip(): code for code in problem.table.keys[key].unique()}
        stripped = frame[key].str.strip()
        frame[key] = stripped.map(spelling).fillna(stripped)
    status = np.where(number.isin(_ARGUS_HIDDEN), "suppressed", "published")
    frame = frame.assign(status=status, value=pd.to_numeric(frame["value"], errors="coerce"))
    known = pd.MultiIndex.from_frame(problem.table.keys)
    empty = number.isin(_ARGUS_EMPTY) & ~pd.MultiIndex.from_frame(frame[keys]).isin(known)
    return frame[~empty].drop(columns="number").reset_index(drop=True)


def _parts(problem: ProtectionProblem, release: Release) -> tuple[Flags | None, Floats | None]:
    if isinstance(release, SuppressionPattern):
        return release.suppressed, None
    if isinstance(release, Adjustment):
        return None, release.values
    if isinstance(release, pd.DataFrame | str | Path):
        return read_release(problem, release)
    array = np.asarray(release)
    if array.shape != problem.table.values.shape:
        raise InputError(f"`release` has the shape {array.shape}; expected one entry per cell.")
    return (array, None) if array.dtype == bool else (None, array.astype(np.float64))


def _audit_values(problem: ProtectionProblem, values: Floats) -> AdjustedAudit:
    started = time.monotonic()
    if not np.all(np.isfinite(values)):
        raise InputError("An adjusted table must have a finite value in every cell.")
    table, found = problem.table, deviation(problem.table, values)
    size = abs(table.relations) @ np.maximum(np.abs(values), np.abs(table.values))
    accepted = np.maximum(found.accepted, ADDITIVITY_TOLERANCE * size + table.tolerance)
    off = np.where(found.relations > accepted, found.relations, 0.0)
    outside = np.zeros(len(values))
    for bound, beyond in (
        (problem.lower_bound, problem.lower_bound - values),
        (problem.upper_bound, values - problem.upper_bound),
    ):
        outside = np.maximum(outside, np.where(beyond > near_bound(bound, values), beyond, 0.0))
    return AdjustedAudit(
        problem=problem,
        values=values,
        shortfall=shortfall(problem, found.changes)[problem.sensitive],
        relations=float(off.max(initial=0.0)),
        bounds=float(outside.max(initial=0.0)),
        frozen=int(np.sum(problem.frozen & (found.changes != 0))),
        tolerance=0.0,
        seconds=time.monotonic() - started,
    )


def _rows_in_table_order(
    problem: ProtectionProblem, frame: pd.DataFrame, keys: list[str], source: str
) -> npt.NDArray[np.int64]:
    given, wanted = _named(problem, frame, keys, source)
    if given.has_duplicates:
        raise InputError(f"{source}: cell {given[given.duplicated()][0]} is given twice.")
    unknown = given[~given.isin(wanted)]
    if len(unknown):
        raise InputError(f"{source}: cell {unknown[0]} is not in the original table.")
    rows = given.get_indexer(wanted)
    missing = np.flatnonzero(rows < 0)
    if len(missing):
        raise InputError(
            f"{source}: {len(missing)} cells of the original are missing, the first is "
            f"{problem.table.label(int(missing[0]))}. A release needs one row for each cell."
        )
    return rows.astype(np.int64)


def _named(
    problem: ProtectionProblem, frame: pd.DataFrame, keys: list[str], source: str
) -> tuple[pd.Index, pd.Index]:
    """Names of the cells in a frame, and of those in the table."""
    if all(key in frame.columns for key in keys):
        given = pd.MultiIndex.from_frame(frame[keys].apply(original_codes))
        return given, pd.MultiIndex.from_frame(problem.table.keys)
    if "cell" in frame.columns:
        numbers = pd.Index([str(cell) for cell in range(problem.table.n_cells)])
        return pd.Index(frame["cell"].astype(str)), numbers
    raise InputError(
        f"{source}: the cells are not named. Give the columns {listed(keys)}, or a column "
        f"'cell' with the index of each."
    )


def _suppressed(frame: pd.DataFrame, source: str) -> Flags:
    words = frame["status"].astype(str).str.strip().str.lower()
    known = _PUBLISHED | _SUPPRESSED
    odd = words[~words.isin(known)]
    if len(odd):
        raise InputError(
            f"{source}, row {odd.index[0] + 1}: status {odd.iloc[0]!r} is not known."
            f"{suggestion(odd.iloc[0], ['published', 'suppressed', 'primary', 'secondary'])}"
        )
    return words.isin(_SUPPRESSED).to_numpy()


def _check_published(
    problem: ProtectionProblem, column: pd.Series, suppressed: Flags, source: str
) -> None:
    shown = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
    true = problem.table.values
    # Measurements are published with fewer digits than they have.
    decimals = published_decimals(true[~suppressed], problem.table.decimals)
    accepted = np.maximum(1e-9 * np.maximum(np.abs(true), 1.0), 0.51 * 10.0**-decimals)
    if common_decimals(true[~suppressed]) is not None:
        accepted = 1e-9 * np.maximum(np.abs(true), 1.0)
    wrong = ~suppressed & ~(np.abs(shown - true) <= accepted)
    cells = np.flatnonzero(wrong)
    if len(cells):
        raise InputError(
            f"{source}: {len(cells)} published cells do not have their true value, the first is "
            f"{problem.table.label(int(cells[0]))}. A suppression pattern publishes true values; "
            f"leave the status out to audit an adjusted table.",
            cells=cells,
        )
