"""From a table that was asked for to what may leave of it, and its place in a project."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak.arrays import Flags, Integers
from tablecloak.cta.rounding.controlled import controlled_rounding
from tablecloak.errors import InputError
from tablecloak.publish.audit import audit
from tablecloak.safe.figures import Figures
from tablecloak.safe.joint.finding import Finding, why_hidden
from tablecloak.safe.other.asking import Room
from tablecloak.safe.outcome import Outcome, Reason
from tablecloak.safe.tables.asked import STATISTICS, Asked, Protect
from tablecloak.safe.tables.frame import SafeFrame
from tablecloak.safe.tables.judged import Judged, measure_of, said_name
from tablecloak.safe.tables.pattern import table_of
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["publish"]

ROUNDS = 8
"""Times that cells are hidden because of other outputs before the output is refused."""

ROUNDING_SECONDS = 5.0


def publish(room: Room, asked: Asked, protect: Protect, command: str) -> SafeFrame:
    """Judge, protect, compare with all other outputs, and record."""
    records = asked.records
    if protect not in ("suppression", "rounding", None):
        raise InputError(f"protect is {protect!r}; give 'suppression', 'rounding' or None")
    positions = room.positions(records.index)
    named = [*asked.rows, *asked.columns, *asked.values.values()]
    plain = [records[name].rename(said_name(name)) for name in dict.fromkeys(named)]
    # Cut variables keep the name of what was cut, and may be cut otherwise the next time.
    reasons = room.renumbered([column for column in plain if column.name and not _is_cut(column)])
    codes = room.contributors
    who = positions if codes is None else codes[positions]
    table = Judged.of(asked, who, room.appetite)
    reasons += table.reviews()
    if protect == "rounding":
        return _rounded(table, room, reasons, command)
    if protect is None:
        return _as_it_is(table, room, positions, reasons, command)
    return _suppressed(table, room, positions, reasons, command)


def _is_cut(column: pd.Series[Any]) -> bool:
    return isinstance(column.dtype, pd.CategoricalDtype)


def _suppressed(
    table: Judged, room: Room, positions: Integers, reasons: list[Reason], command: str
) -> SafeFrame:
    """Hide cells until the output is safe, alone and with all others."""
    undecided: list[str] = []
    mended: list[Finding] = []
    for _ in range(ROUNDS):
        gaps = table.gaps()
        figures, cells = table.figures(positions, gaps.hidden)
        found, undecided = room.findings(figures)
        more = np.zeros(table.grid.n_cells, dtype=bool)
        for finding in found:
            asked = [cells[which][at] for which, at in finding.asked]
            mended.append(finding)
            if asked and not more[asked].any():
                more[min(asked, key=lambda cell: (table.measures[0].n[cell], cell))] = True
        if not more.any():
            break
        before = table.broken.get("differencing", np.zeros_like(more))
        table.broken["differencing"] = before | more
    texts = dict.fromkeys(finding.text for finding in found)
    reasons += [Reason("fail", "differencing", text) for text in texts]
    hidden = gaps.hidden[table.places()]
    if not hidden.all() and {p.statistic for p in table.pieces} & {"min", "max"}:
        hidden = _without_margins_of_extremes(table, hidden)
    primary = table.primary[table.places()]
    marks = np.where(primary, "primary", np.where(hidden, "secondary", ""))
    n_primary, n_hidden = int((hidden & primary).sum()), int(hidden.sum())
    notes = []
    if n_hidden:
        proved = "proved for the table with its margins" if gaps.is_proved else "nothing is left"
        if not table.is_related():
            proved = "without margins no cell follows from others"
        because = ", ".join(
            f"{rule} {len(places)}" for rule, places in table.broken_places().items()
        )
        notes.append(
            f"{n_hidden} of {hidden.size} cells hidden: {n_primary} by rules ({because}), "
            f"{n_hidden - n_primary} to protect these; {proved}"
        )
    else:
        notes.append(f"no cell of {hidden.size} had to be hidden")
    if mended and not found:
        notes.append(f"cells are {why_hidden(mended)}")
    frame = table.frame.mask(hidden) if n_hidden else table.frame
    outcome = Outcome(
        tuple(reasons), (*notes, *table.notes, *gaps.notes, *undecided), table.said_of_cells()
    )
    return _recorded(table, room, frame, outcome, figures, marks, command, "suppression")


def _as_it_is(
    table: Judged, room: Room, positions: Integers, reasons: list[Reason], command: str
) -> SafeFrame:
    """Hide nothing, and say what fails."""
    nothing = np.zeros(table.grid.n_cells, dtype=bool)
    figures, _ = table.figures(positions, nothing)
    found, undecided = room.findings(figures)
    for rule, cells in table.broken.items():
        chosen = np.flatnonzero(cells)
        if len(chosen):
            labels = tuple(table.label(int(cell)) for cell in chosen)
            text = f"{rule}: {len(chosen)} cells are unsafe"
            reasons.append(Reason("fail", rule, text, labels))
    texts = dict.fromkeys(finding.text for finding in found)
    reasons += [Reason("fail", "differencing", text) for text in texts]
    outcome = Outcome(tuple(reasons), (*table.notes, *undecided), table.said_of_cells())
    marks = np.full(table.frame.shape, "")
    return _recorded(table, room, table.frame, outcome, figures, marks, command, None)


def _rounded(table: Judged, room: Room, reasons: list[Reason], command: str) -> SafeFrame:
    """Round all counts to multiples of the base, so that they still add up."""
    base = table.appetite.safe_round_base
    if table.asked.normalize or not all(
        STATISTICS[piece.statistic] == ("count",) and piece.statistic in ("count", "size")
        for piece in table.pieces
    ):
        raise InputError("only counts are rounded: leave out protect='rounding' for others")
    if not all(measure.is_whole for measure in table.measures):
        raise InputError("only counts without weights are rounded: leave out `weights`")
    frame = table.frame.copy()
    for measure in table.measures:
        whole = table_of(measure)
        n = whole.n_cells
        problem = ProtectionProblem(
            table=whole,
            status=np.where(table.primary, "u", "s"),
            lower_protection=np.where(table.primary, np.minimum(whole.values, 1.0), 0.0),
            upper_protection=np.where(table.primary, 1.0, 0.0),
            lower_bound=np.zeros(n),
            upper_bound=np.full(n, np.inf),
        )
        release = controlled_rounding(problem, base=base, time_limit=ROUNDING_SECONDS)
        values = release.values.astype(np.int64)
        if not audit(problem, release, time_limit=ROUNDING_SECONDS, threads=1).is_safe:
            text = "an unsafe count may follow from the rounded ones: use suppression"
            reasons.append(Reason("review", "rounding", text))
        for at, piece in enumerate(table.pieces):
            if measure_of(table.measures, "count", piece.variable) is measure:
                frame.isetitem(at, values[table.places()[:, at]])
    note = f"all counts rounded to multiples of {base}, so that rows and columns add up"
    later = "rounded counts are not compared with other outputs: no exact figure leaves"
    outcome = Outcome(tuple(reasons), (note, *table.notes, later), table.said_of_cells())
    marks = np.full(frame.shape, "rounded")
    return _recorded(table, room, frame, outcome, [], marks, command, "rounding")


def _without_margins_of_extremes(table: Judged, hidden: Flags) -> Flags:
    """Hide margins of extremes beside gaps: they tell the extreme of what is hidden."""
    hidden = hidden.copy()
    is_extreme = np.array([piece.statistic in ("min", "max") for piece in table.pieces])
    if table.asked.margin is None or not hidden[:, is_extreme].any():
        return hidden
    total_row = table.grid.rows.labelled == table.grid.rows.size
    total = np.array([piece.column == table.grid.columns.size for piece in table.pieces])
    hidden[:, is_extreme & total] = True
    hidden[np.ix_(total_row, is_extreme)] = True
    return hidden


def _recorded(
    table: Judged,
    room: Room,
    frame: pd.DataFrame,
    outcome: Outcome,
    figures: list[Figures],
    marks: npt.NDArray[Any],
    command: str,
    protect: Protect,
) -> SafeFrame:
    output = room.record(
        "table",
        command,
        outcome,
        frames=[frame],
        figures=figures,
        properties={"method": table.asked.method, "protect": protect},
        cells=table.broken_places(),
    )
    marked = pd.DataFrame(marks, index=frame.index, columns=frame.columns)
    return SafeFrame.of(frame, outcome, output.name, marked)
