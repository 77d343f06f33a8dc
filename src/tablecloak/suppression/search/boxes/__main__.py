"""Compile the loops of sums of boxes: ``python -m tablecloak.suppression.search.boxes``."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

import numpy as np

from tablecloak.budget import Budget
from tablecloak.errors import InputError
from tablecloak.examples import cox_rounded
from tablecloak.storage import kept_alone, private_folder
from tablecloak.suppression.search.boxes.pattern import Grid
from tablecloak.suppression.search.boxes.phases import of_sums
from tablecloak.suppression.search.boxes.sums import QUICK, are_compiled
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.system.requirement import Requirement


def compile_loops() -> None:
    """Use the loops once, on a tiny table."""
    state = SearchState.of(cox_rounded(), Requirement.TWO_SIDED, "boxes")
    grid = Grid.of(state.problem.table, state.system)
    assert grid is not None
    of_sums(state, grid, QUICK).build(Budget.of(np.inf))


if __name__ == "__main__":
    # By number: in some containers users have no name. On Windows each has such a folder.
    name = f"tablecloak-compiling-{os.getuid() if hasattr(os, 'getuid') else ''}"
    place = private_folder(Path(tempfile.gettempdir()) / name)
    # Another process may be at it.
    with contextlib.suppress(InputError), kept_alone(place):
        if not are_compiled():
            compile_loops()
