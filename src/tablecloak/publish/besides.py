"""What a release tells besides its cells, and what of it two releases may not both tell.

A mean beside its total tells how many contribute to a cell, which a table of counts may hide; two
order statistics of one cell narrow each other. In one job both are judged, or refused. Of two
entries of a register neither is part of the cells that are protected together, so that the second
one is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tablecloak.errors import InputError
from tablecloak.publish.register import PUBLIC, Register
from tablecloak.publish.released_cells import is_statistic
from tablecloak.tables.figures.figure import DerivedFigure
from tablecloak.tables.figures.ratios import Average
from tablecloak.tables.formats import read_frame
from tablecloak.tables.problem import ProtectionProblem

COUNTS, MEANS, STATISTIC = "hidden counts", "means", "order statistic: "
"""What an entry says of itself; the last is followed by the statistic as it was asked for."""


def besides(
    parts: Iterable[ProtectionProblem], figures: Sequence[DerivedFigure]
) -> tuple[str, ...]:
    """Return what a release tells besides its cells.

    Parameters
    ----------
    parts : iterable of ProtectionProblem
        Of each variable.
    figures : sequence of DerivedFigure
        Published beside them.
    """
    parts = list(parts)
    hides = any((part.sensitive | part.forced).any() for part in parts)
    names = [COUNTS] if hides and any(part.table.is_count for part in parts) else []
    names += [MEANS] if any(isinstance(figure, Average) for figure in figures) else []
    names += [f"{STATISTIC}{figure!r}" for figure in figures if figure.needs_contributions]
    return tuple(names)


def besides_in(path: Path) -> tuple[str, ...]:
    """Return what the figures of a release tell besides its cells, by their file.

    Parameters
    ----------
    path : Path
        ``figures.csv`` of a release; where there is none, nothing is told.
    """
    if not path.is_file():
        return ()
    labels = list(dict.fromkeys(map(str, read_frame(path, ("figure",)).get("figure", ()))))
    means = any(label.startswith(Average(variable="").label) for label in labels)
    return (*[MEANS] * means, *(f"{STATISTIC}{label}" for label in labels if is_statistic(label)))


def refuse_besides(
    register: Register, new: Sequence[str], series: str, receiver: str = PUBLIC
) -> None:
    """Refuse a release that tells with an earlier one what nothing proves to be safe.

    Parameters
    ----------
    register : Register
    new : sequence of str
        What the new release tells besides its cells.
    series, receiver : str
        As in `Entry`.

    Raises
    ------
    InputError
        Names the entry, and says what to do.
    """
    for entry in register.counted(series, receiver):
        others = entry.besides or ()
        label = f"{register.folder}: entry {entry.number} ({entry.title})"
        for one, other in ((new, others), (others, new)):
            if COUNTS in one and MEANS in other:
                has = "hides counts" if one is others else "has means"
                raise InputError(
                    f"{label} {has} of the same records. A mean beside its total tells the count. "
                    f"Protect totals and counts in one job, with a ratio of the two instead of the "
                    f"mean, or publish only one of these."
                )
        mine, theirs = (
            [name for name in one if name.startswith(STATISTIC)] for one in (new, others)
        )
        if mine and theirs and mine != theirs:
            raise InputError(
                f"{label} has other order statistics of the same records. It is not known what "
                f"both together tell of a contribution. Ask for all of them in one job, for "
                f"the same ones as there, or for none."
            )
