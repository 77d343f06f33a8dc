"""A file of rows and columns, and how it is read where its name does not say so."""

from __future__ import annotations

import codecs
import json
import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

from tablecloak.errors import InputError

SEPARATORS = (";", "\t", "|", ",")
"""What stands between the entries of a row in text files."""

OF_BATCHES = (".arb", ".rda", ".asc", ".hst", ".sbs")
"""Ends of the names of files that belong to a batch of τ-ARGUS."""


def about_batches(path: os.PathLike[str] | str) -> str:
    """Return what to do with a file of τ-ARGUS that a command cannot take; empty for others."""
    if Path(path).suffix.lower() not in OF_BATCHES:
        return ""
    return (
        " It looks like a file of τ-ARGUS: `tablecloak argus BATCH.arb` runs a batch as it is, "
        "and `tablecloak example batch` writes a small one."
    )


SIGNS = {"sep": SEPARATORS, "decimal": (".", ",")}
"""What can be said where there are few possibilities."""


@dataclass(frozen=True)
class DataFile(os.PathLike[str]):
    r"""A file, and how it is read; it can be given wherever the path of a file of data can.

    Parameters
    ----------
    path : str or Path
    sep : str, default=""
        What stands between the entries of a row of text: ``";"``, ``"\t"``, ``"|"`` or ``","``. By
        default the one that the first row has most often.
    decimal : str, default="."
        The decimal sign: ``"."`` or ``","``. With a comma, points are taken for separators of
        thousands, and only where three digits follow: ``1.234,5`` is 1234.5, and ``12.5`` no
        number.
    encoding : str, default="utf-8"
        How letters are written, such as ``"cp1252"`` by spreadsheets of Western Europe.
    sheet : str, default=""
        Sheet of a workbook; by default the first one.
    header : int, default=0
        Row of a text file or a sheet, counted from 1, that holds the names of the columns; what
        stands above it, such as a title, is left out. By default the first one.

    Raises
    ------
    InputError
        If a sign or an encoding is unknown, or there is no such row.

    Examples
    --------
    >>> DataFile("firms.csv", sep=";", decimal=",", encoding="cp1252").name
    'firms.csv'
    """

    path: str | Path
    sep: Annotated[str, "Separator", "Between entries of CSV; by default told by the header."] = ""
    decimal: Annotated[str, "Decimal sign", "In CSV: . or ,"] = "."
    encoding: Annotated[str, "Encoding", "Encoding of CSV, such as cp1252."] = "utf-8"
    sheet: Annotated[str, "Sheet", "Sheet of a workbook, by default the first one."] = ""
    header: Annotated[
        int, "Header in row", "Row of CSV or a sheet that names the columns, by default 1."
    ] = 0

    def __post_init__(self) -> None:
        if not isinstance(self.header, int) or self.header < 0:
            raise InputError(
                f"`header` is {self.header!r}; expected the number of a row, counted from 1."
            )
        for name, signs in SIGNS.items():
            if getattr(self, name) not in (*signs, getattr(type(self), name)):
                allowed = ", ".join(map(repr, signs))
                raise InputError(f"`{name}` is {getattr(self, name)!r}; expected {allowed}.")
        try:
            codecs.lookup(self.encoding)
        except LookupError:
            raise InputError(
                f"There is no encoding {self.encoding!r}. Common ones are utf-8, cp1252 (Western "
                f"Europe) and utf-16."
            ) from None

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return str(self.path)

    @property
    def name(self) -> str:
        """Name of the file, without its folder."""
        return Path(self).name

    @property
    def signs(self) -> dict[str, Any]:
        """What differs from how a file is usually read."""
        return {name: value for name, value in self.how.items() if value != AS_USUAL.how[name]}

    @property
    def how(self) -> dict[str, Any]:
        """How it is read, without the path."""
        return {each.name: getattr(self, each.name) for each in fields(self)[1:]}

    @property
    def program(self) -> str:
        """How a Python program calls it: by its path alone, where nothing else is said."""
        signs = "".join(f", {name}={value!r}" for name, value in self.signs.items())
        return f"tc.DataFile({str(self)!r}{signs})" if signs else repr(str(self))


AS_USUAL = DataFile("")
"""How a file is read of which nothing is said."""


@dataclass(frozen=True)
class ReadingOption:
    """What can be said of how a file is read.

    Parameters
    ----------
    name : str
        In Python, in jobs and on the command line.
    label : str
        What a form calls it.
    help : str
    kind : type
    choices : tuple of str
        Empty if there are many.
    """

    name: str
    label: str
    help: str
    kind: type
    choices: tuple[str, ...]


def how_read() -> list[ReadingOption]:
    """Return all that can be said of how a file is read."""
    hints = get_type_hints(DataFile, include_extras=True)
    declared = {name: get_args(hints[name]) for name in AS_USUAL.how}
    return [
        ReadingOption(name, label, text, kind, SIGNS.get(name, ()))
        for name, (kind, label, text) in declared.items()
    ]


class ReadingError(InputError):
    """A file has to be read otherwise.

    Parameters
    ----------
    finding : str
        What was found where, as a sentence.
    remedy : str, optional
        What to do in Python, in jobs and on the command line; by default to say `how`.
    row, source
        See `InputError`.
    how : dict of str to str or int
        What to say of how it is read, such as the encoding.
    """

    def __init__(
        self,
        finding: str,
        remedy: str = "",
        *,
        row: int | None = None,
        source: object = None,
        **how: Any,
    ) -> None:
        said = ", ".join(f"{name} = {json.dumps(value)}" for name, value in how.items())
        given = ", ".join(f"{name}={value!r}" for name, value in how.items())
        remedy = remedy or f"Say {said}, in Python tc.DataFile(path, {given})."
        super().__init__(f"{finding} {remedy}", row=row, source=source)
        self.finding, self.how = str(self).removesuffix(f" {remedy}"), how
        self._given = finding, remedy

    def of(self, source: object) -> InputError:
        """Return the error of data that lie in a file, which it names, with the line of its row."""
        if str(self).startswith(str(source)) or self.source is not None:
            return super().of(source)
        return ReadingError(*self._given, row=self.row, source=source, **self.how)
