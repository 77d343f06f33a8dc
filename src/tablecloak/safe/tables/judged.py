"""A table whose cells have been judged one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags, Integers
from tablecloak.errors import InputError
from tablecloak.safe.appetite import Appetite
from tablecloak.safe.figures import Figures
from tablecloak.safe.outcome import Reason
from tablecloak.safe.tables.asked import STATISTICS, Asked, Piece
from tablecloak.safe.tables.grid import Grid
from tablecloak.safe.tables.measures import Measure
from tablecloak.safe.tables.pattern import Gaps, find_gaps
from tablecloak.safe.tables.primaries import broken_rules

__all__ = ["Judged", "measure_of", "said_name"]


def said_name(name: str) -> str:
    """Name of a key or value for people; columns made by number have none."""
    return "" if name.startswith("__") else name


@dataclass
class Judged:
    """A table whose cells have been judged one by one."""

    asked: Asked
    grid: Grid
    pieces: list[Piece]
    measures: list[Measure]
    appetite: Appetite
    broken: dict[str, Flags]
    frame: pd.DataFrame
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, asked: Asked, who: Integers, appetite: Appetite) -> Judged:
        """Judge all cells that the frame shows."""
        grid, pieces = asked.grid()
        measures = _measures(asked, grid, pieces, who, appetite)
        broken: dict[str, Flags] = {}
        for measure in measures:
            if measure.adds == "square":
                continue
            for rule, cells in broken_rules(measure, appetite).items():
                broken[rule] = broken.get(rule, np.zeros(grid.n_cells, dtype=bool)) | cells
        shown = np.zeros(grid.n_cells, dtype=bool)
        shown[grid.shown().ravel()] = True
        if asked.normalize:
            _judge_shares(asked, grid, measures[0], broken, appetite)
        broken = {rule: cells & shown for rule, cells in broken.items()}
        frame, notes = _true_figures(asked, grid, pieces, measures)
        return cls(asked, grid, pieces, measures, appetite, broken, frame, notes)

    # -- what is said -----------------------------------------------------------------------

    @property
    def primary(self) -> Flags:
        """Cells that may not be published."""
        found: Flags = np.logical_or.reduce(
            [*self.broken.values(), np.zeros(self.grid.n_cells, bool)]
        )
        return found

    def reviews(self) -> list[Reason]:
        """Return what a person has to decide."""
        reasons = []
        sums = [measure for measure in self.measures if measure.adds == "sum"]
        if any(np.any(measure.n_negative > 0) for measure in sums):
            text = "values below zero: dominance was judged by absolute values"
            reasons.append(Reason("review", "negative", text))
        missing = [
            str(name)
            for name, column in self.asked.values.items()
            if self.asked.records[column].isna().any()
        ]
        if self.appetite.check_missing_values and missing:
            text = f"records with missing values of {', '.join(missing)} were left out"
            reasons.append(Reason("review", "missing", text))
        extreme = {piece.statistic for piece in self.pieces} & {"min", "max"}
        if extreme:
            text = f"{' and '.join(sorted(extreme))}: each is the value of one contributor"
            reasons.append(Reason("review", "extremes", text))
        return reasons

    def places(self) -> Integers:
        """Cell of the grid at each place of the frame."""
        columns = np.array([piece.column for piece in self.pieces], dtype=np.int64)
        return self.grid.rows.labelled[:, None] * self.grid.shape[1] + columns[None, :]

    def said_of_cells(self) -> pd.DataFrame:
        """Return the rules that each cell broke, shaped like the frame."""
        places = self.places()
        said = np.full(places.shape, "", dtype=object)
        for rule, cells in self.broken.items():
            at = cells[places]
            said[at] = np.where(said[at] == "", rule, said[at] + "; " + rule)
        said[said == ""] = "ok"
        return pd.DataFrame(said, index=self.frame.index, columns=self.frame.columns)

    def broken_places(self) -> dict[str, list[list[int]]]:
        """Return the places of the frame that broke each rule."""
        places = self.places()
        found = {rule: np.argwhere(cells[places]).tolist() for rule, cells in self.broken.items()}
        return {rule: some for rule, some in found.items() if some}

    def label(self, cell: int) -> str:
        """Name a cell by its keys."""
        row, column = divmod(cell, self.grid.shape[1])
        at_row = int(np.flatnonzero(self.grid.rows.labelled == row)[0])
        at_column = next(at for at, piece in enumerate(self.pieces) if piece.column == column)
        n_keys = len(self.asked.columns)
        row_label: Any = self.frame.index[at_row]
        text = f"{self._axis(self.frame.index.names, self.asked.rows)} {_text(row_label)}"
        if n_keys:
            label: Any = self.frame.columns[at_column]
            parts = (label if isinstance(label, tuple) else (label,))[-n_keys:]
            names = list(self.frame.columns.names)[-n_keys:]
            text += f", {self._axis(names, self.asked.columns)} {_text(parts)}"
        return text

    @staticmethod
    def _axis(names: Sequence[Any], keys: Sequence[str]) -> str:
        found = [str(name) for name in names if name is not None]
        return " and ".join(found) or " and ".join(filter(None, map(said_name, keys))) or "cell"

    def is_related(self) -> bool:
        """Whether some cells add up to others that are shown, or known."""
        return self.asked.margin is not None or bool(self.asked.normalize)

    def gaps(self) -> Gaps:
        """Hide cells until the table alone is safe."""
        if not self.is_related():
            return Gaps(self.primary, True)
        absent = np.ones(self.grid.n_cells, dtype=bool)
        absent[self.places().ravel()] = False
        known = _known_totals(self.asked.normalize, self.grid) & ~self.primary
        return find_gaps(
            self.grid, self.measures, self.appetite,
            primary=self.primary, absent=absent & ~known, known=known,
        )  # fmt: skip

    def figures(self, positions: Integers, hidden: Flags) -> tuple[list[Figures], list[Integers]]:
        """Return what is published as sums over records, and the cell of each figure."""
        figures, cells = [], []
        for measure in self.measures:
            columns = [
                piece.column
                for piece in self.pieces
                if piece.variable == measure.variable
                and measure.adds in STATISTICS[piece.statistic]
                and piece.statistic not in ("median", "min", "max")
            ]
            at = self.grid.rows.labelled[:, None] * self.grid.shape[1] + np.array(columns, np.int64)
            shown = np.unique(at.ravel())
            shown = shown[~hidden[shown] & (measure.n[shown] > 0)]
            if not len(shown):
                continue
            labels = [self.label(int(cell)) for cell in shown]
            what = {"count": "", "sum": "sum of ", "square": "sum of squares of "}[measure.adds]
            said = f"{what}{measure.variable} in " if what else ""
            figures.append(
                Figures(
                    positions,
                    measure.group,
                    self.grid.members[shown],
                    tuple(said + label for label in labels),
                    None if measure.is_whole else measure.amounts,
                    "records" if measure.adds == "count" else str(measure.variable),
                )
            )
            cells.append(shown)
        return figures, cells


def _text(label: Any) -> str:
    parts = label if isinstance(label, tuple) else (label,)
    return " ".join(str(part) for part in parts if part != "")


def _known_totals(normalize: str, grid: Grid) -> Flags:
    """Return the totals that shares give away: those add up to one."""
    rows, columns = grid.shape
    known = np.zeros((rows, columns), dtype=bool)
    if normalize == "index":
        known[:, -1] = True
    elif normalize == "columns":
        known[-1, :] = True
    elif normalize:
        known[-1, -1] = True
    return known.ravel()


def _judge_shares(
    asked: Asked, grid: Grid, count: Measure, broken: dict[str, Flags], appetite: Appetite
) -> None:
    """Shares of a total of few contributors are unsafe, each of them."""
    few = (count.n < appetite.safe_threshold).reshape(grid.shape)
    lines = np.zeros(grid.shape, dtype=bool)
    if asked.normalize == "index":
        lines |= few[:, [-1]]
    elif asked.normalize == "columns":
        lines |= few[[-1], :]
    else:
        lines |= few[-1, -1]
    broken["threshold"] = broken["threshold"] | lines.ravel()


def _measures(
    asked: Asked, grid: Grid, pieces: Sequence[Piece], who: Integers, appetite: Appetite
) -> list[Measure]:
    wanted = dict.fromkeys(
        (adds, piece.variable) for piece in pieces for adds in STATISTICS[piece.statistic]
    )
    found = []
    for adds, variable in wanted:
        n = len(asked.records)
        group, amounts = grid.group, np.ones(n)
        if variable is not None:
            column = asked.records[asked.values[variable]]
            there = column.notna().to_numpy()
            group = np.where(there, group, -1)
            if adds != "count":
                numbers = pd.to_numeric(column, errors="coerce").to_numpy(np.float64)
                amounts = np.where(there, numbers, 0.0) ** (2 if adds == "square" else 1)
        if asked.weights is not None:
            amounts = amounts * asked.weights
        name = "records" if variable is None else str(variable)
        found.append(
            Measure(
                adds, variable, grid, group, amounts, who,
                asked.weights is not None, appetite.safe_nk_n,
            )
        )  # fmt: skip
        if not np.all(np.isfinite(amounts)):
            raise InputError(f"{name} has values that are not finite numbers: leave them out")
    return found


def measure_of(measures: Sequence[Measure], adds: str, variable: Any) -> Measure:
    """Return the measure that adds this up of a variable."""
    return next(each for each in measures if each.adds == adds and each.variable == variable)


def _true_figures(
    asked: Asked, grid: Grid, pieces: Sequence[Piece], measures: Sequence[Measure]
) -> tuple[pd.DataFrame, list[str]]:
    """Return pandas' frame, with weights applied, and with margins of all records.

    With several columns of values pandas leaves a record out of all margins if one of its values
    is missing, so that margins are not the sums of their cells.
    """
    frame = asked.frame
    if asked.normalize:
        return frame, []
    n_off = 0
    for at, piece in enumerate(pieces):
        if piece.statistic not in ("count", "size", "sum", "mean"):
            continue
        cells = grid.rows.labelled * grid.shape[1] + piece.column
        of = {adds: measure_of(measures, adds, piece.variable).values[cells]
              for adds in STATISTICS[piece.statistic]}  # fmt: skip
        if piece.statistic == "mean":
            with np.errstate(invalid="ignore", divide="ignore"):
                true = of["sum"] / of["count"]
        else:
            true = next(iter(of.values()))
        given = frame.iloc[:, at].to_numpy(np.float64, na_value=np.nan)
        off = ~np.isnan(given) & ~np.isclose(given, true, rtol=1e-9, atol=1e-9)
        if off.any():
            n_off += int(off.sum())
            frame = frame.copy() if frame is asked.frame else frame
            column = np.where(off, true, given)
            is_whole = asked.weights is None and piece.statistic in ("count", "size")
            there = not np.isnan(column).any()
            frame.isetitem(at, column.astype(np.int64) if is_whole and there else column)
    note = f"{n_off} margins add up all records, where pandas leaves some out"
    return frame, [note] if n_off and asked.weights is None else []
