"""The contract of a file format: it reads what it wrote, and writes no hidden value."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd

from tablecloak.contracts.facts import (
    awkward_problem,
    check_facts,
    expect,
    first_line,
    problem_of_decimals,
)
from tablecloak.errors import TablecloakError
from tablecloak.examples import cox_rounded
from tablecloak.tables.cell_arrays import CellArrays
from tablecloak.tables.formats.format import Format, ProblemFormat, ReleaseFormat
from tablecloak.tables.formats.frame_format import FrameFormat
from tablecloak.tables.formats.layouts import Layout

ARRAYS = [name for name, kind in CellArrays.kinds().items() if kind.dtype is np.float64]
"""Attributes of a problem with one number for each cell."""

SECRETS = (7351829.0, 2946173.0)
"""Values of the hidden cells of the release, which no other content of a file resembles."""

SHOWN = (5318264.0, 4127395.0, 1234567.0)
"""Values of its published cells."""

GARBAGE = (b"", b"\x00\xff" * 40, b"no such file\n", b"PK\x03\x04rest", b"1;2\n3")
"""Contents that are not valid in any format."""


@contextmanager
def _place(file_format: Format, number: int = 0) -> Iterator[Path]:
    """Yield a path in a temporary folder with one of the format's endings."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / f"file{file_format.suffixes[number]}"


def it_says_what_it_is(file_format: Format) -> None:
    """A format has a name, endings in lower case, and a sentence on what it is and can hold."""
    expect(file_format.name, "The class variable `name` is missing.")
    expect(file_format.suffixes, "The class variable `suffixes` is empty: it needs an ending.")
    for suffix in file_format.suffixes:
        good = suffix.startswith(".") and suffix == suffix.lower()
        expect(good, f"The ending {suffix!r} has no dot or is not in lower case.")
    expect(file_format.holds, "`holds` is empty.")
    expect(
        first_line(type(file_format)).endswith("."),
        "The first line of its docstring is no sentence: it must end with a full stop.",
    )


def problems_come_back_to_the_last_bit(file_format: Format) -> None:
    """A problem that is written and read has the same numbers, statuses and relations."""
    if not isinstance(file_format, ProblemFormat):
        return
    for problem in (awkward_problem(), problem_of_decimals(), cox_rounded()):
        with _place(file_format) as path:
            file_format.write_problem(problem, path)
            back = file_format.read_problem(path, 0.0)
        changed = "differ after writing and reading."
        expect(np.array_equal(back.table.values, problem.table.values), f"The values {changed}")
        expect((back.status == problem.status).all(), f"The statuses {changed}")
        for name in ARRAYS:
            same = np.array_equal(getattr(back, name), getattr(problem, name))
            expect(same, f"The numbers in `{name}` {changed}")
        same = (back.table.relations != problem.table.relations).nnz == 0
        expect(same, f"The relations {changed}")
        same = np.array_equal(back.table.right_hand_side, problem.table.right_hand_side)
        expect(same, f"The right-hand sides {changed}")


def problems_are_for_their_owner_alone(file_format: Format) -> None:
    """Only its owner can read a file with a problem."""
    if not isinstance(file_format, ProblemFormat):
        return
    with _place(file_format) as path:
        file_format.write_problem(cox_rounded(), path)
        mode = path.stat().st_mode & 0o077
        expect(not mode, f"Others may open the file (mode {mode:o}).")


def other_files_are_refused(file_format: Format) -> None:
    """A file of another kind is refused with an error of this package."""
    if not isinstance(file_format, ProblemFormat):
        return
    for content in GARBAGE:
        with _place(file_format) as path:
            path.write_bytes(content)
            try:
                file_format.read_problem(path, 0.0)
            except TablecloakError:
                continue
            raise AssertionError(f"A file with the bytes {content[:12]!r} was read.")


def records_come_back(file_format: Format) -> None:
    """Rows and columns come back as they were written, and codes that are asked for as text."""
    if not isinstance(file_format, FrameFormat):
        return
    frame = pd.DataFrame(
        {
            "code": ["007", "1e5", "12"],
            "words": ["a;b", ' c"d', "e\u00e9"],
            "value": [0.1, 1 / 3, -7.0],
        }
    )
    with _place(file_format) as path:
        file_format.write(frame, path)
        back = file_format.read(path, ("code", "words"))
        names = file_format.column_names(path)
        head = file_format.head(path, 2)
    expect(list(back.columns) == list(frame.columns) == names, f"Columns are {names}.")
    for name in frame:
        same = back[name].tolist() == frame[name].tolist()
        expect(same, f"Column {name!r} came back as {back[name].tolist()}.")
    expect(len(head) == 2, f"`head` returned {len(head)} rows instead of 2.")


def _release() -> pd.DataFrame:
    total, first, second = SHOWN
    # In an array of pandas a missing value is a mask; the number below it may still be the value.
    data = np.array([total, SECRETS[0], first, second, SECRETS[1]])
    turnover = pd.arrays.FloatingArray(data, np.isin(data, SECRETS))
    return pd.DataFrame(
        {
            "region": ["Total", "N", "N", "S", "S"],
            "branch": ["Total", "a", "b", "a", "b"],
            "turnover": turnover,
            "status": ["published", "suppressed", "published", "published", "suppressed"],
        }
    )


ABOUT = {
    "measure": "turnover",
    "title": "Turnover by region and branch",
    "unit": "EUR",
    "decimals": 0,
    "reading": "x stands for a confidential value.",
}
"""Information for readers of the release."""


def _texts(file_format: Format, path: Path) -> list[bytes]:
    content = path.read_bytes()
    return [content, *(part.content for part in file_format.parts(path, content))]


def _holds(contents: list[bytes], value: float) -> bool:
    """Whether any content has a value, in digits or as eight bytes."""
    spellings = [str(int(value)).encode(), struct.pack("<d", value), struct.pack("<q", int(value))]
    return any(spelling in content for content in contents for spelling in spellings)


def releases_show_published_values_and_no_others(file_format: Format) -> None:
    """A release contains every published value, as digits or as a number, and no hidden one."""
    if not isinstance(file_format, ReleaseFormat):
        return
    with _place(file_format) as path:
        file_format.write_release(_release(), ABOUT, path)
        contents = _texts(file_format, path)
    if not isinstance(file_format, FrameFormat) or not file_format.is_typed:
        for value in SHOWN:
            expect(_holds(contents, value), f"The published value {value:.0f} is missing.")
    for value in SECRETS:
        expect(not _holds(contents, value), f"The hidden value {value:.0f} is in the file.")


def wide_releases_show_published_values_and_no_others(file_format: Format) -> None:
    """A release with a dimension along the columns has a marker in place of each hidden value."""
    if not isinstance(file_format, ReleaseFormat) or not file_format.has_wide:
        return
    wide = Layout("wide", "branch", "confid").wide(_release(), "turnover", {})
    with _place(file_format) as path:
        file_format.write_wide(wide, ABOUT, path)
        contents = _texts(file_format, path)
    for value in SHOWN:
        expect(_holds(contents, value), f"The published value {value:.0f} is missing.")
    for value in SECRETS:
        expect(not _holds(contents, value), f"The hidden value {value:.0f} is in the file.")
    expect(any(b"confid" in content for content in contents), "No marker stands in the file.")


def releases_repeat_to_the_byte(file_format: Format) -> None:
    """The same release is written as the same bytes at any time."""
    if not isinstance(file_format, ReleaseFormat):
        return
    written = []
    for _ in range(2):
        with _place(file_format) as path:
            file_format.write_release(_release(), ABOUT, path)
            written.append(path.read_bytes())
    expect(written[0] == written[1], "The second file differs from the first.")


FORMAT = (
    it_says_what_it_is,
    problems_come_back_to_the_last_bit,
    problems_are_for_their_owner_alone,
    other_files_are_refused,
    records_come_back,
    releases_show_published_values_and_no_others,
    wide_releases_show_published_values_and_no_others,
    releases_repeat_to_the_byte,
)
"""Facts that every format must satisfy, each a function of the format. Facts on problems, records
or releases apply to formats that hold them."""


def check_format(file_format: Format) -> None:
    """Check a format by writing and reading the problems, records or releases that it holds.

    Parameters
    ----------
    file_format : Format
        A format of your own. It need not be registered.

    Raises
    ------
    AssertionError
        With the first fact that does not hold, and what was read or written instead.

    Examples
    --------
    >>> from tablecloak.contracts import check_format
    >>> from tablecloak.tables.formats.format import FORMATS
    >>> check_format(FORMATS.build("csv"))
    """
    check_facts(file_format, f"The format {getattr(file_format, 'name', '?')!r}", FORMAT)
