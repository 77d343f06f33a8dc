"""The bundle of a project: outputs, what was found of them, and checksums, in one folder.

The folder is read by SACRO-Viewer: ``results.json`` and the folder of checksums have the form that
ACRO 1.0 writes (``acro/record.py``). What the viewer has no place for stands in ``checks.json``.

The files of outputs alone may leave. Findings, the page and the workbook are for the checker: they
say how many cells and records broke a rule, also of lines that are in no file.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from tablecloak.errors import InputError, listed
from tablecloak.safe.appetite import Appetite
from tablecloak.safe.check_page import BundleFile, check_page
from tablecloak.safe.output import Output
from tablecloak.storage import checksum, replacing_folder
from tablecloak.tables.formats.spreadsheet_text import marked

RESULTS = "results.json"
"""What SACRO-Viewer opens."""
WORKBOOK = "results.xlsx"
CHECKS = "checks.json"
"""What was found of each output. Without a key ``version``, so that the viewer passes it over."""
CONFIG = "config.json"
"""The limits; the viewer shows them beside the outputs."""
PAGE = "check.html"
DECISIONS = "decisions.json"
CHECKSUMS = "checksums"
"""Folder with a text file for each file of the bundle: its SHA-256 in hexadecimal digits."""

OWN_FILES = frozenset({RESULTS, WORKBOOK, CHECKS, CONFIG, PAGE, DECISIONS, CHECKSUMS})

_PLAIN = re.compile(r"[\w][\w .()+,-]{0,120}")


ACRO_VERSION = "1.0.2"
"""The release of ACRO whose results.json this is. The viewer refuses what is older than 0.4; ACRO's
own reader takes its very release alone."""


def require_file_name(name: str, what: str, remedy: str) -> str:
    """Return a name that can stand in a bundle.

    Raises
    ------
    InputError
        If it would lead out of the folder, or cannot be a name on every system.
    """
    if not _PLAIN.fullmatch(name) or name.endswith((" ", ".")):
        raise InputError(
            f"{what} {name!r} cannot be the name of a file: use letters, digits, spaces, '_', '-' "
            f"and '.'; {remedy}"
        )
    return name


BundleFormat = Literal["json", "xlsx"]


def write_bundle(
    outputs: Mapping[str, Output],
    appetite: Appetite,
    folder: str | Path,
    *,
    data: str = "",
    form: BundleFormat = "json",
    overwrite: bool = False,
) -> Path:
    """Write all outputs of a project, as they would leave, for the checker.

    Parameters
    ----------
    outputs : mapping of str to Output
    appetite : Appetite
    folder : str or Path
        Folder that is made. It appears in one step, complete.
    data : str, default=""
        What the checker is told of the data.
    form : {"json", "xlsx"}, default="json"
        With "xlsx" there is a workbook as well, as ACRO writes it.
    overwrite : bool, default=False
        Whether a bundle that nobody has decided on yet may be replaced.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    InputError
        If there is nothing to write, the folder exists, a file may not leave, or a name cannot be
        that of a file.
    """
    folder = Path(folder)
    if form not in ("json", "xlsx"):
        raise InputError(f"format {form!r} is not known: choose 'json' or 'xlsx'")
    if not outputs:
        raise InputError("the project has no outputs: there is nothing to be checked")
    stale = _stale(folder, overwrite)
    members = _members(outputs, appetite)
    with replacing_folder(folder) as new:
        for name, output in outputs.items():
            _write_members(output, members[name], new)
        _write_json(new / RESULTS, _results(outputs, members))
        _write_json(new / CHECKS, _checks(outputs, members, appetite, data))
        _write_json(new / CONFIG, appetite.model_dump(mode="json"))
        if form == "xlsx":
            _write_workbook(outputs, members, new / WORKBOOK)
        shown = {name: _shown(members[name], new) for name in outputs}
        page = check_page(outputs, shown, appetite, data)
        (new / PAGE).write_text(page, encoding="utf-8", newline="\n")
        digits = {path.name: checksum(path) for path in sorted(new.iterdir())}
        (new / CHECKSUMS).mkdir()
        for name, text in digits.items():
            (new / CHECKSUMS / f"{name}.txt").write_text(text, encoding="utf-8")
        # A checker is somebody else: the bundle is as readable as the folder it lies in.
        new.chmod(folder.absolute().parent.stat().st_mode & 0o777)
    for name in stale:
        if name not in {path.name for path in _expected(folder)}:
            (folder / name).unlink()
    return folder


# -- the folder ---------------------------------------------------------------------------


def _stale(folder: Path, overwrite: bool) -> list[str]:
    """Return the files of a bundle that will be replaced."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return []
    if not overwrite:
        raise InputError(
            f"{folder} exists already: choose another folder, or allow it to be replaced with "
            "overwrite=True"
        )
    if (folder / DECISIONS).exists():
        raise InputError(
            f"{folder} has decisions of a checker ({DECISIONS}), which would no longer fit: "
            "choose another folder"
        )
    known = {path.name for path in _expected(folder)}
    others = sorted(path.name for path in folder.iterdir() if path.name not in known)
    if not (folder / CHECKSUMS).is_dir() or others:
        raise InputError(
            f"{folder} holds what is not of a bundle ({listed(others) or 'no checksums'}), and "
            "would lose it: choose another folder"
        )
    return [path.name for path in folder.iterdir() if path.is_file()]


def _expected(folder: Path) -> list[Path]:
    """Return what belongs to the bundle in a folder: all that has a checksum, and the checksums."""
    listed_in = folder / CHECKSUMS
    return [listed_in, *(folder / path.name.removesuffix(".txt") for path in listed_in.glob("*"))]


def _write_json(path: Path, content: object) -> None:
    text = json.dumps(content, indent=2, ensure_ascii=False, default=_plain_value)
    path.write_text(text + "\n", encoding="utf-8", newline="\n")


def _plain_value(value: Any) -> Any:
    """Return a number of numpy as Python's own, anything else as text."""
    return value.item() if isinstance(value, np.generic) else str(value)


# -- files of outputs ---------------------------------------------------------------------


def _members(outputs: Mapping[str, Output], appetite: Appetite) -> dict[str, list[BundleFile]]:
    """Return the files of each output; no two have names that some system takes for the same."""
    taken = {name.casefold() for name in OWN_FILES}
    members: dict[str, list[BundleFile]] = {}
    for name, output in outputs.items():
        require_file_name(name, "the output", "give it another name with rename_output")
        made = []
        for number, frame in enumerate(output.leaving):
            made.append(BundleFile(f"{name}_{number}.csv", frame))
        for path in output.files:
            made.append(BundleFile(_copied_name(path, name, taken, appetite)))
            if path in output.drawn and output.drawn[path] != checksum(path):
                raise InputError(
                    f"{path}: the picture of the output {name!r} was changed after it was drawn of "
                    f"what was judged. Ask for it again under another filename, and take this "
                    f"output back with remove_output({name!r})"
                )
        # The viewer refuses outputs without a file.
        made = made or [BundleFile(f"{name}.txt")]
        for member in made:
            if member.name.casefold() in taken:
                raise InputError(
                    f"the output {name!r} needs a file {member.name!r}, which is there already: "
                    "give the output another name with rename_output"
                )
            taken.add(member.name.casefold())
        members[name] = made
    return members


def _copied_name(path: Path, output: str, taken: set[str], appetite: Appetite) -> str:
    """Return under which name a file of the researcher is copied."""
    if blocked(path, appetite):
        raise InputError(
            f"{path}: files in {path.suffix} may not leave, because they can hold the data they "
            f"were drawn from (blocked_extensions). Save it in another format, such as .png, or "
            f"take the output back with remove_output({output!r})"
        )
    if not path.is_file():
        raise InputError(
            f"{path}: the file of the output {output!r} is not there any more. Make it again, or "
            f"take the output back with remove_output({output!r})"
        )
    name = require_file_name(path.name, "the file", "rename the file")
    return name if name.casefold() not in taken else f"{output}_{name}"


def blocked(path: Path, appetite: Appetite) -> bool:
    """Whether files of this kind may not leave."""
    return any(
        path.name.casefold().endswith("." + ending.casefold().lstrip("."))
        for ending in appetite.blocked_extensions
    )


def _write_members(output: Output, members: list[BundleFile], folder: Path) -> None:
    copied = iter(output.files)
    for member in members:
        if member.frame is not None:
            text = released(member.frame).to_csv(lineterminator="\n")
            (folder / member.name).write_text(text, encoding="utf-8", newline="\n")
        elif output.files:
            shutil.copyfile(next(copied), folder / member.name)
        else:
            # What speaks against an output is for the checker; this file may leave.
            said = f"{output.name}: {output.kind} without figures\n"
            (folder / member.name).write_text(said, encoding="utf-8", newline="\n")


def _shown(members: list[BundleFile], folder: Path) -> list[BundleFile]:
    """Return the files of an output for the page, with what was written."""
    return [
        replace(
            member,
            digits=checksum(folder / member.name),
            content=b"" if member.frame is not None else (folder / member.name).read_bytes(),
        )
        for member in members
    ]


def released(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame as it is written: no text is a formula, whole numbers have no decimals."""
    frame = frame.copy()
    for axis in ("index", "columns"):
        labels = getattr(frame, axis)
        names = [marked(name) for name in labels.names]
        if isinstance(labels, pd.MultiIndex):
            tuples = [tuple(marked(str(part)) for part in label) for label in labels]
            setattr(frame, axis, pd.MultiIndex.from_tuples(tuples, names=names))
        else:
            plain = [marked(label) for label in labels]
            setattr(frame, axis, pd.Index(plain, name=names[0], dtype=object))
    columns = [_written(frame.iloc[:, at]) for at in range(frame.shape[1])]
    written = pd.concat(columns, axis=1) if columns else frame
    written.columns = frame.columns
    return written


def _written(column: pd.Series[Any]) -> pd.Series[Any]:
    if pd.api.types.is_float_dtype(column.dtype):
        known = column.dropna().to_numpy(dtype=np.float64)
        if len(known) and np.isfinite(known).all() and (known == np.rint(known)).all():
            # Larger whole numbers are not all known as floats, and are left as they are.
            return column.astype("Int64") if np.abs(known).max() < 2**53 else column
        return column
    return column if pd.api.types.is_numeric_dtype(column.dtype) else column.map(marked)


# -- what is told of outputs --------------------------------------------------------------


def _results(
    outputs: Mapping[str, Output], members: Mapping[str, list[BundleFile]]
) -> dict[str, object]:
    """Return what ACRO writes and the viewer reads."""
    told: dict[str, object] = {}
    for name, output in outputs.items():
        told[name] = {
            "uid": name,
            "status": output.outcome.status,
            "type": output.kind,
            "properties": {"method": output.kind} | output.properties,
            "files": [
                {"name": member.name, "sdc": _sdc(output, member, number)}
                for number, member in enumerate(members[name])
            ],
            "outcome": _outcome(output.found),
            "command": output.command,
            "summary": output.outcome.summary,
            "timestamp": output.timestamp,
            "comments": list(output.comments),
            "exception": output.exception,
            "fair": _fair(output),
        }
    from tablecloak import __version__

    tool = {
        "@type": "SoftwareApplication",
        "name": "tablecloak",
        "url": "https://github.com/tablecloak/tablecloak",
        "version": __version__,
    }
    return {"version": ACRO_VERSION, "tool": tool, "results": told}


ACRO_METHODS: dict[Literal["suppression", "rounding"] | None, str] = {
    "suppression": "suppress", "rounding": "round", None: "none",
}  # fmt: skip
"""What ACRO calls a way of protection."""


def _fair(output: Output) -> dict[str, str]:
    """Return how an output was checked, in the words of ACRO."""
    rules = sorted({reason.rule for reason in output.outcome.reasons} | output.cells.keys())
    return {
        "mitigation": ACRO_METHODS[output.properties.get("protect")],
        "checks": ", ".join(rules) or "none broken",
    }


def _sdc(output: Output, member: BundleFile, number: int) -> dict[str, object]:
    """Return how many cells each rule found, and where they stand in the file.

    The viewer colours the square in line x + 1 and column y + 2 of the file, without its first
    line; so further lines and columns of labels are added to the places.
    """
    if number or member.frame is None:
        return {"summary": {}, "cells": {}}
    lines = member.frame.iloc[:0].to_csv(lineterminator="\n").count("\n")
    down, right = max(lines, 1) - 1, member.frame.index.nlevels - 1
    cells = {
        rule: [[int(row) + down, int(column) + right] for row, column in places]
        for rule, places in output.places.items()
    }
    return {"summary": {rule: len(places) for rule, places in cells.items()}, "cells": cells}


def _outcome(cells: pd.DataFrame) -> dict[str, dict[str, str]]:
    """Return a frame as objects in JSON: by column, then by row."""
    rows = _unique([_label(label) for label in cells.index])
    columns = _unique([_label(label) for label in cells.columns])
    return {
        column: dict(zip(rows, map(str, cells.iloc[:, at]), strict=True))
        for at, column in enumerate(columns)
    }


def _label(label: Any) -> str:
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def _unique(labels: list[str]) -> list[str]:
    """Return labels with a number behind those that were there before."""
    seen: dict[str, int] = {}
    told = []
    for label in labels:
        seen[label] = seen.get(label, 0) + 1
        told.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
    return told


def _checks(
    outputs: Mapping[str, Output],
    members: Mapping[str, list[BundleFile]],
    appetite: Appetite,
    data: str,
) -> dict[str, object]:
    """Return everything that was found, without what only the inside may know."""
    from tablecloak import __version__

    told = {
        name: {
            "kind": output.kind,
            "status": output.outcome.status,
            "reasons": [asdict(reason) for reason in output.outcome.reasons],
            "notes": list(output.outcome.notes),
            "cells": output.places,
            "comments": list(output.comments),
            "exception": output.exception,
            "files": [member.name for member in members[name]],
        }
        for name, output in outputs.items()
    }
    return {
        "tablecloak": __version__,
        "appetite": appetite.model_dump(mode="json"),
        "data": data,
        "outputs": told,
    }


# -- the workbook -------------------------------------------------------------------------


def _write_workbook(
    outputs: Mapping[str, Output], members: Mapping[str, list[BundleFile]], path: Path
) -> None:
    """Write a sheet that describes all outputs, and one for each with frames."""
    from tablecloak.extras import required

    openpyxl = required("openpyxl", "Workbooks")
    book = openpyxl.Workbook()
    about = book.active
    about.title = "description"
    about.append(["Sheet", "Command", "Summary"])
    titles = _sheet_titles([name for name in outputs if outputs[name].frames])
    for name, title in titles.items():
        output = outputs[name]
        about.append([title, marked(output.command), marked(output.outcome.summary)])
        sheet = book.create_sheet(title)
        sheet.append(["Command", marked(output.command)])
        sheet.append(["Summary", marked(output.outcome.summary)])
        frames = [output.found] if output.found.size else []
        frames += [member.frame for member in members[name] if member.frame is not None]
        for frame in frames:
            sheet.append([])
            for line in _lines(released(frame)):
                sheet.append(line)
    book.save(path)


def _sheet_titles(names: list[str]) -> dict[str, str]:
    """Return titles that Excel takes: at most 31 letters, no two the same."""
    titles: dict[str, str] = {}
    taken = {"description"}
    for name in names:
        title, number = name[:31], 1
        while title.casefold() in taken:
            number += 1
            title = f"{name[: 30 - len(str(number))]}_{number}"
        taken.add(title.casefold())
        titles[name] = title
    return titles


def _lines(frame: pd.DataFrame) -> list[list[Any]]:
    """Return a frame as lines of a sheet, labels included, gaps empty."""
    left = frame.index.nlevels
    head = [
        [
            *([""] * left),
            *(
                _label(label[level] if isinstance(label, tuple) else label)
                for label in list[Any](frame.columns)
            ),
        ]
        for level in range(frame.columns.nlevels)
    ]
    body = [
        [
            *map(str, label if isinstance(label, tuple) else (label,)),
            *(None if pd.isna(value) else _cell(value) for value in row),
        ]
        for label, row in zip(list[Any](frame.index), frame.itertuples(index=False), strict=True)
    ]
    return head + body


def _cell(value: Any) -> Any:
    """Return a value that a sheet can hold."""
    plain = value.item() if isinstance(value, np.generic) else value
    return plain if isinstance(plain, int | float | str | bool) else str(plain)
