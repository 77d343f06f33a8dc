"""From a table that was asked for to what may leave of it, and its place in a project.

Its cells are judged one by one, protected together, and compared with all other outputs.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.cta.rounding.controlled import controlled_rounding
from tablecloak.errors import InputError, listed
from tablecloak.publish.audit import audit
from tablecloak.safe.appetite import Appetite
from tablecloak.safe.joint.disclosure import (
    Disclosure,
    failures,
    remedy,
    same_records,
    unsearched,
    why_hidden,
)  # fmt: skip
from tablecloak.safe.ledger import Ledger
from tablecloak.safe.output import Figures, Outcome, Output, Reason, rules_by_cell
from tablecloak.safe.tables.level_counts import (
    ALL_DIGITS,
    is_other_function,
    rounded,
    rounded_sums,
)
from tablecloak.safe.tables.measures import CellMeasure, broken_rules
from tablecloak.safe.tables.pattern import Gaps, find_gaps, table_of
from tablecloak.safe.tables.request import (
    STATISTICS,
    Adds,
    Piece,
    Protect,
    TableGrid,
    TableRequest,
)
from tablecloak.safe.values import may_be_amounts
from tablecloak.tables.problem import ProtectionProblem

COLOURS = {"primary": "#f4b6b0", "secondary": "#fbe3a6", "rounded": "#cfe3f5"}


ROUNDS = 24
"""Times that cells are hidden because of other outputs before the output is refused."""

MOST_FEW = 100
"""Codes of few contributors that a key may have in any case."""


class SafeFrame(pd.DataFrame):
    """A table as pandas makes it, with missing values where cells are hidden.

    What is computed from it is a plain DataFrame.

    Attributes
    ----------
    outcome : Outcome
    output : str
        Name of the output in its project.
    marks : DataFrame of str
        "primary", "secondary", "rounded" or "" for each cell.
    """

    _metadata: ClassVar[list[str]] = ["outcome", "output", "marks"]
    outcome: Outcome
    output: str
    marks: pd.DataFrame

    @property
    def _constructor(self) -> Any:
        return pd.DataFrame

    @classmethod
    def of(
        cls, frame: pd.DataFrame, outcome: Outcome, output: str, marks: pd.DataFrame
    ) -> SafeFrame:
        """Return a frame with what is said of it."""
        made = cls(frame)
        for name, value in (("outcome", outcome), ("output", output), ("marks", marks)):
            object.__setattr__(made, name, value)
        return made

    def __repr__(self) -> str:
        text = pd.DataFrame(self).__repr__()
        outcome = getattr(self, "outcome", None)
        return text if outcome is None else f"{text}\n{self.output}: {outcome.summary}"

    def _repr_html_(self) -> str:
        outcome = getattr(self, "outcome", None)
        plain = pd.DataFrame(self)
        if outcome is None:
            return str(plain._repr_html_())  # type: ignore[operator]
        # pandas' own colouring needs a package for templates, so colours are put into its plain
        # table, whose cells come row by row.
        start, *cells = plain.to_html(na_rep="").split("<td>")
        marks = self.marks.to_numpy().ravel().tolist()
        coloured = [
            f'<td style="background-color: {COLOURS[mark]}">{cell}' if mark else f"<td>{cell}"
            for mark, cell in zip(marks, cells, strict=True)
        ]
        html = start + "".join(coloured)
        return f"{html}\n<p>{escape(self.output)}: {escape(outcome.summary)}</p>"


def said_name(name: str) -> str:
    """Name of a key or value for people; columns made by number have none."""
    return "" if name.startswith("__") else name


@dataclass
class TableCheck:
    """A table whose cells have been judged one by one."""

    request: TableRequest
    grid: TableGrid
    pieces: list[Piece]
    measures: list[CellMeasure]
    appetite: Appetite
    broken: dict[str, Flags]
    frame: pd.DataFrame
    notes: list[str] = field(default_factory=list)
    of_few_solutions: list[CellMeasure] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        request: TableRequest,
        who: Integers,
        appetite: Appetite,
        powers: Mapping[Hashable, float],
    ) -> TableCheck:
        """Judge all cells that the frame shows; `powers` are those of `CellMeasure`."""
        grid, pieces = request.grid()
        measures = [
            replace(measure, power=powers.get(measure.variable, 1.0))
            for measure in _measures(request, grid, pieces, who, appetite)
        ]
        broken: dict[str, Flags] = {}
        for measure in measures:
            for rule, cells in broken_rules(measure, appetite).items():
                broken[rule] = broken.get(rule, np.zeros(grid.n_cells, dtype=bool)) | cells
        shown = np.zeros(grid.n_cells, dtype=bool)
        shown[grid.places.ravel()] = True
        if request.normalize:
            # Shares of a total of few contributors are unsafe, each of them.
            few = measures[0].n < appetite.safe_threshold
            unsafe = few[_total_of(request.normalize, grid)]
            broken["threshold"] = broken["threshold"] | unsafe
        broken = {rule: cells & shown for rule, cells in broken.items()}
        frame, notes = _true_figures(request, grid, pieces, measures)
        table = cls(request, grid, pieces, measures, appetite, broken, frame, notes)
        table.show_fewer_digits(shown)
        return table

    def show_fewer_digits(self, shown: Flags) -> None:
        """Round figures whose digits tell how many have a value, and hide those of few digits.

        Parameters
        ----------
        shown : (cells,) array of bool
            Cells that stand in the frame.
        """
        digits: dict[tuple[Adds, Hashable], tuple[int, int]] = {}
        for measure in self.measures:
            if measure.is_whole or measure.adds == "square":
                continue
            of_same = (other for other in self.measures if other.variable == measure.variable)
            with_squares = measure.adds == "sum" and any(
                other.adds == "square" for other in of_same
            )
            judged = shown & ~self.primary & (measure.n > 0)
            few = judged & measure.by_level.few_beyond_a_gap(with_squares=with_squares)
            cells = np.flatnonzero(judged & ~few)
            *enough, hardly = measure.by_level.digits(cells, with_squares=with_squares)
            digits[measure.adds, measure.variable] = (enough[0], enough[1])
            self.broken["threshold"] = self.broken["threshold"] | few | hardly
            if measure.by_level.is_code or enough[0] < ALL_DIGITS:
                self.of_few_solutions.append(measure)
        for place, piece in enumerate(self.pieces):
            sums = STATISTICS[piece.statistic]
            of = [digits.get((adds, piece.variable), (ALL_DIGITS, ALL_DIGITS)) for adds in sums]
            fewest = min(pair["square" in sums] for pair in of)
            if fewest == ALL_DIGITS or piece.statistic in ("median", "min", "max"):
                continue
            figures = self._with_digits(piece, fewest, [pair[0] for pair in of])
            column = self.frame.iloc[:, place]
            self.frame = self.frame.copy() if self.frame is self.request.frame else self.frame
            figures = np.where(column.isna(), np.nan, figures[self.grid.places[:, place]])
            self.frame.isetitem(place, figures)
            name = "records" if piece.variable is None else piece.variable
            self.notes.append(
                f"{piece.statistic} of {name} is shown with {fewest} digits: from all digits would "
                "follow how many records have which value"
            )

    def _with_digits(self, piece: Piece, digits: int, of_means: Sequence[int]) -> Floats:
        """Return what a piece says of each cell, from means per record of fewer digits."""
        sums = STATISTICS[piece.statistic]
        of = [measure_of(self.measures, adds, piece.variable) for adds in sums]
        n = np.maximum(of[0].records, 1)
        if "square" in sums:
            values = self.request.records[self.request.values[piece.variable]]
            spread = of[0].statistic("std", values).to_numpy(np.float64)
            shown = rounded(spread, digits)
            return rounded(shown**2, digits) if piece.statistic == "var" else shown
        if len(of) == 1:
            return rounded_sums(of[0].values, n, digits)
        # Of what means per record tell of both sums, so that no figure tells more than these.
        part, whole = (
            rounded(measure.values / n, means)
            for measure, means in zip(reversed(of), reversed(of_means), strict=True)
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            return rounded(part / whole, digits)

    # -- what is said -----------------------------------------------------------------------

    @property
    def primary(self) -> Flags:
        """Cells that may not be published."""
        nothing = np.zeros(self.grid.n_cells, bool)
        return np.asarray(np.logical_or.reduce([*self.broken.values(), nothing]))

    @property
    def missing(self) -> list[str]:
        """Names of the values that some records lack."""
        values, records = self.request.values, self.request.records
        return [str(name) for name, column in values.items() if records[column].isna().any()]

    def base(self, ledger: Ledger, names: Sequence[str], positions: Integers) -> str:
        """Return how other outputs get the same records; nothing if they have them."""
        if not self.missing or not names:
            return ledger.of_same_records(names, positions)
        number = len(self.request.records.dropna(subset=[*self.request.values.values()]))
        return same_records(number, self.missing)

    def reviews(self) -> list[Reason]:
        """Return what a person has to decide."""
        reasons = []
        sums = [measure for measure in self.measures if measure.adds == "sum"]
        if any(measure.is_signed for measure in sums):
            text = "values below zero: dominance was judged by absolute values"
            reasons.append(Reason("review", "negative", text))
        if self.appetite.check_missing_values and self.missing:
            text = f"records with missing values of {', '.join(self.missing)} were left out"
            reasons.append(Reason("review", "missing", text))
        shown = np.unique(self.grid.places[~self.primary[self.grid.places]])
        for measure in sums:
            of_records = measure.values[shown] / np.maximum(measure.records[shown], 1)
            alike = measure.is_alike[shown]
            is_odd = alike & ~np.isin(of_records, (0, 1))
            # A column of ones counts; one that only the keys settle is no count.
            all_alike = alike[measure.records[shown] > 0].all() and (of_records[alike] != 1).any()
            if is_odd.any() or all_alike:
                text = f"{measure.variable} is the same throughout a cell, which shows that amount"
                reasons.append(Reason("review", "constant", text))
            unit = measure.common_unit(shown)
            if unit:
                name = measure.variable
                text = (
                    f"in one cell or more, most values of {name} are multiples of {unit:g}, and "
                    f"those of fewer than {self.appetite.safe_threshold} contributors are not: the "
                    f"sum shows their last digits. Round {name} to multiples of {unit:g} first"
                )
                reasons.append(Reason("review", "digits", text))
        ordered = {piece.statistic for piece in self.pieces} & {"median", "min", "max"}
        if ordered:
            text = f"{' and '.join(sorted(ordered))}: each is the value of one or two contributors"
            if "median" in ordered:
                text += ". project.quantile(values of a group, 0.5, base=...) gives a rounded one"
            reasons.append(Reason("review", "extremes", text))
        return reasons

    def broken_places(self) -> dict[str, list[list[int]]]:
        """Return the places of the frame that broke each rule."""
        broken = ((rule, cells[self.grid.places]) for rule, cells in self.broken.items())
        return {rule: np.argwhere(cells).tolist() for rule, cells in broken if cells.any()}

    def label(self, cell: int) -> str:
        """Name a cell by its keys; of a total of shares those that stand in the frame."""
        said = []
        row, column = divmod(cell, self.grid.shape[1])
        n_keys = len(self.request.columns)
        if (rows := np.flatnonzero(self.grid.rows.labelled == row)).size:
            row_label: Any = self.frame.index[rows[0]]
            axis = self._axis(self.frame.index.names, self.request.rows)
            said.append(f"{axis} {_text(row_label)}")
        columns = np.flatnonzero(self.grid.columns.labelled == column)
        if n_keys and columns.size:
            label: Any = self.frame.columns[columns[0]]
            parts = (label if isinstance(label, tuple) else (label,))[-n_keys:]
            names = list(self.frame.columns.names)[-n_keys:]
            said.append(f"{self._axis(names, self.request.columns)} {_text(parts)}")
        return ", ".join(said) or "all records"

    @staticmethod
    def _axis(names: Sequence[Any], keys: Sequence[str]) -> str:
        named = [str(name) for name in names if name is not None]
        return " and ".join(named) or " and ".join(filter(None, map(said_name, keys))) or "cell"

    def functions_of(self, leaving: Mapping[str, Output], positions: Integers) -> list[Reason]:
        """Return reasons for review: values that other outputs have shown another function of."""
        reasons = []
        for measure in self.of_few_solutions:
            in_table = measure.group >= 0
            by_position = pd.Series(measure.amounts[in_table], index=positions[in_table])
            beside = []
            for name, output in leaving.items():
                are_others = set()
                for figures in output.figures:
                    if figures.amounts is None:
                        continue
                    shared = np.asarray(by_position.reindex(figures.records), dtype=np.float64)
                    both = (figures.group >= 0) & ~np.isnan(shared)
                    if len(np.unique(shared[both])) > 2:
                        are_others.add(is_other_function(shared[both], figures.amounts[both]))
                if True in are_others and None not in are_others:
                    beside.append(name)
            if beside:
                text = (
                    f"{measure.variable or 'a weight'} has one value for each value of a column of "
                    f"{listed(beside)}: from several functions of one column may follow how many "
                    "have which value. Ask for one of them, or count classes"
                )
                reasons.append(Reason("review", "digits", text))
        return reasons

    def is_related(self) -> bool:
        """Whether some cells add up to others that are shown, or known."""
        return self.request.margin is not None or bool(self.request.normalize)

    def gaps(self) -> Gaps:
        """Hide cells until the table alone is safe."""
        if not self.is_related():
            return Gaps(self.primary, True)
        shown, known = np.zeros((2, self.grid.n_cells), dtype=bool)
        shown[self.grid.places.ravel()] = True
        if self.request.normalize:
            # Shares of a total add up to one.
            known[_total_of(self.request.normalize, self.grid)[shown & ~self.primary]] = True
        known &= ~self.primary
        return find_gaps(
            self.grid, self.measures, self.appetite,
            primary=self.primary, absent=~shown & ~known, known=known,
        )  # fmt: skip

    def figures(self, positions: Integers, hidden: Flags) -> tuple[list[Figures], list[Integers]]:
        """Return what is published as sums over records, and the cell of each figure."""
        figures, cells = [], []
        for measure in self.measures:
            shows = [
                piece.variable == measure.variable
                and measure.adds in STATISTICS[piece.statistic]
                and piece.statistic not in ("median", "min", "max")
                for piece in self.pieces
            ]
            shown = np.unique(self.grid.places[:, shows])
            shown = shown[~hidden[shown] & (measure.n[shown] > 0)]
            if self.request.normalize:
                # Two shares of a total tell it, whether it is shown or not.
                shown = np.union1d(shown, _total_of(self.request.normalize, self.grid)[shown])
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
    return " ".join(filter(None, map(str, parts)))


def _total_of(normalize: str, grid: TableGrid) -> Integers:
    """Return the cell that each cell is a share of."""
    row, column = (part.ravel() for part in np.indices(grid.shape))
    last_row, last_column = grid.rows.size, grid.columns.size
    if normalize != "columns":
        column = np.full_like(column, last_column)
    if normalize != "index":
        row = np.full_like(row, last_row)
    return np.asarray(row * grid.shape[1] + column, dtype=np.int64)


def _measures(
    request: TableRequest,
    grid: TableGrid,
    pieces: Sequence[Piece],
    who: Integers,
    appetite: Appetite,
) -> list[CellMeasure]:
    wanted = dict.fromkeys(
        (adds, piece.variable) for piece in pieces for adds in STATISTICS[piece.statistic]
    )
    found = []
    for adds, variable in wanted:
        n = len(request.records)
        group, amounts = grid.group, np.ones(n)
        if variable is not None:
            column = request.records[request.values[variable]]
            there = column.notna().to_numpy()
            group = np.where(there, group, -1)
            if adds != "count":
                if pd.api.types.infer_dtype(column, skipna=True) == "string":
                    raise InputError(f"{variable} has texts, which do not add up")
                numbers = pd.to_numeric(column, errors="coerce").to_numpy(np.float64)
                amounts = np.where(there, numbers, 0.0) ** (2 if adds == "square" else 1)
        if request.weights is not None:
            amounts = amounts * request.weights
        name = "records" if variable is None else str(variable)
        found.append(
            CellMeasure(
                adds, variable, grid, group, amounts, who,
                request.weights, appetite.safe_nk_n, appetite.safe_threshold,
            )
        )  # fmt: skip
        if not np.all(np.isfinite(amounts)):
            raise InputError(f"{name} has values that are not finite numbers: leave them out")
    return found


def measure_of(measures: Sequence[CellMeasure], adds: str, variable: Any) -> CellMeasure:
    """Return the measure that adds this up of a variable."""
    return next(each for each in measures if each.adds == adds and each.variable == variable)


def _true_figures(
    request: TableRequest, grid: TableGrid, pieces: Sequence[Piece], measures: Sequence[CellMeasure]
) -> tuple[pd.DataFrame, list[str]]:
    """Return pandas' frame with the figures that are judged: of all records of each cell, weighted.

    With several columns of values pandas leaves a record out of all margins if one of its values
    is missing, and of a key of categories it leaves out the records whose category is missing.
    """
    frame = request.frame
    n_off = 0
    for at, piece in enumerate(pieces):
        cells = grid.places[:, at]
        counted = measure_of(measures, STATISTICS[piece.statistic][0], piece.variable)
        true = _true_column(request, piece, measures).iloc[cells].reset_index(drop=True)
        given = frame.iloc[:, at].reset_index(drop=True)
        off = ~_are_equal(given, true) & (counted.n[cells] > 0) & true.notna().to_numpy()
        if off.any():
            n_off += int(off.sum())
            frame = frame.copy() if frame is request.frame else frame
            column = given.mask(off, true)
            is_whole = request.weights is None and piece.statistic in ("count", "size")
            if is_whole and not request.normalize and column.notna().all():
                column = column.astype(np.int64)
            frame.isetitem(at, column.array)
    note = f"{n_off} figures are of all records, where pandas leaves some out"
    return frame, [note] if n_off and request.weights is None else []


def _true_column(
    request: TableRequest, piece: Piece, measures: Sequence[CellMeasure]
) -> pd.Series[Any]:
    """Return what a piece says of each cell of the grid."""
    adds = STATISTICS[piece.statistic]
    of = [measure_of(measures, sums, piece.variable).values for sums in adds]
    with np.errstate(invalid="ignore", divide="ignore"):
        if request.normalize:
            total = _total_of(request.normalize, measures[0].grid)
            return pd.Series(of[0] / of[0][total])
        if piece.statistic == "mean":
            return pd.Series(of[1] / of[0])
    if piece.statistic in ("count", "size", "sum"):
        return pd.Series(of[0])
    values = request.records[request.values[piece.variable]]
    return measure_of(measures, "count", piece.variable).statistic(piece.statistic, values)


def _are_equal(given: pd.Series[Any], true: pd.Series[Any]) -> Flags:
    """Return where two columns have the same figures, but for rounding."""
    if pd.api.types.is_numeric_dtype(true):
        one, other = (
            pd.to_numeric(column).to_numpy(np.float64, na_value=np.nan) for column in (given, true)
        )
        return np.asarray(np.isclose(one, other, rtol=1e-9, atol=1e-9), dtype=np.bool_)
    return np.asarray(given.astype(object) == true.astype(object), dtype=np.bool_)


def publish(ledger: Ledger, request: TableRequest, protect: Protect, command: str) -> SafeFrame:
    """Judge, protect, compare with all other outputs, and record."""
    records = request.records
    if protect not in ("suppression", "rounding", None):
        raise InputError(f"protect is {protect!r}; give 'suppression', 'rounding' or None")
    if not len(records):
        raise InputError("the table has no records: look at the filter before it")
    given = {said_name(str(name)) or str(name): records[name] for name in records.columns}
    if request.data is not None:
        given |= {str(name): request.data[name] for name in request.data.columns}
    columns = [column.rename(name) for name, column in given.items()]
    positions, reasons = ledger.identified(records, columns)
    # A column of ones as the key of sums is how one asks for the sum of all.
    reasons += ledger.of_all(records[list(request.values.values())] if request.values else records)
    who = ledger.who_is(positions)
    reasons += _of_keys(request, who, ledger.appetite)
    powers = ledger.powers({name: records[of] for name, of in request.values.items()}, positions)
    table = TableCheck.of(request, who, ledger.appetite, powers)
    reasons += [*table.reviews(), *table.functions_of(ledger.leaving(), positions)]
    if protect == "rounding":
        return _rounded(table, ledger, positions, reasons, command)
    if protect is None:
        return _as_it_is(table, ledger, positions, reasons, command)
    return _suppressed(table, ledger, positions, reasons, command)


def _of_keys(request: TableRequest, who: Integers, appetite: Appetite) -> list[Reason]:
    """Return reasons for review where labels are amounts.

    Raises
    ------
    InputError
        If most codes of a key have fewer contributors than the threshold.
    """
    reasons, threshold = [], appetite.safe_threshold
    for name in dict.fromkeys([*request.rows, *request.columns]):
        key = request.records[name]
        codes, labels = pd.factorize(key)
        said = said_name(str(name)) or "a key"
        pairs = pd.DataFrame({"code": codes, "who": who})[codes >= 0].drop_duplicates()
        behind = np.bincount(pairs["code"], minlength=len(labels))
        few = int((behind < threshold).sum())
        if few > MOST_FEW and few > len(labels) / 2:
            raise InputError(
                f"{said} has {len(labels)} codes, {few} of which have fewer than {threshold} "
                "contributors: such labels name records. Group them first, as with pd.cut"
            )
        leaving = [*labels[behind >= threshold]]
        if isinstance(key.dtype, pd.CategoricalDtype):
            # Lines of categories that nobody has are shown as well.
            leaving += [*key.cat.categories.difference(labels)]
        if may_be_amounts(leaving, appetite.listed_codes):
            text = (
                f"{said} has labels that may be amounts: choose round numbers or give names; codes "
                "pass if the data centre lists them (code_lists)"
            )
            reasons.append(Reason("review", "labels", text))
    return reasons


def _suppressed(
    table: TableCheck, ledger: Ledger, positions: Integers, reasons: list[Reason], command: str
) -> SafeFrame:
    """Hide cells until the output is safe, alone and with all others."""
    undecided: list[str] = []
    mended: list[Disclosure] = []
    for _ in range(ROUNDS):
        gaps = table.gaps()
        figures, cells = table.figures(positions, gaps.hidden)
        found, undecided = ledger.findings(figures)
        more = np.zeros(table.grid.n_cells, dtype=bool)
        for finding in found:
            terms = [cells[which][at] for which, at in finding.new_terms]
            mended.append(finding)
            if terms and not more[terms].any():
                more[min(terms, key=lambda cell: (table.measures[0].n[cell], cell))] = True
        if not more.any():
            break
        if table.request.normalize:
            more |= more[_total_of(table.request.normalize, table.grid)]
        before = table.broken.get("differencing", np.zeros_like(more))
        table.broken["differencing"] = before | more
    reasons += failures(found, lambda one: table.base(ledger, one.outputs, positions))
    reasons += ledger.doubts(figures) + unsearched(undecided)
    hidden = gaps.hidden[table.grid.places]
    if not hidden.all() and {p.statistic for p in table.pieces} & {"min", "max"}:
        hidden = _without_margins_of_extremes(table, hidden)
    primary = table.primary[table.grid.places]
    marks = np.where(primary, "primary", np.where(hidden, "secondary", ""))
    n_primary, n_hidden = int((hidden & primary).sum()), int(hidden.sum())
    notes = []
    if n_hidden:
        proved = "proved for the table with its margins" if gaps.is_proved else "nothing is left"
        if not table.is_related():
            proved = "without margins no cell follows from others"
        because = ", ".join(
            f"{rule} {len(places)}" for rule, places in table.broken_places().items()
        )
        notes.append(
            f"{n_hidden} of {hidden.size} cells hidden: {n_primary} by rules ({because}), "
            f"{n_hidden - n_primary} to protect these; {proved}"
        )
    else:
        notes.append(f"no cell of {hidden.size} had to be hidden")
    if mended and not found:
        gone = np.flatnonzero(table.broken["differencing"]).tolist()
        notes.append(f"cells are {why_hidden(mended, [table.label(cell) for cell in gone])}")
        others = list(dict.fromkeys(name for each in mended for name in each.outputs))
        base = table.base(ledger, others, positions)
        notes += filter(None, [remedy(mended, "these cells as well"), base])
    frame = table.frame.mask(hidden) if n_hidden else table.frame
    outcome = Outcome(
        tuple(reasons),
        (*notes, *table.notes, *gaps.notes),
        rules_by_cell(table.frame, table.broken_places()),
    )
    return _recorded(
        table, ledger, positions, frame, outcome, figures, marks, command, "suppression"
    )


def _as_it_is(
    table: TableCheck, ledger: Ledger, positions: Integers, reasons: list[Reason], command: str
) -> SafeFrame:
    """Hide nothing, and say what fails."""
    nothing = np.zeros(table.grid.n_cells, dtype=bool)
    figures, _ = table.figures(positions, nothing)
    found, undecided = ledger.findings(figures)
    for rule, cells in table.broken.items():
        chosen = np.flatnonzero(cells)
        if len(chosen):
            labels = tuple(table.label(int(cell)) for cell in chosen)
            text = f"{rule}: {len(chosen)} cells are unsafe"
            reasons.append(Reason("fail", rule, text, labels))
    reasons += failures(found, lambda one: table.base(ledger, one.outputs, positions))
    reasons += ledger.doubts(figures) + unsearched(undecided)
    outcome = Outcome(
        tuple(reasons),
        tuple(table.notes),
        rules_by_cell(table.frame, table.broken_places()),
    )
    marks = np.full(table.frame.shape, "")
    return _recorded(table, ledger, positions, table.frame, outcome, figures, marks, command, None)


def _rounded(
    table: TableCheck, ledger: Ledger, positions: Integers, reasons: list[Reason], command: str
) -> SafeFrame:
    """Round all counts to multiples of the base, so that they still add up."""
    base = table.appetite.safe_round_base
    if table.request.normalize or not all(
        STATISTICS[piece.statistic] == ("count",) and piece.statistic in ("count", "size")
        for piece in table.pieces
    ):
        raise InputError("only counts are rounded: leave out protect='rounding' for others")
    if not all(measure.is_whole for measure in table.measures):
        raise InputError("only counts without weights are rounded: leave out `weights`")
    frame = table.frame.copy()
    for measure in table.measures:
        whole = table_of(measure)
        n = whole.n_cells
        problem = ProtectionProblem(
            table=whole,
            status=np.where(table.primary, "u", "s"),
            lower_protection=np.where(table.primary, np.minimum(whole.values, 1.0), 0.0),
            upper_protection=np.where(table.primary, 1.0, 0.0),
            lower_bound=np.zeros(n),
            upper_bound=np.full(n, np.inf),
        )
        # Two dimensions: the relaxation has whole corners, and the attack on them ends by itself.
        release = controlled_rounding(problem, base=base, time_limit=np.inf)
        values = release.values.astype(np.int64)
        if not audit(problem, release, threads=1).is_safe:
            text = "an unsafe count may follow from the rounded ones: use suppression"
            reasons.append(Reason("review", "rounding", text))
        for at, piece in enumerate(table.pieces):
            if measure_of(table.measures, "count", piece.variable) is measure:
                frame.isetitem(at, values[table.grid.places[:, at]])
    note = f"all counts rounded to multiples of {base}, so that rows and columns add up"
    later = "rounded counts are not compared with other outputs: no exact figure leaves"
    outcome = Outcome(
        tuple(reasons),
        (note, *table.notes, later),
        rules_by_cell(table.frame, table.broken_places()),
    )
    marks = np.full(frame.shape, "rounded")
    return _recorded(table, ledger, positions, frame, outcome, [], marks, command, "rounding")


def _without_margins_of_extremes(table: TableCheck, hidden: Flags) -> Flags:
    """Hide margins of extremes beside gaps: they tell the extreme of what is hidden."""
    hidden = hidden.copy()
    is_extreme = np.array([piece.statistic in ("min", "max") for piece in table.pieces])
    if table.request.margin is None or not hidden[:, is_extreme].any():
        return hidden
    total_row = table.grid.rows.labelled == table.grid.rows.size
    total = table.grid.columns.labelled == table.grid.columns.size
    hidden[:, is_extreme & total] = True
    hidden[np.ix_(total_row, is_extreme)] = True
    return hidden


def _lines(
    table: TableCheck, ledger: Ledger, positions: Integers, frame: pd.DataFrame, protect: Protect
) -> tuple[Integers, Integers]:
    """Return the rows and columns that leave, in the order of their codes.

    Lines in which nobody is stand in no table, or in one with all categories; lines of gaps would
    tell who is somewhere, and a line of counts that were rounded to zero as well.
    """
    request, grid = table.request, table.grid
    nothing = frame.isna().to_numpy(dtype=np.bool_, copy=True)
    for column, piece in enumerate(table.pieces):
        measure = measure_of(table.measures, STATISTICS[piece.statistic][0], piece.variable)
        nothing[:, column] |= measure.n[grid.places[:, column]] == 0
    if protect == "rounding":
        nothing |= frame.eq(0).to_numpy(dtype=np.bool_)

    def kept(labels: pd.Index, keys: Sequence[str], gone: Flags) -> Integers:
        codes = {key: ledger.in_order(request.records[key], positions) for key in keys}
        order = request.in_order(labels, [codes[key] for key in keys])
        return order[~gone[order]]

    rows, columns = (np.asarray(np.all(nothing, axis=axis), dtype=np.bool_) for axis in (1, 0))
    return (
        kept(frame.index, request.rows, rows),
        kept(frame.columns, request.columns, columns),
    )


def _recorded(
    table: TableCheck,
    ledger: Ledger,
    positions: Integers,
    frame: pd.DataFrame,
    outcome: Outcome,
    figures: list[Figures],
    marks: npt.NDArray[Any],
    command: str,
    protect: Protect,
) -> SafeFrame:
    lines = _lines(table, ledger, positions, frame, protect)
    left_out = [whole - len(line) for line, whole in zip(lines, frame.shape, strict=True)]
    if any(left_out):
        text = "{} rows and {} columns in which all is hidden, or nobody is, do not leave"
        notes = (*outcome.notes[:1], text.format(*left_out), *outcome.notes[1:])
        outcome = replace(outcome, notes=notes)
    output = ledger.record(
        "table",
        command,
        outcome,
        frames=[frame],
        figures=figures,
        properties={"method": table.request.method, "protect": protect},
        cells=table.broken_places(),
        lines=lines,
    )
    marked = pd.DataFrame(marks, index=frame.index, columns=frame.columns)
    return SafeFrame.of(frame, output.outcome, output.name, marked)
