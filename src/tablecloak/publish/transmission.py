"""The file for another authority: all values, each with the reason why it is confidential. Secret.

A release shows nothing of hidden cells. The next authority, such as Eurostat, needs their values to
add up its own totals, and must know what to hide: it is sent values *with* flags. Such a file is
written for its owner alone, never into a folder of releases, and the search for leaks reports it
wherever it lies among them.

References
----------
.. [1] SDMX-CSV field guide, version 1.0; code lists CL_OBS_STATUS and CL_CONF_STATUS.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags, Texts
from tablecloak.errors import InputError, line_of, listed, suggestion
from tablecloak.protection import required_way
from tablecloak.publish.data_structure import DataStructure
from tablecloak.storage import replacing
from tablecloak.tables.confidentiality import Confidentiality
from tablecloak.tables.formats import FrameFormat, column_names, format_of, harmless, read_frame
from tablecloak.tables.formats.sdmx_csv import NORMAL, sdmx_names
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.published import published_column, published_decimals, published_order
from tablecloak.tables.rules.rule import RULES, Rule

UNKNOWN = "unknown"
"""What stands in `flags` for sensitive cells of which no rule is named."""

RELEASES = "release"
"""Name of folders from which files are published; a transmission file is never written into one."""


@dataclass(frozen=True, eq=False)
class Template:
    """One row for each cell that is asked for, one column for each code.

    Parameters
    ----------
    source : str
        Where it comes from, for messages.
    rows : pandas.DataFrame
        Text only.
    """

    source: str
    rows: pd.DataFrame

    @classmethod
    def read(cls, path: str | Path) -> Template:
        """Read a template from a CSV or Parquet file, also packed.

        Raises
        ------
        InputError
            If it has no row, an empty entry, or asks for a cell twice.
        """
        names = column_names(path)
        rows = read_frame(path, tuple(names))
        template = cls(str(path), rows)
        if rows.empty:
            raise InputError(f"{path}: the template asks for no cell. Give one row for each.")
        empty = np.argwhere(rows.isna().to_numpy())
        if len(empty):
            line, column = empty[0]
            raise InputError(
                f"{rows.columns[column]} is empty. Fill in the code.",
                row=int(line),
                source=path,
            )
        object.__setattr__(template, "rows", rows.astype(str))
        twice = np.flatnonzero(template.rows.duplicated())
        if len(twice):
            raise InputError(
                f"{template.codes(int(twice[0]))} is asked for twice. Remove one of the lines.",
                row=int(twice[0]),
                source=path,
            )
        return template

    @property
    def columns(self) -> list[str]:
        """Names of its columns."""
        return list(map(str, self.rows.columns))

    def codes(self, row: int) -> str:
        """Say which cell a row asks for."""
        return ", ".join(f"{name} {code}" for name, code in self.rows.iloc[row].items())

    def filled(
        self,
        frames: Sequence[pd.DataFrame],
        constants: Sequence[Mapping[str, str]],
        *,
        complete: bool,
    ) -> tuple[pd.DataFrame, int]:
        """Return the rows that are asked for, in order, and how many are of other tables.

        Parameters
        ----------
        frames : sequence of pandas.DataFrame
            One for each table, with the columns of the template among others.
        constants : sequence of mapping of str to str
            For each table the columns that are the same in all of its rows.
        complete : bool
            Whether rows of other tables are an error.

        Raises
        ------
        InputError
            If a column or a cell is missing; names line and codes of the first.
        """
        for frame, constant in zip(frames, constants, strict=True):
            self._require_columns(frame, constant)
        given = pd.concat(frames, ignore_index=True)
        cells = pd.MultiIndex.from_frame(given[self.columns].astype(str))
        if cells.has_duplicates:
            codes = listed(list(map(str, cells[cells.duplicated()][0])))
            raise InputError(f"The cell {codes} is in two of the tables. Leave one of them out.")
        place = cells.get_indexer(pd.MultiIndex.from_frame(self.rows))
        ours = self._of_these_tables(constants)
        lacking = np.flatnonzero((place < 0) & ours)
        if len(lacking):
            raise InputError(self._lacking(int(lacking[0]), len(lacking), given))
        if complete and not ours.all():
            raise InputError(self._uncovered(~ours, constants))
        others = [name for name in given.columns if name not in self.columns]
        wanted = given.iloc[place[place >= 0]].reset_index(drop=True)
        return wanted[[*self.columns, *others]], int((~ours).sum())

    def _require_columns(self, frame: pd.DataFrame, constants: Mapping[str, str]) -> None:
        for name in self.columns:
            if name not in frame.columns:
                raise InputError(
                    f"{self.source}: no dimension stands in column {name!r}, and no constant."
                    f"{suggestion(name, map(str, frame.columns))} Name it in `names` or "
                    f"`constants`."
                )
        for name, text in constants.items():
            if name in self.columns and text not in self.rows[name].unique():
                raise InputError(
                    f"{self.source}: no row has the {name} {text!r} of the table."
                    f"{suggestion(text, self.rows[name].unique())}"
                )

    def _of_these_tables(self, constants: Sequence[Mapping[str, str]]) -> Flags:
        """Which rows have the constants of one of the tables."""
        ours = np.zeros(len(self.rows), dtype=bool)
        for constant in constants:
            fits = np.ones(len(self.rows), dtype=bool)
            for name, text in constant.items():
                if name in self.columns:
                    fits &= (self.rows[name] == text).to_numpy()
            ours |= fits
        return ours

    def _lacking(self, row: int, number: int, given: pd.DataFrame) -> str:
        """Say which cell no table has, and which code none has at all."""
        told = f"{line_of(self.source, row)}: the table has no cell {self.codes(row)}"
        told += f" ({number} such lines)." if number > 1 else "."
        for name, code in self.rows.iloc[row].items():
            known = given[name].astype(str).unique()
            if code not in known:
                near = suggestion(code, known)
                return f"{told} In {name} it has no code {code!r}.{near} Translate it by `codes`."
        return f"{told} Add the cell to the table, or remove the line."

    def _uncovered(self, rows: Flags, constants: Sequence[Mapping[str, str]]) -> str:
        """Say which rows belong to tables that were not given."""
        first = int(np.flatnonzero(rows)[0])
        fixed = [name for name in self.columns if any(name in each for each in constants)]
        codes = listed([f"{name} {self.rows[name].iloc[first]}" for name in fixed])
        return (
            f"{line_of(self.source, first)}: {codes} is of none of the tables "
            f"({int(rows.sum())} such lines). Give those tables as well, or allow a part of the "
            f"template with complete=False."
        )


@dataclass(frozen=True, eq=False)
class Transmission:
    """One table for another authority: its values, and why each is confidential. Secret.

    Parameters
    ----------
    problem : ProtectionProblem
    suppressed : numpy.ndarray of bool, shape (n_cells,)
        Cells that the release hides; all sensitive ones are among them.
    rules : sequence of Rule, default=()
        The rules of the problem. With their numbers, and contributors, the flags tell how many
        dominate; without them only what the names of the rules say.
    names : mapping of str to str, default={}
        Column of each dimension; by default that of the template with the same name in any case,
        else the name in capitals.
    codes : mapping of str to mapping of str to str, default={}
        For each dimension the codes that are written otherwise, such as ``{"Total": "_T"}``.
    constants : mapping of str to str, default={}
        Columns with the same entry in each row, such as ``TIME_PERIOD``, ``INDICATOR``, or
        ``OBS_STATUS``, which is A (normal) otherwise.
    redistribution : str, default=""
        ``CONF_REDIST`` of confidential cells: to whom they may be passed on.
    secondary : Confidentiality or str, default="D"
        Flag of cells that only protect others; S where the receiver manages them.
    embargo : str, default=""
        When free cells may be published, as ``EMBARGO_DATE``; their flag is E until then.
    flags : mapping of str to str, default={}
        Other flags for cells that are sensitive by a rule, such as ``{"dominance": "T"}``;
        ``unknown`` stands for those of which no rule is named.
    cells : sequence of (mapping of str to str, str), default=()
        Codes, and the flag of all cells that have them, such as ``({"region": "N1"}, "X")``. The
        last one counts, and more than all else.

    Raises
    ------
    InputError
        If a sensitive cell is published, or a name, code or flag is not known.
    """

    problem: ProtectionProblem
    suppressed: Flags
    rules: Sequence[Rule] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    codes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)
    redistribution: str = ""
    secondary: Confidentiality | str = Confidentiality.SECONDARY
    embargo: str = ""
    flags: Mapping[str, str] = field(default_factory=dict)
    cells: Sequence[tuple[Mapping[str, str], str]] = ()

    def __post_init__(self) -> None:
        table = self.problem.table
        bare = np.flatnonzero(self.problem.sensitive & ~self.suppressed)
        if len(bare):
            raise InputError(
                f"{len(bare)} sensitive cells are published, the first is "
                f"{table.label(int(bare[0]))}. Protect the table before it is sent.",
                cells=bare,
            )
        for what, given in (("names", self.names), ("codes", self.codes)):
            for name in given:
                self._require(name, table.keys.columns, f"`{what}`: there is no dimension")
        for name, codes in self.codes.items():
            for code in codes:
                known = table.keys[name].unique()
                self._require(code, known, f"`codes`: dimension {name!r} has no code")
        for reason in self.flags:
            self._require(reason, [*RULES.names, UNKNOWN], "`flags`: there is no rule")
        for letter in (self.secondary, *self.flags.values(), *(flag for _, flag in self.cells)):
            Confidentiality.parse(letter)

    @classmethod
    def of(cls, pattern: Any, **options: Any) -> Transmission:
        """Return the transmission of a pattern; options are those of the class.

        Raises
        ------
        InputError
            If a release has no hidden cells.
        """
        hidden = required_way(pattern, "sent").hidden(pattern)
        if hidden is None:
            raise InputError(
                "Only releases with hidden cells are sent with flags, such as patterns of "
                "`suppress`. Protect the table by one of them."
            )
        return cls(pattern.problem, hidden, **options)

    @staticmethod
    def _require(word: object, known: Any, what: str) -> None:
        if word not in list(known):
            raise InputError(f"{what} {word!r}.{suggestion(str(word), map(str, known))}")

    def confidentiality(self) -> Texts:
        """Return the flag of each cell, shape (n_cells,): letters of `Confidentiality`."""
        problem, free = self.problem, Confidentiality.FREE
        if self.embargo:
            free = Confidentiality.EMBARGO
        letters = np.full(problem.table.n_cells, free.value)
        letters[self.suppressed] = Confidentiality.parse(self.secondary).value
        for reason in np.unique(problem.reasons[problem.sensitive]).tolist():
            cells = problem.sensitive & (problem.reasons == reason)
            letters[cells] = self._primary(reason)[cells]
        for codes, letter in self.cells:
            letters[self._cells_with(codes)] = Confidentiality.parse(letter).value
        open_to_all = (Confidentiality.FREE.value, Confidentiality.EMBARGO.value)
        freed = np.flatnonzero(self.suppressed & np.isin(letters, open_to_all))
        if len(freed):
            raise InputError(
                f"Cell {problem.table.label(int(freed[0]))} is hidden in the release, and flagged "
                f"as free ({len(freed)} such cells). Give it another flag.",
                cells=freed,
            )
        return letters

    def _primary(self, reason: str) -> Texts:
        """Return the flags of cells that one rule made sensitive, shape (n_cells,)."""
        table = self.problem.table
        given = self.flags.get(reason or UNKNOWN)
        if given is not None:
            return np.full(table.n_cells, Confidentiality.parse(given).value)
        rules = [rule for rule in self.rules if rule.name == reason]
        if not rules:
            return self._by_name(reason)
        letters = rules[-1].confidentiality_of(table)
        # Of several rules of one kind the first that finds a cell unsafe is the reason.
        for rule in rules[-2::-1]:
            letters = np.where(rule.unsafe(table), rule.confidentiality_of(table), letters)
        return letters

    def _by_name(self, reason: str) -> Texts:
        """Return what the name of a rule alone tells, and numbers of contributors."""
        table, flag = self.problem.table, Confidentiality.CONFIDENTIAL
        if reason in RULES:
            flag = RULES[reason].confidentiality
        letters = np.full(table.n_cells, flag.value)
        if flag is Confidentiality.ONE_OR_TWO_DOMINATE and table.contributions is not None:
            letters[table.contributions.count == 1] = Confidentiality.ONE_DOMINATES.value
        return letters

    def _cells_with(self, codes: Mapping[str, str]) -> Flags:
        keys = self.problem.table.keys
        meant = np.full(len(keys), bool(codes))
        for name, code in codes.items():
            self._require(name, keys.columns, "`cells`: there is no dimension")
            meant &= (keys[name] == code).to_numpy()
        if not meant.any():
            raise InputError(f"`cells`: no cell has the codes {dict(codes)!r}. Check the spelling.")
        return meant

    def columns(self, wanted: Sequence[str] = ()) -> dict[str, str]:
        """Return the column of each dimension; `wanted` are the names of a template."""
        usual = sdmx_names(list(self.problem.table.keys.columns))
        near = {name.upper(): name for name in wanted}
        return {
            dimension: self.names.get(dimension, near.get(dimension.upper(), name))
            for dimension, name in usual.items()
        }

    def filled_in(self, wanted: Mapping[str, Collection[str]]) -> Transmission:
        """Return the same with ``_T`` for totals, where that is the code of a total.

        Parameters
        ----------
        wanted : mapping of str to collection of str
            For each column the codes that are accepted. A column that the table lacks is filled if
            ``_T`` is one of them.
        """
        columns, hierarchies = self.columns(list(wanted)), self.problem.table.hierarchies
        codes = {name: dict(given) for name, given in self.codes.items()}
        for dimension, column in columns.items():
            accepted, tree = wanted.get(column, ()), hierarchies.get(dimension)
            if tree is not None and TOTAL in accepted and tree.total not in accepted:
                codes.setdefault(dimension, {}).setdefault(tree.total, TOTAL)
        filled = {
            name: TOTAL
            for name, accepted in wanted.items()
            if TOTAL in accepted and name not in columns.values()
        }
        return replace(self, codes=codes, constants={**filled, **self.constants})

    def frame(self, wanted: Sequence[str] = ()) -> pd.DataFrame:
        """Return one row for each cell, in the order in which tables are published. Secret.

        Parameters
        ----------
        wanted : sequence of str, default=()
            Columns of a template. A dimension without a column among them stands at its total.
        """
        table, columns = self.problem.table, self.columns(wanted)
        order = published_order(table)
        for dimension, column in columns.items():
            if wanted and column not in wanted:
                order = order[(table.keys[dimension] == self._total(dimension)).to_numpy()[order]]
        keys = table.keys.iloc[order].reset_index(drop=True)
        for name, codes in self.codes.items():
            keys[name] = keys[name].replace(dict(codes))
        letters = self.confidentiality()[order]
        decimals = published_decimals(table.values, table.decimals)
        hidden = ~np.isin(letters, [Confidentiality.FREE.value, Confidentiality.EMBARGO.value])
        entries: dict[str, Any] = {
            **self.constants,
            **{column: keys[name] for name, column in columns.items()},
            "OBS_VALUE": published_column(table.values[order], decimals),
            "OBS_STATUS": self.constants.get("OBS_STATUS", NORMAL),
            "CONF_STATUS": letters,
            "CONF_REDIST": np.where(hidden, self.redistribution, ""),
        }
        if self.embargo:
            embargoed = letters == Confidentiality.EMBARGO.value
            entries["EMBARGO_DATE"] = np.where(embargoed, self.embargo, "")
        flags = [name for name in entries if name in _FLAGS]
        first = [name for name in entries if name not in _FLAGS]
        return pd.DataFrame(entries, index=keys.index)[[*first, *flags]]

    def _total(self, dimension: str) -> str:
        tree = self.problem.table.hierarchies.get(dimension)
        if tree is None:
            raise InputError(
                f"The template has no column for dimension {dimension!r}, whose total is not "
                f"known. Name its column in `names`."
            )
        return tree.total


TOTAL = "_T"
"""Code of the total in code lists of SDMX."""

_FLAGS = ("OBS_VALUE", "OBS_STATUS", "CONF_STATUS", "CONF_REDIST", "EMBARGO_DATE")


@dataclass(frozen=True)
class Sent:
    """What was written for another authority.

    Parameters
    ----------
    path : Path
    n_rows : int
    n_confidential : int
        Rows that may not be published.
    n_left_out : int
        Rows of the template that belong to other tables.
    """

    path: Path
    n_rows: int
    n_confidential: int
    n_left_out: int

    def summary(self) -> str:
        """Say in one line what was written."""
        left = f", {self.n_left_out:,} rows of the template left out" if self.n_left_out else ""
        return (
            f"{self.path}: {self.n_rows:,} rows, {self.n_confidential:,} confidential{left}. "
            f"Internal: it holds the hidden values."
        )


def write_transmission(
    parts: Any,
    path: str | Path,
    *,
    template: str | Path | None = None,
    structure: str | Path | DataStructure | None = None,
    complete: bool = True,
    **options: Any,
) -> Sent:
    """Write the file for another authority, readable by its owner alone. Secret.

    Parameters
    ----------
    parts : release with hidden cells, Transmission, or a sequence of them
        The tables that are sent, such as those of several years.
    path : str or path
        A CSV file, not in a folder of releases.
    template : str or path, optional
        CSV file with one row for each cell that is asked for. The rows are written in its order,
        with its columns first; other cells are left out. A total is called ``_T`` if the template
        calls it so.
    structure : str, path or DataStructure, optional
        Data structure definition (SDMX-ML or SDMX-JSON) with its code lists: columns and codes are
        checked, and totals called ``_T`` where they have that code.
    complete : bool, default=True
        Whether rows of the template for other tables, by their constant columns, are an error.
        A cell that a table should have, and lacks, is one in any case.
    **options
        Those of `Transmission`, for patterns.

    Returns
    -------
    Sent

    Raises
    ------
    InputError
        If the path lies in a folder of releases or is not that of a CSV file, or the template
        asks for a cell that no table has; names its line and codes. If the data structure does not
        have a column or a code.

    Examples
    --------
    >>> import tempfile, pathlib, tablecloak as tc
    >>> pattern = tc.suppress(tc.examples.cox_rounded())
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> sent = tc.write_transmission(pattern, folder / "to_eurostat.csv", redistribution="ESTAT",
    ...                              constants={"TIME_PERIOD": "2026"})
    >>> sent.n_confidential == pattern.n_suppressed
    True
    """
    path = require_internal(path)
    many = parts if isinstance(parts, Sequence) else [parts]
    tables = [
        part if isinstance(part, Transmission) else Transmission.of(part, **options)
        for part in many
    ]
    frame, n_left_out = rows_to_send(tables, template, structure, complete=complete)
    with replacing(path, secret=True) as temporary:
        harmless(frame).to_csv(temporary, index=False, lineterminator="\n")
    free = frame["CONF_STATUS"].isin([Confidentiality.FREE.value, Confidentiality.EMBARGO.value])
    return Sent(path, len(frame), int((~free).sum()), n_left_out)


def rows_to_send(
    tables: Sequence[Transmission],
    template: str | Path | None,
    structure: str | Path | DataStructure | None = None,
    *,
    complete: bool,
) -> tuple[pd.DataFrame, int]:
    """Return the rows of a file for another authority, and how many a template has beyond them.

    Parameters and errors are those of `write_transmission`.
    """
    if not tables:
        raise InputError("There is no table to send. Give at least one pattern.")
    defined = structure if isinstance(structure, DataStructure | None) else None
    if isinstance(structure, str | Path):
        defined = DataStructure.read(structure)
    read = None if template is None else Template.read(template)
    wanted = {} if defined is None else defined.codes
    if read is not None:
        wanted = {**wanted, **{name: read.rows[name].unique().tolist() for name in read.columns}}
    tables = [table.filled_in(wanted) for table in tables]
    frames = [table.frame([] if read is None else read.columns) for table in tables]
    if read is None:
        frame, n_left_out = pd.concat(frames, ignore_index=True), 0
        _refuse_repeated(frame)
    else:
        constants = [table.constants for table in tables]
        frame, n_left_out = read.filled(frames, constants, complete=complete)
    return frame if defined is None else defined.checked(frame), n_left_out


def require_internal(path: str | Path) -> Path:
    """Return the path of a CSV file that must not lie among releases.

    Raises
    ------
    InputError
        If a folder above it holds releases, or its name does not end like that of a CSV file.
    """
    path = Path(path)
    if format_of(path, FrameFormat).name != "csv":
        raise InputError(f"{path}: other authorities are sent CSV. Choose a name in .csv.")
    if RELEASES in [folder.lower() for folder in path.resolve().parent.parts]:
        raise InputError(
            f"{path}: lies in a folder of releases. The file holds the values that the release "
            f"hides; choose a place that nobody publishes, such as internal/."
        )
    return path


def _refuse_repeated(frame: pd.DataFrame) -> None:
    """Refuse two rows for one cell, as two tables without constants would give."""
    keys = [name for name in frame.columns if name not in _FLAGS]
    repeated = frame[frame.duplicated(keys)]
    if len(repeated):
        codes = listed([f"{name} {repeated[name].iloc[0]}" for name in keys])
        raise InputError(
            f"The cell with {codes} is in two of the tables. Tell them apart by `constants`."
        )
