"""A kind of row that one place of the proof does not know is an error there, never another kind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import tablecloak as tc
from tablecloak.suppression.rows.claims import _proof_of
from tablecloak.suppression.rows.master import Master, UnknownRowError, side
from tablecloak.suppression.search.merging import Renaming


@dataclass(frozen=True)
class ParityRow:
    """A kind of row that nobody has told the search about."""

    index: int = 0
    up: None = None
    down: None = None


def coefficients(row):
    master = Master(tc.examples.cox(), tc.Requirement.TWO_SIDED)
    return master.row(master.needs, row)


def renamed(row):
    return Renaming(np.arange(20), np.arange(20)).of(row)


@pytest.mark.parametrize(
    "place",
    [coefficients, lambda row: side(1, row), renamed, lambda row: _proof_of(row, np.arange(20))],
    ids=["coefficients", "side", "names of given cells", "arrays of a certificate"],
)
def test_a_row_of_an_unknown_kind_is_refused_by_its_name(place):
    with pytest.raises(UnknownRowError, match=r"ParityRow is no kind of row.*architecture\.md"):
        place(ParityRow())
