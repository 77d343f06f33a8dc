"""A release in the layout of an office: its own workbook, filled with what may be published."""

from __future__ import annotations

import re
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from tablecloak.errors import InputError, TablecloakWarning, listed, require_known
from tablecloak.storage import existing_file, replacing
from tablecloak.tables.formats.excel import as_text, reading_workbook, save_book
from tablecloak.tables.formats.format import ReleaseFormat
from tablecloak.tables.formats.layouts import as_written, hidden_cells, require_marker

Place = tuple[int, int]
"""Row and column of a square, counted from 1."""

NAMED = 5
"""Most squares and codes that a warning names."""


@dataclass(frozen=True)
class OfficeWorkbook(ReleaseFormat):
    """A workbook of an office, whose squares get the values of a release.

    Its codes, or their labels, stand beside and above the squares, as in the table that readers
    know: titles, several lines of headers, merged squares, notes, empty lines and other figures
    beside it do not matter. Texts, number formats, fonts, colours, borders, widths and merged
    squares are kept. Nothing else is: the new workbook is made square by square, so that no
    cached value, formula, comment, name, chart, hidden sheet or property of the old one is in it.

    Parameters
    ----------
    path : str or path
        Workbook (.xlsx) with the layout; figures in it are replaced, and may be missing.
    sheet : str, default=""
        Sheet with the table; by default the visible one that holds most of its codes.
    marker : str, default="c"
        What stands for a confidential cell.

    Raises
    ------
    InputError
        If the marker reads like a value.

    Examples
    --------
    >>> from tablecloak import write_release
    >>> workbook = OfficeWorkbook("turnover.xlsx", marker="..")
    >>> write_release(pattern, "release", formats=["csv", workbook])  # doctest: +SKIP
    """

    path: str | Path
    sheet: str = ""
    marker: str = "c"

    name = "office"
    suffixes = ("_office.xlsx",)
    has_labels = True
    libraries = ("openpyxl",)

    def __post_init__(self) -> None:
        require_marker(self.marker)

    def write_release(
        self, released: pd.DataFrame, about: Mapping[str, object], path: Path
    ) -> None:
        """Write a copy of the workbook with the values of a release.

        Raises
        ------
        InputError
            If a dimension, or the column of the figure, is not found in the sheet.
        """
        self.require()
        from openpyxl import Workbook, load_workbook

        given = existing_file(Path(self.path))
        with reading_workbook(given):
            source = load_workbook(given)
        labels: Any = about.get("labels", {})
        measure = str(about["measure"])
        dimensions = [str(name) for name in released if name not in (measure, "status")]
        spellings = {name: _spellings(released[name], labels.get(name, {})) for name in dimensions}
        sheet = self._sheet_of(source, spellings)
        places = _TablePlaces.of(sheet, spellings, measure, f"{given}, sheet {sheet.title!r}")
        codes = released[dimensions].astype(str).itertuples(index=False, name=None)
        shown = zip(codes, hidden_cells(released), released[measure], strict=True)
        values = {
            cell: self.marker if is_hidden else as_written(value)
            for cell, is_hidden, value in shown
        }
        book, left_out = Workbook(), []
        book.remove(book.active)
        for page in source.worksheets:
            if page is not sheet and (page.sheet_state != "visible" or _has_figures(page)):
                left_out.append(f"sheet {page.title!r}")
                continue
            here = places if page is sheet else _TablePlaces({}, set())
            emptied = _copy_sheet(page, book.create_sheet(page.title), here, values)
            left_out += [f"{page.title}!{square}" for square in emptied]
        book.properties.creator = str(about.get("software", "tablecloak"))
        _warn(given, left_out, [cell for cell in values if cell not in places.matched])
        with replacing(path) as temporary:
            save_book(book, temporary)

    def _sheet_of(self, book: Any, spellings: Mapping[str, Mapping[str, str]]) -> Any:
        if self.sheet:
            require_known(
                self.sheet, book.sheetnames, f"{self.path}: there is no sheet {self.sheet!r}."
            )
            return book[self.sheet]
        codes = set().union(*spellings.values())
        visible = [page for page in book.worksheets if page.sheet_state == "visible"]
        return max(
            visible, key=lambda page: len(codes & {_text(s.value) for row in page for s in row})
        )


@dataclass(frozen=True, eq=False)
class _TablePlaces:
    """Where the cells of a release stand in a sheet.

    Parameters
    ----------
    squares : dict of place to tuple of str
        The codes of the cell that stands in a square.
    headers : set of place
        Squares with codes, which may be numbers such as years.
    """

    squares: dict[Place, tuple[str, ...]]
    headers: set[Place]

    @property
    def matched(self) -> set[tuple[str, ...]]:
        """The cells that have a square."""
        return set(self.squares.values())

    @classmethod
    def of(
        cls, sheet: Any, spellings: Mapping[str, Mapping[str, str]], measure: str, where: str
    ) -> _TablePlaces:
        """Find the line of codes of each dimension, and the squares between these lines."""
        texts = _texts(sheet)
        lines = _lines_of(texts, spellings, where)
        rows = _keys(texts, lines, spellings, is_down=True)
        columns: Mapping[int, tuple[tuple[str, str], ...]]
        columns = _keys(texts, lines, spellings, is_down=False)
        down = [place for is_down, place in lines.values() if is_down]
        if not down or not rows:
            raise InputError(
                f"{where}: no dimension has its codes below each other. Put those of one of them "
                f"into a column, beside the figures."
            )
        first = min(rows)
        named = _columns_named(texts, measure, first)
        across = len(lines) > len(down)
        if not across:
            columns = dict.fromkeys(sorted({c for row, c in texts if row >= first} | named), ())
        columns = {column: key for column, key in columns.items() if column > max(down)}
        chosen = {column: key for column, key in columns.items() if column in named} or columns
        for keys, word in ((rows, "row"), (chosen, "column")):
            twice = [sorted(place) for place in _inverse(keys).values() if len(place) > 1]
            if twice:
                raise InputError(
                    f"{where}: {word}s {listed([str(at) for at in twice[0]])} have the same codes. "
                    f"Name the figure {measure!r} above its columns, and each cell once."
                )
        order = list(spellings)
        squares = {}
        for row, below in rows.items():
            for column, above in chosen.items():
                codes = {**dict(below), **dict(above)}
                squares[row, column] = tuple(codes[name] for name in order)
        if not squares:
            raise InputError(
                f"{where}: there is no square for {measure!r} beside the codes. Write its name "
                f"above its column."
            )
        headers = {
            (row, column)
            for (row, column), text in texts.items()
            for name, (is_down, place) in lines.items()
            if place == (column if is_down else row) and text in spellings[name]
        }
        return cls(squares, headers - set(squares))


def _texts(sheet: Any) -> dict[Place, str]:
    """What stands in each square that is filled; merged squares all hold the same."""
    texts = {
        (square.row, square.column): text
        for row in sheet.iter_rows()
        for square in row
        if (text := _text(square.value))
    }
    for area in sheet.merged_cells.ranges:
        if (area.min_row, area.min_col) in texts:
            texts.update(dict.fromkeys(area.cells, texts[area.min_row, area.min_col]))
    return texts


def _lines_of(
    texts: Mapping[Place, str], spellings: Mapping[str, Mapping[str, str]], where: str
) -> dict[str, tuple[bool, int]]:
    """For each dimension whether its codes go down, and in which column or row they stand.

    Dimensions may share codes, such as that of the total: the line with most of the codes counts,
    and each line once.
    """
    matched: dict[tuple[str, bool, int], set[str]] = defaultdict(set)
    for (row, column), text in texts.items():
        for name, codes in spellings.items():
            if text in codes:
                matched[name, True, column].add(codes[text])
                matched[name, False, row].add(codes[text])
    lines: dict[str, tuple[bool, int]] = {}
    for name, is_down, place in sorted(matched, key=lambda line: -len(matched[line])):
        is_told = len(matched[name, is_down, place]) >= min(2, len(set(spellings[name].values())))
        if is_told and name not in lines and (is_down, place) not in lines.values():
            lines[name] = is_down, place
    lost = [name for name in spellings if name not in lines]
    if lost:
        raise InputError(
            f"{where}: no codes or labels of {listed(lost)} were found. Give the workbook of this "
            f"table, or name its sheet."
        )
    return lines


def _keys(
    texts: Mapping[Place, str],
    lines: Mapping[str, tuple[bool, int]],
    spellings: Mapping[str, Mapping[str, str]],
    *,
    is_down: bool,
) -> dict[int, tuple[tuple[str, str], ...]]:
    """Return the codes of each row (or column) that has one of every dimension along it.

    An empty square means the code before it, but in the line beside the figures.
    """
    along = sorted((place, name) for name, (down, place) in lines.items() if down == is_down)
    last = max((row if is_down else column for row, column in texts), default=0)
    before: dict[str, str] = {}
    keys = {}
    for step in range(1, last + 1):
        for number, (line, name) in enumerate(along, start=1):
            text = texts.get((step, line) if is_down else (line, step), "")
            if text or number == len(along):
                before[name] = spellings[name].get(text) or ""
        if along and all(before.get(name) for _, name in along):
            keys[step] = tuple((name, before[name]) for _, name in along)
    return keys


def _columns_named(texts: Mapping[Place, str], measure: str, first: int) -> set[int]:
    """Return the columns above whose row `first` the figure is named, in one square or several."""
    above: dict[int, list[str]] = defaultdict(list)
    for (row, column), text in sorted(texts.items()):
        if row < first:
            above[column].append(text.casefold())
    wanted = measure.casefold()
    named = {column for column, said in above.items() if wanted in said}
    return named or {column for column, said in above.items() if wanted in " ".join(said)}


def _inverse(keys: Mapping[int, object]) -> dict[object, list[int]]:
    places: dict[object, list[int]] = defaultdict(list)
    for place, key in keys.items():
        places[key].append(place)
    return places


def _spellings(codes: pd.Series, labels: Mapping[str, str]) -> dict[str, str]:
    """Map codes and their labels, as they may stand in a sheet, to codes."""
    own = [str(code) for code in codes.unique()]
    return {**{labels[code].strip(): code for code in own if code in labels}, **{c: c for c in own}}


def _text(value: object) -> str:
    if isinstance(value, float) and value == int(value):
        value = int(value)
    return "" if value is None else str(value).strip(" \u00a0\t\r\n")


def _is_figure(value: object) -> bool:
    """Whether a square holds a number or what computes one."""
    return not isinstance(value, str) or value.startswith("=")


def _filled(sheet: Any) -> Iterator[Any]:
    return (square for row in sheet.iter_rows() for square in row if square.value is not None)


def _has_figures(sheet: Any) -> bool:
    return any(_is_figure(square.value) for square in _filled(sheet))


def _copy_sheet(
    source: Any,
    target: Any,
    places: _TablePlaces,
    values: Mapping[tuple[str, ...], str | float],
) -> list[str]:
    """Copy texts and looks, fill the squares of the table; return which others were emptied."""
    emptied: list[str] = []
    looks: dict[tuple[int, ...], Any] = {}
    for old in (square for row in source.iter_rows() for square in row):
        place = old.row, old.column
        is_bare = old.value is None and not old.has_style and place not in places.squares
        # Of merged squares the first one has the text and the look of all.
        if is_bare or type(old).__name__ == "MergedCell":
            continue
        new = target.cell(*place)
        _copy_look(old, new, looks)
        if place in places.squares:
            new.value = values.get(places.squares[place])
        elif not _is_figure(old.value) or place in places.headers:
            new.value = _text(old.value) if place in places.headers else old.value
        elif old.value is not None:
            emptied.append(old.coordinate)
        as_text(new)
    _copy_sizes(source, target)
    return emptied


def _copy_sizes(source: Any, target: Any) -> None:
    """Copy merged squares, widths, heights, what is frozen or out of sight, and the paper."""
    for area in source.merged_cells.ranges:
        target.merge_cells(str(area))
    for letter, old in source.column_dimensions.items():
        new = target.column_dimensions[letter]
        new.min, new.max, new.hidden = old.min, old.max, old.hidden
        if old.width:
            # So few digits that no hidden value stands there by chance.
            new.width = round(old.width, 1)
    for number, old in source.row_dimensions.items():
        new = target.row_dimensions[number]
        new.height, new.hidden = old.height and round(old.height, 1), old.hidden
    target.freeze_panes = source.freeze_panes
    target.sheet_view.showGridLines = source.sheet_view.showGridLines
    target.page_setup.orientation = source.page_setup.orientation
    target.page_setup.paperSize = source.page_setup.paperSize


def _copy_look(old: Any, new: Any, looks: dict[tuple[int, ...], Any]) -> None:
    """Copy how a square looks; a number format with digits of its own could tell a value.

    Looks that were copied before are in `looks`: large sheets have few of them.
    """
    style = tuple(old._style or ())
    if style not in looks:
        for part in ("font", "fill", "border", "alignment", "protection"):
            setattr(new, part, copy(getattr(old, part)))
        if not re.search(r"[1-9]", re.sub(r"\[\$[^\]]*\]", "", old.number_format)):
            new.number_format = old.number_format
        looks[style] = new._style
    new._style = copy(looks[style])


def _warn(path: Path, left_out: Sequence[str], without: Sequence[tuple[str, ...]]) -> None:
    """Say what of the workbook is not in the release, and which cells it has no square for."""
    said = {
        "left out, because a figure there may tell a hidden one": left_out,
        "no square for these cells": [" x ".join(cell) for cell in without],
    }
    for what, names in said.items():
        if names:
            more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
            text = f"{path}: {what}: {', '.join(names[:NAMED])}{more}."
            warnings.warn(text, TablecloakWarning, stacklevel=4)
