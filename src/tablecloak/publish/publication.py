"""What may leave the office: the released table, what readers may know, and a page on it.

All of it is made from the release, so that none of it can tell more than the release does. The
loss in particular does not appear: it is a sum of hidden values, one more equation for an intruder.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags
from tablecloak.cta.result.adjustment import Adjustment
from tablecloak.errors import InputError, VerificationError, listed, suggestion
from tablecloak.publish.leaks import find_leaks, has_flags
from tablecloak.publish.public_page import public_report
from tablecloak.storage import SECRET_MODE, write_text
from tablecloak.suppression.result.pattern import SuppressionPattern
from tablecloak.tables.formats import ReleaseFormat, formats_holding
from tablecloak.tables.formats.layouts import LONG, Layout
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.published import published_decimals, released_rows

__all__ = ["ABOUT", "Leaving", "leaving_of_pattern", "write_leaving", "write_release"]

ABOUT = "about.json"
"""What readers are told of a release; shows that a folder holds one."""


@dataclass(frozen=True, eq=False)
class Leaving:
    """What leaves the office, and what its files are searched for.

    Parameters
    ----------
    released : pandas.DataFrame
        Codes, the value in the column `measure`, and for suppression the column ``status``.
    hierarchies : mapping of str to Hierarchy
    measure, unit : str
    decimals : int
        Digits behind the decimal point.
    n_cells : int
    method : mapping of str to object
        Name of the method, and how readers must understand the release.
    hidden : iterable of float
        Values that must not stand in any file.
    unlisted : str, default="empty"
        What readers are told of cells that the release does not list.
    """

    released: pd.DataFrame
    hierarchies: Mapping[str, Hierarchy]
    measure: str
    unit: str
    decimals: int
    n_cells: int
    method: Mapping[str, object]
    hidden: Iterable[float]
    unlisted: str = "empty"

    def about(self, title: str) -> dict[str, object]:
        """Return what is told of a release beside its values."""
        return {
            "title": title,
            "measure": self.measure,
            "unit": self.unit,
            **self.method,
            "cells": self.n_cells,
            "software": f"tablecloak {version('tablecloak')}",
            "decimals": self.decimals,
        }


def write_release(
    release: SuppressionPattern | Adjustment,
    folder: str | Path,
    *,
    title: str = "",
    formats: Sequence[str] = ("csv",),
    report: bool = True,
    withheld: Path | None = None,
    layout: Layout = LONG,
) -> list[Path]:
    """Write a release to a folder that holds nothing secret.

    Parameters
    ----------
    release : SuppressionPattern or Adjustment
    folder : str or path
    title : str, default=""
    formats : sequence of str, default=("csv",)
        Names in `tablecloak.tables.formats.FORMATS` of formats that hold releases.
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
        For an unknown format, or a wide layout that none of the formats has.
    SolverError
        If adjusted values cannot be written with the digits of the true ones.
    VerificationError
        If a hidden value stands in one of the files; they are removed, or moved to `withheld`.
    """
    return write_leaving(
        _leaving(release), Path(folder), title=title, formats=formats, report=report,
        withheld=withheld, layout=layout,
    )  # fmt: skip


def write_leaving(
    leaving: Leaving,
    folder: Path,
    *,
    title: str,
    formats: Sequence[str],
    report: bool,
    withheld: Path | None,
    layout: Layout = LONG,
) -> list[Path]:
    """Write what leaves; parameters, result and errors as those of `write_release`."""
    about = leaving.about(title)
    if layout.is_wide:
        about["confidential cells"] = layout.marker
    files = _write_tables(
        leaving, [_release_format(name) for name in formats], folder, about, layout
    )
    write_text(folder / ABOUT, json.dumps(about, indent=2) + "\n")
    files.append(folder / ABOUT)
    if report:
        page = public_report(
            title or leaving.measure, leaving.released, leaving.hierarchies, about, leaving.unlisted
        )
        page.write(folder / "report.html")
        files.append(folder / "report.html")
    _refuse_leaks(leaving, files, about, withheld)
    _refuse_transmissions(folder, files)
    return files


def _write_tables(
    leaving: Leaving,
    formats: Sequence[ReleaseFormat],
    folder: Path,
    about: Mapping[str, object],
    layout: Layout,
) -> list[Path]:
    """Write the table in all formats; those that know no wide layout keep their own."""
    released = layout.ordered(leaving.released, leaving.measure, leaving.hierarchies)
    wide = None
    if layout.is_wide:
        wide = layout.wide(released, leaving.measure, leaving.hierarchies)
        if not any(each.has_wide for each in formats):
            raise InputError(
                f"None of the formats {listed([each.name for each in formats])} has a wide layout. "
                f"Add csv or excel."
            )
    files = []
    for each in formats:
        files.append(folder / f"table{each.suffixes[0]}")
        if wide is not None and each.has_wide:
            each.write_wide(wide, about, files[-1])
        else:
            each.write_release(released, about, files[-1])
    return files


def _release_format(name: str) -> ReleaseFormat:
    formats = {each.name: each for each in formats_holding(ReleaseFormat)}
    if name not in formats:
        raise InputError(f"Unknown format {name!r}.{suggestion(name, formats)}")
    return formats[name]


def _leaving(release: SuppressionPattern | Adjustment) -> Leaving:
    """Return what leaves of a pattern or of an adjustment."""
    if isinstance(release, SuppressionPattern):
        return leaving_of_pattern(release.problem, release.suppressed)
    return _leaving_of(release.release(), release.problem, release.problem.sensitive, _method(None))


def leaving_of_pattern(problem: ProtectionProblem, suppressed: Flags) -> Leaving:
    """Return what leaves of a table if some of its cells are suppressed."""
    n_suppressed = int((suppressed & ~problem.table.rests).sum())
    released = released_rows(problem.table, suppressed)
    return _leaving_of(released, problem, suppressed, _method(n_suppressed))


def _method(n_suppressed: int | None) -> dict[str, object]:
    """Return what readers are told of the method; of an adjustment without a number of cells."""
    if n_suppressed is not None:
        return {
            "method": "cell suppression",
            "suppressed cells": n_suppressed,
            "reading": "Cells without a value are confidential, or protect others.",
        }
    return {
        "method": "controlled tabular adjustment",
        "reading": "Some values were changed to protect respondents; all totals add up.",
    }


def _leaving_of(
    released: pd.DataFrame,
    problem: ProtectionProblem,
    hidden: Flags,
    method: Mapping[str, object],
) -> Leaving:
    table = problem.table
    values = released[table.name].dropna().to_numpy(dtype=np.float64)
    return Leaving(
        released=released,
        hierarchies=table.hierarchies,
        measure=table.name,
        unit=table.unit,
        decimals=published_decimals(values, table.decimals),
        n_cells=len(released),
        method=method,
        hidden=table.values[hidden].tolist(),
    )


def _refuse_leaks(
    leaving: Leaving,
    files: list[Path],
    about: Mapping[str, Any],
    withheld: Path | None,
) -> None:
    """Remove or withhold a release if a hidden value stands in one of its files."""
    leaks = find_leaks(files, leaving.hidden, _structural(leaving.released, about))
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


def _refuse_transmissions(folder: Path, files: Sequence[Path]) -> None:
    """Remove a release if values with flags, for another authority, lie in its folder."""
    beside = [path for path in sorted(folder.iterdir()) if path.is_file() and path not in files]
    suspects = [path for path in beside if has_flags(path)]
    flagged = sorted({leak.file.name for leak in find_leaks(suspects, [])})
    if not flagged:
        return
    for path in files:
        path.unlink(missing_ok=True)
    raise VerificationError(
        f"{listed(flagged)} lies in the folder of the release and holds confidential values with "
        f"flags, as they are sent to other authorities; the release was removed. Move it out."
    )


def _structural(released: pd.DataFrame, about: Mapping[str, Any]) -> list[object]:
    """Numbers that everybody knows: published values, codes, names, and their counts."""
    measure = str(about["measure"])
    dimensions = [name for name in released.columns if name not in (measure, "status")]
    codes = [released[name].unique() for name in dimensions]
    sizes = [len(dimension) for dimension in codes]
    counts = [len(released), *sizes, math.prod(sizes), *(size - 1 for size in sizes)]
    # The name of a format's version contains a year.
    named = [str(value) for key, value in about.items() if key != "reading"]
    shown = released[measure].dropna().tolist()
    return [*shown, *(code for dimension in codes for code in dimension), *counts, *named, 2010]
