"""PX files.

References
----------
.. [1] PX file format, Statistics Sweden, 2013.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from tablecloak.errors import InputError
from tablecloak.storage import write_text
from tablecloak.tables.formats.cube import Cube, CubeDimension, CubeFormat
from tablecloak.tables.formats.format import FORMATS
from tablecloak.tables.formats.layouts import codes_of, hidden_cells, places_of


@FORMATS.register
class PX(CubeFormat):
    """For PC-Axis and PxWeb; ``..`` is confidential, ``-`` empty."""

    name = "px"
    suffixes = (".px",)
    has_labels = True

    def write_release(
        self, released: pd.DataFrame, about: Mapping[str, object], path: Path
    ) -> None:
        """Write a release as keywords, then its data."""
        codes = codes_of(released, str(about["measure"]))
        lines = [*_keywords(codes, about), "DATA=", *_rows(released, codes, about)]
        write_text(path, "\n".join(lines) + ";\n")

    def read_cube(self, path: Path) -> Cube:
        """Read a file; ``-`` is a value of 0, and a square with dots or other text has none."""
        head, found, data = _decoded(path).partition("DATA=")
        keywords = {key: _texts(value) for key, value in _KEYWORD.findall(head)}
        names = [*keywords.get("STUB", ()), *keywords.get("HEADING", ())]
        lacking = [name for name in names if f'VALUES("{name}")' not in keywords]
        if not (found and names) or lacking or any(key.startswith("KEYS(") for key in keywords):
            raise InputError(
                f"{path}: is no PX file with STUB, HEADING, VALUES and DATA for all squares. Give "
                f"a file with a row for each cell instead, such as CSV."
            )
        dimensions = []
        for name in names:
            texts = keywords[f'VALUES("{name}")']
            dimensions.append(CubeDimension([name], keywords.get(f'CODES("{name}")', texts), texts))
        return Cube(dimensions, [_value(entry) for entry in _ENTRY.findall(data)])

    def fields(self, text: str) -> Iterable[str]:
        """Return the keywords as one field, and each entry of the data."""
        head, _, data = text.partition("DATA=")
        return [head, *data.split()]


_TEXT = r'"[^"]*"'
_KEYWORD = re.compile(
    rf"([A-Z0-9-]+(?:\[[\w-]+\])?(?:\({_TEXT}(?:,{_TEXT})*\))?)=((?:[^\";]|{_TEXT})*);"
)
"""A keyword and what it says; in languages other than the main one it has brackets."""

_ENTRY = re.compile(rf"{_TEXT}|[^\s;\"]+")


def _decoded(path: Path) -> str:
    """Return the text of a file in the letters that it names; those of Windows are usual."""
    raw = path.read_bytes()
    named = re.search(rb'CODEPAGE="([^"]+)"', raw)
    if raw.startswith(b"\xef\xbb\xbf"):
        return raw.decode("utf-8-sig")
    return raw.decode(named[1].decode("ascii", "replace") if named else "cp1252")


def _texts(value: str) -> list[str]:
    """Return the texts of a keyword; a long one is continued on the next line."""
    joined = re.sub(r'"\s*\n\s*"', "", value)
    return re.findall(r'"([^"]*)"', joined)


def _value(entry: str) -> float:
    if entry.strip('"') == "-":
        return 0.0
    return math.nan if entry[0] in '".' else float(entry)


def _keywords(codes: Mapping[str, list[str]], about: Mapping[str, object]) -> list[str]:
    measure, names = str(about["measure"]), list(codes)
    stub, heading = (names[:-1], names[-1:]) if len(names) > 1 else (names, [])
    lines = [
        'CHARSET="ANSI";',
        'AXIS-VERSION="2010";',
        'CODEPAGE="utf-8";',
        'LANGUAGE="en";',
        f"DECIMALS={about.get('decimals', 0)};",
        f"MATRIX={_quoted(measure[:20])};",
        f'SUBJECT-CODE="TC";\nSUBJECT-AREA={_quoted(measure)};',
        f"TITLE={_quoted(str(about.get('title') or measure))};",
        f"CONTENTS={_quoted(measure)};",
        f"UNITS={_quoted(str(about.get('unit') or 'units'))};",
        f"STUB={','.join(map(_quoted, stub))};",
    ]
    lines += [f"HEADING={','.join(map(_quoted, heading))};"] if heading else []
    labels: Any = about.get("labels", {})
    for name, known in codes.items():
        texts = [labels.get(name, {}).get(code, code) for code in known]
        lines.append(f"VALUES({_quoted(name)})={','.join(map(_quoted, texts))};")
        if texts != known:
            lines.append(f"CODES({_quoted(name)})={','.join(map(_quoted, known))};")
    note = f"NOTE={_quoted(str(about.get('reading', '')))};"
    return [*lines, 'DATASYMBOL2="Confidential";', note]


def _rows(
    released: pd.DataFrame, codes: Mapping[str, list[str]], about: Mapping[str, object]
) -> list[str]:
    """Entries of all combinations of codes, a line for each but the last dimension."""
    values, hidden = released[str(about["measure"])], hidden_cells(released)
    entries = (
        '".."' if secret else f"{float(value):.{about.get('decimals', 0)}f}"
        for value, secret in zip(values, hidden, strict=True)
    )
    entry = dict(zip(places_of(released, codes), entries, strict=True))
    squares = itertools.product(*(range(len(known)) for known in codes.values()))
    cells = [entry.get(at, '"-"') for at, _ in enumerate(squares)]
    width = len(list(codes.values())[-1])
    return [" ".join(cells[at : at + width]) for at in range(0, len(cells), width)]


def _quoted(text: str) -> str:
    """Quote a text of a PX file, which cannot hold quotes or line breaks."""
    plain = text.replace('"', "'").replace("\n", " ").replace("\r", " ")
    return f'"{plain}"'
