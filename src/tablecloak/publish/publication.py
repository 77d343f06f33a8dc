"""What may leave the house: the released table, what readers may know, and a page on it.

All of it is made from the release, so that none of it can tell more than the release does. The
loss in particular does not appear: it is a sum of hidden values, one more equation for an intruder.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.cta.adjustment import Adjustment
from tablecloak.errors import InputError, VerificationError, listed, suggestion
from tablecloak.publish.leaks import find_leaks
from tablecloak.render.heat_map import add_heat_map, labels_of
from tablecloak.render.page import Page, Square
from tablecloak.storage import SECRET_MODE, write_text
from tablecloak.suppression.pattern import SuppressionPattern
from tablecloak.tables.formats import (
    write_frame,
    write_json_stat,
    write_px,
    write_sdmx_csv,
    write_workbook,
)
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.published import published_decimals

__all__ = ["public_report", "write_release"]

ENDINGS = {
    "csv": "csv",
    "parquet": "parquet",
    "excel": "xlsx",
    "sdmx-csv": "sdmx.csv",
    "json-stat": "json",
    "px": "px",
}
"""Formats of a release, and how the names of their files end."""

WRITERS = {
    "excel": write_workbook,
    "sdmx-csv": write_sdmx_csv,
    "json-stat": write_json_stat,
    "px": write_px,
}


def write_release(
    found: SuppressionPattern | Adjustment,
    folder: str | Path,
    *,
    title: str = "",
    formats: Sequence[str] = ("csv",),
    report: bool = True,
    withheld: Path | None = None,
) -> list[Path]:
    """Write a release to a folder that holds nothing secret.

    Parameters
    ----------
    found : SuppressionPattern or Adjustment
    folder : str or path
    title : str, default=""
    formats : sequence of str, default=("csv",)
        Of "csv", "parquet", "excel", "sdmx-csv", "json-stat", "px".
    report : bool, default=True
        Whether to add a page for readers.
    withheld : path, optional
        Private folder to which files are moved if a hidden value stands in one of them; by default
        they are removed.

    Returns
    -------
    list of Path

    Raises
    ------
    InputError
        For an unknown format.
    SolverError
        If adjusted values cannot be written with the digits of the true ones.
    VerificationError
        If a hidden value stands in one of the files; they are removed, or moved to `withheld`.
    """
    folder, table = Path(folder), found.problem.table
    for kind in formats:
        if kind not in ENDINGS:
            raise InputError(f"Unknown format {kind!r}.{suggestion(kind, ENDINGS)}")
    about = {"title": title, "measure": table.name, "unit": table.unit, **_method(found)}
    about |= {"cells": table.n_cells, "software": f"tablecloak {version('tablecloak')}"}
    released = found.release()
    about["decimals"] = published_decimals(
        released[table.name].dropna().to_numpy(dtype=np.float64), table.decimals
    )
    files = []
    for kind in formats:
        path = folder / f"table.{ENDINGS[kind]}"
        if kind in WRITERS:
            WRITERS[kind](released, about, path)
        else:
            write_frame(released, path)
        files.append(path)
    write_text(folder / "about.json", json.dumps(about, indent=2) + "\n")
    files.append(folder / "about.json")
    if report:
        page = public_report(title or table.name, released, table.hierarchies, about)
        page.write(folder / "report.html")
        files.append(folder / "report.html")
    _refuse_leaks(found, released, files, about, withheld)
    return files


def _method(found: SuppressionPattern | Adjustment) -> dict[str, object]:
    if isinstance(found, SuppressionPattern):
        return {
            "method": "cell suppression",
            "suppressed cells": int(found.suppressed.sum()),
            "reading": "Cells without a value are confidential, or protect others.",
        }
    return {
        "method": "controlled tabular adjustment",
        "reading": "Some values were changed to protect respondents; all totals add up.",
    }


def _refuse_leaks(
    found: SuppressionPattern | Adjustment,
    released: pd.DataFrame,
    files: list[Path],
    about: Mapping[str, Any],
    withheld: Path | None,
) -> None:
    """Take a release back if a hidden value stands in one of its files."""
    table = found.problem.table
    hidden = found.suppressed if isinstance(found, SuppressionPattern) else found.problem.sensitive
    leaks = find_leaks(files, table.values[hidden].tolist(), _structural(released, about))
    if not leaks:
        return
    where = listed(sorted({leak.file.name for leak in leaks}))
    for path in files:
        if withheld is None:
            path.unlink(missing_ok=True)
        else:
            withheld.mkdir(parents=True, exist_ok=True)
            path.chmod(SECRET_MODE)
            path.replace(withheld / path.name)
    left = "was removed" if withheld is None else f"was moved to {withheld.name}, inside"
    raise VerificationError(
        f"A hidden value was found in {where}; the release {left}. Look for it in the title, the "
        f"unit or the codes; if it stands there by chance, change them."
    )


def _structural(released: pd.DataFrame, about: Mapping[str, Any]) -> list[object]:
    """Numbers that everybody knows: published values, codes, names, and how many there are."""
    measure = str(about["measure"])
    dimensions = [name for name in released.columns if name not in (measure, "status")]
    codes = [released[name].unique() for name in dimensions]
    sizes = [len(known) for known in codes]
    counts = [len(released), *sizes, math.prod(sizes), *(size - 1 for size in sizes)]
    # One version of a format is named by its year.
    named = [str(value) for key, value in about.items() if key != "reading"]
    shown = released[measure].dropna().tolist()
    return [*shown, *(code for known in codes for code in known), *counts, *named, 2010]


def public_report(
    title: str,
    released: pd.DataFrame,
    hierarchies: Mapping[str, Hierarchy],
    about: Mapping[str, Any],
) -> Page:
    """Show a release to its readers, from what is released alone.

    Parameters
    ----------
    title : str
    released : pandas.DataFrame
        What `SuppressionPattern.release` or `Adjustment.release` returns: codes, the value, and
        for suppression a column ``status``.
    hierarchies : mapping of str to Hierarchy
    about : mapping of str to object
        What users are told: method, unit, how to read it.

    Returns
    -------
    Page
    """
    page = Page(title, secret=False)
    page.text(str(about.get("reading", "")))
    measure = str(about["measure"])
    dimensions = [name for name in released.columns if name not in (measure, "status")]
    keys = released[dimensions].reset_index(drop=True)
    values = released[measure].tolist()
    hidden = (
        released["status"].eq("suppressed").tolist()
        if "status" in released.columns
        else [False] * len(values)
    )
    if any(hidden):
        page.legend({"": "published", "suppressed": "confidential"})
    labels = labels_of(keys)

    def square(cell: int) -> Square:
        if hidden[cell]:
            return Square("x", "suppressed", f"{labels[cell]}: confidential")
        text = f"{float(values[cell]):,.{about.get('decimals', 0)}f}"
        return Square(text, "", f"{labels[cell]}: {text}")

    page.heading(measure + (f", {about['unit']}" if about.get("unit") else ""))
    add_heat_map(page, keys, hierarchies, square)
    page.heading("About")
    shown = {key: value for key, value in about.items() if key != "reading" and value != ""}
    page.table(pd.DataFrame({"": shown.keys(), " ": map(str, shown.values())}), index=False)
    return page
