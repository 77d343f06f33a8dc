"""The data of the last check: records and cells as they were read."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from tablecloak.argus.gate import Evidence, Key
from tablecloak.argus.lines import Rule, Specification
from tablecloak.argus.metadata import Metadata
from tablecloak.argus.tables import Cells
from tablecloak.tables.hierarchy import Hierarchy

__all__ = ["of_cells", "of_records"]

SUMS = ["count", "weighted", "total", "value"]


def of_records(
    frame: pd.DataFrame,
    wanted: Specification,
    rules: list[Rule],
    metadata: Metadata,
    trees: Mapping[str, Hierarchy],
    is_count: bool,
    safe_codes: Mapping[str, tuple[str, ...]],
) -> Evidence:
    """Return one contribution for each record."""
    names, n = list(trees), len(frame)
    codes = _numbered(frame, names)

    def column(name: str) -> np.ndarray:
        return frame[metadata.variable(name).name].to_numpy(dtype=np.float64)

    value = np.ones(n) if is_count else column(wanted.response)
    size = column(wanted.shadow) if wanted.shadow else value
    is_weighted = any(rule.name == "WGT" and rule.numbers[0] for rule in rules)
    weight = column(metadata.with_tag("WEIGHT")[0].name) if is_weighted else np.ones(n)
    holding, request = metadata.with_tag("HOLDING"), metadata.with_tag("REQUEST")
    asked = np.zeros(n, dtype=np.int64)
    if request and any(rule.name == "REQ" for rule in rules):
        letters = frame[request[0].name].str.strip()
        for code, mark in enumerate(request[0].tags["REQUEST"], start=1):
            asked[(letters == mark).to_numpy()] = code
    units = codes.assign(
        size=size,
        weight=weight,
        request=asked,
        holding=frame[holding[0].name].to_numpy() if holding else np.arange(n),
    )
    cells = codes.assign(count=1.0, weighted=weight, total=size * weight, value=value * weight)
    return Evidence(names, trees, units, cells, False, set(), safe_codes)


def of_cells(
    cells: Cells, mode: str, unsafe: set[Key], safe_codes: Mapping[str, tuple[str, ...]]
) -> Evidence:
    """Return the largest contributions of each cell."""
    names, frame = cells.names, cells.frame
    if mode.startswith("1"):
        frame = frame[cells.is_leaf]
    if not cells.frequency:
        empty = pd.DataFrame(
            columns=[*range(len(names)), "size", "weight", "request", "holding", *SUMS]
        )
        return Evidence(names, cells.trees, empty, empty, True, unsafe, safe_codes)
    count = frame[cells.frequency].to_numpy(dtype=np.float64)
    value = frame[cells.response.name].to_numpy(dtype=np.float64)
    total = frame[cells.shadow].to_numpy(dtype=np.float64) if cells.shadow else value
    codes = _numbered(frame, names)
    units = [
        codes.assign(size=frame[top].fillna(0.0), weight=1.0, request=0, holding="")
        for top in cells.largest
    ]
    none = codes.iloc[:0].assign(size=0.0, weight=1.0, request=0, holding="")
    sums = codes.assign(count=count, weighted=count, total=total, value=value)
    return Evidence(
        names,
        cells.trees,
        pd.concat([none, *units], ignore_index=True),
        sums,
        not mode.startswith("1"),
        unsafe,
        safe_codes,
    )


def _numbered(frame: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Codes in columns 0, 1, ...: a dimension may have any name."""
    return frame[names].set_axis(range(len(names)), axis=1)
