"""What may leave the office: the released table, what readers may know, and a page on it.

All of it is made from the release, so that none of it can tell more than the release does. The
loss in particular does not appear: it is a sum of hidden values, one more equation for an intruder.
"""

from __future__ import annotations

import json
import math
import shutil
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from tablecloak import showing
from tablecloak.errors import (
    InputError,
    TablecloakWarning,
    VerificationError,
    listed,
    suggestion,
)
from tablecloak.protection import required_way
from tablecloak.publish.figures import released_figures
from tablecloak.publish.leaks import find_leaks, has_flags
from tablecloak.publish.released_cells import ABOUT, FIGURES, TABLE
from tablecloak.render.heat_map import add_heat_map, labels_of
from tablecloak.render.page import Page, Square
from tablecloak.results import Result
from tablecloak.storage import (
    SECRET_MODE,
    private_folder,
    replacing,
    require_writable,
    write_text,
)
from tablecloak.tables.formats import (
    FrameFormat,
    ReleaseFormat,
    format_of,
    formats_holding,
    write_frame,
)
from tablecloak.tables.formats.layouts import LONG, Layout, hidden_cells
from tablecloak.tables.leaving import Leaving

CODES = "codes.csv"
"""Labels of the codes beside a release, where a format has no place for them."""

REPORT = "report.html"
"""The page for readers."""


def public_report(title: str, leaving: Leaving, about: Mapping[str, Any]) -> Page:
    """Show a release to its readers, from what is released alone.

    Parameters
    ----------
    title : str
    leaving : Leaving
    about : mapping of str to object
        What users are told: method, unit, how to read it.

    Returns
    -------
    Page
    """
    released = leaving.released
    page = Page(title, secret=False)
    page.text(str(about.get("reading", "")))
    measure = str(about["measure"])
    hidden = hidden_cells(released).tolist()
    if any(hidden):
        page.legend({"": "published", "suppressed": "x: confidential, or protects others"})
    if leaving.variables:
        page.heading(f"{measure.capitalize()} of {len(leaving.variables)} variables")
        units = [f"{name} in {unit}" if unit else name for name, unit in leaving.variables.items()]
        page.text(f"{', '.join(units)}.")
    else:
        page.heading(measure + (f", {about['unit']}" if about.get("unit") else ""))
    keys = released[leaving.dimensions].reset_index(drop=True)
    values = released[list(leaving.value_columns)].to_numpy().tolist()
    squares = _squares(keys, values, hidden, about.get("decimals", 0))
    add_heat_map(page, keys, leaving.hierarchies, squares, leaving.unlisted)
    page.heading("About")
    shown = {key: str(value) for key, value in about.items() if key != "reading" and value != ""}
    page.table(pd.Series(shown).to_frame("value"))
    return page


def _squares(
    keys: pd.DataFrame, values: list[list[Any]], hidden: list[bool], decimals: int
) -> Callable[[int], Square]:
    labels = labels_of(keys)

    def square(cell: int) -> Square:
        if hidden[cell]:
            return Square("x", "suppressed", f"{labels[cell]}: confidential")
        shown = [f"{float(value):,.{decimals}f}" for value in values[cell]]
        # Both ends of an interval are equal where the value itself is published.
        text = " to ".join(dict.fromkeys(shown))
        return Square(text, "", f"{labels[cell]}: {text}")

    return square


def write_release(
    release: Any,
    folder: str | Path,
    *,
    title: str = "",
    formats: Sequence[str | ReleaseFormat] = ("csv",),
    report: bool = True,
    withheld: Path | None = None,
    layout: Layout = LONG,
) -> list[Path]:
    """Write a release to a folder that holds nothing secret.

    Parameters
    ----------
    release : release
        Of any way to protect: a pattern, intervals, an adjusted or rounded table, and so on.
    folder : str or path
    title : str, default=""
    formats : sequence of str or ReleaseFormat, default=("csv",)
        Names in `tablecloak.tables.formats.FORMATS` of formats that hold releases, or a format
        itself, such as `OfficeWorkbook`: the release in the layout of an office's workbook.
    report : bool, default=True
        Whether to add a page for readers.
    withheld : path, optional
        Private folder for the files of a release that is not safe, and to which files are moved if
        a hidden value stands in one of them; by default there are none.

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
        If the release is not safe by its own verdict, such as a rounding to a small base, or a
        hidden value stands in one of the files.

    Warns
    -----
    TablecloakWarning
        If it is not proved against all insiders against whom it was to hold.
    """
    others: dict[str, Any] = {
        "title": title, "formats": formats, "report": report, "layout": layout
    }  # fmt: skip
    if not getattr(release, "is_safe", True):
        first, *_, advice = release.verdict().splitlines()
        kept = "Nothing was written; `withheld` names a private folder for its files"
        if withheld is not None:
            for path in write_audited(release, private_folder(withheld), **others):
                path.chmod(SECRET_MODE)
            kept = f"Its files are in {withheld.name}, inside"
        raise VerificationError(f"{first} {kept}. {advice}")
    if required_way(release, "written").open_insiders(release):
        warnings.warn(release.verdict().splitlines()[0], TablecloakWarning, stacklevel=2)
    return write_audited(release, folder, withheld=withheld, **others)


def write_audited(release: Any, folder: str | Path, **options: Any) -> list[Path]:
    """Write a release whose audit the caller has; `options` are those of `write_leaving`."""
    way = required_way(release, "written")
    leaving = way.leaving(release)
    if "derived" in way.sections and release.problem.table.figures:
        leaving = replace(leaving, figures=released_figures(release))
    return write_leaving(leaving, Path(folder), **options)


@showing.file.register
def write_file(release: Result, path: str | Path) -> Path:
    """Write a release to one file; its ending chooses the format."""
    kind, path = format_of(path, ReleaseFormat), Path(path)
    require_writable(path)
    with TemporaryDirectory() as folder:
        written, *_ = write_release(release, folder, formats=[kind.name], report=False)
        with replacing(path) as place:
            shutil.copyfile(written, place)
    return path


def write_leaving(
    leaving: Leaving,
    folder: Path,
    *,
    title: str = "",
    formats: Sequence[str | ReleaseFormat] = ("csv",),
    report: bool = True,
    withheld: Path | None = None,
    layout: Layout = LONG,
) -> list[Path]:
    """Write what leaves; parameters, result and errors as those of `write_release`."""
    about = leaving.about(title)
    if leaving.figures is not None:
        about["derived figures"] = len(leaving.figures)
    if layout.is_wide:
        about["confidential cells"] = layout.marker
    files = _write_tables(
        leaving, [_release_format(name) for name in formats], folder, about, layout
    )
    if leaving.figures is not None:
        files.append(folder / FIGURES)
        write_frame(leaving.figures, folder / FIGURES)
    write_text(folder / ABOUT, json.dumps(about, indent=2) + "\n")
    files.append(folder / ABOUT)
    if report:
        page = public_report(title or leaving.measure, leaving, about)
        page.write(folder / REPORT)
        files.append(folder / REPORT)
    _warn_of_older(folder, files)
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
    if len(leaving.value_columns) > 1:
        require_two_values(formats, layout)
    released = _ordered(leaving, layout)
    wide = None
    if layout.is_wide:
        wide = layout.wide(released, leaving.measure, leaving.hierarchies)
        if not any(each.has_wide for each in formats):
            raise InputError(
                f"None of the formats {listed([each.name for each in formats])} has a wide layout. "
                f"Add csv or excel."
            )
    files = []
    labels = leaving.labels
    for each in formats:
        files.append(folder / f"{TABLE}{each.suffixes[0]}")
        if wide is not None and each.has_wide:
            each.write_wide(wide, about, files[-1])
        else:
            parts = {**about, "labels": labels} if labels and each.has_labels else about
            each.write_release(released, parts, files[-1])
    if labels and not all(each.has_labels for each in formats):
        files.append(folder / CODES)
        rows = [(name, *entry) for name, of in labels.items() for entry in of.items()]
        write_frame(pd.DataFrame(rows, columns=["dimension", "code", "label"]), files[-1])
    return files


def require_two_values(formats: Sequence[str | ReleaseFormat], layout: Layout) -> None:
    """Refuse formats and layouts that have one value for each cell, where intervals have two.

    Raises
    ------
    InputError
        Names the first format, and which have room.
    """
    if layout.is_wide:
        raise InputError(
            "A wide layout has one value for each cell, and intervals two. Leave out the layout."
        )
    for kind in map(_release_format, formats):
        if not (kind.has_wide or isinstance(kind, FrameFormat)):
            raise InputError(
                f"The format {kind.name!r} has one value for each cell, and intervals two. Take "
                f"csv or excel."
            )


def _ordered(leaving: Leaving, layout: Layout) -> pd.DataFrame:
    """Return the released rows with totals where they are wanted."""
    names = leaving.value_columns
    keys = leaving.released.drop(columns=list(names[1:]))
    if len(names) == 1:
        return layout.ordered(keys, names[0], leaving.hierarchies)
    numbered = keys.assign(**{names[0]: range(len(keys))})
    order = layout.ordered(numbered, names[0], leaving.hierarchies)[names[0]]
    return leaving.released.iloc[order.to_numpy()].reset_index(drop=True)


def _release_format(name: str | ReleaseFormat) -> ReleaseFormat:
    if isinstance(name, ReleaseFormat):
        return name
    formats = {each.name: each for each in formats_holding(ReleaseFormat)}
    if name not in formats:
        by_ending = [kind.name for kind in formats.values() if f".{name}" in kind.suffixes]
        hint = f" Did you mean {by_ending[0]!r}?" if by_ending else suggestion(name, formats)
        raise InputError(f"Unknown format {name!r}.{hint}")
    return formats[name]


def _refuse_leaks(
    leaving: Leaving,
    files: list[Path],
    about: Mapping[str, Any],
    withheld: Path | None,
) -> None:
    """Remove or withhold a release if a hidden value stands in one of its files."""
    leaks = find_leaks(files, leaving.hidden, _structural(leaving, about))
    if not leaks:
        return
    first = {leak.file: str(leak) for leak in reversed(leaks)}
    for path in files:
        if withheld is None:
            path.unlink(missing_ok=True)
        else:
            withheld.mkdir(parents=True, exist_ok=True)
            path.chmod(SECRET_MODE)
            path.replace(withheld / path.name)
    left = "was removed" if withheld is None else f"was moved to {withheld.name}, inside"
    raise VerificationError(
        f"A hidden value was found in {listed(sorted(first.values()))}; the release {left}. See "
        f"what stands there. If it is another number that looks like it by chance, leave out this "
        f"file, or write the number with fewer digits."
    )


def _warn_of_older(folder: Path, files: Sequence[Path]) -> None:
    """Warn of files that an earlier release left in the folder: they would leave as well."""
    names = {FIGURES, CODES, REPORT}
    others = {path.name for path in folder.iterdir()} - {path.name for path in files}
    older = sorted(name for name in others if name in names or name.partition(".")[0] == TABLE)
    if older:
        warnings.warn(
            f"{folder}: files of an earlier release lie there: {listed(older)}. Remove them, or "
            f"take a new folder.",
            TablecloakWarning,
            stacklevel=4,
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


def _structural(leaving: Leaving, about: Mapping[str, Any]) -> list[object]:
    """Numbers that everybody knows: published values, codes, names, and their counts."""
    released = leaving.released
    dimensions = leaving.dimensions
    codes = [released[name].unique() for name in dimensions]
    sizes = [len(dimension) for dimension in codes]
    counts = [len(released), *sizes, math.prod(sizes), *(size - 1 for size in sizes)]
    # The name of a format's version contains a year.
    named = [str(value) for key, value in about.items() if key != "reading"]
    named += [text for labels in leaving.labels.values() for text in labels.values()]
    shown = [value for name in leaving.value_columns for value in released[name].dropna()]
    if leaving.figures is not None:
        shown += leaving.figures["value"].dropna().tolist()
        counts.append(len(leaving.figures))
    return [*shown, *(code for dimension in codes for code in dimension), *counts, *named, 2010]
