"""From the records of an output to its place in a project: checked alone, then with all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from tablecloak.arrays import Integers
from tablecloak.safe.appetite import Appetite
from tablecloak.safe.figures import Figures
from tablecloak.safe.joint.finding import Finding, why_hidden
from tablecloak.safe.other.kind import Asked, Checked, Kind
from tablecloak.safe.outcome import Outcome, Reason
from tablecloak.safe.output import Output

Place = tuple[int, int]


class Room(Protocol):
    """What a kind of output needs to know of a project."""

    appetite: Appetite

    def positions(self, index: pd.Index) -> Integers:
        """Return where records stand."""

    def renumbered(self, columns: Sequence[pd.Series[Any]]) -> list[Reason]:
        """Return reasons where columns have other values than before."""

    @property
    def contributors(self) -> Integers | None:
        """Code of the contributor of each record."""

    def findings(self, figures: Sequence[Figures]) -> tuple[list[Finding], list[str]]:
        """Return what figures disclose with all outputs so far."""

    def record(
        self,
        kind: str,
        command: str,
        outcome: Outcome,
        *,
        frames: Sequence[pd.DataFrame] = (),
        figures: Sequence[Figures] = (),
        files: Sequence[Path] = (),
        properties: dict[str, Any] | None = None,
        cells: dict[str, list[list[int]]] | None = None,
    ) -> Output:
        """Add an output."""


def ask(room: Room, kind: Kind, frame: pd.DataFrame, command: str) -> Output:
    """Check an output, alone and with all earlier ones, and record it.

    Parameters
    ----------
    room : Room
    kind : Kind
    frame : DataFrame
        A row for each record, with the index that records have in the project.
    command : str
        The call as the researcher would write it.
    """
    positions = room.positions(frame.index)
    reasons = room.renumbered([frame.iloc[:, at] for at in range(frame.shape[1])])
    codes = room.contributors
    contributor = positions if codes is None else codes[positions]
    checked = kind.check(Asked(frame, positions, contributor, room.appetite))
    checked = jointly(room, replace(checked, reasons=(*reasons, *checked.reasons)))
    return record(room, kind, command, checked)


def record(
    room: Room, kind: Kind, command: str, checked: Checked, files: Sequence[Path] = ()
) -> Output:
    """Add what was checked to a project."""
    return room.record(
        kind.label,
        command,
        checked.outcome,
        frames=checked.frames,
        figures=[counts.shown(checked.hidden)[0] for counts in checked.counts],
        files=files,
        properties=checked.properties,
        cells={rule: [list(at) for at in places] for rule, places in checked.broken.items()},
    )


def jointly(room: Room, checked: Checked) -> Checked:
    """Hide figures until nothing follows from them and earlier outputs together.

    A computation that leads to a small group is broken by hiding one of its figures, the smallest;
    what cannot be hidden makes the output fail.
    """
    if not checked.counts:
        return checked
    while True:
        shown = [counts.shown(checked.hidden) for counts in checked.counts]
        found, undecided = room.findings([figures for figures, _ in shown])
        chosen: dict[Place, Finding] = {}
        stuck: list[str] = []
        for finding in found:
            places = [shown[which][1][figure] for which, figure in finding.asked]
            can = [place for place in places if place is not None]
            if not can:
                stuck.append(finding.text)
            elif not set(can) & chosen.keys():
                smallest = min(can, key=lambda at: (_size(checked, at), at))
                chosen[smallest] = finding
        for place, finding in chosen.items():
            checked = checked.hiding([place], "differencing", why_hidden([finding]))
        if chosen:
            continue
        reasons = tuple(Reason("fail", "differencing", text) for text in dict.fromkeys(stuck))
        return replace(
            checked,
            reasons=(*checked.reasons, *reasons),
            notes=(*checked.notes, *undecided),
        )


def _size(checked: Checked, place: Place) -> float:
    return float(checked.frames[0].to_numpy(dtype=np.float64)[place])
