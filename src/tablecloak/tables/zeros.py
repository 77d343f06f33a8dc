"""What may happen to the zeros of a table of counts."""

from __future__ import annotations

from typing import ClassVar, Literal, get_args

import numpy as np

from tablecloak.arrays import Flags, Floats
from tablecloak.errors import InputError, suggestion
from tablecloak.tables.table import Table

Zeros = Literal["public", "candidates", "protected"]
"""Whether zeros are published, may be suppressed to protect other cells, or are sensitive."""


class ProtectedZeros:
    """Finds every zero sensitive: nobody may learn that nobody is there.

    A zero must be able to be 1. It is judged like a rule, after the rules on contributors.
    """

    name: ClassVar[str] = "protected-zero"
    precedence: ClassVar[int] = 6
    looks_at_amounts: ClassVar[bool] = False
    has_floor: ClassVar[bool] = False

    def unsafe(self, table: Table) -> Flags:
        """Return the zeros."""
        found: Flags = table.values == 0
        return found

    def levels(self, table: Table) -> tuple[Floats, Floats]:
        """Return (0, 1)."""
        return np.zeros(table.n_cells), np.ones(table.n_cells)

    def safe_distance(self, table: Table) -> None:
        """Return nothing: levels do not follow from a distance."""

    def decided(self, table: Table) -> dict[str, Flags]:
        """Return nothing: a person may still declare a zero to be safe or frozen."""
        return {}

    def rests(self, table: Table) -> None:
        """Return nothing."""


def check_zeros(table: Table, zeros: str) -> None:
    """Check what is asked of zeros.

    Raises
    ------
    InputError
        If the word is unknown, or zeros are not public in a table of other values than counts.
    """
    if zeros not in get_args(Zeros):
        raise InputError(
            f"`zeros` must be 'public', 'candidates' or 'protected'. Got {zeros!r}."
            f"{suggestion(str(zeros), get_args(Zeros))}"
        )
    if zeros != "public" and not table.is_count:
        raise InputError(
            f"zeros={zeros!r} needs a table of counts. Tabulate without a `value`, or name the "
            f"measure 'count'."
        )
