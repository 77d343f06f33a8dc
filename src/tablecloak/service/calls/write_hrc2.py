"""A hierarchy from a table of correspondence, with the arguments of `write_hrc2` of rtauargus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import pandas as pd
from pydantic import Field
from typing_extensions import TypedDict

from tablecloak.graph import parents_first
from tablecloak.service.answers import Columns, frame_of
from tablecloak.service.call import CALLS, Call, CallQuestion
from tablecloak.service.request import RequestError


class HierarchyLines(TypedDict):
    """Lines of the file."""

    lines: list[str]


@CALLS.register
@dataclass(frozen=True, kw_only=True)
class WriteHrc2(Call):
    """Make the text of an .hrc file, with the arguments of `write_hrc2` of rtauargus."""

    name: ClassVar[str] = "write_hrc2"

    corr_table: Annotated[
        Columns, Field(description="One column for each level, from the coarsest to the finest.")
    ]
    sort_table: Annotated[bool, Field(description="Whether to sort the rows first.")] = False
    rev: Annotated[bool, Field(description="Whether the finest level comes first.")] = False
    hier_lead_string: Annotated[
        str, Field(min_length=1, max_length=1, description="Stands once for each level below.")
    ] = "@"
    adjust_unique_roots: Annotated[
        bool, Field(description="Not needed here: a code may have a single one below it.")
    ] = True
    add_char: Annotated[str, Field(description="Not needed here, as adjust_unique_roots.")] = "ZZZ"

    def answer(self, question: CallQuestion) -> HierarchyLines:
        """Return the lines of the file, without the total."""
        frame = frame_of(self.corr_table, "corr_table")
        frame = frame[list(frame.columns)[::-1]] if self.rev else frame
        if frame[frame.columns[-1]].isna().any():
            raise RequestError(
                f"column {frame.columns[-1]!r} lacks codes. Fill in those of the level above.",
                "corr_table",
            )
        # A code that is left out is that of the row above.
        frame = frame.ffill()
        if frame.isna().to_numpy().any():
            raise RequestError("the first row lacks codes. Fill them in.", "corr_table")
        frame = frame.astype(str)
        frame = frame.sort_values(list(frame.columns)) if self.sort_table else frame
        if frame.shape[1] > 1 and len(set(frame[frame.columns[0]])) == 1:
            frame = frame[frame.columns[1:]]
        return {"lines": _lines(frame, self.hier_lead_string)}


def _lines(frame: pd.DataFrame, lead: str) -> list[str]:
    """Return each code once, below its parent.

    Raises
    ------
    RequestError
        If a code has two parents, or begins with the lead.
    """
    parents: dict[str, tuple[str, ...]] = {}
    below: dict[tuple[str, ...], list[tuple[str, ...]]] = {(): []}
    for row in frame.itertuples(index=False, name=None):
        path: tuple[str, ...] = ()
        for code in row:
            if path and path[-1] == code:
                continue
            if code.startswith(lead):
                raise RequestError(f"code {code!r} begins with the lead {lead!r}.", "corr_table")
            if code not in parents:
                parents[code] = path
                below.setdefault(path, []).append((*path, code))
            elif parents[code] != path:
                known = " > ".join(parents[code]) or "the total"
                raise RequestError(
                    f"code {code!r} lies below {known} and below {' > '.join(path) or 'the total'}."
                    f" Order the columns from the coarsest to the finest.",
                    "corr_table",
                )
            path = (*path, code)
    walk = parents_first(below[()], below)
    return [lead * depth + path[-1] for path, depth in walk]
