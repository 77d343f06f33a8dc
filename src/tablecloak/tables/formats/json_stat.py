"""JSON-stat datasets.

References
----------
.. [1] JSON-stat 2.0, https://json-stat.org/full/.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.errors import InputError
from tablecloak.storage import write_text
from tablecloak.tables.formats.cube import Cube, CubeDimension, CubeFormat
from tablecloak.tables.formats.format import FORMATS
from tablecloak.tables.formats.layouts import (
    as_written,
    codes_of,
    hidden_cells,
    places_of,
)

STATUSES = {"c": "confidential", "m": "not in this table"}
"""Statuses of cells without a value, by their codes in CL_OBS_STATUS and at Eurostat."""


@FORMATS.register
class JSONStat(CubeFormat):
    """A dataset of JSON-stat 2.0; ``c`` is confidential, ``m`` a cell that no table has."""

    name = "json-stat"
    suffixes = (".json",)
    has_labels = True

    def write_release(
        self, released: pd.DataFrame, about: Mapping[str, object], path: Path
    ) -> None:
        """Write a release as one dataset."""
        content = _dataset(released, about)
        write_text(path, json.dumps(content, ensure_ascii=False) + "\n")

    def read_cube(self, path: Path) -> Cube:
        """Read a dataset; also one of JSON-stat 1, and values or codes given by their places."""
        content = json.loads(path.read_text(encoding="utf-8-sig"))
        try:
            dataset = content.get("dataset", content)
            described = dataset["dimension"]
            names = dataset.get("id") or described["id"]
            dimensions = [_dimension(name, described[name]) for name in names]
            values = dataset["value"]
        except (AttributeError, KeyError, TypeError) as error:
            raise InputError(
                f"{path}: is no dataset of JSON-stat ({error}). Give a file with a row for each "
                f"cell instead, such as CSV."
            ) from None
        if isinstance(values, dict):
            count = math.prod(len(of.codes) for of in dimensions)
            values = [values.get(str(place)) for place in range(count)]
        return Cube(dimensions, [math.nan if value is None else float(value) for value in values])

    def fields(self, text: str) -> Iterable[str]:
        """Return all names and values."""
        return list(map(str, _scalars(json.loads(text))))


def _dataset(released: pd.DataFrame, about: Mapping[str, object]) -> dict[str, Any]:
    measure, hidden = str(about["measure"]), hidden_cells(released)
    codes = codes_of(released, measure)
    place = places_of(released, codes)
    squares = int(np.prod([len(known) for known in codes.values()]))
    # Lists instead of codes with positions: a position could look like a hidden value.
    values: list[float | int | None] = [None] * squares
    status = ["m"] * squares
    for at, value, secret in zip(place, released[measure], hidden, strict=True):
        if secret:
            status[at] = "c"
        else:
            status[at], values[at] = "", as_written(value)
    return {
        "version": "2.0",
        "class": "dataset",
        "label": str(about.get("title") or measure),
        "note": [str(about.get("reading", ""))],
        "id": list(codes),
        "size": [len(known) for known in codes.values()],
        "dimension": {
            name: {"label": name, "category": {"index": known, **_labels(name, about)}}
            for name, known in codes.items()
        },
        "value": values,
        "status": status,
        "extension": {
            "measure": measure,
            "unit": str(about.get("unit", "")),
            "decimals": about.get("decimals", 0),
            "status": {"label": {code: STATUSES[code] for code in STATUSES if code in status}},
        },
    }


def _dimension(name: str, content: dict[str, Any]) -> CubeDimension:
    category = content["category"]
    labels = category.get("label", {})
    index = category.get("index") or list(labels)
    codes = sorted(index, key=index.__getitem__) if isinstance(index, dict) else index
    names = [name, str(content.get("label", name))]
    return CubeDimension(names, codes, [labels.get(code, code) for code in codes])


def _labels(name: str, about: Mapping[str, object]) -> dict[str, Any]:
    labels: Any = about.get("labels", {})
    return {"label": labels[name]} if labels.get(name) else {}


def _scalars(content: object) -> Iterator[object]:
    """All names and values in parsed JSON."""
    if isinstance(content, dict):
        for name, entry in content.items():
            yield name
            yield from _scalars(entry)
    elif isinstance(content, list):
        for entry in content:
            yield from _scalars(entry)
    else:
        yield content
