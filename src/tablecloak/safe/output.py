"""One output of a project: its figures, what would leave, and what is said of it and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from tablecloak.arrays import AnyIntegers, Floats, Integers
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
    lines : (rows, columns), optional
        Places of the rows and columns of the first frame that leave, in the order in which they do.
        Without them all do.
    comments : list of str
    exception : str
        Why the researcher asks for the output although it did not pass.
    timestamp : str
        When it was made, ISO format.
    drawn : dict of Path to str
        Checksums of the pictures among the files, as they were drawn of what was judged.
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
    lines: tuple[AnyIntegers, AnyIntegers] | None = None
    comments: list[str] = field(default_factory=list)
    exception: str = ""
    timestamp: str = ""
    drawn: dict[Path, str] = field(default_factory=dict)

    @property
    def is_in_doubt(self) -> bool:
        """Whether nobody knows which records of the project these are, or of one beside it."""
        reasons = self.outcome.reasons
        return bool(self.figures) and any(reason.rule == RENUMBERED for reason in reasons)

    @property
    def leaving(self) -> tuple[pd.DataFrame, ...]:
        """The frames as they leave: lines that are hidden whole tell nothing by being there."""
        return tuple(
            self._left(frame, frame) if number == 0 else _without_labels(frame, frame)
            for number, frame in enumerate(self.frames)
        )

    @property
    def found(self) -> pd.DataFrame:
        """What was found of each cell of the first frame, as it leaves."""
        cells = self.outcome.cells
        return self._left(cells, self.frames[0]) if self.frames and cells.size else cells

    @property
    def places(self) -> dict[str, list[list[int]]]:
        """`cells` within the first frame as it leaves."""
        if self.lines is None:
            return self.cells
        row_of, column_of = ({int(k): new for new, k in enumerate(line)} for line in self.lines)
        return {
            rule: [
                [row_of[row], column_of[column]]
                for row, column in places
                if row in row_of and column in column_of
            ]
            for rule, places in self.cells.items()
        }

    def _left(self, frame: pd.DataFrame, shown: pd.DataFrame) -> pd.DataFrame:
        """Return the lines of a frame of the shape of the first one that leave."""
        if self.lines is None:
            return _without_labels(frame, shown)
        return frame.iloc[self.lines[0], self.lines[1]]

    def __repr__(self) -> str:
        return self.told()

    def told(self, decided: Sequence[str] = ()) -> str:
        """Return what a researcher reads about the output, and what checkers decided on it."""
        lines = [f"{self.name}: {self.kind}, {self.outcome.status}", f"  {self.command}"]
        for reason in self.outcome.reasons:
            lines.append(f"  {reason.status} ({reason.rule}): {reason.text}")
        lines += [f"  note: {note}" for note in self.outcome.notes]
        lines += [f"  comment: {comment}" for comment in self.comments]
        if self.exception:
            lines.append(f"  exception asked for: {self.exception}")
        lines += [f"  file: {path.name}" for path in self.files]
        lines += [f"  checker: {each}" for each in decided]
        return "\n".join(["\n".join(lines), *(frame.to_string() for frame in self.frames)])


HIDDEN = "hidden"
"""Label of a line whose figures are all hidden, where those after it go on from it."""


def _without_labels(frame: pd.DataFrame, shown: pd.DataFrame) -> pd.DataFrame:
    """Return a frame in which rows that are missing throughout in what is shown have no label."""
    hidden = shown.isna().all(axis=1).to_numpy(dtype=np.bool_)
    if frame.shape != shown.shape or not hidden.any() or isinstance(frame.index, pd.MultiIndex):
        return frame
    kept = np.where(hidden, HIDDEN, frame.index.astype(object))
    return frame.set_axis(pd.Index(kept, name=frame.index.name, dtype=object), axis=0)
