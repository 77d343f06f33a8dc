"""Metadata (.rda): which variables a file has, where they stand, and what they are for."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.argus.lines import Specification
from tablecloak.argus.places import find_file, lines_of, text_of, tokens
from tablecloak.errors import InputError, listed, require_known, suggestion
from tablecloak.tables.hierarchy import Hierarchy

TOTAL = "Total"

MOST_WIDTH = 100_000
"""Largest width of a line that is accepted."""

_KNOWN = {
    "RECODEABLE", "RECODABLE", "TOTCODE", "CODELIST", "HIERARCHICAL", "HIERCODELIST",
    "HIERLEADSTRING", "HIERLEVELS", "DISTANCE", "NUMERIC", "DECIMALS", "WEIGHT", "HOLDING",
    "REQUEST", "RECORDKEY", "PFILE", "PFILE_FREQ", "PFILE_CONT", "PFILE_SEP", "CKM",
    "INCLUDEZEROS", "PARITY", "SEPARATION", "SCALING", "SHADOW", "COST", "COSTVAR", "LOWERPL",
    "UPPERPL", "FREQUENCY", "MAXSCORE", "STATUS", "TRUNCABLE", "POLVAR", "TOPCODE",
}  # fmt: skip
_HEADS = {"SEPARATOR", "SAFE", "UNSAFE", "PROTECT", "SPSS", "STARTINLINE"}


@dataclass
class Variable:
    """One variable.

    Parameters
    ----------
    name : str
    start, width : int
        Position in a line from 1, and width; 0 where a file has separators.
    missing : tuple of str
        Codes that mean missing, or the code of the total in a file of cells.
    tags : dict of str to list of str
        Keywords without brackets, and what follows them.
    lines : dict of str to int
        Where in the file each keyword stands.
    """

    name: str
    start: int = 0
    width: int = 0
    missing: tuple[str, ...] = ()
    tags: dict[str, list[str]] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    def has(self, tag: str) -> bool:
        """Whether the variable has a tag."""
        return tag in self.tags

    def first(self, tag: str, default: str = "") -> str:
        """Return what follows a tag."""
        return (self.tags.get(tag) or [default])[0]

    @property
    def total(self) -> str:
        """Code of the total."""
        return self.first("TOTCODE", TOTAL)

    @property
    def decimals(self) -> int:
        """Digits behind the decimal point.

        Raises
        ------
        InputError
            If they are no number from 0 to 15.
        """
        text = self.first("DECIMALS", "0")
        if not text.isdecimal() or int(text) > 15:
            raise InputError(f"Variable {self.name!r}: DECIMALS is {text!r}; expected 0 to 15.")
        return int(text)

    def padded(self, code: str) -> str:
        """Return a code as tau-ARGUS keeps it: blanks on the left up to the width."""
        return code.strip().rjust(self.width)


@dataclass
class Metadata:
    """What an .rda file says.

    Parameters
    ----------
    path : Path
    separator : str
        Between the fields of a line; empty for fixed positions.
    variables : list of Variable
    letters : dict of str to str
        What stands for SAFE, UNSAFE and PROTECT in the statuses of a file of cells.
    """

    path: Path
    separator: str
    variables: list[Variable]
    letters: dict[str, str]

    def variable(self, name: str) -> Variable:
        """Return a variable by its name.

        Raises
        ------
        InputError
            If there is none.
        """
        for variable in self.variables:
            if variable.name.lower() == name.lower():
                return variable
        known = [variable.name for variable in self.variables]
        raise InputError(f"{self.path}: there is no variable {name!r}.{suggestion(name, known)}")

    def with_tag(self, tag: str) -> list[Variable]:
        """Return the variables that have a tag."""
        return [variable for variable in self.variables if variable.has(tag)]

    def code_list(self, variable: Variable) -> Path | None:
        """Return the file of a hierarchy; None where the metadata name none.

        Raises
        ------
        InputError
            Names the line of the metadata whose file does not exist.
        """
        if not variable.has("HIERCODELIST"):
            return None
        try:
            return find_file(variable.first("HIERCODELIST"), self.path.parent)
        except InputError as error:
            line = variable.lines["HIERCODELIST"]
            raise InputError(f"{self.path}, line {line}: {error}") from error

    def hierarchy(self, variable: Variable, codes: set[str]) -> Hierarchy:
        """Return the hierarchy of a dimension.

        Codes that mean missing and are not in its file lie directly below the total.

        Parameters
        ----------
        variable : Variable
        codes : set of str
            Codes that occur in the data, without the total.
        """
        total = variable.total
        path = self.code_list(variable)
        if path is not None:
            lead = variable.first("HIERLEADSTRING", "@")
            tree = Hierarchy.from_hrc(path, total, lead, encoding=_encoding(path))
            self._require_lead(variable, lead, path, tree, codes)
            rename = {code: code if code == total else variable.padded(code) for code in tree.codes}
            if len(set(rename.values())) < len(rename):
                raise InputError(
                    f"{path}: two codes differ in blanks only, which are not significant. Rename "
                    "one of them."
                )
            groups = tuple(
                (rename[parent], tuple(rename[part] for part in parts))
                for parent, parts in tree.groups
            )
            lost = sorted((set(variable.missing) & codes) - set(rename.values()))
            if lost:
                groups = tuple(
                    (parent, (*parts, *lost) if parent == total else parts)
                    for parent, parts in groups
                )
            return Hierarchy(total, groups)
        if variable.has("HIERLEVELS"):
            widths = variable.tags["HIERLEVELS"]
            if not all(width.isdecimal() for width in widths):
                raise InputError(
                    f"Variable {variable.name!r}: HIERLEVELS are {widths}. Give the number of "
                    "digits of each level, as in <HIERLEVELS> 2 1 1."
                )
            n_digits = sum(map(int, widths))
            if long := [code for code in sorted(codes - {total}) if len(code) > n_digits]:
                raise InputError(
                    f"Variable {variable.name!r}: code {long[0]!r} has {len(long[0])} characters, "
                    f"but HIERLEVELS {' '.join(widths)} add up to {n_digits}. Correct them, or the "
                    f"start and width of the variable in the .rda."
                )
            return _by_digits(codes, [int(width) for width in widths], total)
        return Hierarchy.flat(sorted(codes), total)

    def _require_lead(
        self, variable: Variable, lead: str, path: Path, tree: Hierarchy, codes: set[str]
    ) -> None:
        """Raise if codes of the data stand in a file of codes behind another lead string."""
        plain = {code.strip() for code in codes} - {code.strip() for code in tree.codes}
        marked = [code for code in tree.codes if code and code.lstrip(code[0]).strip() in plain]
        marks = sorted({code[0] for code in marked if not code[0].isalnum()})
        if marks:
            line = variable.lines.get("HIERLEADSTRING", variable.lines["HIERCODELIST"])
            raise InputError(
                f"{self.path}, line {line}: the lead string of {variable.name!r} is {lead!r}, but "
                f"codes in {path.name} begin with {marks[0]!r}, such as {marked[0]!r}. Write "
                f'<HIERLEADSTRING> "{marks[0]}".'
            )


def read_metadata(path: str | Path) -> Metadata:
    """Read an .rda file, of microdata or of a table.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    Metadata

    Raises
    ------
    InputError
        Names file, line and what was expected there.
    """
    path = Path(path)
    separator, letters = "", {"SAFE": "S", "UNSAFE": "U", "PROTECT": "P"}
    variables: list[Variable] = []
    for number, line in lines_of(path):
        words = tokens(line)
        # Tokens lose a bracket that is not closed: the keyword would pass for a variable.
        if not words or line.startswith("<") != words[0].startswith("<"):
            raise InputError(
                f"{path}, line {number}: {line[:40]!r} is no keyword and no variable. Begin the "
                f"line with a keyword in angle brackets or with the name of a variable."
            )
        if not words[0].startswith("<"):
            variables.append(_variable(path, number, words, separator))
            variables[-1].lines.update(dict.fromkeys(variables[-1].tags, number))
            continue
        for keyword, arguments in _tagged(words):
            if keyword in _HEADS and not variables:
                if keyword == "SPSS":
                    raise InputError(
                        f"{path}, line {number}: SPSS files are not read. Export the data as text "
                        f"with separators."
                    )
                if keyword == "SEPARATOR":
                    separator = (arguments or [";"])[0]
                elif keyword in letters:
                    letters[keyword] = (arguments or [letters[keyword]])[0]
                continue
            if not variables:
                raise InputError(
                    f"{path}, line {number}: <{keyword}> comes before any variable. Move it below "
                    f"the variable that it describes."
                )
            require_known(keyword, _KNOWN, f"{path}, line {number}: <{keyword}> is not known.")
            variables[-1].tags[keyword] = arguments
            variables[-1].lines[keyword] = number
    if not variables:
        raise InputError(f"{path}: no variable was found. Is this a metadata file (.rda)?")
    names = [variable.name.lower() for variable in variables]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise InputError(f"{path}: the variable {twice!r} is described twice. Remove one of them.")
    return Metadata(path, separator, variables, letters)


def _tagged(words: list[str]) -> list[tuple[str, list[str]]]:
    """Group words into keywords and what follows them."""
    found: list[tuple[str, list[str]]] = []
    for word in words:
        if word.startswith("<") and word.endswith(">"):
            found.append((word[1:-1].strip(), []))
        else:
            found[-1][1].append(word)
    return found


def _variable(path: Path, number: int, words: list[str], separator: str) -> Variable:
    """``name start width [missing]``, or without start and width where files have separators."""
    name, rest = words[0], words[1:]
    plain = rest[: next((at for at, w in enumerate(rest) if w.startswith("<")), len(rest))]
    tags = dict(_tagged(rest[len(plain) :]))
    try:
        if not separator:
            start, width = int(plain[0]), int(plain[1])
            if not 1 <= start <= MOST_WIDTH or not 1 <= width <= MOST_WIDTH:
                raise ValueError
            return Variable(name, start, width, _missing(plain[2:], width), tags)
        if plain and plain[0].isdigit() and len(plain) <= 3 and not _is_table(path):
            width = int(plain[0])
            if width > MOST_WIDTH:
                raise ValueError
            return Variable(name, 0, width, _missing(plain[1:], width), tags)
    except (ValueError, IndexError):
        raise InputError(
            f"{path}, line {number}: variable {name!r} needs its first position and its width, "
            f"whole numbers from 1 to {MOST_WIDTH}. Found {' '.join(plain) or 'nothing'!r}."
        ) from None
    return Variable(name, missing=tuple(plain), tags=tags)


def _is_table(path: Path) -> bool:
    """Whether an .rda file describes cells: only there are statuses and frequencies."""
    return re.search("<(STATUS|FREQUENCY|MAXSCORE|SAFE|UNSAFE)>", text_of(path), re.I) is not None


def _missing(words: list[str], width: int) -> tuple[str, ...]:
    return tuple(word.strip().rjust(width) for word in words)


def _encoding(path: Path) -> str:
    try:
        path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _by_digits(codes: set[str], widths: list[int], total: str) -> Hierarchy:
    """Levels are the first digits of a code."""
    ends = [int(end) for end in np.cumsum([width for width in widths if width > 0])]
    children: dict[str, dict[str, None]] = {total: {}}
    for code in sorted(codes):
        parent = total
        for end in ends:
            short = code[:end]
            if short == parent or not short.strip():
                continue
            children.setdefault(parent, {})[short] = None
            parent = short
    groups = tuple((parent, tuple(below)) for parent, below in children.items() if below)
    return Hierarchy(total, groups)


def read_microdata(
    metadata: Metadata, path: Path, names: list[str]
) -> tuple[pd.DataFrame, list[str]]:
    """Read variables of a file of records; codes padded, numbers as numbers.

    Returns
    -------
    frame : pandas.DataFrame
    notes : list of str
        Where numbers are missing: they are read as 0, as tau-ARGUS reads them.

    Raises
    ------
    InputError
        Names line and variable of a number that is none, or of a line that is too short.
    """
    lines = pd.Series([line for line in text_of(path).splitlines() if line.strip()], dtype=object)
    if not len(lines):
        raise InputError(f"{path}: there are no records. Check that it is the right file.")
    fields = lines.str.split(metadata.separator, expand=True) if metadata.separator else None
    n_fields = len(metadata.variables)
    if fields is not None and fields.shape[1] > n_fields:
        # A field that all lines have beyond those described is nobody's mistake.
        beyond = (fields.iloc[:, n_fields:].fillna("") != "").any(axis=1).to_numpy()
        if not beyond.all() and beyond.any():
            at = int(np.argmax(beyond))
            raise InputError(
                f"{path}, line {at + 1}: {fields.iloc[at].notna().sum()} fields, but "
                f"{metadata.path.name} describes {n_fields} variables. Remove what is too much."
            )
    found: dict[str, Any] = {}
    notes: list[str] = []
    for name in names:
        variable = metadata.variable(name)
        is_number = _is_number(variable)
        if fields is None:
            text = lines.str.slice(variable.start - 1, variable.start - 1 + variable.width)
        else:
            at = metadata.variables.index(variable)
            if at >= fields.shape[1]:
                raise InputError(
                    f"{path}: lines have no field for {name!r} (number {at + 1}). Check the "
                    f"separator and the variables of {metadata.path.name}."
                )
            text = fields[at]
        may_be_empty = is_number and fields is not None
        short = np.flatnonzero(text.isna() | ((text == "") & (not may_be_empty)))
        if len(short):
            what = f"it ends before {name!r}. Complete the line, or correct the positions in"
            if fields is not None:
                what = f"it has no {name!r} (field {at + 1}). Complete the line, or correct"
            raise InputError(f"{path}, line {short[0] + 1}: {what} {metadata.path.name}.")
        if is_number:
            text, n_missing = _without_missing(variable, text)
            if n_missing:
                notes.append(
                    f"{path.name}: {name!r} is missing in {n_missing} records and read as 0, as "
                    f"τ-ARGUS reads it; these records count as contributors"
                )
            text = _with_points(metadata, path, variable, text, notes)
        plain = text.str.strip().str.strip('"').str.strip().str.rjust(variable.width)
        found[variable.name] = _numbers(path, variable, text) if is_number else plain
    return pd.DataFrame(found), notes


def _is_number(variable: Variable) -> bool:
    return variable.has("NUMERIC") or variable.has("WEIGHT")


def _without_missing(variable: Variable, text: pd.Series) -> tuple[pd.Series, int]:
    """Put 0 for blanks, the dot of SAS, and codes for missing that are no numbers.

    A weight has no such reading: a record without weight is an error.
    """
    if variable.has("WEIGHT"):
        return text, 0
    declared = pd.Series([code.strip() for code in variable.missing], dtype=object)
    words = set(declared[pd.to_numeric(declared, errors="coerce").isna()]) | {"", "."}
    missing = text.str.strip().isin(words)
    return text.where(~missing, "0"), int(missing.sum())


def _with_points(
    metadata: Metadata, path: Path, variable: Variable, text: pd.Series, notes: list[str]
) -> pd.Series:
    """Put points for decimal commas, where no comma separates fields, and note that it was done."""
    if metadata.separator == "," or not text.str.fullmatch(r"\s*-?\d+,\d+\s*").any():
        return text
    notes.append(f"{path.name}: decimal commas of {variable.name!r} read as points")
    return text.str.replace(",", ".", regex=False)


def _numbers(path: Path, variable: Variable, text: pd.Series) -> pd.Series:
    numbers = pd.to_numeric(text.str.strip(), errors="coerce")
    bad = np.flatnonzero(numbers.isna())
    if len(bad):
        raise InputError(
            f"{path}, line {bad[0] + 1}: {variable.name!r} is {text.iloc[bad[0]].strip()!r}, which "
            f"is not a number. Decimal points are needed."
        )
    return numbers.astype(np.float64)


def read_cells(metadata: Metadata, path: Path) -> tuple[pd.DataFrame, list[str]]:
    """Read a file of cells (.tab): one line for each, totals included.

    Returns
    -------
    frame : pandas.DataFrame
        One column for each variable, codes as text, numbers as numbers (NaN if empty).
    notes : list of str
        Values that were accepted in another spelling, such as decimal commas.
    """
    rows: list[list[str]] = []
    notes: list[str] = []
    for number, line in lines_of(path):
        parts = [part.strip() for part in _split(line, metadata.separator or ";")]
        if len(parts) != len(metadata.variables):
            raise InputError(
                f"{path}, line {number}: {len(parts)} fields, but {metadata.path.name} describes "
                f"{len(metadata.variables)} variables. Check the separator, and that each line "
                f"has one field for each variable."
            )
        rows.append(parts)
    names = [variable.name for variable in metadata.variables]
    frame = pd.DataFrame(rows, columns=names, dtype=object)
    for variable in metadata.variables:
        column = frame[variable.name]
        if _is_number(variable) or variable.has("FREQUENCY") or variable.has("MAXSCORE"):
            # The dot is how SAS writes a missing number.
            column = column.where(~column.isin(["", "-", "."]))
            column = _with_points(metadata, path, variable, column, notes)
            numbers = pd.to_numeric(column, errors="coerce")
            bad = np.flatnonzero(numbers.isna() & column.notna())
            if len(bad):
                raise InputError(
                    f"{path}, cell {bad[0] + 1}: {variable.name!r} is {column.iloc[bad[0]]!r}, "
                    f"which is not a number. Correct it; decimal points are needed."
                )
            frame[variable.name] = numbers.astype(np.float64)
    return frame, notes


def _split(line: str, separator: str) -> list[str]:
    """Split at separators outside quotes; quoted fields keep their blanks."""
    parts, current, quoted = [], "", False
    for letter in line:
        if letter == '"':
            quoted = not quoted
        elif letter == separator and not quoted:
            parts.append(current)
            current = ""
        else:
            current += letter
    return [*parts, current]


def specification_of(metadata: Metadata) -> Specification:
    """Return the only table that metadata of cells can mean.

    Raises
    ------
    InputError
        If there are several responses, or none.
    """
    dimensions = [v.name for v in metadata.variables if v.has("RECODEABLE")]
    roles = {"FREQUENCY", "MAXSCORE", "SHADOW", "COST", "COSTVAR", "LOWERPL", "UPPERPL"}
    responses = [
        v.name for v in metadata.variables if v.has("NUMERIC") and not any(map(v.has, roles))
    ]
    if len(responses) != 1 or not dimensions:
        raise InputError(
            f"No table is specified, and {metadata.path.name} has "
            f"{listed(responses) if responses else 'no numeric variable'} as its response. Put "
            f"SPECIFYTABLE before this line."
        )
    return Specification(dimensions, responses[0])
