"""Released tables for exchange: SDMX-CSV, JSON-stat and PX.

Suppressed cells have no value. Their flags say that they are confidential, not whether they are
sensitive themselves or protect others: that alone would help an intruder.

References
----------
.. [1] SDMX-CSV field guide, version 1.0; code lists CL_OBS_STATUS and CL_CONF_STATUS.
.. [2] JSON-stat 2.0, https://json-stat.org/full/.
.. [3] PX file format, Statistics Sweden, 2013.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.errors import InputError
from tablecloak.storage import replacing, write_text
from tablecloak.tables.formats.frames import harmless

__all__ = ["sdmx_names", "write_json_stat", "write_px", "write_sdmx_csv"]

NORMAL, ESTIMATED, SUPPRESSED = "A", "E", "Q"
"""CL_OBS_STATUS: normal, estimated, missing because it is suppressed."""

FREE, CONFIDENTIAL = "F", "C"
"""CL_CONF_STATUS."""

MOST_SQUARES = 20_000_000
"""Combinations of codes up to which JSON-stat and PX, which list all of them, are written."""


def write_sdmx_csv(released: pd.DataFrame, about: Mapping[str, object], path: str | Path) -> None:
    """Write a release as SDMX-CSV with OBS_STATUS and CONF_STATUS.

    Parameters
    ----------
    released : pandas.DataFrame
        What `SuppressionPattern.release` or `Adjustment.release` returns.
    about : mapping of str to object
        ``measure`` is used, in other formats also ``title``, ``unit``, ``decimals``, ``reading``.
    path : str or path
    """
    measure, hidden = str(about["measure"]), _hidden(released)
    dimensions = [name for name in released.columns if name not in (measure, "status")]
    status = NORMAL if "status" in released else ESTIMATED
    frame = released[dimensions].rename(columns=sdmx_names(dimensions))
    frame.insert(0, "DATAFLOW", f"TABLECLOAK:{measure}(1.0)")
    frame = frame.assign(
        OBS_VALUE=released[measure],
        OBS_STATUS=hidden.map({True: SUPPRESSED, False: status}),
        CONF_STATUS=hidden.map({True: CONFIDENTIAL, False: FREE}),
    )
    with replacing(path) as temporary:
        harmless(frame).to_csv(temporary, index=False)


def sdmx_names(dimensions: Sequence[str]) -> dict[str, str]:
    """Column of each dimension in SDMX-CSV: in capitals, unless two would be the same."""
    names: dict[str, str] = {}
    taken = {"DATAFLOW", "OBS_VALUE", "OBS_STATUS", "CONF_STATUS"}
    for dimension in map(str, dimensions):
        name, number = dimension.upper(), 2
        while name in taken:
            name, number = f"{dimension.upper()}_{number}", number + 1
        names[dimension] = name
        taken.add(name)
    return names


def write_json_stat(released: pd.DataFrame, about: Mapping[str, object], path: str | Path) -> None:
    """Write a release as a JSON-stat dataset; confidential cells have the status ``c``."""
    measure, hidden = str(about["measure"]), _hidden(released)
    codes = _codes(released, measure)
    place = _places(released, codes)
    squares = int(np.prod([len(known) for known in codes.values()]))
    # Lists, not pairs with their places: a place could look like a hidden value.
    values: list[float | int | None] = [None] * squares
    status = [""] * squares
    for at, value, secret in zip(place, released[measure], hidden, strict=True):
        if secret:
            status[at] = "c"
        else:
            values[at] = _number(value)
    content: dict[str, Any] = {
        "version": "2.0",
        "class": "dataset",
        "label": str(about.get("title") or measure),
        "note": [str(about.get("reading", ""))],
        "id": list(codes),
        "size": [len(known) for known in codes.values()],
        "dimension": {
            name: {"label": name, "category": {"index": known}} for name, known in codes.items()
        },
        "value": values,
        "status": status,
        "extension": {
            "measure": measure,
            "unit": str(about.get("unit", "")),
            "decimals": about.get("decimals", 0),
        },
    }
    write_text(path, json.dumps(content, ensure_ascii=False) + "\n")


def write_px(released: pd.DataFrame, about: Mapping[str, object], path: str | Path) -> None:
    """Write a release as a PX file; ``..`` is confidential, ``-`` empty."""
    measure, hidden = str(about["measure"]), _hidden(released)
    codes = _codes(released, measure)
    names = list(codes)
    stub, heading = (names[:-1], names[-1:]) if len(names) > 1 else (names, [])
    value = dict(
        zip(
            _places(released, codes),
            (
                '".."' if secret else f"{float(found):.{about.get('decimals', 0)}f}"
                for found, secret in zip(released[measure], hidden, strict=True)
            ),
            strict=True,
        )
    )
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
    lines += [
        f"VALUES({_quoted(name)})={','.join(map(_quoted, known))};" for name, known in codes.items()
    ]
    lines += ['DATASYMBOL2="Confidential";', f"NOTE={_quoted(str(about.get('reading', '')))};"]
    width = len(codes[names[-1]])
    squares = itertools.product(*(range(len(known)) for known in codes.values()))
    cells = [value.get(at, '"-"') for at, _ in enumerate(squares)]
    rows = [" ".join(cells[at : at + width]) for at in range(0, len(cells), width)]
    write_text(path, "\n".join([*lines, "DATA=", *rows]) + ";\n")


def _hidden(released: pd.DataFrame) -> pd.Series:
    if "status" in released:
        return released["status"].eq("suppressed")
    return pd.Series(False, index=released.index)


def _codes(released: pd.DataFrame, measure: str) -> dict[str, list[str]]:
    """Codes of each dimension in the order in which they occur."""
    found = {
        str(name): list(dict.fromkeys(map(str, released[name])))
        for name in released.columns
        if name not in (measure, "status")
    }
    squares = 1
    for known in found.values():
        squares *= len(known)
    if squares > MOST_SQUARES:
        raise InputError(
            f"JSON-stat and PX list every combination of codes, here {squares:,}. Write CSV, "
            f"Parquet or SDMX-CSV instead."
        )
    return found


def _places(released: pd.DataFrame, codes: Mapping[str, list[str]]) -> list[int]:
    """Number of each cell among all combinations of codes, the last dimension fastest."""
    place = pd.Series(0, index=released.index)
    for name, known in codes.items():
        number = {code: at for at, code in enumerate(known)}
        place = place * len(known) + released[name].astype(str).map(number)
    return [int(at) for at in place]


def _number(value: object) -> float | int:
    number = float(value)  # type: ignore[arg-type]
    return int(number) if number == int(number) and abs(number) < 2**53 else number


def _quoted(text: str) -> str:
    """Quote a text of a PX file, which cannot hold quotes or line breaks."""
    plain = text.replace('"', "'").replace("\n", " ").replace("\r", " ")
    return f'"{plain}"'
