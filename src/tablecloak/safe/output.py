"""One output of a project: its figures, what would leave, and what is said of it and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from tablecloak.arrays import AnyIntegers, Flags, Floats, Integers
from tablecloak.safe.values import counted

Status = Literal["pass", "review", "fail"]
RENUMBERED = "renumbered"
"""Rule that an output breaks whose records cannot be told from those of others."""

ORDER: tuple[Status, ...] = ("pass", "review", "fail")


@dataclass(frozen=True)
class Reason:
    """Why an output, or a cell of it, is not simply passed.

    Parameters
    ----------
    status : {"review", "fail"}
        "fail" if something would be disclosed; "review" if a person has to decide.
    rule : str
        Short name of what was broken: "threshold", "p-ratio", "nk-rule", "missing", "zeros",
        "differencing", "degrees of freedom", "records", "renumbered".
    text : str
        One sentence for the checker. It names numbers of contributors, never their values.
    cells : tuple of str, default=()
        Labels of the cells it concerns; none if it concerns the whole output.
    """

    status: Status
    rule: str
    text: str
    cells: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Outcome:
    """The verdict on one output.

    Parameters
    ----------
    reasons : tuple of Reason
        Everything that speaks against the output as it would leave.
    notes : tuple of str, default=()
        What was done and what was proved: cells hidden, intervals proved, what was not searched.
    cells : DataFrame, optional
        Shaped like the output: what was found of each cell before it was protected, "ok" or the
        rules it broke, joined by "; ".
    """

    reasons: tuple[Reason, ...] = ()
    notes: tuple[str, ...] = ()
    cells: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def status(self) -> Status:
        """The worst status of all reasons; "pass" if there are none."""
        return max((reason.status for reason in self.reasons), key=ORDER.index, default="pass")

    @property
    def summary(self) -> str:
        """One line: the status and why."""
        said = [reason.text for reason in self.reasons] or list(self.notes[:1])
        return "; ".join([self.status, *said])

    def __repr__(self) -> str:
        return "; ".join(dict.fromkeys([self.summary, *self.notes]))

    def with_text(self, said: Callable[[str], str]) -> Outcome:
        """Return the outcome with its sentences said anew, as after an output was renamed."""
        reasons = tuple(replace(reason, text=said(reason.text)) for reason in self.reasons)
        return Outcome(reasons, tuple(map(said, self.notes)), self.cells)


def rules_by_cell(
    frame: pd.DataFrame, broken: Mapping[str, Iterable[Sequence[int]]]
) -> pd.DataFrame:
    """Return which rules each cell of a frame broke, joined by "; ", or "ok".

    Parameters
    ----------
    frame : DataFrame
    broken : mapping of str to places
        For each rule, rows and columns of the cells that broke it, counted from 0.
    """
    rules = np.full(frame.shape, "", dtype=object)
    for rule, places in broken.items():
        for row, column in places:
            rules[row, column] += f"; {rule}" if rules[row, column] else rule
    rules[rules == ""] = "ok"
    return pd.DataFrame(rules, index=frame.index, columns=frame.columns)


@dataclass(frozen=True)
class Figures:
    """Published sums of one variable over groups of records.

    A mean is two of these: its sum and its count.

    Parameters
    ----------
    records : (n,) array of int
        Positions of the records in the project (`Project.positions`), each at most once.
    group : (n,) array of int
        In which of the g groups each of them is; -1 for none.
    sums : (f, g) sparse matrix of 0 and 1
        Which groups each published figure adds up; figures that are hidden have no row.
    labels : tuple of str
        What each published figure is called, f of them: "region N, industry C".
    amounts : (n,) array of float, optional
        What each record adds; without them figures count records. Amounts of two values
        are counts, and a value that most records share is nobody's own.
    variable : str, default="records"
        What is added up, for people. Figures of the same amounts are one variable, whatever
        they are called.
    """

    records: AnyIntegers
    group: AnyIntegers
    sums: Any
    labels: tuple[str, ...]
    amounts: Floats | None = None
    variable: str = "records"

    def __post_init__(self) -> None:
        if self.amounts is not None:
            # What sums of flags tell is how many: it is compared with what is counted elsewhere.
            amounts, group = counted(self.amounts, np.asarray(self.group, dtype=np.int64))
            object.__setattr__(self, "amounts", amounts)
            object.__setattr__(self, "group", group)
        # A project keeps the figures of hundreds of outputs over the same records.
        width = np.int16 if self.sums.shape[1] < np.iinfo(np.int16).max else np.int32
        object.__setattr__(self, "records", np.asarray(self.records, dtype=np.int32))
        object.__setattr__(self, "group", np.asarray(self.group, dtype=width))

    @property
    def is_count(self) -> bool:
        """Whether the figures count records."""
        return self.amounts is None

    @property
    def sizes(self) -> Integers:
        """Number of records behind each published figure."""
        there = np.asarray(self.group[self.group >= 0], dtype=np.int64)
        by_group = np.bincount(there, minlength=self.sums.shape[1])
        return np.asarray(self.sums @ by_group, dtype=np.int64)


@dataclass(eq=False, repr=False)
class Output:
    """One output, with everything a checker needs.

    Parameters
    ----------
    name : str
        "output_0" and so on, until the researcher renames it.
    kind : str
        "table", "regression", "histogram", "survival plot", "quantiles", "custom", ...
    command : str
        The call as the researcher would write it.
    outcome : Outcome
    frames : tuple of DataFrame
        What would leave, as it would leave: hidden cells are missing values.
    figures : tuple of Figures
        The same as sums over records, for the audit of later outputs.
    files : tuple of Path
        Files that would leave: plots and custom outputs.
    properties : dict
        Method and settings: ``{"method": "crosstab"}``.
    cells : dict of str to list
        For each rule, the [row, column] places (from 0, within the first frame) that broke it.
    comments : list of str
    exception : str
        Why the researcher asks for the output although it did not pass.
    timestamp : str
        When it was made, ISO format.
    """

    name: str
    kind: str
    command: str
    outcome: Outcome
    frames: tuple[pd.DataFrame, ...] = ()
    figures: tuple[Figures, ...] = ()
    files: tuple[Path, ...] = ()
    properties: dict[str, Any] = field(default_factory=dict)
    cells: dict[str, list[list[int]]] = field(default_factory=dict)
    comments: list[str] = field(default_factory=list)
    exception: str = ""
    timestamp: str = ""

    @property
    def is_in_doubt(self) -> bool:
        """Whether nobody knows which records of the project these are, or of one beside it."""
        reasons = self.outcome.reasons
        return bool(self.figures) and any(reason.rule == RENUMBERED for reason in reasons)

    @property
    def leaving(self) -> tuple[pd.DataFrame, ...]:
        """The frames without labels of lines that are hidden whole: these are data as well."""
        return tuple(without_labels(frame, frame) for frame in self.frames)

    @property
    def found(self) -> pd.DataFrame:
        """What was found of each cell, under the labels that leave."""
        cells = self.outcome.cells
        return without_labels(cells, self.frames[0]) if self.frames else cells

    def __repr__(self) -> str:
        return self.told()

    def told(self) -> str:
        """Return what a researcher reads about the output."""
        lines = [f"{self.name}: {self.kind}, {self.outcome.status}", f"  {self.command}"]
        for reason in self.outcome.reasons:
            lines.append(f"  {reason.status} ({reason.rule}): {reason.text}")
        lines += [f"  note: {note}" for note in self.outcome.notes]
        lines += [f"  comment: {comment}" for comment in self.comments]
        if self.exception:
            lines.append(f"  exception asked for: {self.exception}")
        lines += [f"  file: {path.name}" for path in self.files]
        return "\n".join(["\n".join(lines), *(frame.to_string() for frame in self.frames)])


HIDDEN = "hidden"
"""Label of a line or column whose cells are all hidden."""


def without_labels(frame: pd.DataFrame, shown: pd.DataFrame) -> pd.DataFrame:
    """Return a frame in which lines and columns that are missing throughout have no label.

    Parameters
    ----------
    frame : DataFrame
    shown : DataFrame
        Of the same shape: lines of missing values, or of these and zeros, are hidden.
    """
    if frame.shape != shown.shape:
        return frame
    missing = np.asarray(shown.isna().to_numpy(), dtype=np.bool_)
    # Beside zeros a gap is all that there is.
    nothing = missing | shown.eq(0).to_numpy(dtype=np.bool_, na_value=False)
    frame = frame.copy()
    rows, columns = (np.all(nothing, axis=k) & np.any(missing, axis=k) for k in (1, 0))
    frame.index = _masked(frame.index, np.asarray(rows, dtype=np.bool_))
    frame.columns = _masked(frame.columns, np.asarray(columns, dtype=np.bool_))
    return frame


def _masked(labels: pd.Index, hidden: Flags) -> pd.Index:
    """Return labels, "hidden" at each level for those that are.

    Levels above that also stand over lines that are shown stay.
    """
    if not hidden.any():
        return labels
    if not isinstance(labels, pd.MultiIndex):
        kept = np.where(hidden, HIDDEN, labels.astype(object))
        return pd.Index(kept, name=labels.name, dtype=object)
    shown_at = [set(labels[~hidden].get_level_values(level)) for level in range(labels.nlevels)]
    tuples = [
        tuple(
            part if not gone or (level < labels.nlevels - 1 and part in shown_at[level]) else HIDDEN
            for level, part in enumerate(label)
        )
        for label, gone in zip(labels, hidden, strict=True)
    ]
    return pd.MultiIndex.from_tuples(tuples, names=labels.names)
