"""A first job for a file of records: what its columns may be, to be looked at and corrected."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from tablecloak.data_file import DataFile, about_batches
from tablecloak.errors import InputError, line_of
from tablecloak.jobs.schema import DimensionSpec
from tablecloak.tables.contributions import HOLDINGS, ONLY_HOLDINGS
from tablecloak.tables.formats import RecordFormat, format_of
from tablecloak.tables.formats.csv_file import mistyped_numbers, odd_entries
from tablecloak.tables.formats.format import NO_RECORDS, UNNAMED
from tablecloak.tables.formats.frame_format import LOOKED_AT, refuse_problem
from tablecloak.tables.proposal import VALUE

MOST_CODES = 1000
"""Codes of a column beyond which it is proposed as no dimension."""

RECORDS_OF_A_CODE = 3
"""Mean number of records of a code below which a column names records, and is no dimension."""

DIGITS_OF_A_CODE = 4
"""Digits from which whole numbers that all have as many are codes, such as those of branches."""

DIGITS_OF_A_REGISTER = 6
"""The same of numbers of a register, where records share them; wages may all have 4 or 5."""

MOST_SHORT_CODES = MOST_CODES // 20
"""Most numbers of few digits that may be codes."""

ADDED = "added up; without it the table counts records"
"""What is said of the value."""

LIKE_A_NUMBER = r"[-+]?\d[\d.,'\s]*"
"""Numbers as they are typed, with any separator of thousands."""

NUMBERS_BUT = "numbers, but also"
"""How it is said of a column that it might be the value."""

WEIGHTS = re.compile(r"(sampling_?)?weight|wgt|gewicht|poids|hochrechn\w*", re.IGNORECASE)
PEOPLE = re.compile(r"employees?|staff|headcount|effectifs?|salari\S*|besch\S*", re.IGNORECASE)
"""Names of numbers that tell how large a firm is; without any other they are a value as well."""

FIRMS = re.compile(
    r"id|siren|siret|((enterprise|firm|company|establishment|respondent|person|unternehmen|firma"
    r"|betrieb|entreprise|[ée]tablissement|empresa|impresa|bedrijf)s?([ _-]?(id|n[or]|num|number"
    r"|nummer|code|key))?)",
    re.IGNORECASE,
)
"""Names of columns that name contributors, however many records each has."""

IDENTIFIERS = re.compile(r".*[ _-]id", re.IGNORECASE)
"""Names of columns whose numbers are no amounts; what they number may be a region as well."""

YEARS = re.compile(
    r"((reference|ref|survey|reporting|calendar)[ _-]?)?"
    r"(years?|jahre?|berichtsjahr|ann[ée]e|anno|a[ñn]o|ano|jaar|[åa]r|rok)",
    re.IGNORECASE,
)
"""Names of columns of periods: years of birth are classes, and have a total."""

A_YEAR = re.compile(r"(19|20)\d\d")

DAYS = re.compile(r"\d{4}-\d\d?-\d\d?|\d\d?[./]\d\d?[./]\d{2,4}")


@dataclass(frozen=True)
class Guess:
    """What the columns of a file may be.

    Parameters
    ----------
    file : DataFile
        With the encoding and the decimal sign in which it can be read.
    value, contributor, holding, weight : str
        Empty if no column looks like one.
    dimensions : dict of str to list of str
        For each dimension the columns of its levels, coarsest first; the last is its own.
    others : dict of str to str
        Columns that are left out, and why.
    years : tuple of str
        Codes of the dimension `year`, of which each is a variable of the job.
    year : str
    is_part : bool
        Whether the file may hold more records than were looked at.
    mistyped : str
        The column that would be the value, had it no entry that is no number; else empty.
    """

    file: DataFile
    value: str = ""
    contributor: str = ""
    holding: str = ""
    weight: str = ""
    dimensions: dict[str, list[str]] = field(default_factory=dict)
    others: dict[str, str] = field(default_factory=dict)
    years: tuple[str, ...] = ()
    year: str = ""
    is_part: bool = False
    mistyped: str = ""

    def job(self, folder: Path) -> str:
        """Return the job file, with comments, for a folder in which it is written."""
        lines = ["# Proposed from the columns of the file. Look at each line before you publish."]
        lines += [f"title = {_quoted(Path(self.file).stem)}", "", "[data]"]
        # Resolved on both sides: links may lead elsewhere than their names say.
        place = os.path.relpath(Path(self.file).resolve(), folder.resolve())
        lines.append(f"file = {_quoted(Path(place).as_posix())}")
        lines += [f"{name} = {_quoted(how)}" for name, how in self.file.signs.items()]
        if not self.years:
            lines += self._role("value", self.value, ADDED)
        lines += self._role("contributor", self.contributor, "whom a record belongs to")
        lines += self._role("holding", self.holding, "one respondent for rules and attacks")
        lines += self._role("weight", self.weight, "sampling weight")
        lines += ["# decimals = 0              # digits after the point that are published"]
        for name, levels in self.dimensions.items():
            if name == self.year:
                continue
            lines += ["", f"[dimensions.{_key(name)}]"]
            if len(levels) > 1:
                lines.append(f"levels = {json.dumps(levels, ensure_ascii=False)}  # coarsest first")
            else:
                lines.append('# hierarchy = "codes.hrc"   # where codes have groups')
        lines += self._variables()
        lines += ["", "# Which cells are sensitive; see docs/choosing.md."]
        if self.value:
            lines += ["[[rules]]", 'rule = "p-percent"', "p = 10"]
            if self.weight and self.holding:
                lines += [
                    'level = "contributor"       # of weighted holdings it is not defined; see'
                ]
                lines += ["                            # docs/tabulation.md for what to do instead"]
            lines += [""]
        lines += ["[[rules]]", 'rule = "minimum-frequency"', "minimum = 3", ""]
        lines += ["[suppression]               # or [adjustment], [rounding], [intervals]"]
        lines += ["time_limit = 60             # seconds"]
        if self.others:
            lines += ["", "# Left out:"]
            lines += [f"#   {_quoted(name)}: {why}" for name, why in self.others.items()]
        return "\n".join(lines) + "\n"

    def _variables(self) -> list[str]:
        """Return the sections of years."""
        if not self.years:
            return []
        key = _key(self.year)
        lines = [
            "",
            f"# {_quoted(self.year)} is no dimension: a dimension has a total, and years are",
        ]
        lines += [
            "# seldom added up. Each year is a variable of one release; see docs/job-file.md,"
        ]
        lines += ["# also for a sum over years, and for a job of one year alone."]
        if self.is_part:
            lines += [f"# These are the years of the first {LOOKED_AT:,} records: add the others."]
        for number, year in enumerate(self.years):
            lines += ["\n" * bool(number) + f"[variables.{_key(year)}]"]
            lines += self._role("value", self.value, ADDED)
            lines += [f"only = {{{key} = {_quoted(year)}}}"]
        return lines

    @staticmethod
    def _role(role: str, column: str, meaning: str) -> list[str]:
        shown = f"{role} = {_quoted(column or '...')}"
        return [f"{shown if column else '# ' + shown:<27} # {meaning}"]


def first_records(file: DataFile) -> tuple[DataFile, pd.DataFrame]:
    """Return a file as its first records say that it is read, and these records.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    try:
        reader, frame = format_of(file, RecordFormat, otherwise="csv").told_by(Path(file))
    except InputError as error:
        about = about_batches(file)
        raise (InputError(f"{error}{about}") if about else error) from None
    return replace(reader.how, path=file.path), frame


def guess(file: DataFile) -> Guess:
    """Look at the columns of a file of records.

    Raises
    ------
    InputError
        If it cannot be read, or no column looks like a dimension.
    """
    file, frame = first_records(file)
    if frame.empty:
        raise InputError(f"{file}: {NO_RECORDS}")
    refuse_problem(frame.columns, Path(file))
    finished = "A finished table can be opened by `tablecloak app`."
    unnamed = [name for name in frame.columns if UNNAMED.fullmatch(str(name))]
    if 2 * len(unnamed) > len(frame.columns):
        raise InputError(
            f"{file}: most columns have no name in the first row, so this looks like a finished "
            f"table and not like records. {finished} For a job give the records that it was made "
            f"of, with the names of the columns in the first row."
        )
    totals = [name for name in frame.columns if _holds_total(frame[name])]
    if totals:
        raise InputError(
            f"{file}: column {totals[0]!r} has the code of a total, so this looks like a finished "
            f'table and not like records. {finished} For a job with `kind = "table"` see the '
            f"job file in the documentation."
        )
    kinds: dict[str, str] = {}
    mistyped: dict[str, pd.Series] = {}
    for name in frame.columns:
        kinds[name] = _kind(frame[name], name)
        meant = mistyped_numbers(frame[name], file.decimal)
        if meant is not None and _kind(meant, name) == "number":
            mistyped[name] = meant
            kinds[name] = _unlike_a_number(frame[name], file)
    codes = [name for name, kind in kinds.items() if kind == "codes"]
    numbers = [name for name, kind in kinds.items() if kind == "number"]
    names = [name for name, kind in kinds.items() if kind == "names"]
    # Numbers in their order may be those of lines, and name somebody only where nothing else does.
    names += [name for name, kind in kinds.items() if kind == "running number" and not names]
    names.sort(key=lambda name: not FIRMS.fullmatch(name))
    holding = next((name for name in names if HOLDINGS.search(name)), "")
    filled = [name for name in names if name != holding and not _is_blank(frame[name]).any()]
    contributor = next((name for name in (*filled, *names) if name != holding), "")
    # The only column of codes is a dimension, since a job needs one.
    rest = [name for name in (*(codes if len(codes) > 1 else ()), *names) if name != contributor]
    rest = [name for name in (*rest, *numbers) if ONLY_HOLDINGS.fullmatch(name)] + rest
    holding = holding or next((name for name in rest if _holds(frame, contributor, name)), "")
    codes = [name for name in codes if name != holding]
    numbers = [name for name in numbers if name != holding]
    value = min(
        (*numbers, *mistyped),
        key=lambda name: _unlike_a_value(pd.Series(mistyped.get(name, frame[name])), name),
        default="",
    )
    value, wrong = ("", value) if value in mistyped else (value, "")
    dimensions, twins = _levels(frame, codes)
    if not dimensions:
        raise InputError(
            f"{file}: no column has codes that several records share. A job needs such dimensions."
            f"{about_batches(file) or f' {finished}'}"
        )
    others = {name: kind for name, kind in kinds.items() if " " in kind and name != contributor}
    others |= twins
    for name in numbers:
        if name != value:
            more = f"; if it holds codes, add [dimensions.{_key(name)}]"
            others[name] = f"another number, as a value{more * _may_be_codes(frame[name])}"
    others |= {
        name: _unlike_a_number(frame[name], file) or "names of records"
        for name in names
        if name not in (holding, contributor)
    }
    weight = next((name for name, kind in kinds.items() if kind == "weight"), "")
    year = next((name for name in dimensions if _holds_years(frame[name], name)), "")
    if len(dimensions) == 1 or len(dimensions.get(year, ())) != 1:
        year = ""
    years = tuple(sorted(frame[year].dropna().astype(str).unique())) if year else ()
    is_part = len(frame) == LOOKED_AT
    return Guess(
        file, value, contributor, holding, weight, dimensions, others, years, year, is_part, wrong
    )


def _holds_total(column: pd.Series) -> bool:
    """Return whether a column has the code that jobs give to a total, which no record has."""
    total = str(DimensionSpec.model_fields["total"].default).casefold()
    is_text = not _is_number(column)
    return is_text and bool((column.dropna().astype(str).str.strip().str.casefold() == total).any())


def _holds_years(column: pd.Series, name: str) -> bool:
    codes = column.dropna().drop_duplicates().astype(str)
    return bool(YEARS.fullmatch(name)) and bool(codes.str.fullmatch(A_YEAR.pattern).all())


def _unlike_a_number(column: pd.Series, file: DataFile) -> str:
    """Return what to do with a column of numbers that has another entry; empty for other text."""
    given = column.dropna().astype(str)
    odd = np.flatnonzero(min((odd_entries(column, sign) for sign in (".", ",")), key=np.sum))
    if not len(odd) or 2 * given.str.fullmatch(LIKE_A_NUMBER).sum() < len(given):
        return ""
    place = line_of(file, int(odd[0])).removeprefix(f"{file}, ")
    return (
        f"{NUMBERS_BUT} {str(column.iloc[odd[0]])!r} in {place}, in {len(odd):,} of its entries; "
        f"to add it up, correct them, or leave these records out"
    )


def _is_blank(column: pd.Series) -> pd.Series:
    return column.isna() | (column.astype(str).str.strip() == "")


def _holds(frame: pd.DataFrame, contributor: str, name: str) -> bool:
    """Return whether a column names holdings: many firms are in none, and others share one.

    Where it has no blanks it needs a name that tells, and a column of contributors.
    """
    blank = _is_blank(frame[name])
    if not contributor:
        return bool(HOLDINGS.search(name)) and bool(blank.any())
    is_named = ONLY_HOLDINGS.fullmatch(name) or (HOLDINGS.search(name) and blank.any())
    if not is_named and 2 * blank.sum() <= len(frame):
        return False
    pairs = frame.loc[~blank, [contributor, name]].drop_duplicates()
    return pairs[contributor].is_unique and not pairs[name].is_unique


def _may_be_codes(column: pd.Series) -> bool:
    """Return whether many records share few numbers with at most two digits on either side.

    Such are codes of classes, as 47.11, but hours of work as well.
    """
    given = column.dropna()
    is_short = bool(given.between(0, 100, "left").all() and (given.round(2) == given).all())
    n_codes = given.nunique()
    return is_short and n_codes <= min(MOST_SHORT_CODES, len(given) / RECORDS_OF_A_CODE)


def _unlike_a_value(column: pd.Series, name: str) -> tuple[bool, bool, bool, bool, float]:
    """Return what puts other numbers first: their names, decimals, and larger sums."""
    given = column.dropna()
    return (
        not VALUE.match(name),
        _may_be_codes(column),
        bool(PEOPLE.match(name)),
        bool((given % 1 == 0).all()),
        -float(given.abs().sum()),
    )


def _is_number(column: pd.Series) -> bool:
    kind = column.dtype
    return pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind)


def _kind(column: pd.Series, name: str) -> str:
    """Return what a column holds: codes, number, names, weight; or why it is left out.

    A running number names records, too, if nothing else does.
    """
    given = column.dropna()
    n_codes = given.nunique()
    if n_codes < 2:
        return "the same everywhere"
    if _is_number(column) and WEIGHTS.fullmatch(name):
        return "weight"
    days = pd.api.types.is_datetime64_any_dtype(column) or given.astype(str).head(100).map(
        lambda entry: bool(DAYS.match(entry))
    )
    if pd.Series(days).all():
        return "a day, which is no code of a table"
    is_shared = n_codes <= min(MOST_CODES, max(2, len(given) / RECORDS_OF_A_CODE))
    if n_codes > 2 and FIRMS.fullmatch(name) and not _is_running(given):
        return "names"
    if _is_number(column):
        return _kind_of_number(given, name, is_shared=is_shared)
    return "codes" if is_shared else "names"


def _kind_of_number(given: pd.Series, name: str, *, is_shared: bool) -> str:
    is_whole = bool((given % 1 == 0).all())
    # Classes and registers give all their codes the same length; sizes have many.
    digits = np.log10(given.abs().astype("float64").clip(lower=1)) // 1 + 1
    is_code = is_whole and digits.min() == digits.max() >= DIGITS_OF_A_CODE
    is_few = is_code or (is_whole and given.nunique() <= MOST_SHORT_CODES)
    if is_shared and is_few:
        return "codes"
    is_register = given.is_unique or digits.min() >= DIGITS_OF_A_REGISTER
    if is_code and is_register and not VALUE.match(name):
        return "names"
    if _is_running(given):
        return "running number"
    return "names" if is_whole and IDENTIFIERS.fullmatch(name) else "number"


def _is_running(given: pd.Series) -> bool:
    """Return whether a column numbers the records."""
    is_number = _is_number(given) and given.is_unique
    return (
        is_number and bool((given % 1 == 0).all()) and len(given) == given.max() - given.min() + 1
    )


def _levels(frame: pd.DataFrame, codes: list[str]) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Join columns of which one groups the codes of another; and find those that repeat another."""
    n_codes = {name: frame[name].nunique() for name in codes}
    twins: dict[str, str] = {}
    parent: dict[str, str] = {}
    for number, name in enumerate(codes):
        above = [
            other
            for other in codes
            if other != name
            and n_codes[other] <= n_codes[name]
            and not frame.groupby(name)[other].nunique().gt(1).any()
        ]
        same = [other for other in codes[:number] if other in above and other not in twins
                and n_codes[other] == n_codes[name]]  # fmt: skip
        coarser = [other for other in above if n_codes[other] < n_codes[name]]
        if same:
            twins[name] = f"says the same as {same[0]}"
        elif coarser:
            parent[name] = max(coarser, key=n_codes.__getitem__)
    parent = {name: above for name, above in parent.items() if above not in twins}
    dimensions = {}
    for name in codes:
        if name in twins or name in parent.values():
            continue
        levels = [name]
        while levels[0] in parent:
            levels.insert(0, parent[levels[0]])
        dimensions[name] = levels
    return dimensions, twins


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[\w-]+", name, re.ASCII) else _quoted(name)
