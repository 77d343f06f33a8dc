"""A file of rows and columns, and how it is read where its name does not say so."""

from __future__ import annotations

import codecs
import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, get_args, get_type_hints

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

    Raises
    ------
    InputError
        If a sign or an encoding is unknown.

    Examples
    --------
    >>> DataFile("firms.csv", sep=";", decimal=",", encoding="cp1252").name
    'firms.csv'
    """

    path: str | Path
    sep: Annotated[str, "Between entries of CSV; by default told by the first row."] = ""
    decimal: Annotated[str, "Decimal sign in CSV: . or ,"] = "."
    encoding: Annotated[str, "Encoding of CSV, such as cp1252."] = "utf-8"
    sheet: Annotated[str, "Sheet of a workbook, by default the first one."] = ""

    def __post_init__(self) -> None:
        for name, known in (("sep", ("", *SEPARATORS)), ("decimal", (".", ","))):
            if getattr(self, name) not in known:
                allowed = ", ".join(map(repr, filter(None, known)))
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
    def signs(self) -> dict[str, str]:
        """What differs from how a file is usually read."""
        return {name: value for name, value in self.how.items() if value != AS_USUAL.how[name]}

    @property
    def how(self) -> dict[str, str]:
        """How it is read, without the path."""
        return {each.name: getattr(self, each.name) for each in fields(self)[1:]}


AS_USUAL = DataFile("")
"""How a file is read of which nothing is said."""


def how_read() -> dict[str, str]:
    """Return what can be said of how a file is read, each with its help."""
    hints = get_type_hints(DataFile, include_extras=True)
    return {name: get_args(hints[name])[1] for name in AS_USUAL.how}
